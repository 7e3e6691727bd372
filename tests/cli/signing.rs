//! Signatures: the publisher of a release, and the client's reaction to an unexpected one.

use std::fs;

use serde_json::{Value, json};

use crate::support::{ANN, BOB, Sandbox, SshKey, git, tree};

/// A sandbox with a registry of its own in a repository that nothing but git changes.
struct World {
    sandbox: Sandbox,
    registry: String,
}

impl World {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let registry = sandbox.path("registry").display().to_string();
        sandbox.done(&["index", "init", &registry]);
        ANN.write(&sandbox.home().join(".ssh"), "id_ed25519");
        BOB.write(&sandbox.home().join(".ssh"), "bob");
        Self { sandbox, registry }
    }

    /// Publishes a version of `acme/notes` and returns the answer.
    fn publish(&self, version: &str, flags: &[&str]) -> crate::support::Answer {
        self.sandbox.skill("notes", &format!("Writes notes as of {version}. Use in tests."), &[]);
        let common = ["publish", "notes", "--owner", "acme", "--version", version, "--registry", &self.registry];
        self.sandbox.ask(&[&common[..], flags].concat())
    }

    fn ask(&self, args: &[&str]) -> crate::support::Answer {
        self.sandbox.ask(&[args, &["--registry", &self.registry]].concat())
    }

    /// Changes a file of the index, as an attacker with push access could.
    fn tamper(&self, path: &str, change: impl Fn(&str) -> String) {
        let copy = self.sandbox.path("copy");
        let _first = fs::remove_dir_all(&copy);
        let at = copy.display().to_string();
        git(&self.sandbox, &["clone", "--quiet", &self.registry, &at]);
        let old = fs::read_to_string(copy.join(path)).unwrap();
        let new = change(&old);
        assert_ne!(old, new);
        fs::write(copy.join(path), new).unwrap();
        git(&self.sandbox, &["-C", &at, "commit", "--quiet", "-am", "x"]);
        git(&self.sandbox, &["-C", &at, "push", "--quiet"]);
    }

    fn tamper_lines(&self, change: impl Fn(&mut Vec<Value>)) {
        self.tamper("no/te/notes/acme", |old| {
            let mut lines: Vec<Value> = old.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            change(&mut lines);
            lines.iter().map(|line| format!("{line}\n")).collect()
        });
    }

    /// Replaces all keys of acme by another key.
    fn exchange_key(&self, key: &SshKey) {
        let key = key.public_line();
        self.tamper("owners/acme.json", |_| {
            format!("{}\n", json!({"format": 1, "owner": "acme", "keys": [{"key": key, "retired_at": null}]}))
        });
    }

    fn configure(&self, text: &str) {
        fs::create_dir_all(self.sandbox.skillhub_home()).unwrap();
        fs::write(self.sandbox.skillhub_home().join("config.toml"), text).unwrap();
    }

    /// The fingerprint of a key, as the registry of another world shows it.
    fn fingerprint(&self, file: &str) -> String {
        let owner = file.replace('_', "-");
        let keys = self.ask(&["key", "add", &owner, &format!("~/.ssh/{file}.pub")]).done();
        keys["keys"][0]["fingerprint"].as_str().unwrap().to_owned()
    }
}

#[test]
fn signed_release_shows_its_signer() {
    let world = World::new();
    let published = world.publish("1.0.0", &["--sign"]).done();
    let key = published["signer"].as_str().unwrap().to_owned();
    assert!(key.starts_with("SHA256:"), "{published:#}");
    assert_eq!(key, world.fingerprint("id_ed25519"));
    assert_eq!(world.ask(&["key", "list", "acme"]).done()["keys"][0]["fingerprint"], key);
    let info = world.ask(&["info", "acme/notes"]).done();
    assert_eq!(info["signed"], json!([{"version": "1.0.0", "by": "acme", "key": key, "fault": null}]));
    assert!(info["releases"][0]["signature"].as_str().unwrap().starts_with("-----BEGIN SSH SIGNATURE-----\n"));
    assert_eq!(world.ask(&["index", "verify", &world.registry]).done()["faults"], json!([]));
    assert_eq!(world.ask(&["install", "acme/notes"]).done()["skills"][0]["signer"], key);
    let lock = world.sandbox.done(&["where"])["lock"].as_str().unwrap().to_owned();
    assert!(fs::read_to_string(&lock).unwrap().contains(&format!("signer = \"{key}\"")));
    assert_eq!(world.ask(&["verify"]).done()["skills"][0]["signer"], key);
    fs::remove_dir_all(world.sandbox.user_skill("notes")).unwrap();
    assert_eq!(world.ask(&["install", "--frozen"]).done()["skills"][0]["signer"], key);
    let text = world.sandbox.run(&["info", "acme/notes", "--registry", &world.registry]).exits(0).text();
    assert!(text.contains(&key), "{text}");
    let text = world.sandbox.run(&["verify", "--registry", &world.registry]).exits(0).text();
    assert!(text.contains(&format!("signed by acme with {key}")), "{text}");
}

