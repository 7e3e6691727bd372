//! Decisions of admins: reports, quarantine, restoring and withdrawing, with an audit log of all of them.

use serde_json::json;

use super::publish;
use crate::support::{Sandbox, Server, git};

#[test]
fn quarantined_release_is_unavailable_until_restored() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    publish(&server, &sandbox, "acme/notes", "1.1.0", "two");
    let (admin, reason) = (Some(server.admin.as_str()), json!({"reason": "it may be bad"}).to_string());
    let path = "/v1/skills/acme/notes/1.1.0/quarantine";
    server.ask("PUT", path, admin, reason.as_bytes()).done();
    assert_eq!(server.get("/v1/skills/acme/notes/latest")["release"]["version"], "1.0.0");
    assert_eq!(server.ask("GET", "/v1/skills/acme/notes/1.1.0/archive", None, b"").refused(403), "quarantined");
    assert_eq!(server.ask("GET", "/v1/skills/acme/notes/1.1.0/files", None, b"").refused(403), "quarantined");
    let digest = server.get("/v1/skills/acme/notes/1.1.0")["release"]["digest"].as_str().unwrap()[7..].to_owned();
    let bundle = format!("/index/bundles/{}/{}/{digest}.skill", &digest[..2], &digest[2..4]);
    assert_eq!(server.ask("GET", &bundle, None, b"").refused(403), "quarantined");
    assert_eq!(server.ask("DELETE", "/v1/skills/acme/notes/1.1.0/yank", admin, b"").refused(409), "quarantined");
    let at = ["--registry", server.url.as_str()];
    sandbox.ask(&[&["install", "acme/notes@1.1.0"], &at[..]].concat()).refused_with_hint(5, "quarantined");
    server.ask("DELETE", path, admin, reason.as_bytes()).done();
    assert_eq!(server.ask("GET", &bundle, None, b"").status, 200);
    let installed = sandbox.done(&[&["install", "acme/notes"], &at[..]].concat());
    assert_eq!(installed["skills"][0]["version"], "1.1.0");
    let audit = server.ask("GET", "/v1/audit", admin, b"").done().to_string();
    for word in ["quarantine", "restore", "publish", "it may be bad"] {
        assert!(audit.contains(word), "{word}: {audit}");
    }
}

/// Returns the path of a release's archive in the sparse index.
fn bundle_of(server: &Server, release: &str) -> String {
    let digest = server.get(&format!("/v1/skills/{release}"))["release"]["digest"].as_str().unwrap()[7..].to_owned();
    format!("/index/bundles/{}/{}/{digest}.skill", &digest[..2], &digest[2..4])
}

fn reason(text: &str) -> Vec<u8> {
    json!({ "reason": text }).to_string().into_bytes()
}

#[test]
fn quarantine_reaches_other_processes_at_once() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    let mirror = Server::start(&sandbox, &["--read-only"]);
    let (bundle, line) = (bundle_of(&mirror, "acme/notes/1.0.0"), "/index/no/te/notes/acme");
    for path in [bundle.as_str(), line, "/v1/skills/acme/notes/1.0.0/archive"] {
        assert_eq!(mirror.ask("GET", path, None, b"").status, 200, "{path}");
    }
    let path = "/v1/skills/acme/notes/1.0.0/quarantine";
    server.ask("PUT", path, Some(&server.admin), &reason("it may be bad")).done();
    assert_eq!(mirror.ask("GET", &bundle, None, b"").refused(403), "quarantined");
    assert_eq!(mirror.ask("GET", "/v1/skills/acme/notes/1.0.0/archive", None, b"").refused(403), "quarantined");
    let text = String::from_utf8(mirror.ask("GET", line, None, b"").body).unwrap();
    assert!(text.contains("it may be bad") && text.contains("\"yanked\":true"), "{text}");
    server.ask("DELETE", path, Some(&server.admin), &reason("it is not")).done();
    assert_eq!(mirror.ask("GET", &bundle, None, b"").status, 200);
}

