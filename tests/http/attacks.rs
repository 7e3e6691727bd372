//! Bombs, tricks in paths, wrong names and slow or endless requests: each a clear refusal.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::Duration,
};

use super::{archive, publish};
use crate::support::{Sandbox, Server, hostile_script, server_ask, skill_md, zip_bomb};

/// What a server answers to raw bytes.
fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let _refused_before_the_end = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _closed = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn hostile_archives_are_refused_and_nothing_is_there_afterwards() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let (admin, path) = (Some(server.admin.as_str()), "/v1/skills/acme/notes/1.0.0");
    for (bytes, status, code) in [
        (zip_bomb(&skill_md("notes", "Takes notes.", "x"), 500 << 20), 422, "invalid_archive"),
        (b"no archive".to_vec(), 422, "invalid_archive"),
        (Vec::new(), 422, "invalid_archive"),
        (archive(&sandbox, "other", "it"), 422, "invalid_skill"),
    ] {
        assert_eq!(server.ask("PUT", path, admin, &bytes).refused(status), code);
    }
    let host = "Host: localhost\r\nConnection: close";
    let head = format!("PUT {path} HTTP/1.1\r\n{host}\r\nAuthorization: Bearer {}\r\n", server.admin);
    let huge = raw(&server, format!("{head}Content-Length: 83886080\r\n\r\nx").as_bytes());
    assert!(huge.starts_with("HTTP/1.1 413"), "{huge}");
    sandbox.skill("notes", "Takes notes. Use in tests.", &[("scripts/send.sh", &hostile_script())]);
    sandbox.done(&["pack", "notes", "-o", "notes.skill"]);
    let blocked = server.ask("PUT", path, admin, &std::fs::read(sandbox.cwd().join("notes.skill")).unwrap());
    assert_eq!(blocked.refused(422), "scan_blocked");
    assert!(blocked.json()["error"]["details"]["findings"][0]["rule"].is_string());
    for path in ["/v1/skills/acme/notes/1", "/v1/skills/acme/notes/latest", "/v1/skills/ACME/notes/1.0.0"] {
        let status = server.ask("PUT", path, admin, &archive(&sandbox, "notes", "it")).status;
        assert!(matches!(status, 400 | 404), "{path}: {status}");
    }
    assert_eq!(server.get("/v1/skills")["results"], serde_json::json!([]));
}

#[test]
fn tricks_in_paths_and_parameters_are_answered_and_never_break_anything() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--rate", "0"]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    let tricks = [
        "..",
        "%2e%2e",
        "%2e%2e%2fetc%2fpasswd",
        "..%5c..%5c",
        "%00",
        "a%0ab",
        "con",
        "nul.txt",
        "%ff%fe",
        "%25",
        "~",
        "a:b",
        "%F0%9F%98%80",
        "'%20or%20'1'='1",
        "%22%3B--",
        "{",
        "*",
        "-1",
        "9999999999999999999999",
    ];
    let long = "x".repeat(5000);
    for trick in tricks.into_iter().chain([long.as_str()]) {
        for path in [
            format!("/v1/skills/{trick}/notes"),
            format!("/v1/skills/acme/{trick}"),
            format!("/v1/skills/acme/notes/{trick}"),
            format!("/v1/skills/acme/notes/1.0.0/files/{trick}"),
            format!("/v1/skills/acme/notes/diff/1.0.0/{trick}"),
            format!("/v1/skills?q={trick}"),
            format!("/v1/skills?owner={trick}"),
            format!("/v1/skills?limit={trick}"),
            format!("/v1/skills?offset={trick}"),
            format!("/v1/skills?sort={trick}"),
            format!("/v1/names/{trick}"),
            format!("/v1/owners/{trick}"),
            format!("/v1/reports/{trick}"),
            format!("/v1/downloads/{trick}"),
            format!("/v1/audit?before={trick}"),
            format!("/index/{trick}"),
            format!("/index/owners/{trick}.json"),
            format!("/index/bundles/aa/bb/{trick}.skill"),
        ] {
            let reply =
                raw(&server, format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes());
            let status = reply.get(9..12).unwrap_or_default();
            assert!(reply.starts_with("HTTP/1.1 ") && !status.starts_with('5'), "{path}: {reply}");
            assert!(!reply.contains("root:x:0"), "{path}");
        }
    }
}

#[test]
fn requests_for_others_and_endless_ones_are_refused() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--host", "skills.example.org"]);
    for (host, status) in [
        ("evil.example", "421"),
        ("127.0.0.1", "200"),
        ("[::1]:80", "200"),
        ("localhost:1", "200"),
        ("skills.example.org", "200"),
    ] {
        let reply =
            raw(&server, format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes());
        assert!(reply.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {reply}");
    }
    let head = format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "y".repeat(100_000));
    assert!(raw(&server, head.as_bytes()).starts_with("HTTP/1.1 431"));
    let slow = raw(&server, b"GET /healthz HTTP/1.1\r\nHost: loc");
    assert!(slow.is_empty() || slow.starts_with("HTTP/1.1 408"), "{slow}");
    assert_eq!(server.ask("DELETE", "/v1/skills", None, b"").refused(405), "invalid_request");
    assert_eq!(server.ask("GET", "/v2/nothing", None, b"").refused(404), "not_found");
    let big = format!("{{\"reason\":\"{}\"}}", "x".repeat(200_000));
    let path = "/v1/skills/acme/notes/1.0.0/reports";
    match server_ask(&server.url, "POST", path, Some(&server.admin), big.as_bytes()) {
        Ok(reply) => assert_eq!(reply.status, 413),
        // The answer comes before all is sent, and who still sends may see the end of the connection first.
        Err(ureq::Error::Io(error)) => {
            assert!(matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{error}");
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn who_asks_too_often_is_told_when_to_come_back() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--rate", "30"]);
    let replies: Vec<_> = (0..40).map(|_| server.ask("GET", "/v1/skills?q=x", None, b"")).collect();
    let refused = replies.iter().find(|reply| reply.status == 429).expect("one is refused");
    assert_eq!(refused.refused(429), "too_many_requests");
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    assert_eq!(server.ask("GET", "/index/config.json", None, b"").status, 200, "what costs little goes on");
}

#[test]
fn a_mirror_changes_nothing() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--read-only"]);
    let bytes = archive(&sandbox, "notes", "one");
    let reply = server.ask("PUT", "/v1/skills/acme/notes/1.0.0", Some(&server.admin), &bytes);
    assert_eq!(reply.refused(403), "read_only");
    assert_eq!(server.ask("GET", "/v1/skills", None, b"").status, 200);
}
