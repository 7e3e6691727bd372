//! Keys of an owner, added and retired over HTTP.

use serde_json::{Value, json};

use crate::support::{ANN, Answer, BOB, Sandbox, Server};

/// A server on which acme's maintainer has published a signed release.
struct World {
    sandbox: Sandbox,
    server: Server,
    token: String,
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        ANN.write(&sandbox.home().join(".ssh"), "id_ed25519");
        BOB.write(&sandbox.home().join(".ssh"), "bob");
        let server = Server::start(&sandbox, &[]);
        let token = server.token("acme", "admin");
        let world = Self { sandbox, server, token };
        world.publish("1.0.0", &["--sign"]).done();
        world
    }

    fn ask(&self, args: &[&str]) -> Answer {
        let args = [args, &["--registry", &self.server.url, "--json"]].concat();
        let mut command = self.sandbox.command(&args);
        command.env("SKILLHUB_TOKEN", &self.token);
        self.sandbox.finish(command, &args)
    }

    fn publish(&self, version: &str, flags: &[&str]) -> Answer {
        self.sandbox.skill("notes", &format!("Writes notes as of {version}. Use in tests."), &[]);
        self.ask(&[&["publish", "notes", "--owner", "acme", "--version", version][..], flags].concat())
    }
}

#[test]
fn keys_are_added_and_retired_over_http() {
    let world = World::new();
    world.ask(&["install", "acme/notes"]).done();
    let added = world.ask(&["key", "add", "acme", "~/.ssh/bob.pub"]).done();
    let print = |at: usize| added["keys"][at]["fingerprint"].as_str().unwrap().to_owned();
    let (ann, bob) = (print(0), print(1));
    assert!(added["keys"][1]["vouched_by"].is_string(), "{added:#}");
    world.publish("1.1.0", &["--sign=~/.ssh/bob"]).done();
    let updated = world.ask(&["update"]).done();
    assert_eq!(updated["skills"][0]["signer"], json!(bob), "{updated:#}");
    world.ask(&["key", "retire", "acme", &ann]).done();
    world.publish("1.2.0", &["--sign"]).refused_with_hint(8, "retired_key");
    world.ask(&["key", "retire", "acme", "SHA256:none"]).refused_with_hint(7, "not_found");
    let audit = world.server.ask("GET", "/v1/audit", Some(&world.server.admin), b"").done().to_string();
    for word in ["add key", "retire key", &ann, &bob] {
        assert!(audit.contains(word), "{word}: {audit}");
    }
}

#[test]
fn server_refuses_unsigned_release() {
    let world = World::new();
    world.publish("1.1.0", &[]).refused_with_hint(5, "unsigned");
    assert_eq!(world.server.get("/v1/skills/acme/notes")["releases"].as_array().map(Vec::len), Some(1));
}

#[test]
fn only_maintainers_change_keys() {
    let world = World::new();
    let publisher = world.server.token("pat", "admin");
    let role = json!({"role": "publisher"}).to_string();
    world.server.ask("PUT", "/v1/owners/acme/members/pat", Some(&world.server.admin), role.as_bytes()).done();
    let body = |vouched_by: Value| json!({"key": BOB.public_line(), "vouched_by": vouched_by}).to_string();
    let add = |token: &str, vouched_by| {
        world.server.ask("POST", "/v1/owners/acme/keys", Some(token), body(vouched_by).as_bytes())
    };
    assert_eq!(add(&publisher, Value::Null).refused(403), "policy_denied");
    assert_eq!(add(&world.token, json!("none")).refused(422), "bad_signature");
    assert_eq!(add(&world.token, Value::Null).done()["keys"][1]["vouched_by"], Value::Null);
}
