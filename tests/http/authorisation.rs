//! Every operation by every kind of caller, in their own namespace and in a foreign one.

use serde_json::{Value, json};

use super::{archive, publish};
use crate::support::{Sandbox, Server};

/// Least privileged caller who is permitted: anyone, any account, a publisher, a maintainer, or an admin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Least {
    Anybody,
    Account,
    Publisher,
    Maintainer,
    Admin,
}

use Least::{Account, Admin, Anybody, Maintainer, Publisher};

/// Method, path (`NS` is replaced by the namespace), body and least privileged caller.
const OPERATIONS: [(&str, &str, &str, Least); 33] = [
    ("GET", "/v1/skills", "", Anybody),
    ("GET", "/v1/skills/NS/notes", "", Anybody),
    ("GET", "/v1/skills/NS/notes/1.0.0", "", Anybody),
    ("GET", "/v1/skills/NS/notes/1.0.0/files", "", Anybody),
    ("GET", "/v1/skills/NS/notes/1.0.0/files/SKILL.md", "", Anybody),
    ("GET", "/v1/skills/NS/notes/1.0.0/scan", "", Anybody),
    ("GET", "/v1/skills/NS/notes/1.0.0/archive", "", Anybody),
    ("GET", "/v1/skills/NS/notes/diff/1.0.0/1.0.0", "", Anybody),
    ("GET", "/v1/skills/NS/notes/lineage", "", Anybody),
    ("GET", "/v1/names/notes", "", Anybody),
    ("GET", "/v1/owners/NS", "", Anybody),
    ("GET", "/v1/whoami", "", Anybody),
    ("PUT", "/v1/skills/NS/notes/star", "", Account),
    ("DELETE", "/v1/skills/NS/notes/star", "", Account),
    ("POST", "/v1/skills/NS/notes/1.0.0/reports", r#"{"reason":"odd"}"#, Account),
    ("GET", "/v1/tokens", "", Account),
    ("POST", "/v1/tokens", r#"{"scope":"read"}"#, Account),
    ("PUT", "/v1/skills/NS/notes/1.0.0", "ARCHIVE", Publisher),
    ("PUT", "/v1/skills/NS/notes/1.0.0/yank", "", Publisher),
    ("DELETE", "/v1/skills/NS/notes/1.0.0/yank", "", Publisher),
    ("PUT", "/v1/skills/NS/notes/1.0.0/deprecation", "", Publisher),
    ("DELETE", "/v1/skills/NS/notes/1.0.0/deprecation", "", Publisher),
    ("PUT", "/v1/owners/NS/members/zoe", r#"{"role":"publisher"}"#, Maintainer),
    ("DELETE", "/v1/owners/NS/members/zoe", "", Maintainer),
    ("POST", "/v1/owners/NS/keys", r#"{"key":"none"}"#, Maintainer),
    ("DELETE", "/v1/owners/NS/keys", r#"{"key":"SHA256:none"}"#, Maintainer),
    ("GET", "/v1/reports", "", Admin),
    ("GET", "/v1/quarantine", "", Admin),
    ("GET", "/v1/audit", "", Admin),
    ("GET", "/v1/downloads/sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "", Admin),
    ("PUT", "/v1/skills/NS/notes/1.0.0/quarantine", r#"{"reason":"odd"}"#, Admin),
    ("DELETE", "/v1/skills/NS/notes/1.0.0/quarantine", r#"{"reason":"fine"}"#, Admin),
    ("POST", "/v1/tokens", r#"{"account":"eve","scope":"admin","admin":true}"#, Admin),
];

#[test]
fn each_operation_admits_only_its_roles() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--rate", "0"]);
    publish(&server, &sandbox, "acme/notes", "1.0.0", "one");
    publish(&server, &sandbox, "other/notes", "1.0.0", "one");
    let bytes = archive(&sandbox, "notes", "one");
    let tokens = ["ann", "pat", "max", "zoe"].map(|account| server.token(account, "admin"));
    let admin = Some(server.admin.as_str());
    for (account, role) in [("pat", "publisher"), ("max", "maintainer")] {
        let body = json!({ "role": role }).to_string();
        server.ask("PUT", &format!("/v1/owners/acme/members/{account}"), admin, body.as_bytes()).done();
    }
    let callers = [
        (Anybody, None),
        (Account, Some(tokens[0].as_str())),
        (Publisher, Some(tokens[1].as_str())),
        (Maintainer, Some(tokens[2].as_str())),
        (Admin, admin),
    ];
    for (method, path, body, least) in OPERATIONS {
        for namespace in ["acme", "other"] {
            for (is, token) in callers {
                // A role in one namespace grants nothing in another.
                let is = if namespace == "other" && matches!(is, Publisher | Maintainer) { Account } else { is };
                let body = if body == "ARCHIVE" { bytes.as_slice() } else { body.as_bytes() };
                let reply = server.ask(method, &path.replace("NS", namespace), token, body);
                let what = format!("{method} {path} in {namespace} as {is:?}: {}", reply.status);
                assert!(reply.status < 500, "{what}");
                let may = !matches!(reply.status, 401 | 403);
                assert_eq!(may, is >= least, "{what}");
                assert_eq!(reply.status == 401, is == Anybody && least > Anybody, "{what}");
            }
        }
    }
    let described: Value = server.ask("GET", "/v1/openapi.json", None, b"").json();
    let known = described["paths"].as_object().unwrap();
    let count: usize = known.values().map(|item| item.as_object().unwrap().len()).sum();
    let untried = ["withdraw", "/v1/reports/{id}", "/v1/tokens/{id}"];
    assert_eq!(count - untried.len(), OPERATIONS.len() - 1, "an operation is missing in the table: {:?}", known.keys());
}

#[test]
fn token_holds_for_its_scope_until_revoked() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let bytes = archive(&sandbox, "notes", "one");
    let (read, publishes) = (server.token("ann", "read"), server.token("ann", "publish"));
    let path = "/v1/skills/ann/notes/1.0.0";
    assert_eq!(server.ask("PUT", path, Some(&read), &bytes).refused(403), "policy_denied");
    assert_eq!(server.ask("PUT", path, Some("skh_made_up"), &bytes).refused(401), "unauthorized");
    server.ask("PUT", path, Some(&publishes), &bytes).done();
    assert_eq!(server.ask("GET", "/v1/tokens", Some(&publishes), b"").refused(403), "policy_denied");
    let all = server.ask("GET", "/v1/tokens", Some(&server.admin), b"").done();
    let of_ann = all["tokens"].as_array().unwrap().iter().filter(|token| token["account"] == "ann");
    for token in of_ann {
        let path = format!("/v1/tokens/{}", token["id"].as_str().unwrap());
        server.ask("DELETE", &path, Some(&server.admin), b"").done();
    }
    assert_eq!(server.ask("PUT", path, Some(&publishes), &bytes).refused(401), "unauthorized");
    assert!(!server.log().contains(&publishes[4..]), "a token is in the log");
}
