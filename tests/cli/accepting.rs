//! A person accepts what blocks a skill, in `adopt`, `install` and `update`; nobody else can.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::support::{Sandbox, hostile_script, skill_md, write_files};

/// The rules that block the hostile script, as a refusal lists them.
fn blocking(sandbox: &Sandbox, folder: &str) -> Vec<String> {
    let error = sandbox.ask(&["adopt", folder]).refused_with_hint(4, "scan_blocked");
    let found = error["details"]["findings"].as_array().unwrap().iter();
    let grave = found.filter(|finding| matches!(finding["severity"].as_str(), Some("high" | "critical")));
    let mut rules: Vec<String> = grave.map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect();
    rules.sort();
    rules.dedup();
    assert!(!rules.is_empty(), "{error:#}");
    rules
}

/// A sandbox with two harmless skills and one that the scan blocks, in one folder.
fn mixed() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    for name in ["alpha", "omega"] {
        sandbox.skill(name, "Was here before. Use in tests.", &[]);
    }
    sandbox.skill("middle", "Was here before. Use in tests.", &[("scripts/report.sh", &hostile_script())]);
    let all = sandbox.cwd().join("all");
    fs::create_dir_all(&all).unwrap();
    for name in ["alpha", "middle", "omega"] {
        fs::rename(sandbox.cwd().join(name), all.join(name)).unwrap();
    }
    (sandbox, all)
}

fn statuses(document: &Value) -> Vec<&str> {
    document["skills"].as_array().unwrap().iter().map(|skill| skill["status"].as_str().unwrap()).collect()
}

#[test]
fn adopt_reports_each_skill_in_one_line() {
    let (sandbox, all) = mixed();
    let answer = sandbox.run(&["adopt", all.to_str().unwrap()]).exits(4);
    let text = answer.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "three skills, the counts and the way on: {text}");
    assert!(lines[0].starts_with("Adopted") && lines[0].contains("alpha"), "{text}");
    assert!(lines[1].starts_with("Blocked") && lines[1].contains("middle"), "{text}");
    assert!(lines[2].starts_with("Adopted") && lines[2].contains("omega"), "{text}");
    assert_eq!(lines[3], "3 skills: 2 adopted, 1 blocked");
    assert!(lines[4].contains("people only") && lines[4].contains("--accept"), "{text}");
    assert!(sandbox.user_skill("alpha").exists() && !sandbox.user_skill("middle").exists());
}

#[test]
fn agent_cannot_accept() {
    let (sandbox, all) = mixed();
    let middle = all.join("middle");
    let rules = blocking(&sandbox, middle.to_str().unwrap()).join(",");
    for command in ["adopt", "install"] {
        let args = [command, middle.to_str().unwrap(), "--accept", &rules, "--reason", "trust me"];
        let error = sandbox.ask(&args).refused_with_hint(5, "policy_denied");
        assert!(error["hint"].as_str().unwrap().contains("SKILLHUB_REVIEWER_TOKEN"), "{error:#}");
    }
    assert!(!sandbox.user_skill("middle").exists());
    assert_eq!(sandbox.done(&["waive", "--list"])["waivers"], json!([]));
}

#[test]
fn printed_command_works_with_a_token() {
    let (sandbox, all) = mixed();
    let middle = all.join("middle");
    let error = sandbox.ask(&["adopt", middle.to_str().unwrap()]).refused(4, "scan_blocked");
    let hint = error["hint"].as_str().unwrap();
    let (_, command) = hint.split_once("skillhub ").unwrap();
    let (command, reason) = command.split_once(" --reason ").unwrap();
    let mut args: Vec<&str> = command.split(' ').collect();
    args.extend(["--reason", reason.trim_matches('\'')]);
    let token = sandbox.token();
    assert_eq!(statuses(&sandbox.run_as(&token, &args).done()), ["adopted"]);
    let waivers = sandbox.done(&["waive", "--list"])["waivers"].clone();
    assert_eq!(waivers[0]["path"], "scripts/report.sh");
    assert_eq!(waivers[0]["by"], "person:ann");
    let status = sandbox.done(&["status", "middle"]);
    assert_eq!(status["skills"][0]["state"], "clean", "{status:#}");
    let shown = sandbox.done(&["list"]);
    assert!(shown["skills"].as_array().unwrap().iter().any(|skill| skill["name"] == "middle"), "{shown:#}");
    sandbox.run(&["read", "middle"]).exits(0);
    let doctor = sandbox.run(&["doctor"]);
    assert_eq!(doctor.exit, 0, "{doctor}");
}

#[test]
fn every_blocking_rule_must_be_named() {
    let (sandbox, all) = mixed();
    let token = sandbox.token();
    let middle = all.join("middle");
    let args = ["adopt", middle.to_str().unwrap(), "--accept", "second-skill", "--reason", "a test"];
    sandbox.run_as(&token, &args).refused(4, "scan_blocked");
    let unknown = ["adopt", middle.to_str().unwrap(), "--accept", "no-such-rule", "--reason", "a test"];
    sandbox.run_as(&token, &unknown).refused(7, "not_found");
    let budget = ["adopt", middle.to_str().unwrap(), "--accept", "scan-budget", "--reason", "a test"];
    sandbox.run_as(&token, &budget).refused(5, "policy_denied");
    let empty = ["adopt", middle.to_str().unwrap(), "--accept", "second-skill", "--reason", " "];
    sandbox.run_as(&token, &empty).refused(2, "usage");
    sandbox.run(&["adopt", middle.to_str().unwrap(), "--accept", "second-skill"]).exits(2);
    assert!(!sandbox.user_skill("middle").exists());
}

