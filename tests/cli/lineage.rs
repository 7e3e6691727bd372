//! `lineage` and `blame`: the origin of a skill and of each of its lines.

use serde_json::{Value, json};

use crate::support::{Sandbox, skill_md, write_files};

const BODY: &str = "1. Read the list.\n2. Group by kind.\n3. Write.\n4. Look again.\n5. Done.\n";

/// Publishes acme/demo with this body.
fn release(sandbox: &Sandbox, version: &str, body: &str) {
    let folder = sandbox.path("upstream/demo");
    let text = skill_md("demo", "Writes notes. Use in tests.", body);
    write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
    sandbox.done(&["publish", folder.to_str().unwrap(), "--owner", "acme", "--version", version]);
}

fn patch(sandbox: &Sandbox, find: &str, replace: &str) {
    sandbox.done(&["manage", "patch", "demo", "--find", find, "--replace", replace, "--reason", "it is better"]);
}

/// The number of the revision and the release of the line that has this text.
fn line(blame: &Value, text: &str) -> (u64, Option<String>) {
    let found = blame["lines"].as_array().unwrap().iter().find(|line| line["text"] == text);
    let found = found.unwrap_or_else(|| panic!("{text:?} is in no line of {blame:#}"));
    (found["number"].as_u64().unwrap(), found["release"].as_str().map(str::to_owned))
}

/// acme/demo 1.0.0 installed, changed here, and 1.1.0 merged in.
fn merged() -> Sandbox {
    let sandbox = Sandbox::new();
    release(&sandbox, "1.0.0", BODY);
    sandbox.done(&["install", "acme/demo"]);
    patch(&sandbox, "2. Group by kind.", "2. Group by kind and area.");
    release(&sandbox, "1.1.0", &BODY.replace("5. Done.", "5. Done, and told."));
    assert_eq!(sandbox.done(&["update", "demo"])["skills"][0]["status"], "merged");
    sandbox
}

#[test]
fn blame_survives_merge_and_rollback() {
    let sandbox = merged();
    let upstream = |version: &str| Some(format!("acme/demo {version}"));
    let blame = sandbox.done(&["blame", "demo"]);
    assert_eq!(line(&blame, "1. Read the list."), (1, upstream("1.0.0")));
    assert_eq!(line(&blame, "2. Group by kind and area."), (2, None));
    assert_eq!(line(&blame, "5. Done, and told."), (3, upstream("1.1.0")));
    let of_two = blame["revisions"].as_array().unwrap().iter().find(|revision| revision["number"] == 2).unwrap();
    assert_eq!([&of_two["action"], &of_two["reason"]], ["patch", "it is better"]);
    patch(&sandbox, "3. Write.", "3. Write badly.");
    sandbox.done(&["rollback", "demo"]);
    let after = sandbox.done(&["blame", "demo"]);
    assert_eq!(after["lines"], blame["lines"], "a rollback gives the lines back");
    let bad = sandbox.done(&["blame", "demo@4"]);
    assert_eq!(line(&bad, "3. Write badly."), (4, None));
    let text = sandbox.run(&["blame", "demo"]).exits(0).text();
    assert!(text.lines().any(|line| line.ends_with("| 5. Done, and told.") && line.contains("from acme/demo 1.1.0")));
}

#[test]
fn blame_follows_renamed_file() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "Text.");
    let request = |request: Value| sandbox.request(&request).done();
    let text = "one\ntwo\nthree\nfour\n";
    request(json!({"action": "write_file", "name": "demo", "path": "references/old.md", "content": text}));
    request(json!({"name": "demo", "operations": [
        {"action": "remove_file", "path": "references/old.md"},
        {"action": "write_file", "path": "references/new.md", "content": text.replace("four", "five")},
    ]}));
    let blame = sandbox.done(&["blame", "demo", "references/new.md"]);
    assert_eq!((line(&blame, "one"), line(&blame, "five")), ((2, None), (3, None)));
    assert_eq!(blame["lines"][0]["path"], "references/old.md");
    sandbox.ask(&["blame", "demo", "references/old.md"]).refused_with_hint(7, "not_found");
    sandbox.ask(&["blame", "none"]).refused(7, "not_found");
    sandbox.ask(&["blame", "demo", "../x"]).refused(3, "invalid_path");
    let none = sandbox.run(&["lineage", "demo"]).exits(0).text();
    assert!(none.contains("written here"), "{none}");
}

#[test]
fn lineage_names_every_relation() {
    let sandbox = merged();
    sandbox.create("small", "Text.");
    sandbox.request(&json!({"action": "delete", "name": "small", "absorbed_into": "demo"})).done();
    let found = sandbox.done(&["lineage", "demo"]);
    let links = found["links"].as_array().unwrap();
    let relations: Vec<&str> = links.iter().map(|link| link["relation"].as_str().unwrap()).collect();
    assert_eq!(relations, ["derived_from", "merged_from", "absorbed_into"]);
    assert_eq!(links[1]["to"]["release"]["version"], "1.1.0");
    assert_eq!([&links[2]["from"]["skill"], &links[2]["to"]["skill"]], ["small", "demo"]);
    let dot = sandbox.run(&["lineage", "demo", "--dot"]).exits(0).text();
    assert!(dot.starts_with("digraph \"demo\" {") && dot.contains("\"skill small\" -> \"skill demo\""), "{dot}");

    sandbox.done(&["publish", "demo", "--from-fork", "--owner", "me"]);
    let other = Sandbox::new();
    let registry = sandbox.skillhub_home().join("registry");
    let there = ["--registry", registry.to_str().unwrap()];
    other.done(&[&["install", "me/demo"][..], &there].concat());
    let forked = other.done(&[&["lineage", "demo"][..], &there].concat());
    let fork = forked["links"].as_array().unwrap().iter().find(|link| link["relation"] == "forked_from").unwrap();
    assert_eq!(fork["to"]["release"]["name"], "acme/demo");
    assert_eq!(fork["to"]["release"]["version"], "1.1.0");
}