#[test]
fn unsigned_release_still_installs() {
    let world = World::new();
    assert_eq!(world.publish("1.0.0", &[]).done()["signer"], Value::Null);
    assert_eq!(world.ask(&["install", "acme/notes"]).done()["skills"][0]["warnings"], json!([]));
    let info = world.ask(&["info", "acme/notes"]).done();
    assert_eq!(info["signed"], json!([{"version": "1.0.0", "by": null, "key": null, "fault": null}]));
    let unchanged = world.publish("1.0.0", &["--sign"]).done();
    assert_eq!((&unchanged["status"], &unchanged["signer"]), (&json!("unchanged"), &Value::Null));
    assert!(unchanged["warnings"][0].as_str().unwrap().contains("publish a new version"), "{unchanged:#}");
}

#[test]
fn signing_key_comes_from_flag_first() {
    let world = World::new();
    let (ann, bob) = (world.fingerprint("id_ed25519"), world.fingerprint("bob"));
    let signer = |flag: &str| world.publish("1.0.0", &[flag, "--dry-run"]).done()["signer"].clone();
    assert_eq!(signer("--sign"), ann);
    assert_eq!(signer("--sign=~/.ssh/bob"), bob);
    world.configure("[signing]\nkey = \"~/.ssh/bob\"\n");
    assert_eq!(signer("--sign"), bob);
    assert_eq!(signer("--sign=~/.ssh/id_ed25519"), ann);
    let missing = world.publish("1.0.0", &["--sign=~/.ssh/none"]).refused_with_hint(7, "no_key");
    assert!(missing["hint"].as_str().unwrap().contains("ssh-keygen -t ed25519"), "{missing:#}");
    for (name, text) in [("text", "hello"), ("rsa", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n"), ("bytes", "\u{0}")] {
        fs::write(world.sandbox.home().join(".ssh").join(name), text).unwrap();
        world.publish("1.0.0", &[&format!("--sign=~/.ssh/{name}")]).refused_with_hint(2, "invalid_key");
    }
    world.ask(&["info", "acme/notes"]).refused(7, "not_found");
}

#[test]
fn unknown_or_retired_key_is_refused() {
    let world = World::new();
    let bob = world.fingerprint("bob");
    let ann = world.publish("1.0.0", &["--sign"]).done()["signer"].as_str().unwrap().to_owned();
    for flags in [&["--sign=~/.ssh/bob", "--dry-run"][..], &["--sign=~/.ssh/bob"]] {
        let error = world.publish("1.1.0", flags).refused_with_hint(8, "other_key");
        assert!(error["message"].as_str().unwrap().contains(&ann), "{error:#}");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains("skillhub --registry ") && hint.contains(" key add acme"), "{error:#}");
    }
    world.ask(&["key", "add", "acme", "~/.ssh/bob.pub"]).done();
    assert_eq!(world.publish("1.1.0", &["--sign=~/.ssh/bob"]).done()["signer"], bob);
    let error = world.publish("1.2.0", &[]).refused_with_hint(5, "unsigned");
    assert!(error["hint"].as_str().unwrap().contains("--sign"), "{error:#}");
    world.ask(&["key", "retire", "acme", "SHA256:none"]).refused_with_hint(7, "not_found");
    world.ask(&["key", "retire", "acme", &ann]).done();
    let error = world.publish("1.3.0", &["--sign"]).refused_with_hint(8, "retired_key");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("retired the key") && message.contains(&bob), "{error:#}");
    assert!(!error["hint"].as_str().unwrap().contains("key add"), "a retired key cannot be added: {error:#}");
    world.ask(&["key", "add", "acme", "~/.ssh/id_ed25519.pub"]).refused_with_hint(8, "retired_key");
    assert_eq!(world.ask(&["install", "acme/notes@1.0.0"]).done()["skills"][0]["signer"], ann, "signed before");
    assert_eq!(world.ask(&["index", "verify", &world.registry]).done()["faults"], json!([]));
    let log = git(&world.sandbox, &["--git-dir", &world.registry, "log", "--format=%s", "--", "owners/acme.json"]);
    assert_eq!(log.lines().count(), 3, "the history of the registry has every key: {log}");
}