/// A copy by another owner is neither taken down nor a way to bypass the quarantine: it awaits a decision.
#[test]
fn copies_of_quarantined_content_are_held() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let admin = Some(server.admin.as_str());
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    publish(&server, &sandbox, "beta/notes", "1.0.0", "one");
    let bundle = bundle_of(&server, "beta/notes/1.0.0");
    let decide = |method: &str, owner: &str| {
        let path = format!("/v1/skills/{owner}/notes/1.0.0/quarantine");
        server.ask(method, &path, admin, &reason("it may be bad")).done()
    };
    decide("PUT", "acme");
    let late = publish(&server, &sandbox, "carol/notes", "1.0.0", "one");
    assert!(late["held"].as_str().unwrap().contains("acme/notes 1.0.0"), "{late:#}");
    for owner in ["beta", "carol"] {
        let archive = format!("/v1/skills/{owner}/notes/1.0.0/archive");
        assert_eq!(server.ask("GET", &archive, None, b"").refused(403), "held", "{owner}");
        let release = server.get(&format!("/v1/skills/{owner}/notes/1.0.0"));
        assert!(release["release"]["yanked"] == false && release["quarantined"].is_null(), "{release:#}");
        let spec = format!("{owner}/notes@1.0.0");
        let error = sandbox.ask(&["install", &spec, "--registry", &server.url]).refused_with_hint(5, "held");
        assert!(error["message"].as_str().unwrap().contains("acme/notes 1.0.0"), "{error:#}");
    }
    assert_eq!(server.ask("GET", &bundle, None, b"").refused(403), "quarantined");
    let queue = server.ask("GET", "/v1/quarantine", admin, b"").done();
    let copies: Vec<&str> =
        queue["copies"].as_array().unwrap().iter().map(|copy| copy["skill"].as_str().unwrap()).collect();
    assert_eq!((copies.len(), queue["releases"].as_array().unwrap().len()), (2, 1), "{queue:#}");
    assert!(copies.contains(&"beta/notes") && copies.contains(&"carol/notes"));

    decide("DELETE", "beta");
    assert_eq!(server.ask("GET", &bundle, None, b"").status, 200, "a copy was let through");
    sandbox.done(&["install", "beta/notes", "--registry", &server.url]);
    for (owner, code) in [("acme", "quarantined"), ("carol", "held")] {
        let archive = format!("/v1/skills/{owner}/notes/1.0.0/archive");
        assert_eq!(server.ask("GET", &archive, None, b"").refused(403), code);
        let spec = format!("{owner}/notes@1.0.0");
        sandbox.ask(&["install", &spec, "--registry", &server.url]).refused_with_hint(5, code);
    }
    decide("DELETE", "acme");
    assert_eq!(server.ask("GET", "/v1/skills/carol/notes/1.0.0/archive", None, b"").status, 200);
    assert_eq!(server.get("/v1/skills/carol/notes/1.0.0")["held"], json!(null));
    let index = server.index();
    assert_eq!(sandbox.done(&["index", "verify", index.to_str().unwrap()])["faults"], json!([]));
}

#[test]
fn moderators_inspect_held_releases() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    publish(&server, &sandbox, "acme/notes", "1.1.0", "two");
    publish(&server, &sandbox, "beta/notes", "1.1.0", "two");
    let path = "/v1/skills/acme/notes/1.1.0/quarantine";
    server.ask("PUT", path, Some(&server.admin), &reason("it may be bad")).done();
    let ann = server.token("ann", "admin");
    for (owner, code) in [("acme", "quarantined"), ("beta", "held")] {
        let release = format!("/v1/skills/{owner}/notes/1.1.0");
        let mut paths =
            vec![format!("{release}/files"), format!("{release}/files/SKILL.md"), format!("{release}/scan")];
        paths.extend((owner == "acme").then(|| "/v1/skills/acme/notes/diff/1.0.0/1.1.0".to_owned()));
        for path in paths {
            assert_eq!(server.ask("GET", &path, Some(&server.admin), b"").status, 200, "{path}");
            assert_eq!(server.ask("GET", &path, Some(&ann), b"").refused(403), code, "{path}");
            assert_eq!(server.ask("GET", &path, None, b"").refused(403), code, "{path}");
        }
        let archive = format!("{release}/archive");
        assert_eq!(server.ask("GET", &archive, Some(&server.admin), b"").refused(403), code, "nobody installs it");
    }
}

