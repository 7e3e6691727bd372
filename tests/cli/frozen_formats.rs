//! The corpora of `tests/data/formats`: this build reads what each release stored, and goes on with it.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::support::{ANN, Sandbox, Server, canonical};

/// Stored files of a release in a sandbox, with the release's own answers about them.
struct Corpus {
    sandbox: Sandbox,
    expected: Value,
}

/// Unpacks the corpus of each release. Its library moves with it, as to another machine.
fn corpora() -> Vec<Corpus> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/formats");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let corpora: Vec<Corpus> = entries.filter(|path| path.is_dir()).map(|path| unpack(&path)).collect();
    assert!(!corpora.is_empty());
    corpora
}

fn unpack(folder: &Path) -> Corpus {
    let sandbox = Sandbox::new();
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(folder.join("corpus.tar.gz")).arg("-C").arg(sandbox.path("")).arg("--no-same-owner");
    assert!(tar.status().unwrap().success());
    let expected: Value = serde_json::from_slice(&fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let moved = sandbox.done(&["doctor", "--relocate", text(&expected["work"]), &canonical(&sandbox.cwd())]);
    assert_eq!(moved["status"], "moved", "{moved:#}");
    Corpus { sandbox, expected }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn library_of_each_release_is_read() {
    for Corpus { sandbox, expected } in corpora() {
        let doctor = sandbox.done(&["doctor"]);
        assert!(doctor["checks"].as_array().unwrap().iter().all(|check| check["state"] == "ok"), "{doctor:#}");
        let listed = sandbox.done(&["list"]);
        let digests = listed["skills"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (text(&one["name"]).to_owned(), one["digest"].clone()));
        assert_eq!(Value::Object(digests.collect()), expected["skills"]);
        for (name, revisions) in expected["history"].as_object().unwrap() {
            let history = sandbox.done(&["history", name]);
            let ids = history["revisions"].as_array().unwrap().iter().map(|one| one["revision"].clone());
            assert_eq!(Value::Array(ids.collect()), *revisions, "{name}");
        }
        // The move of the library is logged too.
        let events = sandbox.done(&["log"])["events"].as_array().unwrap().len() as u64;
        assert!(events >= expected["events"].as_u64().unwrap(), "{events}");
        let stats = sandbox.done(&["stats", "notes"]);
        assert_eq!(stats["revisions"][0]["runs"], expected["runs"][0]);
        let proposals = sandbox.done(&["review", "list", "--all"]);
        for proposal in proposals["proposals"].as_array().unwrap() {
            let state = &expected["proposals"][text(&proposal["id"])];
            // The pending one expires after a month.
            assert!(proposal["state"] == *state || *state == "pending", "{proposal:#}");
        }
        assert_eq!(proposals["proposals"].as_array().unwrap().len(), expected["proposals"].as_object().unwrap().len());
        let kept = sandbox.done(&["review"]);
        assert!(kept.to_string().contains("\"notes\""), "{kept:#}");
        assert_eq!(sandbox.done(&["waive", "--list"])["waivers"][0]["name"], "database");
        assert_eq!(sandbox.done(&["evolve", "status", "notes"])["ok"], true);
        assert_eq!(sandbox.done(&["curate", "plan"])["ok"], true);
        assert_eq!(sandbox.done(&["tools", "show", "reader"])["ok"], true);
    }
}

#[test]
fn library_of_each_release_goes_on() {
    for Corpus { sandbox, expected } in corpora() {
        let before = expected["history"]["notes"].as_array().unwrap();
        sandbox.done(&["manage", "patch", "notes", "--find", "alpha words", "--replace", "gamma words"]);
        let history = sandbox.done(&["history", "notes"]);
        assert_eq!(history["revisions"][0]["parent"], before[0], "{history:#}");
        sandbox.done(&["undo"]);
        sandbox.done(&["rollback", "notes", "4"]);
        sandbox.done(&["record", "notes", "--event", "completed", "--run", "later"]);
        let reviewer = text(&expected["tokens"]["reviewer"]);
        assert_eq!(sandbox.run_as(reviewer, &["unpin", "pinned"]).done()["pinned"], false);
        assert_eq!(sandbox.run_as(reviewer, &["review", "keep", "notes"]).done()["ok"], true);
        sandbox.run_as(reviewer, &["sync", "../other.git"]).done();
        let doctor = sandbox.done(&["doctor"]);
        assert!(doctor["checks"].as_array().unwrap().iter().all(|check| check["state"] == "ok"), "{doctor:#}");
    }
}

#[test]
fn lock_file_of_each_release_installs() {
    for Corpus { sandbox, .. } in corpora() {
        let lock = || fs::read_to_string(sandbox.cwd().join("skillhub.lock")).unwrap();
        let before = lock();
        let frozen = ["install", "--frozen", "--offline"];
        let skills = sandbox.done(&frozen)["skills"].as_array().unwrap().clone();
        assert!(skills.len() >= 8 && skills.iter().all(|skill| skill["status"] == "unchanged"), "{skills:#?}");
        for skill in &skills {
            fs::remove_dir_all(text(&skill["path"])).unwrap();
        }
        let again = sandbox.done(&frozen);
        assert!(again["skills"].as_array().unwrap().iter().all(|skill| skill["status"] == "installed"), "{again:#}");
        let verified = sandbox.done(&["verify", "--offline"]);
        assert_eq!(verified["ok"], true, "{verified:#}");
        assert_eq!(lock(), before);
    }
}

#[test]
fn settings_of_each_release_apply() {
    for Corpus { sandbox, .. } in corpora() {
        let mut command = sandbox.command(&["config", "check", "--json"]);
        command.env("SKILLHUB_POLICY", sandbox.path("policy.toml"));
        let checked = sandbox.finish(command, &["config", "check"]).done();
        assert_eq!(checked["files"].as_array().unwrap().len(), 3, "{checked:#}");
        let scanned = sandbox.done(&["scan", "../sources/database"]);
        assert!(scanned.to_string().contains("acme-production-database"), "{scanned:#}");
    }
}

#[test]
fn index_of_each_release_grows() {
    for Corpus { sandbox, .. } in corpora() {
        let index = sandbox.path("index").display().to_string();
        assert_eq!(sandbox.done(&["index", "verify", &index])["ok"], true);
        let info = sandbox.done(&["info", "acme/pages", "--registry", &index]);
        let versions: Vec<&Value> = info["releases"].as_array().unwrap().iter().map(|one| &one["version"]).collect();
        assert_eq!(versions, ["1.1.0", "1.0.0"]);
        sandbox.skill("pages", "Handles pages. Use in tests.", &[]);
        let key = format!("--sign={}", ANN.write(&sandbox.path("keys"), "ann").display());
        let args = ["publish", "pages", "--owner", "acme", "--version", "1.2.0", &key, "--registry", &index];
        sandbox.done(&args);
        assert_eq!(sandbox.done(&["index", "verify", &index])["ok"], true);
        let installed = sandbox.done(&["install", "acme/pages", "--registry", &index, "--library", "../fresh"]);
        assert_eq!(installed["skills"][0]["version"], "1.2.0", "{installed:#}");
        assert!(installed["skills"][0]["signer"].is_string(), "{installed:#}");
    }
}

#[test]
fn server_data_of_each_release_is_served() {
    for Corpus { sandbox, expected } in corpora() {
        let server = Server::start(&sandbox, &[]);
        let token = text(&expected["tokens"]["admin"]);
        let who = server.ask("GET", "/v1/whoami", Some(token), b"").done();
        assert_eq!((&who["account"], &who["admin"]), (&json!("admin"), &json!(true)));
        assert_eq!(server.get("/v1/skills/acme/remote/1.0.0")["release"]["version"], "1.0.0");
        sandbox.skill("remote", "Handles remote files. Use in tests.", &[]);
        let args = ["publish", "remote", "--owner", "acme", "--version", "1.1.0", "--registry", &server.url, "--json"];
        let mut command = sandbox.command(&args);
        command.env("SKILLHUB_TOKEN", token);
        sandbox.finish(command, &args).done();
        assert_eq!(server.get("/v1/skills/acme/remote/1.1.0")["release"]["version"], "1.1.0");
    }
}
