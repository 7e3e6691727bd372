//! Damage to one skill: it is reported, and the others keep working.

use std::fs;

use super::{WRITING, own, project};
use crate::support::Sandbox;

/// The objects of the head of `demo` are gone, or its reference is garbage, and nothing is remembered.
fn damaged(kind: &str) -> Sandbox {
    let sandbox = project();
    let history = sandbox.done(&["history", "demo"]);
    let head = history["revisions"][0]["revision"].as_str().unwrap().to_owned();
    let git = own(&sandbox).join("history.git");
    match kind {
        "reference" => fs::write(git.join("refs/skills/demo"), "x").unwrap(),
        "nowhere" => fs::write(git.join("refs/skills/demo"), format!("{}\n", "1".repeat(40))).unwrap(),
        _ => fs::remove_file(git.join("objects").join(&head[..2]).join(&head[2..])).unwrap(),
    }
    let _absent = fs::remove_file(own(&sandbox).join("glances"));
    sandbox
}

#[test]
fn lists_report_the_damaged_skill() {
    for kind in ["reference", "nowhere", "object"] {
        let sandbox = damaged(kind);
        for command in ["list", "prompt", "status"] {
            let document = sandbox.ask(&[command]).exits(8).json();
            let named: Vec<&str> =
                document["skills"].as_array().unwrap().iter().map(|skill| skill["name"].as_str().unwrap()).collect();
            assert!(named.contains(&WRITING), "{kind} {command}: {document:#}");
            assert_eq!(named.contains(&"demo"), command != "prompt", "agents are not shown it: {document:#}");
            assert_eq!(document["problems"][0]["skill"], "demo", "{document:#}");
            assert_eq!(document["problems"][0]["code"], "damaged_history");
            let text = sandbox.run(&[command]).exits(8).text();
            assert!(text.contains(WRITING), "{text}");
        }
        sandbox.ask(&["status", "demo"]).refused(8, "damaged_history");
        sandbox.ask(&["doctor", "--fix"]).exits(0);
        for command in ["list", "prompt", "status"] {
            assert_eq!(sandbox.done(&[command])["problems"], serde_json::json!([]), "{kind}");
        }
    }
}

/// Every file of an object of `demo` that stands alone.
fn loose_objects(sandbox: &Sandbox) -> Vec<std::path::PathBuf> {
    let folders = fs::read_dir(own(sandbox).join("history.git/objects")).unwrap().map(|entry| entry.unwrap().path());
    let folders = folders.filter(|folder| folder.file_name().unwrap().len() == 2);
    folders.flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn truncated_object_is_rewritten() {
    let count = loose_objects(&project()).len();
    assert!(count >= 3, "a commit, a tree and a file at least");
    for (number, part) in (0..count).zip([1, 0, 2].into_iter().cycle()) {
        let sandbox = project();
        let object = loose_objects(&sandbox).swap_remove(number);
        let whole = fs::read(&object).unwrap();
        fs::remove_file(&object).unwrap();
        fs::write(&object, &whole[..whole.len() * part / 2 - part / 2]).unwrap();
        let _absent = fs::remove_file(own(&sandbox).join("glances"));
        for command in [&["history", "demo"][..], &["show", "demo"], &["status"], &["list"], &["doctor"]] {
            let exit = sandbox.ask(command).exit;
            assert!([0, 1, 8].contains(&exit), "{command:?} exits {exit}");
        }
        sandbox.ask(&["doctor", "--fix"]).exits(0);
        sandbox.done(&["show", "demo"]);
        sandbox.done(&["gc"]);
        assert_eq!(sandbox.done(&["doctor"])["ok"], true);
    }
}
