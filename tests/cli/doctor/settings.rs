//! Settings, and proposals that wait for a person.

use std::fs;

use super::{assert_well, everything, is_found_and_mended, of, own, project};
use crate::support::{Sandbox, set_mode};

/// A project with a change that waits, by a policy that holds all.
fn with_a_proposal() -> (Sandbox, String) {
    let sandbox = project();
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    let held = sandbox.done(&["manage", "patch", "demo", "--find", "beta", "--replace", "gamma"]);
    let id = held["proposal"].as_str().or_else(|| held["proposal"]["id"].as_str()).unwrap().to_owned();
    (sandbox, id)
}

/// Asserts that a problem is reported by one check, and that `--fix` leaves it unchanged.
#[track_caller]
fn is_told_and_left(sandbox: &Sandbox, check: &str) -> String {
    let before = everything(sandbox);
    let fixed = sandbox.ask(&["doctor", "--fix"]).exits(1).json();
    assert_eq!(of(&fixed, check).0, ["cannot"], "{check}: {fixed:#}");
    assert_eq!(everything(sandbox), before, "{check}");
    of(&fixed, check).1
}

#[test]
fn doctor_reports_unreadable_configuration() {
    let sandbox = project();
    let config = sandbox.skillhub_home().join("config.toml");
    for damage in ["policy = \"strict", "polcy = \"strict\"\n", "format = 9\n", "\u{0}"] {
        fs::write(&config, damage).unwrap();
        sandbox.ask(&["list"]).refused(2, "invalid_config");
        let message = is_told_and_left(&sandbox, "config");
        assert!(message.contains("config.toml"), "{message}");
    }
    fs::remove_dir_all(super::skill(&sandbox, super::WRITING)).unwrap();
    let fixed = sandbox.ask(&["doctor", "--fix"]).exits(1).json();
    assert_eq!(of(&fixed, "folders").0, ["cannot"], "nothing is changed under a policy that nobody knows: {fixed:#}");
    fs::remove_file(&config).unwrap();
    is_found_and_mended(&sandbox, "folders");
}

#[test]
fn unreadable_policy_rule_is_reported() {
    let sandbox = project();
    let config = sandbox.skillhub_home().join("config.toml");
    fs::write(&config, "policy = \"strict\"\n[[rules]]\ndecision = \"hold\"\n").unwrap();
    assert_well(&sandbox);
    for damage in ["policy = \"lax\"\n", "[[rules]]\ndecision = \"maybe\"\n", "[[rules]]\ndecision = \"hold\"\nx = 1\n"]
    {
        fs::write(&config, damage).unwrap();
        is_told_and_left(&sandbox, "policy");
    }
    fs::remove_file(&config).unwrap();
    let mut doctor = sandbox.command(&["doctor", "--json"]);
    doctor.env("SKILLHUB_POLICY", sandbox.path("nowhere.toml"));
    assert_eq!(of(&sandbox.finish(doctor, &["doctor"]).exits(1).json(), "policy").0, ["cannot"]);
}

#[test]
fn writable_token_hashes_are_reported() {
    let sandbox = project();
    let file = sandbox.skillhub_home().join("reviewers.toml");
    fs::write(&file, "format = 1\n").unwrap();
    set_mode(&file, 0o600);
    assert_well(&sandbox);
    set_mode(&file, 0o640);
    assert!(is_told_and_left(&sandbox, "reviewers").contains("mode"));
    set_mode(&file, 0o600);
    fs::write(&file, "format = 1\nreviewers = 3\n").unwrap();
    assert!(is_told_and_left(&sandbox, "reviewers").contains("damaged"));
}

#[test]
fn damaged_proposals_are_reported() {
    let (sandbox, id) = with_a_proposal();
    assert_well(&sandbox);
    let waiting = own(&sandbox).join("proposals").join(format!("{id}.json"));
    let decided = own(&sandbox).join("proposals/decided").join(format!("{id}.json"));
    let open = fs::read_to_string(&waiting).unwrap();
    fs::write(&waiting, &open[..open.len() / 2]).unwrap();
    assert!(is_told_and_left(&sandbox, "proposals").contains(&format!("review reject {id}")));
    fs::write(&waiting, open.replace("gamma", "delta")).unwrap();
    assert!(is_told_and_left(&sandbox, "proposals").contains("do not match the proposed ones"));
    fs::rename(&waiting, &decided).unwrap();
    fs::write(&decided, &open).unwrap();
    is_found_and_mended(&sandbox, "proposals");
    assert_eq!(fs::read_to_string(&waiting).unwrap(), open);
}

#[test]
fn damaged_decision_can_be_repeated() {
    let (sandbox, id) = with_a_proposal();
    fs::write(own(&sandbox).join("proposals/decided").join(format!("{id}.json")), "").unwrap();
    sandbox.done(&["gc"]);
    assert!(is_told_and_left(&sandbox, "proposals").contains(&format!("review accept {id}")));
    assert_eq!(sandbox.done(&["review", "list"])["proposals"][0]["id"], id.as_str());
    sandbox.done(&["review", "reject", &id, "--reason", "no"]);
    assert_well(&sandbox);
}

#[test]
fn decided_proposal_leaves_the_queue() {
    let (sandbox, id) = with_a_proposal();
    let folder = own(&sandbox).join("proposals");
    let waiting = folder.join(format!("{id}.json"));
    let open = fs::read_to_string(&waiting).unwrap();
    sandbox.done(&["review", "reject", &id, "--reason", "no"]);
    assert_well(&sandbox);
    fs::write(&waiting, &open).unwrap();
    let message = is_found_and_mended(&sandbox, "proposals");
    assert!(!waiting.exists() && message.contains("json.damaged-"), "{message}");
    assert_eq!(sandbox.done(&["review", "list"])["proposals"], serde_json::json!([]));
}
