//! What admins decide: reports, quarantine, restoring, withdrawing, and that all of it is kept.

use serde_json::json;

use super::publish;
use crate::support::{Sandbox, Server};

#[test]
fn a_release_under_quarantine_reaches_nobody_until_it_is_restored() {
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

#[test]
fn a_withdrawn_release_loses_its_archive_and_says_why() {
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
fn reports_wait_for_a_decision_and_stars_count_accounts() {
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
