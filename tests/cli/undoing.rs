//! `undo`: every kind of operation reversed, with its links and its line in the lock file, and the undo reversed too.

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::support::{Sandbox, skill_md, snapshot, tree, write_files};

/// Creates a registry with acme/demo, an agent in use, and the skill installed for it.
fn installed() -> Sandbox {
    let sandbox = published();
    sandbox.done(&["install", "acme/demo@^1.0"]);
    sandbox
}

fn published() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.skill("demo", "Writes notes. Use in tests.", &[("scripts/run.sh", "#!/bin/sh\nprintf x\n")]);
    sandbox.done(&["publish", "demo", "--owner", "acme", "--version", "1.0.0"]);
    fs::create_dir(sandbox.home().join(".claude")).unwrap();
    sandbox
}

/// Snapshots everything that an operation may change except the history: the library, the lock file and the agent's
/// folder.
type Seen = (Vec<String>, Option<String>, bool);

fn state(sandbox: &Sandbox) -> Seen {
    let lock: PathBuf = sandbox.done(&["where"])["lock"].as_str().unwrap().into();
    let library = sandbox.home().join(".agents/skills");
    let files = if library.exists() { format!("{:?}", tree(&library)) } else { "{}".to_owned() };
    let link = fs::symlink_metadata(link(sandbox)).is_ok();
    let listed = sandbox.done(&["list"])["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["enabled"].to_string())
        .collect::<Vec<_>>();
    let mut files = vec![files];
    files.extend(listed);
    (files, fs::read_to_string(lock).ok().filter(|text| text.contains("[[skill]]")), link)
}

fn link(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".claude/skills/demo")
}

/// Performs an operation, undoes it, undoes the undo, and undoes once more.
fn there_and_back(sandbox: &Sandbox, args: &[&str], action: &str) -> Value {
    let before = state(sandbox);
    sandbox.done(args);
    let after = state(sandbox);
    assert_ne!(before, after, "{args:?} does something");
    let dry = sandbox.done(&["undo", "--dry-run"]);
    assert_eq!([&dry["status"], &dry["undone"]["action"]], ["dry_run", action]);
    assert_eq!(state(sandbox), after, "a dry run changes nothing");
    let undone = sandbox.done(&["undo"]);
    assert_eq!([&undone["status"], &undone["undone"]["action"]], ["undone", action]);
    assert_eq!(state(sandbox), before, "{args:?} is taken back");
    sandbox.done(&["undo"]);
    assert_eq!(state(sandbox), after, "and the undo of {args:?}");
    sandbox.done(&["undo"]);
    assert_eq!(state(sandbox), before);
    undone
}

#[cfg(unix)]
#[test]
fn existing_links_are_not_reported() {
    let sandbox = Sandbox::project();
    std::fs::create_dir_all(sandbox.cwd().join(".claude")).unwrap();
    sandbox.create("demo", "line one");
    assert!(sandbox.cwd().join(".claude/skills/demo").is_symlink());
    sandbox.done(&["manage", "patch", "demo", "--find", "line one", "--replace", "line two"]);
    let undone = sandbox.done(&["undo"]);
    assert_eq!(undone["skills"][0]["links"], serde_json::json!([]), "{undone:#}");
    assert!(sandbox.cwd().join(".claude/skills/demo").is_symlink());
    sandbox.done(&["doctor"]);
}

#[test]
fn install_can_be_undone() {
    let sandbox = published();
    let undone = there_and_back(&sandbox, &["install", "acme/demo"], "install");
    assert_eq!(undone["skills"][0]["status"], "removed");
    assert!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len() >= 2, "the history stays");
}

#[test]
fn batch_install_is_undone_together() {
    let sandbox = published();
    sandbox.skill("other", "Reads notes. Use in tests.", &[]);
    let undone = there_and_back(&sandbox, &["install", "acme/demo", "./other"], "install");
    assert_eq!(undone["skills"].as_array().unwrap().len(), 2);
}

