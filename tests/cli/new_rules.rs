//! Skills that earlier rules let pass and that those of today would block.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::accepting::{accept_all, destructive_script};
use crate::support::{Sandbox, git};

/// Two strong signs that meet in one file; neither alone would block.
const TWO_SIGNS: &str = "#!/bin/sh\ncp x.json ~/.config/google-chrome/External\\ Extensions/\n\
    osascript -e 'tell application \"System Events\" to make new login item at end'\n";

/// A sandbox with a skill whose newest revision was let pass by rules that had nothing against its script.
fn installed_earlier(script: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.skill("demo", "Does demo. Use in tests.", &[("scripts/a.sh", script)]);
    accept_all(&sandbox, &["install", "./demo"]);
    let history = PathBuf::from(sandbox.done(&["where"])["history"].as_str().unwrap());
    let decided = "format = 1\n\n[skills.demo]\nenabled = true\npinned = false\nplaced = []\n";
    fs::write(history.with_file_name("state.toml"), decided).unwrap();
    judge_by_earlier_rules(&sandbox, &history);
    let _list_of_another_head = fs::remove_file(history.with_file_name("glances"));
    sandbox
}

/// Makes the head of the skill a commit that names other rules.
fn judge_by_earlier_rules(sandbox: &Sandbox, history: &Path) {
    let git_dir = history.to_str().unwrap();
    let commit = git(sandbox, &["--git-dir", git_dir, "cat-file", "commit", "refs/skills/demo"]);
    let is_ruleset = |line: &str| line.starts_with("Skillhub-Ruleset: ");
    assert!(commit.lines().any(is_ruleset), "{commit}");
    let lines: Vec<&str> =
        commit.lines().map(|line| if is_ruleset(line) { "Skillhub-Ruleset: 1-earlier" } else { line }).collect();
    let file = sandbox.path("commit");
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    let id = git(sandbox, &["--git-dir", git_dir, "hash-object", "-t", "commit", "-w", file.to_str().unwrap()]);
    git(sandbox, &["--git-dir", git_dir, "update-ref", "refs/skills/demo", id.trim()]);
}

fn first(document: &Value) -> &Value {
    &document["skills"][0]
}

#[test]
fn strong_evidence_keeps_unchanged_skill_visible() {
    let sandbox = installed_earlier(TWO_SIGNS);
    assert!(sandbox.done(&["prompt", "--format", "json"]).to_string().contains("demo"));
    sandbox.done(&["read", "demo"]);
    for status in [sandbox.done(&["status"]), sandbox.done(&["status", "demo"])] {
        let skill = first(&status);
        assert_eq!(skill["state"], "clean", "{skill:#}");
        assert_eq!(skill["undecided"].as_array().unwrap().len(), 2, "{skill:#}");
    }
    let listed = first(&sandbox.done(&["list"])).clone();
    assert_eq!((&listed["undecided"], &listed["fault"]), (&json!(2), &Value::Null), "{listed:#}");
    let text = sandbox.run(&["list"]).exits(0).text();
    assert!(text.contains("new findings under the current rules") && text.contains("skillhub status"), "{text}");
    let doctor = sandbox.run(&["doctor"]).exits(0);
    assert!(doctor.text().contains("2 new findings under the current rules"), "{doctor}");
    // An edit elsewhere is no reason to hide it either.
    sandbox.done(&["manage", "patch", "demo", "--find", "Read the input.", "--replace", "Read it."]);
    sandbox.done(&["read", "demo"]);
}

#[test]
fn printed_commands_settle_the_findings() {
    let sandbox = installed_earlier(TWO_SIGNS);
    let text = sandbox.run(&["status", "demo"]).exits(0).text();
    let commands: Vec<&str> = text.split("`skillhub waive ").skip(1).collect();
    assert_eq!((commands.len(), text.matches("a person decides").count()), (2, 2), "{text}");
    let token = sandbox.token();
    for command in commands {
        let (args, _) = command.split_once(" --reason").unwrap();
        let args: Vec<&str> = ["waive"].into_iter().chain(args.split(' ')).chain(["--reason", "ours"]).collect();
        sandbox.ask(&args).refused(5, "policy_denied");
        sandbox.run_as(&token, &args).done();
    }
    assert_eq!(first(&sandbox.done(&["status", "demo"]))["undecided"], json!([]));
    assert_eq!(first(&sandbox.done(&["list"]))["undecided"], 0);
    assert!(!sandbox.run(&["list"]).exits(0).text().contains("new findings"));
}

#[test]
fn hard_evidence_hides_skill_until_accepted() {
    let sandbox = installed_earlier(&destructive_script());
    assert!(!sandbox.done(&["prompt", "--format", "json"]).to_string().contains("demo"));
    sandbox.ask(&["read", "demo"]).refused(4, "external_blocked");
    let listed = first(&sandbox.ask(&["list"]).json()).clone();
    assert!(listed["fault"].as_str().unwrap().contains("the current rules block it"), "{listed:#}");
    // What leaves the file alone does not bring it back; what takes the finding away does.
    let patch = ["manage", "patch", "demo", "--find", "Read the input.", "--replace", "Read it."];
    sandbox.ask(&patch).refused(4, "scan_blocked");
    let text = sandbox.run(&["status", "demo"]).text();
    assert!(text.contains("the skill is hidden from agents until then"), "{text}");
    assert_eq!(text.matches("[destructive-command]").count(), 1, "{text}");
    assert!(sandbox.run(&["doctor"]).text().contains("hidden from agents: "));
    let waive = ["waive", "demo", "destructive-command", "--path", "scripts/a.sh", "--reason", "ours"];
    sandbox.run_as(&sandbox.token(), &waive).done();
    sandbox.done(&["read", "demo"]);
    assert_eq!(first(&sandbox.done(&["list"]))["fault"], Value::Null);
}

#[test]
fn removing_blocked_file_restores_skill() {
    let sandbox = installed_earlier(&destructive_script());
    sandbox.done(&["manage", "remove_file", "demo", "--path", "scripts/a.sh"]);
    sandbox.done(&["read", "demo"]);
}

#[test]
fn list_caches_new_rule_verdicts() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    let history = PathBuf::from(sandbox.done(&["where"])["history"].as_str().unwrap());
    judge_by_earlier_rules(&sandbox, &history);
    let glances = || String::from_utf8_lossy(&fs::read(history.with_file_name("glances")).unwrap()).into_owned();
    assert_eq!(first(&sandbox.done(&["list"]))["undecided"], 0);
    let told = glances();
    assert!(told.contains("1-earlier") && told.contains(scan::ruleset()), "{told}");
    sandbox.done(&["list"]);
    assert_eq!(glances(), told);
}
