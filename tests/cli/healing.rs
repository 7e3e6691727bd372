//! A lock file with merge conflicts or of another version: explained, repaired, and never lost.

use std::fs;

use serde_json::Value;

use crate::support::{Answer, Sandbox, git, repository};

/// A project in a real repository with acme/demo 1.0.0 installed, and further releases to install.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, versions) in [("demo", &["1.0.0", "1.0.1", "1.1.0"][..]), ("early", &["1.0.0"]), ("late", &["1.0.0"])] {
        for version in versions {
            let about = format!("Writes notes, edition {version}. Use in tests.");
            let folder = sandbox.skill(name, &about, &[]);
            sandbox.done(&["publish", name, "--owner", "acme", "--version", version]);
            fs::remove_dir_all(folder).unwrap();
        }
    }
    fs::write(sandbox.cwd().join(".gitignore"), ".agents/\n").unwrap();
    repository(&sandbox, &sandbox.cwd());
    sandbox.done(&["install", "acme/demo@1.0.0"]);
    commit(&sandbox, "demo");
    sandbox
}

fn in_project(sandbox: &Sandbox, args: &[&str]) -> String {
    let cwd = sandbox.cwd().display().to_string();
    git(sandbox, &[&["-C", &cwd], args].concat())
}

fn commit(sandbox: &Sandbox, message: &str) {
    in_project(sandbox, &["add", "--all"]);
    in_project(sandbox, &["commit", "--quiet", "--message", message]);
}

fn lock(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.cwd().join("skillhub.lock")).unwrap()
}

fn versions(sandbox: &Sandbox) -> Vec<(String, String)> {
    let table: toml::Table = lock(sandbox).parse().unwrap();
    let text = |skill: &toml::Value, key: &str| skill[key].as_str().unwrap().to_owned();
    table["skill"].as_array().unwrap().iter().map(|skill| (text(skill, "name"), text(skill, "version"))).collect()
}

/// Merges a branch on which demo went to 1.1.0 and late came into one on which demo went to 1.0.1 and early came.
fn conflict(sandbox: &Sandbox) {
    in_project(sandbox, &["checkout", "--quiet", "-b", "other"]);
    sandbox.done(&["update", "acme/demo@1.1.0"]);
    sandbox.done(&["install", "acme/late"]);
    commit(sandbox, "other");
    in_project(sandbox, &["checkout", "--quiet", "main"]);
    // Each branch has its own machine: what the other one's did is not in this library.
    fs::remove_dir_all(sandbox.cwd().join(".agents")).unwrap();
    fs::remove_dir_all(sandbox.skillhub_home().join("libraries")).unwrap();
    sandbox.done(&["install"]);
    sandbox.done(&["update", "acme/demo@1.0.1"]);
    sandbox.done(&["install", "acme/early"]);
    commit(sandbox, "main");
    merge(sandbox);
}

fn merge(sandbox: &Sandbox) {
    let mut merge = std::process::Command::new("git");
    sandbox.confine(&mut merge).args(["merge", "--quiet", "other"]);
    merge.env("GIT_AUTHOR_NAME", "T").env("GIT_AUTHOR_EMAIL", "t@example.org");
    merge.env("GIT_COMMITTER_NAME", "T").env("GIT_COMMITTER_EMAIL", "t@example.org");
    assert!(!merge.output().unwrap().status.success(), "git leaves it to a person");
    assert!(lock(sandbox).contains("<<<<<<<"));
}

fn problem(answer: &Answer) -> Value {
    let document = answer.json();
    let found = document["checks"].as_array().unwrap().iter().find(|check| check["check"] == "lock_file").cloned();
    found.unwrap_or_else(|| panic!("{document:#}"))
}

#[test]
fn conflicted_lock_file_is_resolved() {
    let sandbox = project();
    conflict(&sandbox);
    let conflicted = lock(&sandbox);
    for args in [
        &["install"][..],
        &["install", "acme/late"],
        &["install", "--frozen"],
        &["update"],
        &["outdated"],
        &["verify"],
        &["uninstall", "demo"],
        &["undo"],
    ] {
        let error = sandbox.ask(args).refused_with_hint(6, "merge_conflict");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("acme/demo (1.0.1 here, 1.1.0 there)"), "{args:?}: {message}");
        assert!(message.contains("acme/late (there only)"), "{args:?}: {message}");
        assert!(error["hint"].as_str().unwrap().contains("doctor --fix"));
    }
    let patched = sandbox.done(&["manage", "patch", "early", "--find", "Read the input.", "--replace", "Read."]);
    assert_eq!(patched["status"], "applied", "a skill can be changed all the same");
    assert_eq!(lock(&sandbox), conflicted, "nothing wrote over it");
    let found = sandbox.ask(&["doctor"]).exits(1);
    assert_eq!([&problem(&found)["code"], &problem(&found)["state"]], ["lock_file_conflict", "found"]);
    assert_eq!(lock(&sandbox), conflicted, "doctor changes nothing unless asked to");
    let mended = sandbox.ask(&["doctor", "--fix"]).exits(0);
    assert_eq!(problem(&mended)["state"], "mended", "{mended}");
    let pairs = [("acme/demo", "1.1.0"), ("acme/early", "1.0.0"), ("acme/late", "1.0.0")];
    assert_eq!(versions(&sandbox), pairs.map(|(name, version)| (name.to_owned(), version.to_owned())));
    sandbox.done(&["install"]);
    sandbox.done(&["verify"]);
    assert_eq!(versions(&sandbox), pairs.map(|(name, version)| (name.to_owned(), version.to_owned())));
}