#[test]
fn accepted_content_counts_again_when_it_changes() {
    let (sandbox, all) = mixed();
    let middle = all.join("middle");
    let rules = blocking(&sandbox, middle.to_str().unwrap()).join(",");
    let token = sandbox.token();
    let args = ["adopt", middle.to_str().unwrap(), "--accept", &rules, "--reason", "our own script"];
    sandbox.run_as(&token, &args).done();
    let script = format!("{}printf more\n", hostile_script());
    write_files(&sandbox.user_skill("middle"), &[("scripts/report.sh", script.as_bytes(), true)]);
    assert_eq!(sandbox.ask(&["status", "middle"]).json()["skills"][0]["state"], "blocked");
    write_files(&sandbox.user_skill("middle"), &[("scripts/report.sh", hostile_script().as_bytes(), true)]);
    assert_eq!(sandbox.done(&["status", "middle"])["skills"][0]["state"], "clean");
}

#[test]
fn terminal_asks_once_and_enter_means_no() {
    let (sandbox, all) = mixed();
    for answer in ["\n", "n\n", "no\n"] {
        let refused = sandbox.typing(answer, &["adopt", all.join("middle").to_str().unwrap()]).exits(4);
        assert_eq!(refused.stderr.matches("Type a reason").count(), 1, "{refused}");
        assert!(!sandbox.user_skill("middle").exists());
    }
    let accepted = sandbox.typing("our own script\n", &["adopt", all.to_str().unwrap()]).exits(0);
    assert_eq!(accepted.stderr.matches("Type a reason").count(), 1, "{accepted}");
    assert!(accepted.text().contains("3 skills: 3 adopted"), "{accepted}");
    let waivers = sandbox.done(&["waive", "--list"])["waivers"].clone();
    assert_eq!(waivers[0]["reason"], "our own script", "{waivers:#}");
    let yes = sandbox.typing("yes\n\n", &["adopt", all.join("middle").to_str().unwrap()]).exits(0);
    assert!(!yes.stderr.contains("Type a reason"), "what is adopted already asks nothing: {yes}");
}

#[test]
fn installed_skill_shows_what_was_accepted() {
    let (sandbox, all) = mixed();
    let middle = all.join("middle");
    let rules = blocking(&sandbox, middle.to_str().unwrap()).join(",");
    let error = sandbox.ask(&["install", middle.to_str().unwrap()]).refused_with_hint(4, "scan_blocked");
    assert!(error["hint"].as_str().unwrap().contains("skillhub install "), "{error:#}");
    let token = sandbox.token();
    let args = ["install", middle.to_str().unwrap(), "--accept", &rules, "--reason", "our own script"];
    let document = sandbox.run_as(&token, &args).done();
    assert_eq!((statuses(&document), &document["skills"][0]["verdict"]), (vec!["installed"], &json!("allow")));
    let place = sandbox.done(&["where"]);
    let lock = fs::read_to_string(place["lock"].as_str().unwrap()).unwrap();
    assert!(lock.contains("our own script") && lock.contains("person:ann"), "{lock}");
    let id = sandbox.done(&["waive", "--list"])["waivers"][0]["id"].as_str().unwrap().to_owned();
    sandbox.run_as(&token, &["waive", "--remove", &id]).done();
    assert_eq!(sandbox.done(&["waive", "--list"])["waivers"], json!([]));
}

#[test]
fn undo_removes_an_accepted_skill() {
    let (sandbox, all) = mixed();
    let accepted = sandbox.typing("our own script\n", &["adopt", all.to_str().unwrap()]).exits(0);
    assert!(sandbox.user_skill("middle").exists(), "{accepted}");
    sandbox.at_terminal(&["undo"]).exits(0);
    assert!(["alpha", "middle", "omega"].iter().all(|name| !sandbox.user_skill(name).exists()));
    sandbox.at_terminal(&["undo"]).exits(0);
    assert!(sandbox.user_skill("middle").exists(), "redo passes by the same waiver");
}

#[test]
fn update_accepts_a_release() {
    let sandbox = Sandbox::new();
    let folder = sandbox.skill("mover", "Moves. Use in tests.", &[]);
    let source = folder.to_str().unwrap();
    sandbox.done(&["install", source]);
    let md = skill_md("mover", "Moves. Use in tests.", "Read the input. Write more.");
    write_files(
        &folder,
        &[("SKILL.md", md.as_bytes(), false), ("scripts/report.sh", hostile_script().as_bytes(), true)],
    );
    let error = sandbox.ask(&["update"]).exits(4).json()["error"].clone();
    let hint = error["hint"].as_str().unwrap();
    let (_, rules) = hint.split_once("--accept ").unwrap();
    let (rules, _) = rules.split_once(" --reason").unwrap();
    let token = sandbox.token();
    let args = ["update", "--accept", &rules.replace(' ', ","), "--reason", "our own script"];
    assert_eq!(statuses(&sandbox.run_as(&token, &args).done()), ["updated"]);
}