#[test]
fn owner_without_key_adds_one() {
    let world = World::new();
    let ann = world.publish("1.0.0", &["--sign"]).done()["signer"].as_str().unwrap().to_owned();
    world.ask(&["key", "retire", "acme", &ann]).done();
    let retired = world.publish("1.1.0", &["--sign"]).refused_with_hint(8, "retired_key");
    let other = world.publish("1.1.0", &["--sign=~/.ssh/bob"]).refused_with_hint(8, "other_key");
    for error in [retired, other] {
        assert!(error["message"].as_str().unwrap().contains("all keys"), "{error:#}");
        let command = format!("skillhub --registry {} key add acme", world.registry);
        assert!(error["hint"].as_str().unwrap().contains(&command), "{error:#}");
    }
    world.ask(&["key", "add", "acme", "~/.ssh/bob.pub"]).done();
    world.publish("1.1.0", &["--sign=~/.ssh/bob"]).done();
}

/// Changes by an attacker who may push, each with the error code of the refusal.
#[test]
fn tampered_release_is_refused() {
    type Attack = fn(&World);
    let attacks: [(&str, &str, Attack); 5] = [
        ("the signature of another version", "bad_signature", |world| {
            world.tamper_lines(|lines| lines[1]["signature"] = lines[0]["signature"].clone());
        }),
        ("other content under the signed version", "bad_signature", |world| {
            world.tamper_lines(|lines| {
                for field in ["digest", "archive", "size", "files"] {
                    lines[1][field] = lines[0][field].clone();
                }
            });
        }),
        ("a text that is no signature", "bad_signature", |world| {
            world.tamper_lines(|lines| lines[1]["signature"] = json!("none"));
        }),
        ("another key in the owner's file", "not_the_owners_key", |world| world.exchange_key(&BOB)),
        ("a signature by another key", "not_the_owners_key", |world| {
            let other = World::new();
            other.publish("1.1.0", &["--sign=~/.ssh/bob"]).done();
            let signature = other.ask(&["info", "acme/notes"]).done()["releases"][0]["signature"].clone();
            world.tamper_lines(|lines| lines[1]["signature"] = signature.clone());
        }),
    ];
    for (what, code, attack) in attacks {
        let world = World::new();
        world.publish("1.0.0", &["--sign"]).done();
        world.publish("1.1.0", &["--sign"]).done();
        attack(&world);
        let error = world.ask(&["install", "acme/notes"]).refused_with_hint(8, code);
        assert!(error["message"].as_str().unwrap().contains("acme/notes 1.1.0"), "{what}: {error:#}");
        assert!(tree(&world.sandbox.user_skill("notes")).is_empty(), "{what}");
        assert!(!fs::exists(world.sandbox.done(&["where"])["lock"].as_str().unwrap()).unwrap(), "{what}");
        world.ask(&["index", "verify", &world.registry]).exits(8);
        let info = world.ask(&["info", "acme/notes@1.1.0"]).done();
        assert!(info["signed"][0]["fault"].is_string(), "{what}: {info:#}");
    }
}

#[test]
fn installed_signed_skill_keeps_its_key() {
    let world = World::new();
    world.publish("1.0.0", &["--sign"]).done();
    world.ask(&["install", "acme/notes"]).done();
    world.tamper_lines(|lines| lines[0]["signature"] = Value::Null);
    let found = world.ask(&["verify"]).exits(8).json();
    assert!(found["skills"][0]["why"].as_str().unwrap().contains("not signed"), "{found:#}");
    let error = world.ask(&["install"]).refused_with_hint(8, "lock_differs");
    assert!(error["message"].as_str().unwrap().contains("SHA256:"), "{error:#}");
    world.publish("1.1.0", &["--sign"]).done();
    world.tamper_lines(|lines| lines[1]["signature"] = Value::Null);
    let error = world.ask(&["update"]).refused_with_hint(5, "unsigned");
    assert!(error["message"].as_str().unwrap().contains("acme/notes 1.1.0 is not signed"), "{error:#}");
}

