//! Zip bombs, path traversal, wrong host names, and slow or endless requests: each is refused with a clear error.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::Duration,
};

use super::{archive, publish};
use crate::support::{Sandbox, Server, hostile_script, server_ask, skill_md, zip_bomb};

/// Returns a server's response to raw bytes.
fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let _refused_before_the_end = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _closed = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn hostile_archives_leave_nothing() {
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
        assert_eq!(server.ask("PUT", path, admin, &archive(&sandbox, "notes", "it")).refused(400), "invalid_request");
    }
    for (path, told) in [("acme/Tables", "lower case"), ("acme/a_b", "hyphens"), ("ACME/notes", "an owner name")] {
        let refused = server.ask("PUT", &format!("/v1/skills/{path}/1.0.0"), admin, b"").json();
        assert!(refused["error"]["message"].as_str().unwrap().contains(told), "{path}: {refused}");
        assert_eq!(server.ask("GET", &format!("/v1/skills/{path}"), None, b"").refused(404), "not_found", "{path}");
    }
    assert_eq!(server.get("/v1/skills")["results"], serde_json::json!([]));
}

#[test]
fn hostile_paths_never_break_server() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--rate", "0"]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    let tricks = [
        "..", "%2e%2e", "%2e%2e%2fetc%2fpasswd", "..%5c..%5c", "%00", "a%0ab", "con", "nul.txt", "%ff%fe", "%25", "~",
        "a:b", "%F0%9F%98%80", "'%20or%20'1'='1", "%22%3B--", "{", "*", "-1", "9999999999999999999999",
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
            format!("/v1/skills?verdict={trick}&q=x"),
            format!("/v1/skills?signed={trick}"),
            format!("/v1/skills?license={trick}"),
            format!("/v1/skills?keyword={trick}&q=x"),
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
fn foreign_and_oversized_requests_are_refused() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--host", "skills.example.org"]);
    for (host, status) in [
        ("evil.example", "421"),
        ("127.0.0.1", "200"),
        ("[::1]:80", "200"),
        ("localhost:1", "200"),
        ("skills.example.org", "200"),
        ("127.0.0.1:1@evil.example", "421"),
        ("localhost@evil.example", "421"),
        ("localhost:80/evil.example", "421"),
        ("[::1]:80@evil.example", "421"),
        ("localhost\r\nHost: evil.example", "421"),
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
        // The response precedes the end of the request, so the sender may see the connection close first.
        Err(ureq::Error::Io(error)) => {
            assert!(matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{error}");
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn rate_limit_answers_retry_after() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--rate", "30"]);
    let replies: Vec<_> = (0..40).map(|_| server.ask("GET", "/v1/skills?q=x", None, b"")).collect();
    let refused = replies.iter().find(|reply| reply.status == 429).expect("one is refused");
    assert_eq!(refused.refused(429), "too_many_requests");
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    assert_eq!(server.ask("GET", "/index/config.json", None, b"").status, 200, "what costs little goes on");
}

#[test]
fn read_only_server_refuses_publishing() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--read-only"]);
    let bytes = archive(&sandbox, "notes", "one");
    let reply = server.ask("PUT", "/v1/skills/acme/notes/1.0.0", Some(&server.admin), &bytes);
    assert_eq!(reply.refused(403), "read_only");
    assert_eq!(server.ask("GET", "/v1/skills", None, b"").status, 200);
}

#[test]
fn language_links_stay_on_the_server() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    for path in ["//evil.example", "//evil.example/x?q=1", "/nothing"] {
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n");
        let page = raw(&server, head.as_bytes());
        assert!(page.contains("lang=zh") && !page.contains("href=\"//"), "{path}: {page}");
    }
}