#[test]
fn no_cache_serves_quarantined_release() {
    let sandbox = Sandbox::project();
    let server = Server::start(&sandbox, &[]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    sandbox.done(&["install", "acme/notes", "--registry", &server.url]);
    let path = "/v1/skills/acme/notes/1.0.0/quarantine";
    server.ask("PUT", path, Some(&server.admin), &reason("it may be bad")).done();
    let error = sandbox.ask(&["verify"]).refused_with_hint(8, "quarantined");
    assert!(error["message"].as_str().unwrap().contains("it may be bad"), "{error:#}");
    for command in [&["update"][..], &["outdated"], &["list"], &["info", "acme/notes"]] {
        let shown = sandbox.run(&[command, &["--json"]].concat()).exits(0).text();
        assert!(shown.contains("it may be bad"), "{command:?}: {shown}");
    }
    let folder = sandbox.done(&["list"])["skills"][0]["path"].as_str().unwrap().to_owned();
    std::fs::remove_dir_all(&folder).unwrap();
    sandbox.ask(&["install"]).refused_with_hint(5, "quarantined");
    server.kill();
    sandbox.ask(&["install"]).refused_with_hint(5, "quarantined");
    sandbox.ask(&["install", "--offline"]).refused_with_hint(5, "quarantined");
    assert!(!std::path::Path::new(&folder).exists());
}

/// An attacker with write access to the repository changes a line without the server.
#[test]
fn server_and_mirror_refuse_changed_line() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    let (copy, index) = (sandbox.path("copy"), server.index().display().to_string());
    let at = copy.display().to_string();
    git(&sandbox, &["clone", "--quiet", &index, &at]);
    let line = copy.join("no/te/notes/acme");
    let text = std::fs::read_to_string(&line).unwrap();
    std::fs::write(&line, text.replace("\"requires\":[]", "\"requires\":[\"evil/helper\"]")).unwrap();
    git(&sandbox, &["-C", &at, "commit", "--quiet", "-am", "x"]);
    git(&sandbox, &["-C", &at, "push", "--quiet"]);
    let reply = server.ask("GET", "/v1/skills/acme/notes/1.0.0/files", None, b"");
    assert_eq!(reply.refused(422), "line_differs");
    assert!(String::from_utf8(reply.body).unwrap().contains("`requires`"));
    let other = sandbox.path("other").display().to_string();
    let mirror = ["serve", "mirror", "acme/notes", "--registry", &index, "--data", &other];
    let error = sandbox.ask(&mirror).refused_with_hint(8, "line_differs");
    assert!(error["message"].as_str().unwrap().contains("`requires`"), "{error:#}");
}

