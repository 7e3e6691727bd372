//! `doctor` on broken homes and libraries: its findings, its repairs, and the problems that it leaves alone.

mod journal;
mod one_skill;
mod settings;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::Value;

use crate::support::{Sandbox, Snapshot, set_mode, snapshot, tree};

pub const WRITING: &str = "skillhub-writing-skills";

/// Creates a project with an installed skill, linked for an agent, and one that was written there.
pub fn project() -> Sandbox {
    let sandbox = Sandbox::project();
    fs::create_dir(sandbox.cwd().join(".claude")).unwrap();
    sandbox.done(&["install", &format!("skillhub/{WRITING}")]);
    sandbox.create("demo", "alpha");
    sandbox.done(&["manage", "patch", "demo", "--find", "alpha", "--replace", "beta"]);
    sandbox
}

/// Returns the library's folder in the home.
fn own(sandbox: &Sandbox) -> PathBuf {
    PathBuf::from(sandbox.done(&["where"])["history"].as_str().unwrap()).parent().unwrap().to_owned()
}

fn skill(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.cwd().join(".agents/skills").join(name)
}

/// Returns the states of one check, in order, and all its messages.
fn of(document: &Value, check: &str) -> (Vec<String>, String) {
    let entries = document["checks"].as_array().unwrap().iter().filter(|entry| entry["check"] == check);
    let entries: Vec<&Value> = entries.collect();
    let states = entries.iter().map(|entry| entry["state"].as_str().unwrap().to_owned()).collect();
    (states, entries.iter().map(|entry| format!("{}\n", entry["message"].as_str().unwrap())).collect())
}

#[track_caller]
fn assert_well(sandbox: &Sandbox) {
    let document = sandbox.done(&["doctor"]);
    assert!(document["checks"].as_array().unwrap().iter().all(|entry| entry["state"] == "ok"), "{document:#}");
}

/// Snapshots the project and the home, without the record of the last lock holder.
fn everything(sandbox: &Sandbox) -> (Snapshot, Snapshot) {
    let mut home = snapshot(&sandbox.skillhub_home());
    home.retain(|path, _| !path.ends_with("/lock"));
    (tree(&sandbox.cwd()), home)
}

/// Asserts that `check` finds a problem without changing anything, and that `--fix` repairs it.
#[track_caller]
fn is_found_and_mended(sandbox: &Sandbox, check: &str) -> String {
    let before = everything(sandbox);
    let found = sandbox.ask(&["doctor"]).exits(1).json();
    assert_eq!(of(&found, check).0, ["found"], "{check}: {found:#}");
    assert_eq!(everything(sandbox), before, "{check}: looking changes nothing");
    let mended = sandbox.ask(&["doctor", "--fix"]).exits(0).json();
    let (states, message) = of(&mended, check);
    assert!(states.iter().all(|state| state == "mended"), "{check}: {mended:#}");
    assert_well(sandbox);
    message
}

fn make_old(path: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
}

#[test]
fn healthy_library_has_no_problems() {
    let sandbox = Sandbox::new();
    let document = sandbox.done(&["doctor"]);
    for entry in document["checks"].as_array().unwrap() {
        for key in ["check", "state", "message", "path"] {
            assert!(entry[key].as_str().is_some_and(|text| !text.is_empty()), "{key} of {entry:#}");
        }
    }
    assert!(!sandbox.skillhub_home().exists(), "looking makes nothing");
    let sandbox = project();
    assert_well(&sandbox);
    assert!(sandbox.run(&["doctor"]).exits(0).text().contains("No problems in"));
}

#[test]
fn missing_object_is_restored() {
    let sandbox = project();
    let objects = own(&sandbox).join("history.git/objects");
    let history = sandbox.done(&["history", "demo"]);
    let head = history["revisions"][0]["revision"].as_str().unwrap();
    fs::remove_file(objects.join(&head[..2]).join(&head[2..])).unwrap();
    let found = sandbox.ask(&["doctor"]).exits(1).json();
    assert!(of(&found, "references").1.contains(head), "{found:#}");
    assert_eq!(found["problems"][0]["code"], "history_damaged");
    assert_eq!(of(&found, "folders").0, ["cannot"], "what rests on the history is not judged");
    let fixed = sandbox.ask(&["doctor", "--fix"]).exits(0).json();
    assert_eq!(of(&fixed, "references").0, ["mended"], "{fixed:#}");
    assert_well(&sandbox);
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"][0]["revision"], head);
}

