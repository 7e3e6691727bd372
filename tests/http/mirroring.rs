//! `serve mirror`: releases of another registry in a server's index.

use serde_json::Value;

use crate::support::{ANN, BOB, Sandbox, Server};

/// Creates a sandbox with keys, in which other registries are folders.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    ANN.write(&sandbox.home().join(".ssh"), "id_ed25519");
    BOB.write(&sandbox.home().join(".ssh"), "bob");
    sandbox
}

/// A registry in a folder.
fn registry(sandbox: &Sandbox, name: &str) -> String {
    let path = sandbox.path(name).display().to_string();
    sandbox.done(&["index", "init", &path]);
    path
}

/// Publishes a version of `acme/notes` in it.
fn publish(sandbox: &Sandbox, registry: &str, version: &str, flags: &[&str]) {
    sandbox.skill("notes", &format!("Writes notes as of {version}. Use in tests."), &[]);
    let common = ["publish", "notes", "--owner", "acme", "--version", version, "--registry", registry];
    sandbox.done(&[&common[..], flags].concat());
}

fn mirror(sandbox: &Sandbox, spec: &str, from: &str) -> crate::support::Answer {
    let data = sandbox.path("hub").display().to_string();
    sandbox.ask(&["serve", "mirror", spec, "--registry", from, "--data", &data])
}

fn key_of(sandbox: &Sandbox, at: &str, version: &str) -> Value {
    let info = sandbox.done(&["info", &format!("acme/notes@{version}"), "--registry", at]);
    info["signed"][0]["key"].clone()
}

/// The running server shows it at once.
#[test]
fn mirrored_release_keeps_its_signature() {
    let sandbox = sandbox();
    let source = registry(&sandbox, "source");
    publish(&sandbox, &source, "1.0.0", &[]);
    publish(&sandbox, &source, "1.1.0", &["--sign"]);
    let server = Server::start(&sandbox, &[]);
    let first = mirror(&sandbox, "acme/notes", &source).done();
    let there = &first["releases"][0];
    assert_eq!(
        (&there["version"], &there["new"], &there["from"]),
        (&"1.1.0".into(), &true.into(), &source.as_str().into())
    );
    let signer = there["signer"].as_str().unwrap().to_owned();
    assert_eq!(key_of(&sandbox, &source, "1.1.0"), signer.as_str());
    assert_eq!(mirror(&sandbox, "acme/notes@1.1.0", &source).done()["releases"][0]["new"], false);
    mirror(&sandbox, "acme/notes@1.0.0", &source).refused_with_hint(5, "unsigned");

    // The server refreshes once a second; a request within that second refreshes at once.
    let shown = || server.get("/v1/skills?q=notes")["results"].as_array().is_some_and(|found| !found.is_empty());
    assert!((0..100).any(|_| shown() || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        false
    }));
    assert_eq!(key_of(&sandbox, &server.url, "1.1.0"), signer.as_str());
    let installed = sandbox.done(&["install", "acme/notes", "--registry", &server.url]);
    assert_eq!(
        (&installed["skills"][0]["version"], &installed["skills"][0]["signer"]),
        (&"1.1.0".into(), &signer.as_str().into())
    );
    let audit = server.ask("GET", "/v1/audit", Some(&server.admin), b"").done().to_string();
    assert!(audit.contains("mirror") && audit.contains(&source), "{audit}");
    sandbox.done(&["index", "verify", server.index().to_str().unwrap()]);
}

/// Namespaces that accounts of this server own are refused as well.
#[test]
fn mirroring_refuses_changed_keys_and_bytes() {
    let sandbox = sandbox();
    let (source, other) = (registry(&sandbox, "source"), registry(&sandbox, "other"));
    publish(&sandbox, &source, "1.0.0", &["--sign"]);
    publish(&sandbox, &source, "1.1.0", &["--sign"]);
    let bob = format!("--sign={}", sandbox.home().join(".ssh/bob").display());
    publish(&sandbox, &other, "2.0.0", &[&bob]);
    mirror(&sandbox, "acme/notes@1.0.0", &source).done();
    mirror(&sandbox, "acme/notes@2.0.0", &other).refused_with_hint(8, "key_changed");
    mirror(&sandbox, "acme/notes@9.0.0", &source).refused_with_hint(7, "not_found");
    mirror(&sandbox, "acme/none", &source).refused_with_hint(7, "not_found");

    let index = sandbox.path("hub/index.git");
    sandbox.done(&["index", "verify", index.to_str().unwrap()]);

    let server = Server::start(&sandbox, &[]);
    let body = br#"{"role":"publisher"}"#;
    server.token("ann", "publish");
    server.ask("PUT", "/v1/owners/acme/members/ann", Some(&server.admin), body).done();
    let error = mirror(&sandbox, "acme/notes@1.1.0", &source).refused_with_hint(6, "namespace_taken");
    assert!(error["message"].as_str().unwrap().contains("ann"), "{error}");
}
