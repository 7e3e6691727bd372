//! Formats of other programs: marketplaces of plugins, and bills of materials.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Sandbox, hostile_script, tree};

/// Publishes a release of a skill with a description that names the version.
fn publish(sandbox: &Sandbox, registry: &str, name: &str, version: &str, metadata: &str) {
    let (owner, folder) = name.split_once('/').unwrap();
    let _old = fs::remove_dir_all(sandbox.cwd().join(folder));
    let description = format!("Does {name} as of {version}. Use in tests.\nlicense: MIT{metadata}");
    sandbox.skill(folder, &description, &[("references/more.md", "More.\n")]);
    sandbox.done(&["publish", folder, "--owner", owner, "--version", version, "--registry", registry]);
}

fn registry(sandbox: &Sandbox) -> String {
    let place = sandbox.path("registry").display().to_string();
    sandbox.done(&["index", "init", &place]);
    publish(sandbox, &place, "acme/alpha", "1.0.0", "");
    publish(sandbox, &place, "acme/beta", "1.0.0", "\nmetadata:\n  requires: acme/alpha@^1");
    publish(sandbox, &place, "zoe/alpha", "3.0.0", "");
    place
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn exported_plugins_install_and_are_reproducible() {
    let sandbox = Sandbox::new();
    let place = registry(&sandbox);
    let export = |target: &str| sandbox.done(&["index", "export", &place, target, "--marketplace"]);
    let (one, two) = (export("one"), export("two"));
    assert_eq!(one["skills"], json!(["acme/alpha", "acme/beta", "zoe/alpha"]), "{one:#}");
    assert_eq!((&one["name"], &two["skipped"]), (&json!("skillhub"), &json!([])));
    let (first, second) = (sandbox.cwd().join("one"), sandbox.cwd().join("two"));
    assert_eq!(tree(&first), tree(&second));
    let manifest = read(&first.join(".claude-plugin/marketplace.json"));
    assert_eq!(
        manifest["plugins"][1],
        json!({
            "name": "acme--beta", "description": "Does acme/beta as of 1.0.0. Use in tests.", "version": "1.0.0",
            "author": {"name": "acme"}, "keywords": [], "source": "./plugins/acme/beta", "strict": false,
            "skills": ["./skills/beta"], "license": "MIT",
        })
    );
    let listed = sandbox.done(&["install", "./one", "--list"]);
    let skills = listed["sources"][0]["skills"].as_array().unwrap();
    let plugins: BTreeSet<_> = skills.iter().map(|one| one["plugin"].as_str().unwrap()).collect();
    assert_eq!(plugins, BTreeSet::from(["acme--alpha", "acme--beta", "zoe--alpha"]), "{listed:#}");
    assert_eq!(listed["sources"][0]["warnings"], json!([]));
}

#[test]
fn repeated_export_replaces_only_its_files() {
    let sandbox = Sandbox::new();
    let place = registry(&sandbox);
    let target = sandbox.cwd().join("out");
    fs::create_dir_all(target.join(".git")).unwrap();
    let args = ["index", "export", &place, "out", "--marketplace", "--owner", "acme"];
    assert_eq!(sandbox.done(&args)["name"], "acme");
    fs::write(target.join("README.md"), "Mine.\n").unwrap();
    fs::write(target.join("plugins/acme/beta/notes.md"), "Mine too.\n").unwrap();
    publish(&sandbox, &place, "acme/alpha", "2.0.0", "");
    sandbox.done(&["yank", "acme/beta@1.0.0", "--reason", "for a test", "--registry", &place]);
    assert_eq!(sandbox.done(&args)["skills"], json!(["acme/alpha"]));
    let text = fs::read_to_string(target.join("plugins/acme/alpha/skills/alpha/SKILL.md")).unwrap();
    assert!(text.contains("as of 2.0.0"), "{text}");
    assert!(!target.join("plugins/acme/beta/skills").exists());
    for kept in ["README.md", "plugins/acme/beta/notes.md", ".git"] {
        assert!(target.join(kept).exists(), "{kept}");
    }

    let edited = target.join("plugins/acme/alpha/skills/alpha/SKILL.md");
    fs::write(&edited, "edited\n").unwrap();
    let before = tree(&target);
    publish(&sandbox, &place, "acme/alpha", "3.0.0", "");
    sandbox.ask(&args).refused_with_hint(6, "exists");
    assert_eq!(tree(&target), before);
    let other = sandbox.cwd().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("file"), "Mine.\n").unwrap();
    sandbox.ask(&["index", "export", &place, "other", "--marketplace"]).refused_with_hint(6, "exists");
    sandbox
        .ask(&["index", "export", &place, "new", "--marketplace", "--name", "../x"])
        .refused_with_hint(3, "invalid_name");
    let nobody =
        sandbox.ask(&["index", "export", &place, "new", "--marketplace", "--owner", "acme", "--owner", "ghost"]);
    let error = nobody.refused_with_hint(7, "not_found");
    assert!(error["hint"].as_str().unwrap().contains("acme"), "{error:#}");
    assert!(!sandbox.cwd().join("new").exists());
}