#[test]
fn undone_uninstall_restores_the_range() {
    let sandbox = installed();
    sandbox.done(&["manage", "patch", "demo", "--find", "Read the input.", "--replace", "Read."]);
    there_and_back(&sandbox, &["uninstall", "demo"], "uninstall");
    let told = sandbox.run(&["uninstall", "demo"]).exits(0).text();
    assert!(told.ends_with(": skillhub undo\n") && !told.contains("rollback"), "{told}");
    sandbox.done(&["undo"]);
    let lock = sandbox.done(&["where"])["lock"].as_str().unwrap().to_owned();
    assert!(fs::read_to_string(lock).unwrap().contains("requested = \"^1.0\""));
    assert!(link(&sandbox).join("SKILL.md").exists());
}

/// Otherwise the next `install` would bring the skill back.
#[test]
fn deletion_and_return_follow_in_the_lock_file() {
    let sandbox = installed();
    let lock: PathBuf = sandbox.done(&["where"])["lock"].as_str().unwrap().into();
    let before = fs::read_to_string(&lock).unwrap();
    there_and_back(&sandbox, &["manage", "delete", "demo"], "delete");
    assert_eq!(fs::read_to_string(&lock).unwrap(), before);
    sandbox.done(&["manage", "delete", "demo"]);
    assert!(!fs::read_to_string(&lock).unwrap().contains("demo"));
    sandbox.done(&["doctor"]);
    sandbox.ask(&["install"]).refused(7, "not_found");
    assert!(!sandbox.user_skill("demo").exists(), "a deleted skill is not installed again");
    sandbox.done(&["rollback", "demo", "1"]);
    assert_eq!(fs::read_to_string(&lock).unwrap(), before, "with the version request and the agents");
    sandbox.done(&["uninstall", "demo"]);
    sandbox.done(&["rollback", "demo", "1"]);
    assert_eq!(fs::read_to_string(&lock).unwrap(), before);
    sandbox.done(&["verify"]);
}

#[test]
fn accepted_deletion_leaves_the_lock_file() {
    let sandbox = installed();
    let lock: PathBuf = sandbox.done(&["where"])["lock"].as_str().unwrap().into();
    let before = fs::read_to_string(&lock).unwrap();
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    let held = sandbox.done(&["manage", "delete", "demo"]);
    assert_eq!(held["status"], "proposed", "{held:#}");
    assert_eq!(fs::read_to_string(&lock).unwrap(), before);
    let token = sandbox.token();
    sandbox.run_as(&token, &["review", "accept", held["proposal"].as_str().unwrap()]).done();
    assert!(!fs::read_to_string(&lock).unwrap().contains("demo"));
}

/// The uninstalled folder has the same name, and its entry another request.
#[test]
fn returned_entry_is_that_of_its_source() {
    let sandbox = installed();
    let lock: PathBuf = sandbox.done(&["where"])["lock"].as_str().unwrap().into();
    let before = fs::read_to_string(&lock).unwrap();
    sandbox.done(&["uninstall", "demo"]);
    sandbox.done(&["install", "./demo"]);
    assert_ne!(fs::read_to_string(&lock).unwrap(), before);
    sandbox.done(&["uninstall", "demo"]);
    sandbox.done(&["rollback", "demo", "1"]);
    assert_eq!(fs::read_to_string(&lock).unwrap(), before);
    fs::remove_file(&lock).unwrap();
    sandbox.done(&["doctor", "--fix"]);
    assert_eq!(fs::read_to_string(&lock).unwrap(), before, "doctor takes it from the log too");
}

#[test]
fn update_can_be_undone() {
    let sandbox = installed();
    sandbox.done(&["manage", "patch", "demo", "--find", "Read the input.", "--replace", "Read."]);
    fs::write(sandbox.cwd().join("demo/scripts/run.sh"), "#!/bin/sh\nprintf y\n").unwrap();
    sandbox.done(&["publish", "demo", "--owner", "acme", "--version", "1.1.0"]);
    let undone = there_and_back(&sandbox, &["update", "demo@latest"], "update");
    assert_eq!(undone["skills"][0]["status"], "restored");
    assert_eq!(sandbox.done(&["list"])["skills"][0]["version"], "1.0.0");
    assert_eq!(sandbox.done(&["update"])["skills"][0]["status"], "merged", "the next update merges the same again");
}

