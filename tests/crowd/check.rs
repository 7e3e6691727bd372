//! Invariants after concurrent work: the history matches the acknowledgements.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use super::writer::Acknowledged;
use crate::support::{Sandbox, git, snapshot};

fn revisions(sandbox: &Sandbox, name: &str) -> Vec<Value> {
    let mut revisions = sandbox.done(&["history", name])["revisions"].as_array().unwrap().clone();
    revisions.reverse();
    revisions
}

/// Asserts that every acknowledged revision exists, at its number, after its parent, and that each writer's revisions
/// are in the order of their acknowledgement.
pub fn history(sandbox: &Sandbox, name: &str, acknowledged: &[Vec<Acknowledged>]) {
    let revisions = revisions(sandbox, name);
    for (at, revision) in revisions.iter().enumerate() {
        assert_eq!(revision["number"], at + 1, "numbers have no holes");
        let parent = at.checked_sub(1).map_or(Value::Null, |before| revisions[before]["revision"].clone());
        assert_eq!(revision["parent"], parent);
    }
    let ids: BTreeSet<&str> = revisions.iter().map(|revision| revision["revision"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), revisions.len(), "each revision is there once");
    for told in acknowledged {
        let told: Vec<&Acknowledged> = told.iter().filter(|told| told.skill == name).collect();
        assert!(told.is_sorted_by(|a, b| a.number < b.number), "{told:?}");
        for told in told {
            let found = &revisions[usize::try_from(told.number).unwrap() - 1];
            assert_eq!(
                (found["revision"].as_str(), found["parent"].as_str()),
                (Some(&*told.revision), told.previous.as_deref())
            );
        }
    }
}

/// Asserts that every revision was acknowledged, except for the first and those of hand edits.
pub fn only_acknowledged(sandbox: &Sandbox, name: &str, acknowledged: &[Vec<Acknowledged>]) {
    let told = acknowledged.iter().flatten().filter(|told| told.skill == name).count();
    assert_eq!(revisions(sandbox, name).len(), told + 1, "{name}");
}

/// Asserts that folders match their heads, no temporary files are left, and git finds no fault.
pub fn nothing_left_over(sandbox: &Sandbox, names: &[String]) {
    let library = sandbox.home().join(".agents/skills");
    for name in names {
        let head = &sandbox.done(&["history", name, "--limit", "1"])["revisions"][0];
        if head["action"] == "delete" {
            assert!(!library.join(name).exists());
            continue;
        }
        let state = sandbox.done(&["status", name])["skills"][0].clone();
        assert_eq!(state["state"], "clean", "{state:#}");
        let shown = sandbox.done(&["show", name])["files"].as_array().unwrap().len();
        assert_eq!(snapshot(&library.join(name)).len(), shown);
    }
    let temporary = fs::read_dir(&library).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let temporary: Vec<String> = temporary.filter(|name| !names.contains(name)).collect();
    assert_eq!(temporary, [""; 0], "no temporary folder stays");
    let history = sandbox.done(&["where"])["history"].as_str().unwrap().to_owned();
    git(sandbox, &["--git-dir", &history, "fsck", "--strict"]);
}

/// Asserts that every text saved by the editor is in a revision.
pub fn saved(sandbox: &Sandbox, name: &str, saved: &[String]) {
    let all: BTreeSet<String> = revisions(sandbox, name)
        .iter()
        .filter(|revision| revision["action"] == "external")
        .filter_map(|revision| {
            let spec = format!("{name}@{}", revision["number"]);
            sandbox.ask(&["show", &spec, "SKILL.md"]).json()["text"].as_str().map(str::to_owned)
        })
        .collect();
    let now = fs::read_to_string(sandbox.user_skill(name).join("SKILL.md")).unwrap_or_default();
    let lost: Vec<&String> = saved.iter().filter(|text| !all.contains(*text) && **text != now).collect();
    assert!(lost.is_empty(), "{} of {} saved texts are in no revision", lost.len(), saved.len());
}