#[test]
fn unresolvable_conflict_keeps_both_sides() {
    let sandbox = project();
    in_project(&sandbox, &["checkout", "--quiet", "-b", "other"]);
    sandbox.done(&["update", "acme/demo@1.1.0"]);
    commit(&sandbox, "other");
    in_project(&sandbox, &["checkout", "--quiet", "main"]);
    sandbox.done(&["undo"]);
    in_project(&sandbox, &["checkout", "--quiet", "--", "skillhub.lock"]);
    sandbox.done(&["manage", "patch", "demo", "--find", "Read the input.", "--replace", "Read all input."]);
    sandbox.done(&["install", "acme/early"]);
    commit(&sandbox, "main");
    merge(&sandbox);
    let answer = sandbox.ask(&["doctor", "--fix"]).exits(1);
    let message = problem(&answer)["message"].as_str().unwrap().to_owned();
    assert!(message.contains("acme/demo: 1.0.0 with the changes") && message.contains("or 1.1.0"), "{message}");
    let text = lock(&sandbox);
    assert_eq!(text.matches("<<<<<<<").count(), 1, "{text}");
    for kept in ["version = \"1.0.0\"", "version = \"1.1.0\"", "acme/early"] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    sandbox.ask(&["verify"]).refused_with_hint(6, "merge_conflict");
    let ours: Vec<&str> = text.split_inclusive('\n').collect();
    let middle = ours.iter().position(|line| line.starts_with("=======")).unwrap();
    let end = ours.iter().position(|line| line.starts_with(">>>>>>>")).unwrap();
    let decided = ours[..middle].iter().chain(&ours[end + 1..]).filter(|line| !line.starts_with("<<<<<<<"));
    fs::write(sandbox.cwd().join("skillhub.lock"), decided.copied().collect::<String>()).unwrap();
    sandbox.done(&["verify"]);
}

/// A file in a newer format is left unchanged.
#[test]
fn older_format_is_migrated_on_write() {
    let sandbox = project();
    let path = sandbox.cwd().join("skillhub.lock");
    fs::write(&path, lock(&sandbox).replace("format = 1", "format = 0")).unwrap();
    sandbox.done(&["verify"]);
    assert!(lock(&sandbox).contains("format = 0"), "reading changes nothing");
    sandbox.done(&["install", "acme/early"]);
    assert!(lock(&sandbox).contains("format = 1"));
    assert_eq!(versions(&sandbox).len(), 2, "nothing is lost");
    let later = lock(&sandbox).replace("format = 1", "format = 2\nnews = true");
    fs::write(&path, &later).unwrap();
    for args in [&["install"][..], &["install", "acme/late"], &["update"], &["verify"], &["uninstall", "demo"]] {
        let error = sandbox.ask(args).refused_with_hint(8, "damaged_lock_file");
        assert!(error["message"].as_str().unwrap().contains("written by a newer skillhub"), "{error:#}");
    }
    sandbox.ask(&["doctor", "--fix"]).exits(1);
    assert_eq!(lock(&sandbox), later);
}

#[test]
fn unknown_source_kind_is_kept() {
    let sandbox = project();
    let path = sandbox.cwd().join("skillhub.lock");
    let entry = "\n[[skill]]\nkind   =   \"oci\" # of a later version\nname = \"acme/later\"\nlayers = [ 1,2 ]\n";
    let later = lock(&sandbox) + entry;
    fs::write(&path, &later).unwrap();
    for args in [&["install"][..], &["install", "acme/late"], &["update"], &["verify"], &["uninstall", "demo"]] {
        let error = sandbox.ask(args).refused_with_hint(8, "damaged_lock_file");
        assert!(error["message"].as_str().unwrap().contains("written by a newer skillhub"), "{error:#}");
        assert_eq!(lock(&sandbox), later, "{args:?}");
    }
    for args in [&["list"][..], &["status"], &["manage", "patch", "demo", "--find", "Read", "--replace", "See"]] {
        sandbox.ask(args);
        assert_eq!(lock(&sandbox), later, "{args:?}");
    }
    for args in [&["rollback", "demo"][..], &["undo"], &["doctor", "--fix"], &["gc"]] {
        sandbox.ask(args);
        assert_eq!(lock(&sandbox), later, "{args:?}");
    }
    let merge = format!("<<<<<<< HEAD\n{later}=======\n{later}>>>>>>> theirs\n");
    fs::write(&path, &merge).unwrap();
    sandbox.ask(&["doctor", "--fix"]).exits(1);
    assert_eq!(lock(&sandbox), merge);
}

#[test]
fn broken_conflict_markers_are_reported() {
    let sandbox = project();
    let path = sandbox.cwd().join("skillhub.lock");
    let broken = format!("<<<<<<< HEAD\n{}", lock(&sandbox));
    fs::write(&path, &broken).unwrap();
    let error = sandbox.ask(&["verify"]).refused_with_hint(6, "merge_conflict");
    assert!(error["message"].as_str().unwrap().contains("cannot be separated"), "{error:#}");
    sandbox.ask(&["doctor", "--fix"]).exits(1);
    assert_eq!(lock(&sandbox), broken);
}
