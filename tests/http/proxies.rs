//! Servers behind a proxy: trusted headers, and requests that share a rate limit.

use super::publish;
use crate::support::{Sandbox, Server};

const SEARCH: &str = "/v1/skills?q=x";
const ACCOUNT: &str = "X-Account";

fn last_status(server: &Server, count: usize, headers: &[(&str, &str)]) -> u16 {
    let statuses: Vec<_> = (0..count).map(|_| server.send("GET", SEARCH, headers, b"").status).collect();
    *statuses.last().unwrap()
}

#[test]
fn proxied_clients_have_separate_limits() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--rate", "5", "--trusted-proxy", "127.0.0.1"]);
    assert_eq!(last_status(&server, 12, &[("X-Forwarded-For", "203.0.113.7")]), 429);
    assert_eq!(last_status(&server, 1, &[("X-Forwarded-For", "203.0.113.8")]), 200);
    assert_eq!(
        last_status(&server, 1, &[("X-Forwarded-For", "203.0.113.9, 203.0.113.7")]),
        429,
        "the rightmost counts"
    );
    assert_eq!(last_status(&server, 1, &[("Forwarded", "for=203.0.113.10;proto=https")]), 200);
}

#[test]
fn untrusted_forwarding_headers_are_ignored() {
    let sandbox = Sandbox::new();
    for flags in [&["--rate", "5"][..], &["--rate", "5", "--trusted-proxy", "10.0.0.0/8"]] {
        let server = Server::start(&sandbox, flags);
        publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
        let page = server.send("GET", "/acme/notes", &[("Accept", "text/html"), ("X-Forwarded-Proto", "https")], b"");
        assert!(page.text().contains("http://127.0.0.1") && !page.text().contains("https://127.0.0.1"));
        assert!(page.headers.iter().all(|(_, value)| !value.contains("Secure")), "{:?}", page.headers);
        let forged: Vec<_> = (0..12).map(|number| format!("203.0.113.{number}")).collect();
        let ask = |from: &String| server.send("GET", SEARCH, &[("X-Forwarded-For", from)], b"").status;
        let statuses: Vec<_> = forged.iter().map(ask).collect();
        assert_eq!(statuses.last(), Some(&429));
    }
}

#[test]
fn trusted_proxy_marks_connection_encrypted() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("serve.toml");
    std::fs::write(&file, "trusted_proxies = [\"127.0.0.0/8\"]\n").unwrap();
    let server = Server::start(&sandbox, &["--config", file.to_str().unwrap()]);
    let page = server.send("GET", "/", &[("Accept", "text/html"), ("X-Forwarded-Proto", "https")], b"");
    assert!(page.headers.iter().any(|(name, value)| name == "set-cookie" && value.contains("Secure")));
    let found = server.send("GET", "/.well-known/clawhub.json", &[("X-Forwarded-Proto", "https")], b"").json();
    assert!(found["apiBase"].as_str().unwrap().starts_with("https://"), "{found}");
}

#[test]
fn trusted_proxy_names_account() {
    let sandbox = Sandbox::new();
    let who = |server: &Server| server.send("GET", "/v1/whoami", &[(ACCOUNT, "ann")], b"").done()["account"].clone();
    let header = ["--proxy-account-header", ACCOUNT];
    assert_eq!(who(&Server::start(&sandbox, &header)), "ann", "without a list, a proxy on loopback is believed");
    let elsewhere = [&header[..], &["--trusted-proxy", "10.0.0.1"]].concat();
    assert_eq!(who(&Server::start(&sandbox, &elsewhere)), serde_json::Value::Null);
    let here = [&header[..], &["--trusted-proxy", "127.0.0.1"]].concat();
    assert_eq!(who(&Server::start(&sandbox, &here)), "ann");
}

#[test]
fn invalid_proxy_address_is_refused() {
    let sandbox = Sandbox::new();
    let error = sandbox.ask(&["serve", "--trusted-proxy", "proxy.example"]).refused_with_hint(2, "invalid_config");
    assert!(error["message"].as_str().unwrap().contains("proxy.example"), "{error}");
}
