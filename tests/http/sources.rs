//! Skills from servers: they are queried without a flag and report withheld releases, and a login waits for a server
//! that starts.

use serde_json::json;

use super::publish;
use crate::support::{Sandbox, Server};

#[test]
fn each_skill_asks_its_own_server() {
    let sandbox = Sandbox::project();
    let other = Sandbox::new();
    let servers = [Server::start(&sandbox, &[]), Server::start(&other, &[])];
    for (server, name) in servers.iter().zip(["acme/notes", "acme/charts"]) {
        publish(server, &sandbox, name, "1.0.0", "one");
        sandbox.done(&["install", name, "--registry", &server.url]);
        publish(server, &sandbox, name, "1.1.0", "two");
    }
    let outdated = sandbox.done(&["outdated"]);
    assert_eq!(outdated["skills"].as_array().unwrap().len(), 2, "{outdated:#}");
    let updated = sandbox.done(&["update"]);
    assert!(updated["skills"].as_array().unwrap().iter().all(|skill| skill["status"] == "updated"), "{updated:#}");
    let verified = sandbox.done(&["verify"]);
    assert!(!verified.to_string().contains("could not be checked"), "{verified:#}");
}

#[test]
fn token_goes_only_to_its_server() {
    let sandbox = Sandbox::project();
    let other = Sandbox::new();
    let open = Server::start(&sandbox, &[]);
    let private = Server::start(&other, &["--visibility", "private"]);
    publish(&open, &sandbox, "acme/notes", "1.0.0", "one");
    publish(&private, &sandbox, "acme/charts", "1.0.0", "one");
    sandbox.done(&["install", "acme/notes", "--registry", &open.url]);
    let with_token = |args: &[&str]| {
        let args = [args, &["--json"]].concat();
        let mut command = sandbox.command(&args);
        command.env("SKILLHUB_TOKEN", &private.admin);
        sandbox.finish(command, &args)
    };
    with_token(&["install", "acme/charts", "--registry", &private.url]).done();
    let outdated = with_token(&["outdated"]).exits(5).json();
    let hint = outdated["skills"].to_string();
    assert!(hint.contains(&format!("--registry {}", private.url)), "two servers are known: {outdated:#}");
    sandbox.run_with(&["login", &private.url, "--json"], private.admin.as_bytes()).done();
    sandbox.done(&["outdated"]);
}

#[test]
fn quarantined_and_withdrawn_releases_are_reported() {
    let sandbox = Sandbox::project();
    let server = Server::start(&sandbox, &[]);
    let (admin, reason) = (Some(server.admin.as_str()), json!({"reason": "it may be bad"}).to_string());
    let path = |what: &str| format!("/v1/skills/acme/notes/1.0.0/{what}");
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    sandbox.done(&["install", "acme/notes", "--registry", &server.url]);
    let shown = || sandbox.done(&["list"])["skills"][0]["release_state"].clone();
    assert!(shown().is_null());
    server.ask("PUT", &path("quarantine"), admin, reason.as_bytes()).done();
    let error = sandbox.ask(&["verify"]).refused_with_hint(8, "quarantined");
    assert!(error["message"].as_str().unwrap().contains("it may be bad"), "{error:#}");
    assert_eq!(shown(), "quarantined");
    server.ask("DELETE", &path("quarantine"), admin, reason.as_bytes()).done();
    assert_eq!(sandbox.done(&["verify"])["ok"], true);
    assert!(shown().is_null());
    server.ask("POST", &path("withdraw"), admin, reason.as_bytes()).done();
    sandbox.ask(&["verify"]).refused_with_hint(8, "withdrawn");
    assert_eq!(shown(), "withdrawn");
    drop(server);
    assert_eq!(shown(), "withdrawn", "the server is not asked by list");
}
