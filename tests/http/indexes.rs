//! Several indexes in one server, distinguished by host name, and their configuration file.

use serde_json::json;

use super::archive;
use crate::support::{Sandbox, Server, ServerReply as Reply, server_ask_by_name as ask_by_name};

const PUBLIC: &str = "skills.example.org";
const COMPANY: &str = "skills.company.example";

/// Starts a server with two indexes, and returns the admin token of the second.
fn two_indexes(sandbox: &Sandbox) -> (Server, String) {
    let file = sandbox.path("serve.toml");
    let text = format!(
        "addr = \"192.0.2.1:1\"\ndata = \"elsewhere\"\nhosts = [\"{PUBLIC}\"]\nrate = 0\n\n[limits]\nrequest_seconds = 30\n\n\
         [indexes.company]\ndata = \"company\"\nvisibility = \"private\"\nhosts = [\"{COMPANY}\"]\n"
    );
    std::fs::write(&file, text).unwrap();
    let company = sandbox.path("company");
    std::fs::create_dir(&company).unwrap();
    let token = sandbox.run(&["serve", "admin-token", "--data", company.to_str().unwrap()]).exits(0);
    (Server::start(sandbox, &["--config", file.to_str().unwrap()]), token.text().trim().to_owned())
}

fn ask(server: &Server, name: &str, path: &str, token: Option<&str>) -> Reply {
    ask_by_name(&server.url, Some(name), "GET", path, token, b"").unwrap()
}

/// Each index also has its own names and readers.
#[test]
fn indexes_share_no_accounts_or_releases() {
    let sandbox = Sandbox::new();
    let (server, token) = two_indexes(&sandbox);
    let put = |name, path: &str, token: &str, bytes: &[u8]| {
        ask_by_name(&server.url, Some(name), "PUT", path, Some(token), bytes).unwrap()
    };
    let (open, secret) = (archive(&sandbox, "notes", "one"), archive(&sandbox, "plans", "two"));
    put(PUBLIC, "/v1/skills/acme/notes/1.0.0", &server.admin, &open).done();
    put(COMPANY, "/v1/skills/acme/plans/1.0.0", &token, &secret).done();
    assert_eq!(put(COMPANY, "/v1/skills/acme/plans/1.1.0", &server.admin, &secret).refused(401), "unauthorized");
    assert_eq!(put(PUBLIC, "/v1/skills/acme/plans/1.1.0", &token, &secret).refused(401), "unauthorized");

    for name in [PUBLIC, "127.0.0.1", "LOCALHOST", "SKILLS.example.org:80"] {
        assert_eq!(ask(&server, name, "/v1/skills/acme/notes/1.0.0", None).done()["release"]["version"], "1.0.0");
        assert_eq!(ask(&server, name, "/v1/skills/acme/plans/1.0.0", None).refused(404), "not_found");
    }
    assert_eq!(ask(&server, COMPANY, "/v1/skills/acme/plans/1.0.0", None).refused(401), "unauthorized");
    assert_eq!(ask(&server, COMPANY, "/index/config.json", None).status, 401);
    assert_eq!(ask(&server, COMPANY, "/v1/skills?q=two", Some(&token)).done()["results"][0]["name"], "acme/plans");
    assert_eq!(ask(&server, PUBLIC, "/v1/skills?q=two", None).done()["results"], json!([]));
    assert_eq!(ask(&server, COMPANY, "/v1/skills/acme/notes/1.0.0", Some(&token)).refused(404), "not_found");
    assert_eq!(ask(&server, "elsewhere.example", "/v1/skills", None).refused(421), "wrong_host");
    assert!(!sandbox.path("elsewhere").exists(), "the flag goes before the file");
}

/// The server refuses it before it serves anything.
#[test]
fn contradictory_server_config_is_refused() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("serve.toml");
    let index = |name: &str, data: &str, hosts: &str| {
        format!("[indexes.{name}]\ndata = \"{data}\"\nvisibility = \"public\"\nhosts = {hosts}\n")
    };
    let cases = [
        ("adr = \"127.0.0.1:0\"\n".to_owned(), "adr"),
        ("visibility = \"secret\"\n".to_owned(), "secret"),
        (index("a", "a", "[]"), "has no host name"),
        (index("a", "a", "[\"*\"]"), "has no host name"),
        (format!("data = \"a\"\n{}", index("a", "a", "[\"a.example\"]")), "folder of another"),
        (index("a", "a", "[\"A.example\"]") + &index("b", "b", "[\"a.example\"]"), "name of another"),
        ("[indexes.a]\ndata = \"a\"\nhosts = [\"a.example\"]\n".to_owned(), "visibility"),
    ];
    for (text, what) in cases {
        std::fs::write(&file, &text).unwrap();
        let error = sandbox.ask(&["serve", "--config", file.to_str().unwrap()]).refused(2, "invalid_config");
        assert!(error["message"].as_str().unwrap().contains(what), "{text}: {error}");
    }
    sandbox.ask(&["serve", "--config", "missing.toml"]).refused_with_hint(1, "io");
    std::fs::write(&file, "addr = \"here\"\n").unwrap();
    sandbox.ask(&["serve", "--config", file.to_str().unwrap()]).refused_with_hint(2, "usage");
}
