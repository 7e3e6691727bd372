//! `list` for a newcomer with skills elsewhere, and `adopt`, which takes them over.

use std::fs;

use serde_json::json;

use crate::support::{Sandbox, hostile_script, snapshot, write_files};

/// A user who has two skills for Claude Code and has never used skillhub.
fn newcomer() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.home().join(".claude/skills")).unwrap();
    for name in ["first", "second"] {
        let made =
            sandbox.skill(name, "Was here before. Use in tests.", &[("scripts/run.sh", "#!/bin/sh\nprintf x\n")]);
        fs::rename(made, sandbox.home().join(".claude/skills").join(name)).unwrap();
    }
    sandbox
}

#[test]
fn list_points_a_newcomer_to_adopt_and_changes_nothing() {
    let sandbox = newcomer();
    let before = snapshot(&sandbox.home());
    let text = sandbox.run(&["list"]).exits(0).text();
    assert!(text.contains("first") && text.contains("second") && text.contains("skillhub adopt "), "{text}");
    let document = sandbox.done(&["list"]);
    assert_eq!((&document["skills"], document["unmanaged"].as_array().unwrap().len()), (&json!([]), 2));
    assert_eq!(snapshot(&sandbox.home()), before);
}

#[test]
fn adopt_links_and_undo_restores_originals() {
    let sandbox = newcomer();
    let original = sandbox.home().join(".claude/skills");
    let before = snapshot(&original.join("first"));
    let whole = snapshot(&original);
    let document = sandbox.done(&["adopt", original.to_str().unwrap()]);
    let skills = document["skills"].as_array().unwrap();
    assert_eq!(
        skills.iter().map(|skill| skill["status"].as_str().unwrap()).collect::<Vec<_>>(),
        ["adopted", "adopted"]
    );
    assert!(original.join("first").is_symlink() && original.join("second").is_symlink());
    assert_eq!(snapshot(&sandbox.user_skill("first")), before);
    sandbox.done(&["undo"]);
    assert_eq!(snapshot(&original), whole, "every byte and link is as before");
    sandbox.done(&["undo"]);
    assert!(original.join("first").is_symlink() && original.join("second").is_symlink());
    let listed = sandbox.done(&["list"]);
    assert_eq!((listed["skills"].as_array().unwrap().len(), &listed["unmanaged"]), (2, &json!([])));
    let again = sandbox.done(&["adopt", original.to_str().unwrap()]);
    assert!(again["skills"].as_array().unwrap().iter().all(|skill| skill["status"] == "unchanged"), "{again:#}");
    sandbox.done(&["manage", "patch", "first", "--find", "Read the input.", "--replace", "Read."]);
    sandbox.done(&["rollback", "first"]);
}

#[test]
fn the_command_that_list_prints_works() {
    let sandbox = newcomer();
    let text = sandbox.run(&["list"]).exits(0).text();
    let line = text.lines().find(|line| line.contains("skillhub adopt ")).unwrap();
    let (_, path) = line.split_once("skillhub adopt ").unwrap();
    let path = path.split_whitespace().next().unwrap().replace('~', sandbox.home().to_str().unwrap());
    let document = sandbox.done(&["adopt", &path]);
    assert_eq!(document["skills"][0]["status"], "adopted");
}

#[test]
fn adopt_gives_a_folder_of_the_library_a_history_in_place() {
    let sandbox = newcomer();
    fs::create_dir_all(sandbox.user_skill("")).unwrap();
    fs::rename(sandbox.home().join(".claude/skills/first"), sandbox.user_skill("first")).unwrap();
    let before = snapshot(&sandbox.user_skill("first"));
    assert_eq!(sandbox.done(&["status", "first"])["skills"][0]["managed"], false);
    sandbox.done(&["adopt", sandbox.user_skill("first").to_str().unwrap()]);
    assert_eq!(snapshot(&sandbox.user_skill("first")), before);
    assert_eq!(sandbox.done(&["history", "first"])["revisions"].as_array().unwrap().len(), 1);
}

#[test]
fn a_dry_run_takes_nothing_over() {
    let sandbox = newcomer();
    let original = sandbox.home().join(".claude/skills");
    let document = sandbox.done(&["adopt", original.to_str().unwrap(), "--dry-run"]);
    assert_eq!(document["skills"][0]["status"], "dry_run");
    assert!(!sandbox.user_skill("first").exists());
}

#[test]
fn what_is_hostile_or_in_the_way_is_not_adopted() {
    let sandbox = newcomer();
    let original = sandbox.home().join(".claude/skills");
    write_files(&original, &[("first/scripts/report.sh", hostile_script().as_bytes(), true)]);
    sandbox.ask(&["adopt", original.join("first").to_str().unwrap()]).refused(4, "scan_blocked");
    assert!(!sandbox.user_skill("first").exists());
    sandbox.create("second", "Another one of that name.");
    let before = snapshot(&sandbox.user_skill("second"));
    sandbox.ask(&["adopt", original.join("second").to_str().unwrap()]).refused(6, "exists");
    assert_eq!(snapshot(&sandbox.user_skill("second")), before);
    sandbox.ask(&["adopt", "none"]).refused(7, "not_found");
}
