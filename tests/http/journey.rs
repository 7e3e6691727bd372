//! A team with a server: sign in, publish, find, install, update, yank.

use serde_json::json;

use super::publish;
use crate::support::{ANN, Sandbox, Server};

#[test]
fn team_publishes_and_installs_through_server() {
    let sandbox = Sandbox::project();
    let server = Server::start(&sandbox, &[]);
    let (url, ann) = (server.url.clone(), server.token("ann", "publish"));
    let answer = sandbox.run_with(&["login", &url, "--json"], ann.as_bytes()).done();
    assert_eq!(answer["account"], "ann");
    sandbox.skill("notes", "Takes notes. Use in tests.", &[("scripts/count.py", "print(1)\n")]);
    let at = ["--registry", url.as_str()];
    let published = sandbox.done(&[&["publish", "notes"], &at[..]].concat());
    assert_eq!((&published["status"], &published["name"]), (&"published".into(), &"ann/notes".into()));
    assert_eq!(published["registry"], url.as_str());
    assert_eq!(sandbox.done(&[&["publish", "notes"], &at[..]].concat())["status"], "unchanged");
    let found = sandbox.done(&[&["search", "takes notes"], &at[..]].concat());
    assert_eq!(found["results"][0]["name"], "ann/notes");
    assert_eq!(sandbox.done(&[&["info", "notes"], &at[..]].concat())["releases"][0]["version"], "1.0.0");
    let installed = sandbox.done(&[&["install", "ann/notes"], &at[..]].concat());
    assert_eq!(installed["skills"][0]["status"], "installed");
    let place = sandbox.cwd().join(".agents/skills/notes/scripts/count.py");
    assert_eq!(std::fs::read_to_string(place).unwrap(), "print(1)\n");
    let library = sandbox.path("library").display().to_string();
    let bare = ["install", "notes", "--library", &library, at[0], at[1], "--json"];
    let mut first_use = sandbox.command(&bare);
    first_use.env("SKILLHUB_HOME", sandbox.path("first-use"));
    assert_eq!(sandbox.finish(first_use, &bare).done()["skills"][0]["status"], "installed");

    sandbox.skill("notes", "Takes better notes. Use in tests.", &[]);
    sandbox.done(&[&["publish", "notes", "--changelog", "- better & shorter"], &at[..]].concat());
    let outdated = sandbox.done(&[&["outdated"], &at[..]].concat());
    assert_eq!(outdated["skills"][0]["changelog"], json!([{"version": "1.0.1", "changelog": "- better & shorter"}]));
    assert_eq!(server.get("/v1/skills/ann/notes/1.0.1")["release"]["changelog"], "- better & shorter");
    let page = server.ask("GET", "/ann/notes", None, b"").text();
    assert!(page.contains("id=\"changelog\"") && page.contains("- better &amp; shorter"), "{page}");
    assert_eq!(sandbox.done(&[&["update", "notes"], &at[..]].concat())["skills"][0]["status"], "updated");
    sandbox.done(&[&["yank", "ann/notes@1.0.1"], &at[..]].concat());
    assert_eq!(server.get("/v1/skills/ann/notes/latest")["release"]["version"], "1.0.0");
    sandbox.done(&[&["yank", "ann/notes@1.0.1", "--undo"], &at[..]].concat());
    let deprecate =
        ["yank", "ann/notes@1.0.1", "--deprecate", "--replacement", "ann/charts", "--reason", "it's old & slow"];
    sandbox.done(&[&deprecate[..], &at[..]].concat());
    let deprecated = json!({"use": "ann/charts", "reason": "it's old & slow"});
    assert_eq!(server.get("/v1/skills/ann/notes/1.0.1")["release"]["status"]["deprecated"], deprecated);
    assert!(sandbox.done(&["verify"]).to_string().contains("ann/charts"));
    sandbox.done(&[&deprecate[..3], &["--undo"], &at[..]].concat());
    assert_eq!(sandbox.done(&["verify"])["ok"], true);

    let other = sandbox.skill("charts", "Draws charts. Use in tests.", &[]);
    let refused = sandbox.ask(&["publish", other.to_str().unwrap(), "--owner", "bob", at[0], at[1]]);
    refused.refused_with_hint(5, "policy_denied");
    assert_eq!(sandbox.done(&["logout", &url])["status"], "signed_out");
    sandbox.ask(&["publish", "charts", "--owner", "ann", at[0], at[1]]).refused_with_hint(5, "unauthorized");
    let mut with_variable = sandbox.command(&["publish", "charts", "--owner", "ann", at[0], at[1], "--json"]);
    with_variable.env("SKILLHUB_TOKEN", &ann);
    assert_eq!(sandbox.finish(with_variable, &["publish"]).done()["status"], "published");
}