#[test]
fn unrepairable_damage_names_the_revision() {
    let sandbox = project();
    let own = own(&sandbox);
    let history = sandbox.done(&["history", "demo"]);
    let first = history["revisions"][1]["revision"].as_str().unwrap().to_owned();
    let git = ["--git-dir", own.join("history.git").to_str().unwrap(), "rev-parse", &format!("{first}:SKILL.md")]
        .map(str::to_owned);
    let blob = crate::support::git(&sandbox, &git.iter().map(String::as_str).collect::<Vec<_>>());
    let blob = blob.trim();
    fs::remove_file(own.join("history.git/objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    fs::write(own.join("journal"), "").unwrap();
    let fixed = sandbox.ask(&["doctor", "--fix"]).exits(1).json();
    let (states, message) = of(&fixed, "history");
    assert_eq!(states, ["cannot"], "{fixed:#}");
    assert!(message.contains(&first[..12]) && message.contains("SKILL.md is missing"), "{message}");
    assert_eq!(of(&fixed, "folders").0, ["ok"], "the head is whole: {fixed:#}");
}

#[test]
fn dangling_reference_is_repaired() {
    let sandbox = project();
    let file = own(&sandbox).join("history.git/refs/skills/demo");
    for damage in ["x", "1111111111111111111111111111111111111111\n"] {
        fs::write(&file, damage).unwrap();
        is_found_and_mended(&sandbox, "references");
    }
    fs::remove_file(&file).unwrap();
    is_found_and_mended(&sandbox, "references");
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 2);
}

#[test]
fn lost_reference_refuses_new_revisions() {
    let sandbox = project();
    fs::remove_file(own(&sandbox).join("history.git/refs/skills/demo")).unwrap();
    let refused = sandbox.ask(&["manage", "patch", "demo", "--find", "beta", "--replace", "gamma"]);
    refused.refused(8, "damaged_history");
    is_found_and_mended(&sandbox, "references");
    sandbox.done(&["manage", "patch", "demo", "--find", "beta", "--replace", "gamma"]);
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 3);
}

#[test]
fn missing_history_is_rebuilt_from_journal() {
    let sandbox = project();
    let own = own(&sandbox);
    fs::remove_dir_all(own.join("history.git")).unwrap();
    sandbox.ask(&["manage", "patch", "demo", "--find", "beta", "--replace", "gamma"]).refused(8, "damaged_history");
    let found = sandbox.ask(&["doctor"]).exits(1).json();
    assert_eq!(of(&found, "references").0, ["found", "found"], "{found:#}");
    fs::remove_dir_all(own.join("history.git")).unwrap();
    let mended = sandbox.ask(&["doctor", "--fix"]).exits(0).json();
    assert_eq!(of(&mended, "references").0, ["mended", "mended"], "{mended:#}");
    assert_well(&sandbox);
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 2);
}

#[test]
fn damaged_files_are_set_aside() {
    let sandbox = project();
    let own = own(&sandbox);
    let append = |file: &str, text: &str| {
        let old = fs::read_to_string(own.join(file)).unwrap_or_default();
        fs::write(own.join(file), old + text).unwrap();
    };
    append("events.jsonl", "{\"v\":1}\n");
    assert!(is_found_and_mended(&sandbox, "events").contains("1 line"));
    fs::write(own.join("library.toml"), "path = 3\n").unwrap();
    is_found_and_mended(&sandbox, "library");
    let mut state: toml::Table = fs::read_to_string(own.join("state.toml")).unwrap().parse().unwrap();
    state["skills"].as_table_mut().unwrap().remove("demo");
    fs::write(own.join("state.toml"), format!("{state}\n[skills.demo")).unwrap();
    sandbox.ask(&["prompt"]).refused(8, "damaged_state");
    let message = is_found_and_mended(&sandbox, "state");
    assert!(message.contains("demo") && message.contains("state.toml.damaged-"), "{message}");
    let shown = sandbox.done(&["prompt"]);
    assert!(!shown.to_string().contains("\"demo\""), "what is not known opens nothing: {shown:#}");
    assert!(shown.to_string().contains(WRITING), "what could be read stays: {shown:#}");
}

