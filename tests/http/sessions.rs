//! Sessions on the marketplace's pages: sign-in, failures, and limits.

use crate::support::{Sandbox, Server, ServerReply as Reply};

const PAGE: (&str, &str) = ("Accept", "text/html");
const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// Submits the sign-in form with the proof of its page. Returns the response and the cookies of the page.
fn sign_in(server: &Server, token: &str) -> (Reply, String) {
    let form = server.send("GET", "/-/sign-in", &[PAGE], b"");
    let cookies = form.cookies();
    let body = format!("proof={}&token={token}", proof(&form));
    (server.send("POST", "/-/sign-in", &[PAGE, FORM, ("Cookie", &cookies)], body.as_bytes()), cookies)
}

fn proof(page: &Reply) -> String {
    let text = page.text();
    let (_, rest) = text.split_once("name=\"proof\" value=\"").unwrap_or_else(|| panic!("{text}"));
    rest.split('"').next().unwrap().to_owned()
}

fn who(server: &Server, cookies: &str) -> serde_json::Value {
    server.send("GET", "/v1/whoami", &[("Cookie", cookies)], b"").done()["account"].clone()
}

#[test]
fn session_ends_at_sign_out() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let (answer, form) = sign_in(&server, &server.admin);
    assert_eq!(answer.status, 303, "{}", answer.text());
    let cookies = format!("{form}; {}", answer.cookies());
    assert!(!cookies.contains(&server.admin[4..]), "the browser keeps the token");
    assert_eq!(who(&server, &cookies), "admin");
    assert_eq!(who(&server, &format!("skillhub_session={}", server.admin)), serde_json::Value::Null, "an old cookie");

    let page = server.send("GET", "/", &[PAGE, ("Cookie", &cookies)], b"");
    let body = format!("proof={}", proof(&page));
    let out = server.send("POST", "/-/sign-out", &[PAGE, FORM, ("Cookie", &cookies)], body.as_bytes());
    assert_eq!(out.status, 303, "{}", out.text());
    assert_eq!(who(&server, &cookies), serde_json::Value::Null, "the cookie still signs in");
    assert_eq!(server.ask("GET", "/v1/whoami", Some(&server.admin), b"").done()["account"], "admin", "the token stays");
}

#[test]
fn session_survives_restart_until_token_revoked() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let token = server.token("ann", "read");
    let (answer, _) = sign_in(&server, &token);
    server.kill();
    let server = Server::start(&sandbox, &[]);
    assert_eq!(who(&server, &answer.cookies()), "ann");
    let all = server.ask("GET", "/v1/tokens", Some(&server.admin), b"").done();
    let id = all["tokens"].as_array().unwrap().iter().find(|token| token["account"] == "ann").unwrap()["id"].clone();
    server.ask("DELETE", &format!("/v1/tokens/{}", id.as_str().unwrap()), Some(&server.admin), b"").done();
    assert_eq!(who(&server, &answer.cookies()), serde_json::Value::Null);
}

#[test]
fn searches_do_not_limit_sign_ins() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--rate", "5"]);
    let searches: Vec<_> = (0..12).map(|_| server.ask("GET", "/v1/skills?q=x", None, b"").status).collect();
    assert_eq!(searches.last(), Some(&429));
    assert_eq!(sign_in(&server, &server.admin).0.status, 303);
    let mut tries = (0..200).map(|_| sign_in(&server, "skh_wrong").0);
    let refused = tries.find(|reply| reply.status == 429).expect("guessing has a limit of its own");
    assert!(refused.text().contains("<h1>Too many requests</h1>"), "{}", refused.text());
}

#[test]
fn admin_tokens_and_failed_sign_ins_are_audited() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    assert_eq!(sign_in(&server, "skh_wrong").0.status, 401);
    assert_eq!(server.ask("GET", "/v1/whoami", Some("skh_wrong"), b"").status, 401);
    let audit = server.ask("GET", "/v1/audit", Some(&server.admin), b"").done().to_string();
    assert!(audit.contains("new admin token"), "{audit}");
    assert_eq!(audit.matches("failed sign-in").count(), 2, "{audit}");
    assert!(audit.contains("127.0.0.1") && !audit.contains("skh_wrong"), "{audit}");
    for _ in 0..40 {
        server.ask("GET", "/v1/whoami", Some("skh_wrong"), b"");
    }
    let audit = server.ask("GET", "/v1/audit", Some(&server.admin), b"").done().to_string();
    assert!(audit.matches("failed sign-in").count() < 20, "one client fills the audit log");
}