#[test]
fn concurrent_releases_get_the_next_free_versions() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let ann = server.token("ann", "publish");
    let folders = ["one", "two", "three", "four"].map(|folder| {
        let made = sandbox.skill("notes", &format!("Writes notes {folder}. Use in tests."), &[]);
        std::fs::create_dir(sandbox.cwd().join(folder)).unwrap();
        std::fs::rename(made, sandbox.cwd().join(folder).join("notes")).unwrap();
        format!("{folder}/notes")
    });
    std::thread::scope(|scope| {
        for folder in &folders {
            let args = ["publish", folder, "--owner", "ann", "--registry", &server.url, "--json"];
            let mut command = sandbox.command(&args);
            command.env("SKILLHUB_TOKEN", &ann);
            let sandbox = &sandbox;
            scope.spawn(move || assert_eq!(sandbox.finish(command, &args).done()["status"], "published"));
        }
    });
    let info = sandbox.done(&["info", "ann/notes", "--registry", &server.url]);
    assert_eq!(info["releases"].as_array().unwrap().len(), 4, "{info:#}");
}

/// The file is readable by its user only.
#[test]
fn only_valid_login_is_stored() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    sandbox.run_with(&["login", &server.url, "--json"], b"skh_nothing\n").refused_with_hint(5, "unauthorized");
    sandbox.run_with(&["login", &server.url, "--json"], b"").refused_with_hint(2, "usage");
    sandbox.run_with(&["login", "elsewhere", "--json"], b"x").refused_with_hint(2, "usage");
    let error = sandbox.run_with(&["login", "http://127.0.0.1:1", "--json"], b"x").refused_with_hint(9, "network");
    assert!(!error["hint"].as_str().unwrap().contains("download"), "{error:#}");
    sandbox.run_with(&["login", &format!("{}/", server.url), "--json"], server.admin.as_bytes()).done();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let file = sandbox.skillhub_home().join("logins.toml");
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(!server.log().contains("skh_"), "{}", server.log());
}

#[test]
fn private_server_requires_token() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--visibility", "private"]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "it");
    for path in
        ["/v1/skills", "/v1/skills/acme/notes", "/v1/names/notes", "/index/config.json", "/index/no/te/notes/acme"]
    {
        assert_eq!(server.ask("GET", path, None, b"").refused(401), "unauthorized", "{path}");
        assert_eq!(server.ask("GET", path, Some(&server.token("ann", "read")), b"").status, 200, "{path}");
    }
    let at = ["--registry", server.url.as_str()];
    sandbox.ask(&[&["install", "acme/notes"], &at[..]].concat()).refused_with_hint(5, "unauthorized");
    sandbox.run_with(&["login", &server.url, "--json"], server.token("ann", "read").as_bytes()).done();
    assert_eq!(sandbox.done(&[&["install", "acme/notes"], &at[..]].concat())["skills"][0]["status"], "installed");
}

/// Publishing with `--sign` reports the signer.
#[test]
fn restored_lock_file_needs_no_server() {
    let sandbox = Sandbox::project();
    let server = Server::start(&sandbox, &[]);
    let key = ANN.write(&sandbox.path("keys"), "ann");
    sandbox.run_with(&["login", &server.url, "--json"], server.token("ann", "publish").as_bytes()).done();
    sandbox.skill("notes", "Takes notes. Use in tests.", &[]);
    let at = ["--registry", server.url.as_str()];
    let sign = format!("--sign={}", key.display());
    let published = sandbox.done(&[&["publish", "notes", sign.as_str()], &at[..]].concat());
    assert!(published["signer"].is_string(), "{published}");
    let installed = sandbox.done(&[&["install", "ann/notes"], &at[..]].concat());
    assert_eq!(installed["skills"][0]["status"], "installed");
    let url = server.url.clone();
    let at = ["--registry", url.as_str()];
    server.kill();
    std::fs::remove_dir_all(sandbox.cwd().join(".agents/skills/notes")).unwrap();
    assert_eq!(sandbox.done(&[&["install", "--offline"], &at[..]].concat())["skills"][0]["status"], "installed");
}

/// A registry that lost releases is refused until somebody accepts the rewrite.
#[test]
fn rewound_registry_needs_accepted_rewrite() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    publish(&server, &sandbox, "acme/notes", "1.1.0", "two");
    let url = server.url.clone();
    assert_eq!(sandbox.done(&["info", "acme/notes", "--registry", &url])["releases"].as_array().unwrap().len(), 2);
    let (index, port) = (server.index(), url.rsplit(':').next().unwrap().to_owned());
    server.kill();
    std::fs::remove_dir_all(&index).unwrap();
    let server = Server::start(&sandbox, &["--addr", &format!("127.0.0.1:{port}")]);
    assert_eq!(server.url, url);
    publish(&server, &sandbox, "acme/notes", "1.1.0", "something else");
    sandbox.ask(&["info", "acme/notes", "--registry", &url]).refused_with_hint(8, "registry_went_back");
    let accept = ["info", "acme/notes", "--registry", &url, "--accept-rewrite"];
    sandbox.ask(&accept).refused_with_hint(5, "policy_denied");
    sandbox.run_as(&sandbox.token(), &accept).done();
    assert_eq!(sandbox.done(&["info", "acme/notes", "--registry", &url])["releases"].as_array().unwrap().len(), 1);
}