#[test]
fn missing_state_is_rebuilt_from_log() {
    let sandbox = project();
    sandbox.done(&["disable", "demo"]);
    sandbox.done(&["pin", "demo"]);
    let file = own(&sandbox).join("state.toml");
    let before = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let patch = ["manage", "patch", "demo", "--find", "beta", "--replace", "gamma"];
    for refused in [&patch[..], &["prompt"], &["list"], &["read", "demo"], &["enable", "demo"], &["unpin", "demo"]] {
        let answer = sandbox.ask(refused);
        if refused != ["unpin", "demo"] {
            let error = answer.refused_with_hint(8, "damaged_state");
            assert!(error["hint"].as_str().unwrap().contains("doctor --fix"), "{error:#}");
        }
    }
    let message = is_found_and_mended(&sandbox, "state");
    assert!(message.contains("rebuilt from the event log"), "{message}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    sandbox.ask(&patch).refused(5, "policy_denied");
}

#[test]
fn empty_object_fails_only_its_check() {
    let sandbox = project();
    let own = own(&sandbox);
    fs::write(own.join("journal"), "").unwrap();
    fs::remove_dir_all(skill(&sandbox, "demo")).unwrap();
    let of_loose = own.join("history.git/objects");
    for folder in fs::read_dir(&of_loose).unwrap().map(|entry| entry.unwrap()) {
        let name = folder.file_name().into_string().unwrap();
        for file in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()) {
            if name.len() == 2 {
                fs::remove_file(&file).unwrap();
                fs::write(&file, "").unwrap();
            }
        }
    }
    let found = sandbox.ask(&["doctor", "--fix"]).exits(1).json();
    for check in ["library", "journal", "references", "events", "state", "folders", "links"] {
        assert!(!of(&found, check).0.is_empty(), "{check}: {found:#}");
    }
}

#[test]
fn foreign_library_note_is_kept() {
    let sandbox = project();
    let note = own(&sandbox).join("library.toml");
    fs::write(&note, "format = 1\npath = \"/somewhere/else\"\n").unwrap();
    let fixed = sandbox.ask(&["doctor", "--fix"]).exits(1).json();
    assert_eq!(of(&fixed, "library").0, ["cannot"]);
    assert!(of(&fixed, "library").1.contains("--relocate"), "{fixed:#}");
    assert!(fs::read_to_string(&note).unwrap().contains("/somewhere/else"));
}

#[test]
fn writable_home_is_closed() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = project();
    let home = sandbox.skillhub_home();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home), 0o700, "a new home is for its user alone");
    set_mode(&own(&sandbox).join("state.toml"), 0o666);
    assert_well(&sandbox);
    set_mode(&home, 0o755);
    is_found_and_mended(&sandbox, "modes");
    assert_eq!((mode(&home), mode(&own(&sandbox).join("state.toml"))), (0o700, 0o644));
}

#[test]
fn old_leftovers_are_removed() {
    let sandbox = project();
    let home = sandbox.skillhub_home();
    fs::create_dir_all(home.join("cache/fetch-a1/objects")).unwrap();
    fs::create_dir(home.join(".registry-b2")).unwrap();
    fs::write(home.join("notes.tmp"), "mine").unwrap();
    assert_well(&sandbox);
    make_old(&home.join("notes.tmp"));
    make_old(&home.join(".registry-b2"));
    is_found_and_mended(&sandbox, "unfinished");
    assert!(home.join("cache/fetch-a1").exists() && home.join("notes.tmp").exists());
    make_old(&home.join("cache/fetch-a1"));
    is_found_and_mended(&sandbox, "unfinished");
    assert!(!home.join("cache/fetch-a1").exists() && home.join("notes.tmp").exists());
}

#[test]
fn wrong_cached_archive_is_removed() {
    let sandbox = project();
    let cache = sandbox.skillhub_home().join("cache");
    let archive = snapshot(&cache).into_keys().next().unwrap();
    fs::write(cache.join(&archive), "other").unwrap();
    is_found_and_mended(&sandbox, "cache");
    assert!(!cache.join(archive).exists());
}