#[test]
fn browsers_get_pages_for_refusals() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("serve.toml");
    std::fs::write(&file, "rate = 5\n[limits]\nrequest_seconds = 1\n").unwrap();
    let server = Server::start(&sandbox, &["--config", file.to_str().unwrap()]);
    let ask = |line: &str, host: &str, accept: &str, more: &str| {
        let head = format!("{line} HTTP/1.1\r\nHost: {host}\r\nAccept: {accept}\r\nConnection: close\r\n{more}\r\n");
        raw(&server, head.as_bytes())
    };
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let long = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 99999999\r\n";
    let slow = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 10\r\n";
    for (line, host, more, status) in [
        ("GET /", "evil.example", "", "421"),
        ("POST /-/sign-in", "localhost", long, "413"),
        ("POST /-/sign-in", "localhost", slow, "408"),
    ] {
        let page = ask(line, host, browser, more);
        assert!(page.starts_with(&format!("HTTP/1.1 {status}")), "{line}: {page}");
        assert!(page.contains("content-type: text/html") && page.contains("<h1>"), "{line}: {page}");
        assert!(!page.contains("evil.example"), "{page}");
        let document = ask(line, host, "*/*", more);
        assert!(document.contains("application/json") && document.contains("\"ok\":false"), "{line}: {document}");
    }
    let replies: Vec<_> = (0..9).map(|_| ask("GET /-/search?q=x", "localhost", browser, "")).collect();
    let page = replies.iter().find(|page| page.starts_with("HTTP/1.1 429")).expect("one is refused");
    assert!(page.contains("retry-after: ") && page.contains("<h1>Too many requests</h1>"), "{page}");
}

#[test]
fn private_answers_stay_out_of_shared_caches() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--visibility", "private"]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    let digest =
        server.ask("GET", "/v1/skills/acme/notes/1.0.0", Some(&server.admin), b"").done()["release"]["digest"].clone();
    let hex = digest.as_str().unwrap().strip_prefix("sha256:").unwrap().to_owned();
    for (path, caching) in [
        (format!("/index/bundles/{}/{}/{hex}.skill", &hex[..2], &hex[2..4]), "private, no-store"),
        ("/v1/skills/acme/notes/1.0.0".to_owned(), "private, no-store"),
        ("/index/no/te/notes/acme".to_owned(), "private, no-cache"),
        ("/acme/notes".to_owned(), "private, no-cache"),
    ] {
        let reply = server.ask("GET", &path, Some(&server.admin), b"");
        assert_eq!((reply.status, reply.header("cache-control")), (200, Some(caching)), "{path}");
    }
    let archive = server.ask("GET", "/v1/skills/acme/notes/1.0.0/archive", Some(&server.admin), b"");
    assert!(archive.header("cache-control").unwrap().starts_with("private"));
}

/// An owner whose name is a route would hide the pages of the server.
#[test]
fn route_names_are_reserved_owners() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let bytes = archive(&sandbox, "notes", "one");
    for owner in ["index", "healthz", "v1"] {
        let own = server.token(owner, "publish");
        for token in [&own, &server.admin] {
            let path = format!("/v1/skills/{owner}/notes/1.0.0");
            assert_eq!(server.ask("PUT", &path, Some(token), &bytes).refused(422), "reserved_name");
        }
        let members = format!("/v1/owners/{owner}/members/{owner}");
        let reply = server.ask("PUT", &members, Some(&server.admin), b"{\"role\":\"publisher\"}");
        assert_eq!(reply.refused(422), "reserved_name");
    }
}

#[test]
fn existing_route_named_owner_keeps_publishing() {
    let sandbox = Sandbox::new();
    sandbox.skill("notes", "Takes notes. Use in tests.", &[]);
    sandbox.done(&["index", "init", "hub/index.git"]);
    let index = sandbox.cwd().join("hub/index.git");
    sandbox.done(&["publish", "notes", "--owner", "index", "--registry", index.to_str().unwrap()]);
    std::fs::rename(sandbox.cwd().join("hub"), sandbox.path("hub")).unwrap();
    let server = Server::start(&sandbox, &[]);
    let bytes = archive(&sandbox, "notes", "two");
    server.ask("PUT", "/v1/skills/index/notes/2.0.0", Some(&server.admin), &bytes).done();
    assert!(server.log().contains("the owner index has the name of a route"), "{}", server.log());
}

#[test]
fn publisher_cannot_accept_findings() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    sandbox.skill("notes", "Takes notes. Use in tests.", &[("scripts/send.sh", &hostile_script())]);
    let args =
        ["publish", "notes", "--owner", "acme", "--registry", &server.url, "--accept", "environment-exfiltration"];
    let args = [&args[..], &["--reason", "ours", "--json"]].concat();
    let token = sandbox.token();
    let mut command = sandbox.command(&args);
    command.env("SKILLHUB_REVIEWER_TOKEN", &token).env("SKILLHUB_TOKEN", &server.admin);
    let error = sandbox.finish(command, &args).refused(4, "scan_blocked");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("is a server") && !hint.contains("--accept"), "{error:#}");
    assert_eq!(sandbox.done(&["waive", "--list"])["waivers"], serde_json::json!([]));
}