#[test]
fn update_refuses_unsigned_release_beside_keys() {
    let world = World::new();
    world.publish("1.0.0", &[]).done();
    world.ask(&["install", "acme/notes"]).done();
    world.publish("1.1.0", &["--sign"]).done();
    world.tamper_lines(|lines| {
        lines[1]["signature"] = Value::Null;
        lines[1]["published_at"] = json!("2099-01-01T00:00:00Z");
    });
    let error = world.ask(&["update"]).refused_with_hint(5, "unsigned");
    assert!(error["message"].as_str().unwrap().contains("signs releases with SHA256:"), "{error:#}");
}

#[test]
fn vouched_key_needs_no_person() {
    let world = World::new();
    let bob = world.fingerprint("bob");
    world.publish("1.0.0", &["--sign"]).done();
    world.ask(&["install", "acme/notes"]).done();
    world.configure("require_signatures = [\"acme\"]\n");
    let added = world.ask(&["key", "add", "acme", "~/.ssh/bob.pub"]).done();
    assert!(added["keys"][1]["vouched_by"].is_string(), "{added:#}");
    world.publish("1.1.0", &["--sign=~/.ssh/bob"]).done();
    let updated = world.ask(&["update"]).done();
    assert_eq!((&updated["skills"][0]["status"], &updated["skills"][0]["signer"]), (&json!("updated"), &json!(bob)));
    let told = updated["skills"][0]["warnings"][0].as_str().unwrap();
    assert!(told.contains("vouches for it"), "{updated:#}");
}

#[test]
fn other_owners_voucher_is_ignored() {
    let world = World::new();
    world.publish("1.0.0", &["--sign"]).done();
    world.ask(&["install", "acme/notes"]).done();
    world.ask(&["key", "add", "beta", "~/.ssh/id_ed25519.pub"]).done();
    let beta = world.ask(&["key", "add", "beta", "~/.ssh/bob.pub"]).done();
    let stolen = beta["keys"][1].clone();
    world.tamper("owners/acme.json", |old| {
        let mut file: Value = serde_json::from_str(old).unwrap();
        file["keys"].as_array_mut().unwrap().push(stolen.clone());
        format!("{file}\n")
    });
    world.publish("1.1.0", &["--sign=~/.ssh/bob"]).done();
    world.configure("require_signatures = [\"acme\"]\n");
    world.ask(&["update"]).refused_with_hint(8, "key_changed");
}

/// A line that names a requirement which its signed archive does not have.
#[test]
fn changed_requirement_is_refused_by_name() {
    let world = World::new();
    world.publish("1.0.0", &["--sign"]).done();
    world.ask(&["install", "acme/notes"]).done();
    world.publish("1.1.0", &["--sign"]).done();
    world.sandbox.skill("helper", "Helps. Use in tests.", &[]);
    world.ask(&["publish", "helper", "--owner", "evil"]).done();
    for (field, value) in [
        ("requires", json!(["evil/helper"])),
        ("description", json!("Writes better notes.")),
        ("license", json!("MIT")),
        ("keywords", json!(["notes"])),
        ("files", json!(7)),
    ] {
        let old = world.ask(&["info", "acme/notes@1.1.0"]).done()["releases"][0][field].clone();
        world.tamper_lines(|lines| lines[1][field] = value.clone());
        for command in [&["update"][..], &["install", "acme/notes@1.1.0"], &["install", "acme/notes"]] {
            let error = world.ask(command).refused_with_hint(8, "line_differs");
            assert!(error["message"].as_str().unwrap().contains(&format!("`{field}`")), "{error:#}");
        }
        assert!(!world.sandbox.user_skill("helper").exists(), "nothing that the line names comes along");
        world.tamper_lines(|lines| lines[1][field] = old.clone());
    }
    world.ask(&["update"]).done();
    world.tamper_lines(|lines| lines[1]["requires"] = json!(["evil/helper"]));
    let found = world.ask(&["verify"]).exits(8).json();
    assert!(found["skills"][0]["why"].as_str().unwrap().contains("`requires`"), "{found:#}");
}