/// A lock file that is ahead of the library is kept.
#[test]
fn outdated_lock_file_is_updated() {
    let sandbox = project();
    let lock = sandbox.cwd().join("skillhub.lock");
    let good = fs::read_to_string(&lock).unwrap();
    let other = |text: &str, key: &str| {
        let (start, old) = text.split_once(&format!("{key} = \"sha256:")).unwrap();
        format!("{start}{key} = \"sha256:{}{}", "0".repeat(64), &old[64..])
    };
    for key in ["content", "archive"] {
        fs::write(&lock, other(&good, key)).unwrap();
        is_found_and_mended(&sandbox, "lock_file");
        assert_eq!(fs::read_to_string(&lock).unwrap(), good, "{key}");
    }
    fs::remove_file(&lock).unwrap();
    is_found_and_mended(&sandbox, "lock_file");
    let again = fs::read_to_string(&lock).unwrap();
    let of = |text: &str, key: &str| text.lines().find(|line| line.starts_with(key)).map(str::to_owned);
    for key in ["name", "version", "kind", "source", "local", "archive", "digest", "content", "agents", "ruleset"] {
        assert_eq!(of(&again, key), of(&good, key), "made again from the history");
    }
    let ahead = other(&good.replace("version = \"1.0.0\"", "version = \"9.0.0\""), "digest");
    fs::write(&lock, &ahead).unwrap();
    let fixed = sandbox.ask(&["doctor", "--fix"]).exits(1).json();
    assert_eq!(self::of(&fixed, "lock_file").0, ["cannot"], "{fixed:#}");
    assert_eq!(fs::read_to_string(&lock).unwrap(), ahead, "what came with a clone is not undone");
    fs::write(&lock, &good).unwrap();
    sandbox.done(&["uninstall", WRITING]);
    fs::write(&lock, &good).unwrap();
    is_found_and_mended(&sandbox, "lock_file");
    assert!(!fs::read_to_string(&lock).unwrap().contains(WRITING));
}

#[test]
fn cloned_lock_file_suggests_install() {
    let sandbox = project();
    let other = Sandbox::project();
    fs::copy(sandbox.cwd().join("skillhub.lock"), other.cwd().join("skillhub.lock")).unwrap();
    let document = other.done(&["doctor"]);
    assert!(of(&document, "lock_file").1.contains("skillhub install"), "{document:#}");
}

#[test]
fn dangling_links_are_repaired() {
    let sandbox = project();
    let link = sandbox.cwd().join(".claude/skills").join(WRITING);
    let good = fs::read_link(&link).unwrap();
    fs::remove_file(&link).unwrap();
    is_found_and_mended(&sandbox, "links");
    assert_eq!(fs::read_link(&link).unwrap(), good);
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", &link).unwrap();
    is_found_and_mended(&sandbox, "links");
    assert_eq!(fs::read_link(&link).unwrap(), good);
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(sandbox.home(), &link).unwrap();
    let fixed = sandbox.ask(&["doctor", "--fix"]).exits(1).json();
    assert_eq!(of(&fixed, "links").0, ["cannot"]);
    assert_eq!(fs::read_link(&link).unwrap(), sandbox.home(), "somebody's link stays");
    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    fs::write(link.join("SKILL.md"), "mine").unwrap();
    let fixed = sandbox.ask(&["doctor", "--fix"]).exits(1).json();
    assert_eq!(of(&fixed, "links").0, ["cannot"]);
    assert_eq!(fs::read_to_string(link.join("SKILL.md")).unwrap(), "mine");
}

#[test]
fn link_of_removed_skill_is_removed() {
    let sandbox = project();
    let own = own(&sandbox);
    let link = sandbox.cwd().join(".claude/skills").join(WRITING);
    let (state, target) = (fs::read(own.join("state.toml")).unwrap(), fs::read_link(&link).unwrap());
    sandbox.done(&["uninstall", WRITING]);
    // As after a kill between the commit and what follows from it.
    fs::write(own.join("state.toml"), state).unwrap();
    std::os::unix::fs::symlink(target, &link).unwrap();
    is_found_and_mended(&sandbox, "links");
    assert!(fs::symlink_metadata(&link).is_err());
}

