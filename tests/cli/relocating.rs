//! `doctor --relocate`: a library's history follows its folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{
    doctor::{WRITING, project},
    restarting::restart,
};
use crate::support::{Sandbox, Snapshot, snapshot};

/// A project with an installed skill at `old` and its agent's link, moved to `new`.
fn moved_project() -> (Sandbox, PathBuf, PathBuf) {
    let sandbox = project();
    let (old, new) = (sandbox.cwd(), sandbox.path("moved"));
    fs::rename(&old, &new).unwrap();
    fs::create_dir(&old).unwrap();
    (sandbox, old, new)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn moved_project_keeps_its_history() {
    let (sandbox, old, new) = moved_project();
    let answer = sandbox.done(&["doctor", "--relocate", text(&old), text(&new)]);
    assert_eq!((answer["status"].as_str(), answer["skills"].as_u64()), (Some("moved"), Some(2)), "{answer:#}");
    assert_eq!(answer["links"][0]["status"], "kept", "{answer:#}");
    let run = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command.arg("--json").current_dir(&new);
        sandbox.finish(command, args)
    };
    assert_eq!(run(&["history", "demo"]).done()["revisions"].as_array().unwrap().len(), 2);
    let doctor = run(&["doctor"]).done();
    assert!(doctor["checks"].as_array().unwrap().iter().all(|check| check["state"] == "ok"), "{doctor:#}");
    let again = sandbox.done(&["doctor", "--relocate", text(&old), text(&new)]);
    assert_eq!(again["status"], "unchanged");
    assert_eq!(run(&["uninstall", WRITING]).done()["skills"][0]["removed"].as_array().unwrap().len(), 1);
}

#[test]
fn undo_after_moves_changes_the_new_folder_only() {
    let sandbox = project();
    sandbox.done(&["disable", WRITING]);
    sandbox.done(&["manage", "patch", "demo", "--find", "beta", "--replace", "gamma"]);
    let places = ["first", "second"].map(|name| sandbox.path(name));
    let mut from = sandbox.cwd();
    for to in &places {
        fs::rename(&from, to).unwrap();
        fs::create_dir(&from).unwrap();
        sandbox.done(&["doctor", "--relocate", text(&from), text(to)]);
        from.clone_from(to);
    }
    let run = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command.arg("--json").current_dir(&from);
        sandbox.finish(command, args).done()
    };
    for _undo_and_redo in 0..2 {
        let undone = run(&["undo"]);
        let skill = &undone["skills"][0];
        assert_eq!((&skill["links"], &skill["removed"]), (&json!([]), &json!([])), "{skill:#}");
    }
    run(&["enable", WRITING]);
    for name in ["demo", WRITING] {
        assert!(fs::metadata(from.join(".claude/skills").join(name)).is_ok(), "{name}");
    }
    for place in [&sandbox.cwd(), &places[0]] {
        assert_eq!(fs::read_dir(place).unwrap().count(), 0, "{}", place.display());
    }
}

#[test]
fn restart_after_a_move_touches_the_new_folder_only() {
    let (sandbox, old, new) = moved_project();
    let before = snapshot(&new);
    sandbox.done(&["doctor", "--relocate", text(&old), text(&new)]);
    let run = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command.arg("--json").current_dir(&new);
        sandbox.finish(command, args).done()
    };
    restart(Path::new(run(&["where"])["history"].as_str().unwrap()));
    for args in [["doctor"].as_slice(), &["list"], &["rollback", "demo"]] {
        run(args);
    }
    assert_eq!(fs::read_dir(&old).unwrap().count(), 0);
    let agents =
        |files: Snapshot| files.into_iter().filter(|(path, _)| path.starts_with(".claude")).collect::<Snapshot>();
    assert_eq!(agents(snapshot(&new)), agents(before));
}

#[test]
fn moved_library_suggests_relocating() {
    let (sandbox, old, new) = moved_project();
    let run = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command.arg("--json").current_dir(&new);
        sandbox.finish(command, args)
    };
    for look in ["list", "prompt", "doctor"] {
        run(&[look]);
    }
    run(&["rollback", "demo"]);
    let old_library = fs::canonicalize(&old).unwrap().join(".agents/skills");
    assert_eq!(run(&["status"]).done()["moved_from"], json!([text(&old_library)]));
    let mut status = sandbox.command(&["status"]);
    status.current_dir(&new);
    let said = sandbox.finish(status, &["status"]).exits(0).text();
    let command = said.lines().find_map(|line| line.trim().strip_prefix("skillhub doctor --relocate ")).unwrap();
    let doctor = run(&["doctor"]).done();
    let note = doctor["checks"].as_array().unwrap().iter().find(|check| check["code"] == "library_moved").unwrap();
    assert!(note["state"] == "ok" && note["message"].as_str().unwrap().contains(command), "{doctor:#}");
    assert_eq!(doctor["problems"], json!([]), "a project that was cloned anew looks the same");
    let places: Vec<&str> = command.split(' ').collect();
    let answer = sandbox.done(&[&["doctor", "--relocate"], places.as_slice()].concat());
    assert_eq!(answer["status"], "moved");
    assert_eq!(run(&["history", "demo"]).done()["revisions"].as_array().unwrap().len(), 2);
    assert_eq!(run(&["status"]).done()["moved_from"], json!([]));
    run(&["doctor"]).done();
}