#[test]
fn edits_rollbacks_and_deletions_are_undone() {
    let sandbox = installed();
    there_and_back(&sandbox, &["manage", "patch", "demo", "--find", "Read the input.", "--replace", "Read."], "patch");
    sandbox.done(&["manage", "patch", "demo", "--find", "Read the input.", "--replace", "Read it."]);
    there_and_back(&sandbox, &["rollback", "demo"], "rollback");
    sandbox.create("mine", "Body.\n");
    there_and_back(&sandbox, &["manage", "delete", "mine"], "delete");
}

#[test]
fn set_aside_blocked_edit_stays_away() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "first line");
    sandbox.done(&["manage", "patch", "demo", "--find", "first", "--replace", "second"]);
    let last = || sandbox.done(&["undo", "--list"])["operations"][0]["id"].as_str().unwrap().to_owned();
    let patch = last();
    fs::write(sandbox.user_skill("demo").join("SKILL.md"), "No frontmatter.\n").unwrap();
    sandbox.done(&["rollback", "demo", "head"]);
    let error = sandbox.ask(&["undo"]).refused_with_hint(4, "scan_blocked");
    assert!(error["message"].as_str().unwrap().contains("never restored"), "{error:#}");
    sandbox.done(&["manage", "patch", "demo", "--find", "second", "--replace", "third"]);
    sandbox.done(&["undo", "--to", &patch]);
    let text = fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap();
    assert!(text.contains("second line"), "{text}");
}

#[test]
fn folder_replacing_link_is_unmanaged() {
    let sandbox = Sandbox::project();
    let folder = sandbox.cwd().join(".claude/skills");
    write_files(&sandbox.cwd(), &[(".claude/settings.json", b"{}\n", false)]);
    sandbox.create("demo", "first line");
    assert!(folder.join("demo").is_symlink());
    fs::remove_file(folder.join("demo")).unwrap();
    write_files(&folder.join("demo"), &[("SKILL.md", skill_md("demo", "By hand.", "Do it.").as_bytes(), false)]);
    sandbox.done(&["undo"]);
    let list = sandbox.done(&["list"]);
    let unmanaged = list["unmanaged"].as_array().unwrap();
    assert!(unmanaged.iter().any(|found| found["name"] == "demo"), "{list:#}");
}

#[test]
fn hiding_can_be_undone() {
    let sandbox = installed();
    let undone = there_and_back(&sandbox, &["disable", "demo"], "disable");
    assert_eq!(undone["skills"][0]["status"], "enabled");
    assert!(link(&sandbox).exists());
}

#[test]
fn undone_adoption_leaves_the_folders() {
    let sandbox = Sandbox::new();
    let text = crate::support::skill_md("own", "Writes notes. Use in tests.", "Body.\n");
    write_files(&sandbox.user_skill("own"), &[("SKILL.md", text.as_bytes(), false)]);
    let before = snapshot(&sandbox.user_skill("own"));
    let path = sandbox.user_skill("own").display().to_string();
    sandbox.done(&["adopt", &path]);
    let undone = sandbox.done(&["undo"]);
    assert_eq!(undone["undone"]["action"], "adopt");
    assert_eq!(snapshot(&sandbox.user_skill("own")), before, "the folder is nobody's again, and still there");
    sandbox.ask(&["uninstall", "own"]).refused(7, "not_found");
    sandbox.done(&["undo"]);
    assert_eq!(snapshot(&sandbox.user_skill("own")), before);
    sandbox.done(&["manage", "patch", "own", "--find", "Body.", "--replace", "Text."]);
}

#[test]
fn copies_follow_update_and_undo() {
    let sandbox = published();
    sandbox.done(&["install", "acme/demo", "--copy"]);
    let first = snapshot(&link(&sandbox));
    fs::write(sandbox.cwd().join("demo/scripts/run.sh"), "#!/bin/sh\nprintf y\n").unwrap();
    sandbox.done(&["publish", "demo", "--owner", "acme", "--version", "1.1.0"]);
    sandbox.done(&["update"]);
    assert_ne!(snapshot(&link(&sandbox)), first, "an update renews them");
    sandbox.done(&["undo"]);
    assert_eq!(snapshot(&link(&sandbox)), first);
    assert_eq!(sandbox.done(&["doctor"])["ok"], true);
}