#[test]
fn signing_owners_requirements_must_be_signed() {
    let world = World::new();
    let publish = |name: &str, owner: &str, requires: &str, flags: &[&str]| {
        let metadata =
            if requires.is_empty() { String::new() } else { format!("\nmetadata:\n  requires: {requires:?}") };
        world.sandbox.skill(name, &format!("Does {name}. Use in tests.{metadata}"), &[]);
        world.ask(&[&["publish", name, "--owner", owner], flags].concat()).done();
    };
    publish("deep", "zoe", "", &[]);
    publish("helper", "other", "zoe/deep", &["--sign=~/.ssh/bob"]);
    publish("main", "acme", "other/helper", &["--sign"]);
    world.configure("require_signatures = [\"acme\"]\n");
    let error = world.ask(&["install", "acme/main"]).refused_with_hint(5, "unsigned");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("zoe/deep 1.0.0") && message.contains("acme/main"), "{error:#}");
    assert!(!world.sandbox.user_skill("main").exists() && !world.sandbox.user_skill("deep").exists());
    world.configure("");
    world.ask(&["install", "zoe/deep"]).done();
    world.configure("require_signatures = [\"acme\"]\n");
    let error = world.ask(&["install", "acme/main"]).refused_with_hint(5, "unsigned");
    assert!(error["message"].as_str().unwrap().contains("zoe/deep"), "one that is here already counts: {error:#}");
}

#[test]
fn required_signature_refuses_unsigned_release() {
    let world = World::new();
    world.publish("1.0.0", &[]).done();
    let team = format!("[registries.team]\nlocation = {:?}\nrequire_signatures = true\n", world.registry);
    for config in ["require_signatures = [\"acme\"]\n", "require_signatures = [\"*\"]\n", &team] {
        world.configure(config);
        let error = world.ask(&["install", "acme/notes"]).refused_with_hint(5, "unsigned");
        assert!(error["message"].as_str().unwrap().contains("acme/notes 1.0.0"), "{error:#}");
    }
    world.publish("1.1.0", &["--sign"]).done();
    world.ask(&["install", "acme/notes"]).done();
    world.configure("require_signatures = [\"zoe\"]\n");
    world.ask(&["install", "acme/notes@1.0.0"]).done();
    world.configure("require_signatures = [\"A B\"]\n");
    world.ask(&["list"]).refused_with_hint(2, "invalid_config");
}

#[test]
fn owners_new_key_needs_acceptance() {
    let world = World::new();
    let (ann, bob) = (world.fingerprint("id_ed25519"), world.fingerprint("bob"));
    world.publish("1.0.0", &["--sign"]).done();
    world.ask(&["install", "acme/notes"]).done();
    world.exchange_key(&BOB);
    world.publish("1.1.0", &["--sign=~/.ssh/bob"]).done();
    world.configure("require_signatures = [\"acme\"]\n");
    for command in [&["update"][..], &["update", "--dry-run"], &["install", "acme/notes"]] {
        let error = world.ask(command).refused_with_hint(8, "key_changed");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(&ann) && message.contains(&bob), "{error:#}");
        assert!(error["hint"].as_str().unwrap().contains(&format!("--accept-key {bob}")), "{error:#}");
    }
    world.configure("");
    let shown = world.ask(&["update", "--dry-run"]).done();
    assert!(shown["skills"][0]["warnings"][0].as_str().unwrap().contains("another key"), "{shown:#}");
    world.configure("require_signatures = [\"acme\"]\n");
    world.ask(&["update", "--accept-key", &bob]).refused_with_hint(5, "policy_denied");
    let token = world.sandbox.token();
    let accept =
        |key: &str| world.sandbox.run_as(&token, &["update", "--accept-key", key, "--registry", &world.registry]);
    accept(&ann).refused(8, "key_changed");
    assert_eq!(accept(&bob).done()["skills"][0]["status"], "updated");
    world.publish("1.2.0", &["--sign=~/.ssh/bob"]).done();
    assert_eq!(world.ask(&["update"]).done()["skills"][0]["warnings"], json!([]), "it is known now");
}

#[test]
fn machine_policy_requires_signatures() {
    let world = World::new();
    world.publish("1.0.0", &[]).done();
    let policy = world.sandbox.path("policy.toml");
    let run = |text: &str| {
        fs::write(&policy, text).unwrap();
        let args = ["install", "acme/notes", "--registry", &world.registry, "--json"];
        let mut command = world.sandbox.command(&args);
        command.env("SKILLHUB_POLICY", &policy);
        world.sandbox.finish(command, &args)
    };
    run("format = 1\nrequire_signatures = [\"acme\"]\n").refused_with_hint(5, "unsigned");
    run("format = 1\nrequire_signatures = [\"A B\"]\n").refused_with_hint(2, "invalid_config");
    run("format = 1\nrequire_signatures = [\"zoe\"]\n").done();
}