#[test]
fn export_refuses_foreign_links() {
    let sandbox = Sandbox::new();
    let place = registry(&sandbox);
    let args = ["index", "export", &place, "out", "--marketplace", "--owner", "acme"];
    sandbox.done(&args);
    let (target, outside) = (sandbox.cwd().join("out"), sandbox.path("outside"));
    fs::rename(target.join("plugins"), &outside).unwrap();
    std::os::unix::fs::symlink(&outside, target.join("plugins")).unwrap();
    let before = tree(&outside);
    publish(&sandbox, &place, "acme/alpha", "2.0.0", "");
    sandbox.ask(&args).refused(3, "invalid_path");
    let record = target.join(".claude-plugin/skillhub.json");
    fs::write(&record, r#"{"format": 1, "skills": {"../../outside": "x"}}"#).unwrap();
    sandbox.ask(&args).refused_with_hint(8, "damaged");
    fs::write(&record, r#"{"format": 2, "skills": {}}"#).unwrap();
    sandbox.ask(&args).refused_with_hint(8, "damaged");
    assert_eq!(tree(&outside), before);
}

#[test]
fn bill_of_materials_follows_the_lock() {
    let sandbox = Sandbox::new();
    let place = registry(&sandbox);
    sandbox.done(&["add", "acme/beta", "-g", "-y", "--registry", &place]);
    let list = sandbox.done(&["list"]);
    let document = sandbox.done(&["list", "--format", "json"]);
    assert_eq!(document, list);
    let bill =
        || -> Value { serde_json::from_str(&sandbox.run(&["list", "--format", "cyclonedx"]).exits(0).text()).unwrap() };
    let (bill, again) = (bill(), bill());
    assert_eq!(bill["serialNumber"], again["serialNumber"]);
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&json!("CycloneDX"), &json!("1.6")));
    let component = &bill["components"][1];
    assert_eq!(component["purl"], "pkg:generic/acme/beta@1.0.0", "{bill:#}");
    assert_eq!(component["licenses"], json!([{"license": {"name": "MIT"}}]));
    assert_eq!(component["supplier"], json!({"name": "acme"}));
    let lock = fs::read_to_string(sandbox.done(&["where", "--global"])["lock"].as_str().unwrap()).unwrap();
    let hash = component["hashes"][0]["content"].as_str().unwrap();
    assert!(lock.contains(&format!("archive = \"sha256:{hash}\"")), "{lock}");
    let properties = component["properties"].as_array().unwrap();
    assert!(properties.contains(&json!({"name": "skillhub:verdict", "value": "allow"})), "{properties:#?}");
    assert_eq!(bill["dependencies"][1], json!({"ref": "user:beta", "dependsOn": ["user:alpha"]}));
    assert!(!bill.to_string().contains(&place), "no path of this machine");
}

/// `-y` is a habit of other tools, and decides nothing that only people decide.
#[test]
fn yes_accepts_no_finding() {
    let sandbox = Sandbox::new();
    sandbox.skill("hostile", "Does harm. Use in tests.", &[("scripts/run.sh", &hostile_script())]);
    for command in ["add", "install"] {
        sandbox.ask(&[command, "./hostile", "-g", "-y"]).refused_with_hint(4, "scan_blocked");
    }
}