#[test]
fn undo_never_loses_hand_edit() {
    let sandbox = installed();
    sandbox.done(&["manage", "patch", "demo", "--find", "Read the input.", "--replace", "Read."]);
    let file = sandbox.user_skill("demo").join("SKILL.md");
    let text = format!("{}\nBy hand.\n", fs::read_to_string(&file).unwrap());
    fs::write(&file, &text).unwrap();
    sandbox.ask(&["undo"]).refused_with_hint(6, "hand_edited");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    // One that an operation found is not the operation's.
    sandbox.done(&["manage", "patch", "demo", "--find", "By hand.", "--replace", "By a hand."]);
    sandbox.done(&["undo"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn impossible_undo_is_explained() {
    let sandbox = Sandbox::new();
    sandbox.ask(&["undo"]).refused_with_hint(7, "not_found");
    sandbox.create("mine", "Body.\n");
    let token = sandbox.token();
    sandbox.done(&["pin", "mine"]);
    sandbox.ask(&["undo"]).refused(5, "policy_denied");
    sandbox.run_as(&token, &["undo", "--actor", "person"]).done();
}

#[test]
fn undo_shows_unrecorded_skill_again() {
    let sandbox = Sandbox::new();
    let text = skill_md("plain", "Writes notes. Use in tests.", "Write.");
    write_files(&sandbox.user_skill("plain"), &[("SKILL.md", text.as_bytes(), false)]);
    let visible = |sandbox: &Sandbox| sandbox.done(&["prompt", "--format", "json"]).to_string().contains("plain");
    assert!(visible(&sandbox));
    sandbox.done(&["disable", "plain"]);
    assert!(!visible(&sandbox));
    let undone = sandbox.done(&["undo"]);
    assert_eq!([&undone["skills"][0]["status"], &undone["skills"][0]["revision"]], [&"enabled".into(), &Value::Null]);
    assert!(visible(&sandbox));
    sandbox.done(&["undo"]);
    assert!(!visible(&sandbox), "and the undo of it");
}

/// A sandbox in which five operations were done, and the state and id after each, oldest first.
fn five_operations() -> (Sandbox, Vec<Seen>, Vec<String>) {
    let sandbox = published();
    sandbox.skill("demo", "Writes better notes. Use in tests.", &[]);
    sandbox.done(&["publish", "demo", "--owner", "acme", "--version", "1.1.0"]);
    sandbox.skill("other", "Reads notes. Use in tests.", &[]);
    let mut states = Vec::new();
    for args in [
        vec!["install", "acme/demo@1.0.0"],
        vec!["install", "./other"],
        vec!["manage", "patch", "demo", "--find", "Read the input.", "--replace", "Read all input."],
        vec!["update", "acme/demo@1.1.0"],
        vec!["disable", "demo"],
    ] {
        sandbox.done(&args);
        states.push(state(&sandbox));
    }
    let listed = sandbox.done(&["undo", "--list"]);
    let ids = listed["operations"].as_array().unwrap().iter().rev();
    (sandbox, states, ids.map(|operation| operation["id"].as_str().unwrap().to_owned()).collect())
}

#[test]
fn operations_are_listed_newest_first() {
    let (sandbox, _, ids) = five_operations();
    let listed = sandbox.done(&["undo", "--list"]);
    let operations = listed["operations"].as_array().unwrap();
    let actions: Vec<&Value> = operations.iter().map(|operation| &operation["action"]).collect();
    assert_eq!(actions, ["disable", "update", "patch", "install", "install"]);
    assert_eq!(operations[0]["skills"], serde_json::json!(["demo"]));
    assert!(operations[0]["time"].as_str().unwrap().ends_with('Z') && operations[0]["actor"].is_string());
    let text = sandbox.run(&["undo", "--list"]).exits(0).text();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(ids.iter().all(|id| text.contains(id.as_str())), "{text}");
}

#[test]
fn several_operations_are_one_undo() {
    for back_to in 0..5 {
        let (sandbox, states, ids) = five_operations();
        let dry = sandbox.done(&["undo", "--to", &ids[back_to], "--dry-run"]);
        assert_eq!(state(&sandbox), states[4], "a dry run changes nothing: {dry:#}");
        let undone = sandbox.done(&["undo", "--to", &ids[back_to]]);
        assert_eq!(undone["operations"].as_array().unwrap().len(), 4 - back_to, "{undone:#}");
        assert_eq!(state(&sandbox), states[back_to], "back to {back_to}: {undone:#}");
        if back_to < 4 {
            sandbox.done(&["undo"]);
            assert_eq!(state(&sandbox), states[4], "one undo takes it back");
            sandbox.done(&["undo", "--to", &ids[4]]);
            assert_eq!(state(&sandbox), states[4], "an undo and its undo are nothing");
        }
    }
}

#[test]
fn undo_to_start_removes_everything() {
    let (sandbox, ..) = five_operations();
    sandbox.done(&["undo", "--to", "start"]);
    assert!(sandbox.done(&["list"])["skills"].as_array().unwrap().is_empty());
    assert!(!link(&sandbox).exists());
    sandbox.ask(&["undo", "--to", "0000beef"]).refused_with_hint(7, "not_found");
}

#[test]
fn pinned_skill_stops_whole_undo() {
    let (sandbox, states, ids) = five_operations();
    sandbox.done(&["pin", "demo"]);
    sandbox.ask(&["undo", "--to", &ids[0]]).refused(5, "policy_denied");
    assert_eq!(state(&sandbox), states[4], "the other skill stays as well");
}

#[cfg(unix)]
#[test]
fn unchanged_links_are_kept() {
    let sandbox = Sandbox::project();
    fs::create_dir_all(sandbox.cwd().join(".claude/skills")).unwrap();
    sandbox.create("demo", "one line");
    sandbox.done(&["manage", "patch", "demo", "--find", "one", "--replace", "two"]);
    let undone = sandbox.done(&["undo"]);
    assert_eq!(undone["skills"][0]["links"], serde_json::json!([]), "{undone:#}");
    // A folder that a hand put in the place of the link stays as well.
    let place = sandbox.cwd().join(".claude/skills/demo");
    fs::remove_file(&place).unwrap();
    let text = fs::read(sandbox.cwd().join(".agents/skills/demo/SKILL.md")).unwrap();
    write_files(&place, &[("SKILL.md", &text, false)]);
    sandbox.done(&["manage", "patch", "demo", "--find", "one", "--replace", "two"]);
    sandbox.done(&["undo"]);
    assert!(!place.is_symlink());
}

/// A place from which a link was to go is forgotten also where a hand was faster.
#[cfg(unix)]
#[test]
fn deleted_skill_forgets_its_links() {
    let sandbox = Sandbox::project();
    fs::create_dir_all(sandbox.cwd().join(".claude/skills")).unwrap();
    sandbox.create("demo", "one line");
    fs::remove_file(sandbox.cwd().join(".claude/skills/demo")).unwrap();
    sandbox.done(&["manage", "delete", "demo"]);
    let own = skill_md("demo", "Does it. Use in tests.", "Of Claude Code.");
    let folder = sandbox.cwd().join(".claude/skills/demo");
    write_files(&folder, &[("SKILL.md", own.as_bytes(), false)]);
    assert_eq!(sandbox.done(&["list"])["unmanaged"][0]["name"], "demo");
}

#[cfg(unix)]
#[test]
fn deleted_skill_returns_through_library_link() {
    let sandbox = Sandbox::new();
    let library = sandbox.user_skill("pdf").parent().unwrap().to_owned();
    let claude = library.parent().unwrap().parent().unwrap().join(".claude/skills");
    let text = "---\nname: pdf\ndescription: Reads PDF files. Use in tests.\n---\n\nRead it.\n";
    crate::support::write_files(&claude.join("pdf"), &[("SKILL.md", text.as_bytes(), false)]);
    sandbox.done(&["adopt", claude.join("pdf").to_str().unwrap(), "--link", "--global"]);
    std::fs::remove_dir_all(&claude).unwrap();
    std::os::unix::fs::symlink(&library, &claude).unwrap();
    sandbox.done(&["manage", "delete", "pdf"]);
    sandbox.done(&["undo"]);
    assert_eq!(std::fs::read_to_string(sandbox.user_skill("pdf").join("SKILL.md")).unwrap(), text);
}