#[test]
fn yanked_release_shows_its_reason() {
    let sandbox = Sandbox::project();
    let server = Server::start(&sandbox, &[]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    sandbox.done(&["install", "acme/notes", "--registry", &server.url]);
    let args = ["yank", "acme/notes@1.0.0", "--reason", "it loses & pages", "--registry", &server.url, "--json"];
    let mut command = sandbox.command(&args);
    command.env("SKILLHUB_TOKEN", &server.admin);
    assert_eq!(sandbox.finish(command, &args).done()["reason"], "it loses & pages");
    let release = server.get("/v1/skills/acme/notes/1.0.0")["release"].clone();
    assert_eq!((&release["yanked"], &release["status"]["yanked_reason"]), (&json!(true), &json!("it loses & pages")));
    for command in [&["update"][..], &["outdated"], &["verify"], &["info", "acme/notes"]] {
        let shown = sandbox.run(&[command, &["--json"]].concat()).exits(0).text();
        assert!(shown.contains("it loses & pages"), "{command:?}: {shown}");
    }
}

#[test]
fn withdrawn_release_loses_archive_with_reason() {
    let sandbox = Sandbox::project();
    let server = Server::start(&sandbox, &[]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    let at = ["--registry", server.url.as_str()];
    sandbox.done(&[&["install", "acme/notes"], &at[..]].concat());
    let reason = json!({"reason": "it holds a key"}).to_string();
    let path = "/v1/skills/acme/notes/1.0.0/withdraw";
    server.ask("POST", path, Some(&server.admin), reason.as_bytes()).done();
    assert_eq!(server.ask("GET", "/v1/skills/acme/notes/1.0.0/archive", None, b"").refused(410), "withdrawn");
    assert_eq!(server.get("/v1/skills?q=notes")["results"], json!([]));
    let error = sandbox.ask(&[&["install", "--frozen"], &at[..]].concat()).refused(8, "withdrawn");
    assert!(error["message"].as_str().unwrap().contains("it holds a key"), "{error}");
}

#[test]
fn withdrawn_content_stays_withheld() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let admin = Some(server.admin.as_str());
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    let path = "/v1/skills/acme/notes/1.0.0";
    server.ask("PUT", &format!("{path}/quarantine"), admin, &reason("it may be bad")).done();
    server.ask("POST", &format!("{path}/withdraw"), admin, &reason("it holds a key")).done();
    let late = publish(&server, &sandbox, "beta/notes", "1.0.0", "one");
    assert!(late["held"].as_str().unwrap().contains("acme/notes 1.0.0"), "{late:#}");
    let queue = server.ask("GET", "/v1/quarantine", admin, b"").done();
    assert_eq!((&queue["releases"], queue["copies"].as_array().unwrap().len()), (&json!([]), 1), "{queue:#}");
    let restored = server.ask("DELETE", &format!("{path}/quarantine"), admin, &reason("it is fine"));
    assert_eq!(restored.refused(409), "withdrawn");
    assert_eq!(server.ask("GET", "/v1/skills/beta/notes/1.0.0/archive", None, b"").refused(403), "held");
}

#[test]
fn held_copy_is_not_offered_for_installing() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    sandbox.run_with(&["login", &server.url, "--json"], server.admin.as_bytes()).done();
    sandbox.skill("own", "Takes notes. Use in tests.", &[]);
    let publish = |owner: &str| {
        sandbox.run(&["publish", "own", "--owner", owner, "--registry", &server.url]).exits(0).to_string()
    };
    let first = publish("acme");
    assert!(first.contains("Install it"), "{first}");
    let path = "/v1/skills/acme/own/1.0.0/withdraw";
    server.ask("POST", path, Some(&server.admin), &reason("it holds a key")).done();
    let held = publish("beta");
    assert!(held.contains("cannot be installed yet") && !held.contains("Install it"), "{held}");
}

/// A star counts once for each account.
#[test]
fn reports_are_decided_and_stars_counted() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    let (ann, admin) = (server.token("ann", "read"), Some(server.admin.as_str()));
    let report = json!({"reason": "it steals"}).to_string();
    server.ask("POST", "/v1/skills/acme/notes/1.0.0/reports", Some(&ann), report.as_bytes()).done();
    let open = server.ask("GET", "/v1/reports", admin, b"").done();
    let id = open["reports"][0]["id"].as_i64().unwrap();
    let decision = json!({"decision": "dismissed", "reason": "it does not"}).to_string();
    server.ask("PUT", &format!("/v1/reports/{id}"), admin, decision.as_bytes()).done();
    assert_eq!(server.ask("PUT", &format!("/v1/reports/{id}"), admin, decision.as_bytes()).refused(404), "not_found");
    assert_eq!(server.ask("GET", "/v1/reports", admin, b"").done()["reports"], json!([]));
    assert_eq!(server.ask("PUT", "/v1/skills/acme/notes/star", Some(&ann), b"").done()["stars"], 1);
    assert_eq!(server.ask("PUT", "/v1/skills/acme/notes/star", Some(&ann), b"").done()["stars"], 1);
    assert_eq!(server.ask("DELETE", "/v1/skills/acme/notes/star", Some(&ann), b"").done()["stars"], 0);
}
