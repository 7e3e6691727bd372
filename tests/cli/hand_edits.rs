//! Hand edits that bypass skillhub: good ones are recorded, bad ones are kept out.

use std::fs;

use serde_json::{Value, json};

use super::delicate_changes::warned;
use crate::support::{Sandbox, Snapshot, git, hostile_script, skill_md, snapshot, write_files};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line\nbeta line");
    sandbox
}

fn revisions(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().clone()
}

/// Adds a hostile script to the folder and returns the folder's previous content.
fn edit_hostile(sandbox: &Sandbox) -> Snapshot {
    let before = snapshot(&sandbox.user_skill("demo"));
    write_files(&sandbox.user_skill("demo"), &[("scripts/report.sh", hostile_script().as_bytes(), true)]);
    before
}

const PATCH: [&str; 7] = ["manage", "patch", "demo", "--find", "alpha line", "--replace", "gamma line"];

#[test]
fn hand_edit_is_recorded_as_external() {
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
fn first_change_adopts_unrecorded_folder() {
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
fn hostile_hand_edit_refuses_changes() {
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
fn hostile_hand_edit_hides_the_skill() {
    let sandbox = sandbox();
    sandbox.create("other", "Text.");
    edit_hostile(&sandbox);
    let answer = sandbox.run(&["prompt"]).exits(0);
    assert!(answer.text().contains("<name>\nother\n</name>") && !answer.text().contains("demo"), "{answer}");
    assert!(answer.stderr.contains("demo is left out"), "{answer}");
    assert!(sandbox.run(&["prompt", "--quiet"]).stderr.is_empty());
    let prompt = sandbox.done(&["prompt"]);
    let own = prompt["skills"].as_array().unwrap().iter().filter(|skill| skill["scope"] != "builtin");
    assert_eq!(own.map(|skill| &skill["name"]).collect::<Vec<_>>(), ["other"]);
    sandbox.ask(&["read", "demo"]).refused_with_hint(4, "external_blocked");
}

#[test]
fn rollback_sets_hostile_edit_aside() {
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
fn set_aside_hostile_edit_stays_blocked() {
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
fn hand_edit_with_link_is_refused() {
    let sandbox = sandbox();
    std::os::unix::fs::symlink("/etc/hostname", sandbox.user_skill("demo").join("link")).unwrap();
    let edited = snapshot(&sandbox.user_skill("demo"));
    sandbox.ask(&PATCH).refused_with_hint(4, "external_blocked");
    assert_eq!(sandbox.done(&["status", "demo"])["skills"][0]["state"], "blocked");
    assert_eq!(snapshot(&sandbox.user_skill("demo")), edited);
}

#[test]
fn missing_skill_folder_is_restored() {
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
fn git_log_shows_actor_and_reason() {
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

/// Replaces words of the `SKILL.md`, as an editor does.
fn edit(sandbox: &Sandbox, from: &str, to: &str) {
    let file = sandbox.user_skill("demo").join("SKILL.md");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(file, text.replace(from, to)).unwrap();
}

fn policy(sandbox: &Sandbox, preset: &str) {
    fs::create_dir_all(sandbox.skillhub_home()).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), format!("policy = \"{preset}\"\n")).unwrap();
}

/// Returns the content served to readers: `read`, its digest, and the line of `list`.
fn served(sandbox: &Sandbox) -> (Value, Value) {
    let list = sandbox.done(&["list"])["skills"][0].clone();
    let read = sandbox.done(&["read", "demo"]);
    assert_eq!(read["digest"], list["digest"]);
    assert_eq!(read["edited"], list["edited"]);
    (read, list)
}

#[test]
fn good_edit_is_served_at_once() {
    let sandbox = sandbox();
    let before = sandbox.done(&["read", "demo"]);
    assert_eq!((&before["edited"], before["revision"].is_string()), (&json!(false), true));
    edit(&sandbox, "alpha line", "omega line");
    edit(&sandbox, "Does what demo says.", "Does what the edit says.");
    let (read, list) = served(&sandbox);
    assert_eq!((&read["edited"], &read["revision"]), (&json!(true), &Value::Null));
    assert_ne!(read["digest"], before["digest"]);
    assert!(read["content"].as_str().unwrap().contains("omega line"), "{read:#}");
    assert!(list["description"].as_str().unwrap().contains("the edit says"), "{list:#}");
    assert!(sandbox.run(&["read", "demo"]).exits(0).text().contains("omega line"));
    assert!(sandbox.run(&["read", "demo", "SKILL.md"]).exits(0).text().contains("omega line"));
    assert!(sandbox.run(&["prompt"]).exits(0).text().contains("the edit says"));
    for document in [sandbox.done(&["prompt"]), sandbox.run(&["prompt", "--format", "json"]).exits(0).json()] {
        assert_eq!(document["skills"][0]["edited"], true);
        assert_eq!(document["skills"][0]["digest"], read["digest"]);
    }
    let diff = sandbox.done(&["diff", "demo"]);
    assert_eq!((&diff["from"], &diff["to"], &diff["edited"]), (&before["revision"], &Value::Null, &json!(true)));
    assert!(diff["diff"].as_str().unwrap().contains("+omega line"), "{diff:#}");
    assert_eq!(revisions(&sandbox).len(), 1, "reading records nothing");
    sandbox.done(&["manage", "patch", "demo", "--find", "omega line", "--replace", "psi line"]);
    assert_eq!(revisions(&sandbox).len(), 3);
}

#[test]
fn recorded_edit_has_no_foreign_run() {
    let sandbox = sandbox();
    edit(&sandbox, "beta line", "delta line");
    sandbox.done(&[&PATCH[..], &["--run", "run-9", "--thread", "t-9"]].concat());
    let revisions = revisions(&sandbox);
    assert_eq!((&revisions[0]["run"], &revisions[0]["thread"]), (&json!("run-9"), &json!("t-9")));
    assert_eq!((&revisions[1]["run"], &revisions[1]["thread"]), (&Value::Null, &Value::Null));
}

#[test]
fn upstream_diff_ends_at_the_folder() {
    let sandbox = Sandbox::new();
    let folder = sandbox.skill("demo", "Does it. Use in tests.", &[]);
    sandbox.done(&["install", folder.to_str().unwrap()]);
    edit(&sandbox, "Read the input.", "Read all input.");
    let diff = sandbox.done(&["diff", "demo", "--upstream"]);
    assert_eq!(diff["edited"], true);
    assert!(diff["diff"].as_str().unwrap().contains("+Read all input."), "{diff:#}");
}

#[test]
fn edited_skill_compiles_as_edited() {
    let sandbox = sandbox();
    let tool = "tool_schema:\n  description: Says hello\n  input:\n    type: object\n";
    let compiled = |sandbox: &Sandbox| sandbox.ask(&["tools", "compile", "demo"]).json();
    let before = compiled(&sandbox);
    edit(&sandbox, "name: demo\n", &format!("name: demo\n{tool}"));
    assert_ne!(compiled(&sandbox), before, "the schema of the folder is looked at");
}

#[test]
fn commit_records_edit_with_reason() {
    let sandbox = sandbox();
    edit(&sandbox, "alpha line", "omega line");
    let folder = snapshot(&sandbox.user_skill("demo"));
    let report = sandbox.done(&["commit", "demo", "--reason", "a clearer word"]);
    assert_eq!(
        (&report["status"], &report["action"], &report["number"]),
        (&json!("applied"), &json!("external"), &json!(2))
    );
    let newest = revisions(&sandbox)[0].clone();
    assert_eq!((&newest["reason"], &newest["actor"]["kind"]), (&json!("a clearer word"), &json!("external")));
    assert_eq!(newest["revision"], report["revision"]);
    assert_eq!(snapshot(&sandbox.user_skill("demo")), folder);
    let again = sandbox.done(&["commit", "demo", "--reason", "again"]);
    assert_eq!((&again["status"], &again["revision"]), (&json!("unchanged"), &report["revision"]));
    assert_eq!(sandbox.done(&["status", "demo"])["skills"][0]["state"], "clean");
    sandbox.ask(&["commit", "none", "--reason", "x"]).refused(7, "not_found");
    assert_eq!(sandbox.run(&["commit", "demo"]).exits(2).text(), "");
}

#[test]
fn commit_without_name_records_all() {
    let sandbox = sandbox();
    sandbox.create("other", "alpha line");
    sandbox.create("third", "alpha line");
    edit(&sandbox, "alpha line", "omega line");
    fs::write(sandbox.user_skill("other").join("notes.md"), "# Notes\n").unwrap();
    let answer = sandbox.done(&["commit", "--reason", "both"]);
    let names: Vec<_> = answer["skills"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["demo", "other"]);
    assert_eq!(sandbox.done(&["commit", "--reason", "none"])["skills"], json!([]));
}

#[test]
fn commit_of_blocked_edit_is_refused() {
    let sandbox = sandbox();
    edit_hostile(&sandbox);
    sandbox.ask(&["commit", "demo", "--reason", "x"]).refused_with_hint(4, "external_blocked");
    let all = sandbox.ask(&["commit", "--reason", "x"]).exits(4).json();
    assert_eq!((&all["ok"], &all["refused"][0]["code"]), (&json!(false), &json!("external_blocked")));
}

/// The ways in which an edit is one that an agent could not make, each on a fresh skill.
fn held_edits() -> Vec<(&'static str, Sandbox)> {
    let mut edits = Vec::new();
    let pinned = sandbox();
    pinned.done(&["pin", "demo"]);
    edit(&pinned, "alpha line", "omega line");
    edits.push(("pinned", pinned));
    let strict = sandbox();
    policy(&strict, "strict");
    edit(&strict, "alpha line", "omega line");
    edits.push(("strict", strict));
    let delicate = sandbox();
    let script = warned("scripts/a.sh");
    write_files(&delicate.user_skill("demo"), &[("scripts/a.sh", script.as_bytes(), true)]);
    edits.push(("delicate", delicate));
    let evals = sandbox();
    edit(&evals, "alpha line", "omega line");
    write_files(&evals.user_skill("demo"), &[("evals/evals.json", b"{}\n", false)]);
    edits.push(("evals", evals));
    let rule = sandbox();
    let rules = "[[rules]]\ndecision = \"hold\"\nactor = \"agent\"\nactions = [\"write_file\", \"patch\"]\n";
    fs::write(rule.skillhub_home().join("config.toml"), rules).unwrap();
    write_files(&rule.user_skill("demo"), &[("references/more.md", b"# More\n", false)]);
    edits.push(("rule", rule));
    edits
}

#[test]
fn privileged_hand_edit_is_held() {
    for (what, sandbox) in held_edits() {
        let head = revisions(&sandbox)[0].clone();
        let folder = snapshot(&sandbox.user_skill("demo"));
        let (read, list) = served(&sandbox);
        assert_eq!((&read["revision"], &read["edited"]), (&head["revision"], &json!(false)), "{what}");
        assert_eq!(read["digest"], head["digest"], "{what}");
        assert!(read["held"].is_string() && list["held"].is_string(), "{what}: {read:#}");
        assert!(read["content"].as_str().unwrap().contains("alpha line"), "{what}");
        assert!(sandbox.run(&["read", "demo"]).exits(0).text().contains("waits for a person"), "{what}");
        let prompt = sandbox.done(&["prompt"])["skills"][0].clone();
        assert_eq!((&prompt["edited"], &prompt["digest"]), (&json!(false), &head["digest"]), "{what}");
        let status = sandbox.done(&["status", "demo"])["skills"][0].clone();
        assert_eq!((&status["state"], status["held"].is_string()), (&json!("modified"), true), "{what}");
        sandbox.ask(&PATCH).refused(5, "policy_denied");
        let commit = sandbox.ask(&["commit", "demo", "--reason", "x"]);
        let is_refused = commit.json()["error"]["code"] == "policy_denied";
        assert!(is_refused || commit.json()["status"] == "proposed", "{what}: {commit}");
        assert_eq!(revisions(&sandbox).len(), 1, "{what}");
        assert_eq!(snapshot(&sandbox.user_skill("demo")), folder, "{what}");
        let recorded = sandbox.run_as(&sandbox.token(), &["--actor", "person:ann", "commit", "demo", "--reason", "ok"]);
        assert_eq!(recorded.done()["status"], "applied", "{what}");
        let (read, _) = served(&sandbox);
        assert_eq!((&read["held"], &read["edited"]), (&Value::Null, &json!(false)), "{what}");
        assert_ne!(read["digest"], head["digest"], "{what}: a person recorded it");
    }
}

#[test]
fn only_person_restores_set_aside_edit() {
    let sandbox = sandbox();
    let script = warned("scripts/a.sh");
    write_files(&sandbox.user_skill("demo"), &[("scripts/a.sh", script.as_bytes(), true)]);
    let edited = snapshot(&sandbox.user_skill("demo"));
    sandbox.done(&["rollback", "demo", "head"]);
    assert_eq!(revisions(&sandbox).len(), 3);
    sandbox.ask(&["rollback", "demo", "2"]).refused(5, "policy_denied");
    write_files(&sandbox.user_skill("demo"), &[("scripts/a.sh", script.as_bytes(), true)]);
    let (read, _) = served(&sandbox);
    assert!(read["held"].is_string() && read["files"] == json!([]), "{read:#}");
    fs::remove_dir_all(sandbox.user_skill("demo").join("scripts")).unwrap();
    sandbox.run_as(&sandbox.token(), &["--actor", "person:ann", "rollback", "demo", "2"]).done();
    assert_eq!(snapshot(&sandbox.user_skill("demo")), edited);
}

#[test]
fn person_accepts_held_commit() {
    let sandbox = sandbox();
    policy(&sandbox, "strict");
    edit(&sandbox, "alpha line", "omega line");
    let proposal = sandbox.done(&["commit", "demo", "--reason", "a better word"]);
    assert_eq!(proposal["status"], "proposed");
    let id = proposal["proposal"].as_str().unwrap();
    assert_eq!(sandbox.done(&["commit", "demo", "--reason", "again"])["proposal"], proposal["proposal"]);
    sandbox.run_as(&sandbox.token(), &["review", "accept", id]).done();
    let (read, _) = served(&sandbox);
    assert!(read["held"].is_null() && read["content"].as_str().unwrap().contains("omega line"), "{read:#}");
    assert_eq!(sandbox.done(&["status", "demo"])["skills"][0]["state"], "clean");
}

#[test]
fn unrecorded_edit_counts_no_runs() {
    let sandbox = sandbox();
    sandbox.done(&["read", "demo", "--run", "before"]);
    edit(&sandbox, "alpha line", "omega line");
    sandbox.done(&["read", "demo", "--run", "during"]);
    let told = sandbox.done(&["record", "demo", "--event", "completed", "--run", "during"]);
    assert_eq!((&told["recorded"], &told["unrecorded"]), (&json!(0), &json!(1)), "{told:#}");
    let told = sandbox.done(&["record", "demo", "--event", "completed", "--run", "before"]);
    assert_eq!(told["recorded"], 1, "that run had the head");
    let library = sandbox.done(&["where"])["history"].as_str().unwrap().replace("history.git", "outcomes/demo.jsonl");
    let log = fs::read_to_string(library).unwrap();
    assert_eq!((log.lines().count(), log.contains("during")), (2, false), "{log}");
}

#[test]
fn one_content_is_scanned_once() {
    let sandbox = sandbox();
    edit(&sandbox, "alpha line", "omega line");
    let (read, _) = served(&sandbox);
    let glances = sandbox.done(&["where"])["history"].as_str().unwrap().replace("history.git", "glances");
    let known = String::from_utf8_lossy(&fs::read(&glances).unwrap()).into_owned();
    assert!(known.contains(read["digest"].as_str().unwrap()), "{known}");
    policy(&sandbox, "strict");
    assert!(served(&sandbox).0["held"].is_string(), "another policy is asked again");
    policy(&sandbox, "open");
    assert_eq!(served(&sandbox).0["digest"], read["digest"]);
    edit_hostile(&sandbox);
    sandbox.ask(&["read", "demo"]).refused(4, "external_blocked");
    assert!(!sandbox.run(&["prompt"]).exits(0).text().contains("demo"), "other content is judged anew");
}

#[test]
fn folder_without_history_is_new() {
    let sandbox = sandbox();
    let text = skill_md("fresh", "Does it. Use in tests.", "Read.");
    write_files(&sandbox.user_skill("fresh"), &[("SKILL.md", text.as_bytes(), false)]);
    for status in
        [sandbox.done(&["status", "fresh"])["skills"][0].clone(), sandbox.done(&["status"])["skills"][1].clone()]
    {
        assert_eq!((&status["name"], &status["state"]), (&json!("fresh"), &json!("new")));
        assert_eq!((&status["revision"], &status["newest"]), (&Value::Null, &Value::Null));
    }
    assert_eq!(sandbox.done(&["commit", "fresh", "--reason", "begin"])["number"], 1);
}

/// A home of Codex, which reads the library's folder itself, with a skill.
fn of_codex() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.home().join(".codex")).unwrap();
    sandbox.create("demo", "alpha line");
    sandbox
}

#[test]
fn blocked_edit_names_its_readers() {
    let sandbox = of_codex();
    edit_hostile(&sandbox);
    let status = sandbox.ask(&["status", "demo"]).exits(8).json();
    assert_eq!(status["skills"][0]["state"], "blocked");
    let problem = &status["problems"][0];
    assert_eq!((&problem["agents"], &problem["reads"]), (&json!(["codex"]), &json!("blocked")));
    assert_eq!(problem["hint"], "skillhub rollback demo head");
    let text = sandbox.run(&["status"]).exits(8).text();
    assert!(text.contains("codex reads demo") && text.contains("rollback demo head"), "{text}");
    let doctor = sandbox.ask(&["doctor"]).exits(1).json();
    let is_named = |check: &Value| check["code"] == "agent_reads_other" && check["state"] == "cannot";
    assert!(doctor["checks"].as_array().unwrap().iter().any(is_named), "{doctor:#}");
    assert_eq!(sandbox.done(&["list"])["skills"][0]["agents"], json!([]));
    sandbox.done(&["rollback", "demo", "head"]);
    sandbox.done(&["status"]);
}

#[test]
fn hint_moves_blocked_edit_away() {
    let sandbox = of_codex();
    std::os::unix::fs::symlink("/etc/hostname", sandbox.user_skill("demo").join("link")).unwrap();
    let status = sandbox.ask(&["status"]).exits(8).json();
    let hint = status["problems"][0]["hint"].as_str().unwrap();
    assert!(std::process::Command::new("sh").args(["-c", hint]).status().unwrap().success(), "{hint}");
    sandbox.done(&["rollback", "demo", "head"]);
    sandbox.done(&["status"]);
}

#[test]
fn blocked_leftover_folder_is_reported() {
    let sandbox = sandbox();
    sandbox.done(&["manage", "delete", "demo"]);
    let text = skill_md("demo", "Is back. Use in tests.", "Text.");
    let script = hostile_script();
    let files = [("SKILL.md", text.as_bytes(), false), ("scripts/report.sh", script.as_bytes(), true)];
    write_files(&sandbox.user_skill("demo"), &files);
    let doctor = sandbox.ask(&["doctor"]).exits(1).json();
    let problem = &doctor["problems"][0];
    assert_eq!((&problem["code"], &problem["subject"]), (&json!("folder_blocked"), &json!("demo")));
}

#[test]
fn held_edit_is_committed_through_link() {
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    std::os::unix::fs::symlink("../.agents/skills", sandbox.home().join(".claude/skills")).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    write_files(&sandbox.user_skill("demo"), &[("references/mine.md", b"by hand\n", false)]);
    let status = sandbox.ask(&["status"]).exits(8).json();
    assert_eq!(status["problems"][0]["hint"], "skillhub commit demo --reason TEXT", "{status:#}");
}