#[test]
fn relocation_moves_links_and_lock_file() {
    let sandbox = Sandbox::new();
    let (old, new) = (sandbox.path("old/skills"), sandbox.path("new/skills"));
    let install = format!("skillhub/{WRITING}");
    sandbox.done(&["--library", text(&old), "install", &install, "--agent", "claude-code"]);
    let lock = PathBuf::from(sandbox.done(&["--library", text(&old), "where"])["lock"].as_str().unwrap());
    let locked = fs::read(&lock).unwrap();
    fs::create_dir(sandbox.path("new")).unwrap();
    fs::rename(&old, &new).unwrap();
    let link = sandbox.home().join(".claude/skills").join(WRITING);
    assert!(fs::metadata(&link).is_err(), "it dangles");
    let answer = sandbox.done(&["doctor", "--relocate", text(&old), text(&new)]);
    assert_eq!(answer["links"][0]["status"], "pointed", "{answer:#}");
    assert_eq!(fs::canonicalize(&link).unwrap(), fs::canonicalize(new.join(WRITING)).unwrap());
    let place = sandbox.done(&["--library", text(&new), "where"]);
    assert_eq!(fs::read(place["lock"].as_str().unwrap()).unwrap(), locked);
    sandbox.done(&["--library", text(&new), "doctor"]);
    sandbox.ask(&["doctor", "--relocate", text(&sandbox.path("never")), text(&new)]).refused_with_hint(7, "not_found");
}

#[test]
fn interrupted_relocation_can_be_repeated() {
    for stopped_after in ["the rename", "the note"] {
        let (sandbox, old, new) = moved_project();
        let skills = |root: &Path| text(&root.join(".agents/skills")).to_owned();
        let own = |root: &Path| {
            let place = sandbox.done(&["--library", &skills(root), "where"]);
            PathBuf::from(place["history"].as_str().unwrap()).parent().unwrap().to_owned()
        };
        fs::rename(own(&old), own(&new)).unwrap();
        if stopped_after == "the note" {
            let note = own(&new).join("library.toml");
            let (from, to) = (skills(&fs::canonicalize(&old).unwrap()), skills(&fs::canonicalize(&new).unwrap()));
            fs::write(note, format!("format = 1\nmoved_from = {from:?}\npath = {to:?}\n")).unwrap();
        }
        sandbox.done(&["doctor", "--relocate", text(&old), text(&new)]);
        let mut doctor = sandbox.command(&["doctor", "--json"]);
        doctor.current_dir(&new);
        let doctor = sandbox.finish(doctor, &["doctor"]).done();
        assert!(doctor["checks"].as_array().unwrap().iter().all(|check| check["state"] == "ok"), "{doctor:#}");
    }
}

#[test]
fn relocation_never_overwrites_history() {
    let (sandbox, old, new) = moved_project();
    let relocate = |from: &Path, to: &Path| sandbox.ask(&["doctor", "--relocate", text(from), text(to)]);
    relocate(&old, &sandbox.path("nowhere")).refused_with_hint(7, "not_found");
    relocate(&sandbox.path("unknown"), &new).refused_with_hint(7, "not_found");
    sandbox.ask(&["doctor", "--relocate", text(&old), text(&new), "--fix"]).refused(2, "usage");
    // Skills stand in the old place again.
    fs::create_dir_all(old.join(".agents/skills/other")).unwrap();
    relocate(&old, &new).refused_with_hint(6, "exists");
    fs::remove_dir_all(old.join(".agents")).unwrap();
    // The new place has a history.
    let skills = new.join(".agents/skills");
    sandbox.done(&["--library", text(&skills), "manage", "patch", "demo", "--find", "beta", "--replace", "gamma"]);
    let before = snapshot(&sandbox.skillhub_home());
    relocate(&old, &new).refused_with_hint(6, "exists");
    assert_eq!(snapshot(&sandbox.skillhub_home()).len(), before.len(), "nothing was moved");
    assert_eq!(
        sandbox.done(&["--library", text(&skills), "history", "demo"])["revisions"].as_array().unwrap().len(),
        2
    );
}