#[test]
fn missing_folders_and_leftovers_are_reported() {
    let sandbox = project();
    fs::remove_dir_all(skill(&sandbox, WRITING)).unwrap();
    is_found_and_mended(&sandbox, "folders");
    let leftover = skill(&sandbox, ".skillhub-999999999-0-abc");
    fs::create_dir(&leftover).unwrap();
    assert_well(&sandbox);
    make_old(&leftover);
    is_found_and_mended(&sandbox, "temporary");
    fs::create_dir(skill(&sandbox, ".skillhub-kept-7-0-abc")).unwrap();
    let fixed = sandbox.ask(&["doctor", "--fix"]).exits(1).json();
    assert_eq!(of(&fixed, "temporary").0, ["cannot"]);
    fs::remove_dir(skill(&sandbox, ".skillhub-kept-7-0-abc")).unwrap();
    let file = skill(&sandbox, "demo").join("SKILL.md");
    fs::write(&file, fs::read_to_string(&file).unwrap() + "mine\n").unwrap();
    let edited = fs::read(&file).unwrap();
    let fixed = sandbox.ask(&["doctor", "--fix"]).exits(1).json();
    assert_eq!((fixed["problems"][0]["code"].as_str(), fs::read(&file).unwrap()), (Some("hand_edit"), edited));
    std::os::unix::fs::symlink("/etc/hostname", skill(&sandbox, "demo").join("link")).unwrap();
    let found = sandbox.ask(&["doctor"]).exits(1).json();
    assert_eq!(found["problems"][0]["code"], "hand_edit_blocked");
    assert!(of(&found, "folders").1.contains("remove or rename the named file"), "the way on: {found:#}");
}

#[test]
fn held_lock_names_its_holder() {
    let sandbox = project();
    let own = own(&sandbox);
    let file = fs::OpenOptions::new().read(true).write(true).open(own.join("lock")).unwrap();
    file.lock().unwrap();
    fs::write(own.join("lock"), "process 4711\ncommand skillhub man\u{1b}[2Jage\nsince 2026-01-01T00:00:00Z\n")
        .unwrap();
    let error = sandbox
        .ask(&["manage", "patch", "demo", "--find", "beta", "--replace", "gamma"])
        .refused_with_hint(6, "locked");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("process 4711 (skillhub man2Jage) since 2026-01-01T00:00:00Z"), "{message:?}");
    drop(file);
    let document = sandbox.done(&["doctor"]);
    assert!(of(&document, "lock").1.contains("process 4711"), "a lock that was left is harmless: {document:#}");
}

#[test]
fn copied_home_and_library_work() {
    let sandbox = project();
    let copy = Sandbox::project();
    for (from, to) in [(sandbox.skillhub_home(), copy.home()), (sandbox.cwd().join(".agents"), copy.cwd())] {
        let status = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
        assert!(status.success());
    }
    // The copy of the home alone, with the library that it was made for.
    let mut list = sandbox.command(&["history", "demo", "--json"]);
    list.env("SKILLHUB_HOME", copy.skillhub_home());
    assert_eq!(sandbox.finish(list, &["history"]).done()["revisions"].as_array().unwrap().len(), 2);
    // Another machine: another boot, and nothing that was not synced.
    let own = own(&sandbox).strip_prefix(sandbox.skillhub_home()).unwrap().to_owned();
    let applied = copy.skillhub_home().join(own).join("journal.applied");
    let text = fs::read_to_string(&applied).unwrap();
    let boot = text.split(' ').nth(1).unwrap();
    fs::write(&applied, text.replace(boot, "00000000-0000-4000-8000-000000000000")).unwrap();
    let mut patch = sandbox.command(&["manage", "patch", "demo", "--find", "beta", "--replace", "gamma", "--json"]);
    patch.env("SKILLHUB_HOME", copy.skillhub_home());
    assert_eq!(sandbox.finish(patch, &["patch"]).done()["number"], 3);
    let mut doctor = sandbox.command(&["doctor", "--json"]);
    doctor.env("SKILLHUB_HOME", copy.skillhub_home());
    sandbox.finish(doctor, &["doctor"]).done();
}
