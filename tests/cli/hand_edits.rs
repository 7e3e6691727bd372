//! Skills that somebody edits by hand, past skillhub: what is good is recorded, what is not is kept out.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, Snapshot, git, hostile_script, snapshot, write_files};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line\nbeta line");
    sandbox
}

fn revisions(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().clone()
}

/// Adds a hostile script to the folder and gives the folder as it was before.
fn edit_hostile(sandbox: &Sandbox) -> Snapshot {
    let before = snapshot(&sandbox.user_skill("demo"));
    write_files(&sandbox.user_skill("demo"), &[("scripts/report.sh", hostile_script().as_bytes(), true)]);
    before
}

const PATCH: [&str; 7] = ["manage", "patch", "demo", "--find", "alpha line", "--replace", "gamma line"];

#[test]
fn a_good_hand_edit_is_recorded_as_external_before_the_next_change() {
    let sandbox = sandbox();
    write_files(&sandbox.user_skill("demo"), &[("references/notes.md", b"# Notes\n", false)]);
    let status = sandbox.done(&["status", "demo"])["skills"][0].clone();
    assert_eq!(status["state"], "modified");
    assert_eq!(status["files"], json!([{"path": "references/notes.md", "change": "added"}]));
    sandbox.done(&PATCH);
    let revisions = revisions(&sandbox);
    let actors: Vec<_> = revisions.iter().map(|revision| revision["actor"]["kind"].as_str().unwrap()).collect();
    assert_eq!(actors, ["agent", "external", "agent"]);
    assert!(sandbox.user_skill("demo").join("references/notes.md").exists());
    assert_eq!(sandbox.done(&["status", "demo"])["skills"][0]["state"], "clean");
}

#[test]
fn a_folder_without_history_is_taken_over_as_external_by_the_first_change() {
    let sandbox = Sandbox::new();
    let made = sandbox.skill("found", "Was here before. Use in tests.", &[("scripts/run.sh", "#!/bin/sh\nprintf x\n")]);
    fs::create_dir_all(sandbox.user_skill("")).unwrap();
    fs::rename(made, sandbox.user_skill("found")).unwrap();
    let before = snapshot(&sandbox.user_skill("found"));
    sandbox.done(&["manage", "patch", "found", "--find", "Read the input.", "--replace", "Read it."]);
    let history = sandbox.done(&["history", "found"])["revisions"].clone();
    assert_eq!(history.as_array().unwrap().len(), 2);
    assert_eq!(history[1]["actor"]["kind"], "external");
    sandbox.done(&["rollback", "found"]);
    assert_eq!(snapshot(&sandbox.user_skill("found")), before);
}

#[test]
fn a_hostile_hand_edit_refuses_changes_and_stays_as_it_is() {
    let sandbox = sandbox();
    edit_hostile(&sandbox);
    let edited = snapshot(&sandbox.user_skill("demo"));
    let error = sandbox.ask(&PATCH).refused_with_hint(4, "external_blocked");
    assert!(error["hint"].as_str().unwrap().contains("rollback demo head"), "{error:#}");
    assert_eq!(error["details"]["findings"][0]["path"], "scripts/report.sh");
    assert_eq!(snapshot(&sandbox.user_skill("demo")), edited);
    assert_eq!(revisions(&sandbox).len(), 1);
    let status = sandbox.done(&["status"])["skills"][0].clone();
    assert_eq!(status["state"], "blocked");
}

#[test]
fn a_hostile_hand_edit_keeps_the_skill_from_agents_and_says_so() {
    let sandbox = sandbox();
    sandbox.create("other", "Text.");
    edit_hostile(&sandbox);
    let answer = sandbox.run(&["prompt"]).exits(0);
    assert!(answer.text().contains("<name>\nother\n</name>") && !answer.text().contains("demo"), "{answer}");
    assert!(answer.stderr.contains("demo is left out"), "{answer}");
    assert!(sandbox.run(&["prompt", "--quiet"]).stderr.is_empty());
    let names = sandbox.done(&["prompt"])["skills"].clone();
    assert_eq!((names.as_array().unwrap().len(), &names[0]["name"]), (1, &json!("other")));
    sandbox.ask(&["read", "demo"]).refused_with_hint(4, "external_blocked");
}

