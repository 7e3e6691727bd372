//! Downloads by every kind of client are counted, and a single client cannot inflate them.

use std::time::{Duration, Instant};

use super::publish;
use crate::support::{Sandbox, Server};

/// Returns the downloads of a skill once they are written, after a second.
#[track_caller]
fn downloads(server: &Server, skill: &str, expected: u64) -> u64 {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let found = server.get(&format!("/v1/skills/{skill}"))["downloads"].as_u64().unwrap();
        if found >= expected || Instant::now() > deadline {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn native_installs_are_counted() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    // The same content under another name, published later.
    publish(&server, &sandbox, "zoe/notes", "1.0.0", "one");
    sandbox.done(&["install", "acme/notes", "--registry", &server.url, "--agent", "claude-code"]);
    assert_eq!(downloads(&server, "acme/notes", 1), 1);
    assert_eq!(server.get("/v1/skills/zoe/notes")["downloads"], 0);
    let digest = server.get("/v1/skills/acme/notes/1.0.0")["release"]["digest"].as_str().unwrap().to_owned();
    let by = server.ask("GET", &format!("/v1/downloads/{digest}"), Some(&server.admin), b"").done();
    assert_eq!(by["downloads"][0]["skill"], "acme/notes", "{by}");
    assert_eq!(by["downloads"][0]["version"], "1.0.0", "{by}");
}

#[test]
fn one_address_counts_once() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--trusted-proxy", "127.0.0.1"]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    let path = "/v1/skills/acme/notes/1.0.0/archive";
    for _ in 0..100 {
        assert_eq!(server.ask("GET", path, None, b"").status, 200);
    }
    for from in ["203.0.113.7", "203.0.113.8"] {
        for _ in 0..3 {
            assert_eq!(server.send("GET", path, &[("X-Forwarded-For", from)], b"").status, 200);
        }
    }
    assert_eq!(downloads(&server, "acme/notes", 3), 3);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(downloads(&server, "acme/notes", 3), 3, "one address has counted more than once");
}
