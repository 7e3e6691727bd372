//! Damage of one skill: the others go on, and it is told.

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
fn lists_go_on_with_the_other_skills_and_tell_the_damaged_one() {
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