#[test]
fn rollback_to_the_head_keeps_the_hostile_edit_aside_and_restores_the_skill() {
    let sandbox = sandbox();
    let before = edit_hostile(&sandbox);
    let report = sandbox.done(&["rollback", "demo", "head"]);
    assert_eq!(snapshot(&sandbox.user_skill("demo")), before);
    assert_eq!(sandbox.done(&["status", "demo"])["skills"][0]["state"], "clean");
    let revisions = revisions(&sandbox);
    assert_eq!(revisions[0]["revision"], report["revision"]);
    let kept = revisions.iter().find(|revision| revision["verdict"] == "block").unwrap();
    assert_eq!(kept["actor"]["kind"], "external");
    let text = sandbox.run(&["show", &format!("demo@{}", kept["number"]), "scripts/report.sh"]).exits(0).text();
    assert_eq!(text, hostile_script(), "the edit itself is kept");
}

#[test]
fn what_was_put_aside_is_never_restored_and_the_attempt_is_logged() {
    let sandbox = sandbox();
    let before = edit_hostile(&sandbox);
    sandbox.done(&["rollback", "demo", "head"]);
    let kept = revisions(&sandbox).into_iter().find(|revision| revision["verdict"] == "block").unwrap();
    let id = kept["revision"].as_str().unwrap();
    sandbox.ask(&["rollback", "demo", id]).refused(4, "scan_blocked");
    assert_eq!(snapshot(&sandbox.user_skill("demo")), before);
    let event = sandbox.done(&["log", "demo"])["events"][0].clone();
    assert_eq!([&event["action"], &event["status"], &event["code"]], ["rollback", "refused", "scan_blocked"]);
}

#[test]
fn a_hand_edit_with_a_link_is_left_untouched_and_refused() {
    let sandbox = sandbox();
    std::os::unix::fs::symlink("/etc/hostname", sandbox.user_skill("demo").join("link")).unwrap();
    let edited = snapshot(&sandbox.user_skill("demo"));
    sandbox.ask(&PATCH).refused_with_hint(4, "external_blocked");
    assert_eq!(sandbox.done(&["status", "demo"])["skills"][0]["state"], "blocked");
    assert_eq!(snapshot(&sandbox.user_skill("demo")), edited);
}

#[test]
fn a_folder_that_is_gone_is_missing_and_comes_back() {
    let sandbox = sandbox();
    let before = snapshot(&sandbox.user_skill("demo"));
    fs::remove_dir_all(sandbox.user_skill("demo")).unwrap();
    assert_eq!(sandbox.done(&["status", "demo"])["skills"][0]["state"], "missing");
    sandbox.done(&["rollback", "demo", "head"]);
    assert_eq!(snapshot(&sandbox.user_skill("demo")), before);
    fs::remove_dir_all(sandbox.user_skill("demo")).unwrap();
    let doctor = sandbox.ask(&["doctor"]).exits(1).json();
    assert_eq!(doctor["problems"][0]["code"], "folder_missing");
    sandbox.done(&["doctor", "--fix"]);
    assert_eq!(snapshot(&sandbox.user_skill("demo")), before);
}

#[test]
fn the_history_reads_as_commits_with_who_and_why() {
    let sandbox = sandbox();
    sandbox.done(&[&PATCH[..], &["--reason", "a better\nword", "--run", "run-7", "--actor", "agent:tester"]].concat());
    let history = sandbox.done(&["where"])["history"].as_str().unwrap().to_owned();
    let log = git(&sandbox, &["--git-dir", &history, "log", "refs/skills/demo"]);
    assert_eq!(log.lines().filter(|line| line.starts_with("commit ")).count(), 2);
    for word in ["patch", "a better", "run-7", "tester"] {
        assert!(log.contains(word), "{word} is not in\n{log}");
    }
    git(&sandbox, &["--git-dir", &history, "fsck", "--strict"]);
}
