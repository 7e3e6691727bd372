//! A person accepts findings that block a skill, in `adopt`, `install` and `update`; nobody else can.

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
fn adopt_prints_one_line_per_skill() {
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
fn changed_content_needs_new_acceptance() {
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
fn prompt_defaults_to_no() {
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
fn installed_skill_shows_accepted_findings() {
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

/// A script that is harmful in any reading; it is data and never run.
pub fn destructive_script() -> String {
    ["#!/bin/sh\n", "rm -r", "f ~/\n"].concat()
}

/// Runs a command as a person who accepts all that its refusal names.
pub fn accept_all(sandbox: &Sandbox, command: &[&str]) -> Value {
    let error = sandbox.ask(command).refused_with_hint(4, "scan_blocked");
    let hint = error["hint"].as_str().unwrap();
    let (_, flags) = hint.split_once(" --accept ").unwrap_or_else(|| panic!("{hint}"));
    let (flags, _) = flags.split_once(" --reason").unwrap();
    let args: Vec<&str> =
        command.iter().copied().chain(["--accept"]).chain(flags.split(' ')).chain(["--reason", "our own"]).collect();
    sandbox.run_as(&sandbox.token(), &args).done()
}

#[test]
fn critical_findings_need_their_own_flag() {
    let sandbox = Sandbox::new();
    sandbox.skill("demo", "Does demo. Use in tests.", &[("scripts/a.sh", &destructive_script())]);
    let token = sandbox.token();
    let plain = ["adopt", "./demo", "--accept", "destructive-command", "--reason", "ours"];
    let refused = sandbox.run_as(&token, &plain);
    assert!(refused.stderr.contains("destructive-command is critical; accept it with --accept-critical"), "{refused}");
    let hint = refused.refused(4, "scan_blocked")["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("adopt ./demo --accept destructive-command --accept-critical --reason"), "{hint}");
    let full = [&plain[..], &["--accept-critical"]].concat();
    sandbox.ask(&full).refused_with_hint(5, "policy_denied");
    sandbox.run(&["adopt", "./demo", "--accept-critical"]).exits(2);
    assert!(!sandbox.user_skill("demo").exists());
    assert_eq!(statuses(&sandbox.run_as(&token, &full).done()), ["adopted"]);
    assert_eq!(sandbox.done(&["waive", "--list"])["waivers"][0]["rule"], "destructive-command");
}

#[test]
fn terminal_asks_again_about_critical_findings() {
    let (sandbox, all) = mixed();
    let grave = sandbox.skill("grave", "Does demo. Use in tests.", &[("scripts/a.sh", &destructive_script())]);
    fs::rename(grave, all.join("grave")).unwrap();
    let answer = sandbox.typing("our own\n\n", &["adopt", all.to_str().unwrap()]).exits(4);
    assert_eq!(answer.stderr.matches("Type CRITICAL").count(), 1, "{answer}");
    assert!(sandbox.user_skill("middle").exists() && !sandbox.user_skill("grave").exists(), "{answer}");
    sandbox.typing("our own\ncritical\n", &["adopt", all.join("grave").to_str().unwrap()]).exits(0);
    assert!(sandbox.user_skill("grave").exists());
}

#[test]
fn list_and_verify_show_acceptances() {
    let sandbox = Sandbox::new();
    sandbox.skill("demo", "Does demo. Use in tests.", &[("scripts/a.sh", &hostile_script())]);
    accept_all(&sandbox, &["install", "./demo"]);
    for command in ["list", "verify"] {
        let accepted = sandbox.done(&[command])["skills"][0]["accepted"][0].clone();
        let told = (&accepted["path"], &accepted["by"], &accepted["reason"]);
        assert_eq!(told, (&json!("scripts/a.sh"), &json!("person:ann"), &json!("our own")), "{command}: {accepted:#}");
        let text = sandbox.run(&[command]).exits(0).text();
        assert!(text.contains("in scripts/a.sh is accepted by person:ann until 20"), "{text}");
    }
}

#[test]
fn clone_shows_and_asks_again() {
    let sandbox = Sandbox::project();
    let registry = sandbox.path("registry");
    sandbox.done(&["index", "init", registry.to_str().unwrap()]);
    sandbox.skill("demo", "Does demo. Use in tests.", &[("scripts/a.sh", &hostile_script())]);
    let from = format!("git+file://{}", registry.display());
    accept_all(&sandbox, &["publish", "./demo", "--owner", "acme", "--registry", &from]);
    sandbox.done(&["install", "acme/demo", "--registry", &from]);
    let lock = fs::read_to_string(sandbox.cwd().join("skillhub.lock")).unwrap();
    assert!(lock.contains("person:ann") && lock.contains("our own"), "{lock}");
    // Another home has the lock file alone, as after a clone.
    fs::remove_dir_all(sandbox.skillhub_home()).unwrap();
    fs::remove_dir_all(sandbox.cwd().join(".agents")).unwrap();
    let verified = sandbox.ask(&["verify", "--registry", &from]).json()["skills"][0].clone();
    assert!(verified["warnings"].to_string().contains("each home has its own waivers"), "{verified:#}");
    let refused = sandbox.run(&["install", "--registry", &from]).exits(4);
    assert!(refused.stderr.contains("is accepted by person:ann"), "{refused}");
    assert!(refused.stderr.contains("skillhub install") && refused.stderr.contains("--accept"), "{refused}");
    let asked = sandbox.typing("seen\n", &["install", "--registry", &from]).exits(0);
    assert!(asked.stderr.contains("each home has its own waivers"), "{asked}");
    assert!(sandbox.cwd().join(".agents/skills/demo").exists());
}

#[test]
fn publisher_can_accept_findings() {
    let sandbox = Sandbox::new();
    sandbox.skill("demo", "Does demo. Use in tests.", &[("scripts/a.sh", &hostile_script())]);
    let publish = ["publish", "./demo", "--owner", "acme"];
    let published = accept_all(&sandbox, &publish);
    assert_eq!(published["status"], "published", "{published:#}");
    assert!(published["findings"].as_array().unwrap().iter().any(|one| one["waived"] == true), "{published:#}");
    assert_eq!(sandbox.done(&["info", "acme/demo"])["releases"][0]["verdict"], "warn");
    assert_eq!(sandbox.done(&["waive", "--list"])["waivers"][0]["reason"], "our own");
    let log = sandbox.done(&["log"]);
    assert!(log["events"].to_string().contains("our own"), "{log:#}");
    sandbox.ask(&publish).refused(4, "scan_blocked");
    let asked = sandbox.typing("once more\n", &[&publish[..], &["--version", "2.0.0"]].concat()).exits(0);
    assert_eq!(asked.stderr.matches("Type a reason").count(), 1, "{asked}");
    let args = ["publish", "./demo", "--owner", "acme", "--accept", "exfiltration", "--reason", "trust me"];
    sandbox.ask(&args).refused(5, "policy_denied");
    let stranger = sandbox.path("stranger");
    let mut command = sandbox.command(&["install", "acme/demo", "--json"]);
    command.env("SKILLHUB_HOME", &stranger).env("SKILLHUB_REGISTRY", sandbox.skillhub_home().join("registry"));
    sandbox.finish(command, &["install"]).refused(4, "scan_blocked");
}
