//! The sparse index: the bytes of the git repository, with ETags, ranges and caching.

use super::publish;
use crate::support::{Sandbox, Server, git_bytes};

#[test]
fn index_files_match_git_and_revalidate() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    let index = server.index();
    let in_git = |path: &str| {
        git_bytes(&sandbox, &["--git-dir", index.to_str().unwrap(), "cat-file", "blob", &format!("main:{path}")])
    };
    for path in ["config.json", "no/te/notes/acme", "owners/acme.json"] {
        let reply = server.ask("GET", &format!("/index/{path}"), None, b"");
        assert_eq!((reply.status, &reply.body), (200, &in_git(path)), "{path}");
        let tag = reply.header("etag").unwrap().to_owned();
        let again = conditional(&server, path, &tag);
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        assert_eq!(reply.header("cache-control"), Some("no-cache"));
    }
    let before = server.ask("GET", "/index/no/te/notes/acme", None, b"");
    publish(&server, &sandbox, "acme/notes", "1.1.0", "two");
    let after = server.ask("GET", "/index/no/te/notes/acme", None, b"");
    assert!(after.body.starts_with(&before.body) && before.header("etag") != after.header("etag"));
    for none in
        ["/index/no/te/notes/zoe", "/index/no/te/notes", "/index/../config.json", "/index/HEAD", "/index/%2e%2e/HEAD"]
    {
        assert_eq!(server.ask("GET", none, None, b"").status, 404, "{none}");
    }
}

fn conditional(server: &Server, path: &str, tag: &str) -> crate::support::ServerReply {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut answer = agent.get(format!("{}/index/{path}", server.url)).header("If-None-Match", tag).call().unwrap();
    let body = answer.body_mut().read_to_vec().unwrap();
    crate::support::ServerReply { status: answer.status().as_u16(), headers: Vec::new(), body }
}

/// They are counted as downloads, too.
#[test]
fn archives_support_revalidation_and_ranges() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let published = publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    let digest = published["digest"].as_str().unwrap().to_owned();
    let hex = digest.strip_prefix("sha256:").unwrap();
    let path = format!("/index/bundles/{}/{}/{hex}.skill", &hex[..2], &hex[2..4]);
    let whole = server.ask("GET", &path, None, b"");
    // The bytes never change, but caches have to learn of a quarantine.
    let caching = whole.header("cache-control").unwrap();
    assert!(caching.contains("no-cache") && !caching.contains("max-age"), "{caching}");
    let again = server.ask("GET", "/v1/skills/acme/notes/1.0.0/archive", None, b"");
    assert!(again.header("cache-control").unwrap().contains("no-cache"));
    assert_eq!(whole.body, server.ask("GET", "/v1/skills/acme/notes/1.0.0/archive", None, b"").body);
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut part = agent.get(format!("{}{path}", server.url)).header("Range", "bytes=10-19").call().unwrap();
    assert_eq!((part.status().as_u16(), part.body_mut().read_to_vec().unwrap()), (206, whole.body[10..20].to_vec()));
    let beyond = agent.get(format!("{}{path}", server.url)).header("Range", "bytes=999999999-").call().unwrap();
    assert_eq!(beyond.status().as_u16(), 416);
    let who = server.ask("GET", &format!("/v1/downloads/{digest}"), Some(&server.admin), b"").done();
    let counts: u64 = who["downloads"].as_array().unwrap().iter().map(|line| line["count"].as_u64().unwrap()).sum();
    assert_eq!(counts, 1, "one address counts once: {who}");
    assert_eq!(server.get("/v1/skills/acme/notes")["downloads"], 1);
}

#[test]
fn outside_writes_to_repository_are_served() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    sandbox.skill("notes", "Takes notes. Use in tests.", &[]);
    let index = server.index();
    sandbox.done(&["publish", "notes", "--owner", "acme", "--registry", index.to_str().unwrap()]);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while server.get("/v1/skills?q=notes")["results"][0]["name"] != "acme/notes" {
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(sandbox.done(&["index", "verify", index.to_str().unwrap()])["ok"], true);
}
