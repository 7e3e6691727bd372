//! `manage --request -`: the JSON form of `skill_manage`, its aliases and its operations.

use std::{fs, time::Instant};

use serde_json::{Value, json};

use crate::support::{Sandbox, Snapshot, skill_md, snapshot};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line\nbeta line");
    sandbox
}

fn text(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.user_skill("demo").join(path)).unwrap()
}

/// Asserts that a report of a change has all mandatory fields.
fn assert_is_report(report: &Value) {
    for key in ["status", "action", "name", "diff", "message"] {
        assert!(report[key].is_string(), "{key} of {report:#}");
    }
    for key in ["revision", "number", "previous_revision", "proposal"] {
        assert!(report.get(key).is_some(), "{key} of {report:#}");
    }
    assert!(report["files"].is_array() && report["problems"].is_array());
    assert!(report["verdict"]["level"].is_string() && report["verdict"]["ruleset"].is_string());
    assert!(report["verdict"]["findings"].is_array());
}

#[test]
fn each_action_is_a_request() {
    let sandbox = Sandbox::new();
    let requests = [
        json!({"action": "create", "name": "demo", "content": skill_md("demo", "Does it. Use in tests.", "one")}),
        json!({"action": "edit", "name": "demo", "content": skill_md("demo", "Does it. Use in tests.", "two")}),
        json!({"action": "patch", "name": "demo", "find": "two", "replace": "three", "reason": "r", "run": "1", "thread": "t"}),
        json!({"action": "write_file", "name": "demo", "path": "assets/a.bin", "content_base64": "AP8="}),
        json!({"action": "write_file", "name": "demo", "path": "scripts/a.sh", "content": "#!/bin/sh\n", "executable": true}),
        json!({"action": "remove_file", "name": "demo", "path": "scripts/a.sh"}),
        json!({"action": "delete", "name": "demo"}),
    ];
    for (at, request) in requests.iter().enumerate() {
        let report = sandbox.request(request).done();
        assert_is_report(&report);
        assert_eq!(report["action"], request["action"]);
        assert_eq!(report["number"], at + 1, "{report:#}");
    }
    let revisions = sandbox.done(&["history", "demo"])["revisions"].clone();
    let patch = &revisions[4];
    assert_eq!([&patch["reason"], &patch["run"], &patch["thread"]], ["r", "1", "t"]);
    assert_eq!(sandbox.done(&["show", "demo@4", "assets/a.bin"])["base64"], "AP8=");
}

#[test]
fn spellings_of_other_agents_work() {
    let sandbox = sandbox();
    let patch = json!({"action": "patch", "name": "demo", "file_path": "SKILL.md", "old_string": "alpha line",
        "new_string": "gamma line", "category": "dev"});
    let report = sandbox.request(&patch).done();
    assert!(report["message"].as_str().unwrap().contains("category"), "{report:#}");
    assert!(text(&sandbox, "SKILL.md").contains("gamma line"));
    let write =
        json!({"action": "write_file", "name": "demo", "file_path": "references/a.md", "file_content": "# A\n"});
    sandbox.request(&write).done();
    assert_eq!(text(&sandbox, "references/a.md"), "# A\n");
    sandbox.create("heir", "All of demo.");
    sandbox.request(&json!({"action": "delete", "name": "demo", "absorbed_into": "heir"})).done();
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"][0]["absorbed_into"], "heir");
}

#[test]
fn request_operations_are_atomic() {
    let sandbox = sandbox();
    let good = json!({"name": "demo", "reason": "two at once", "operations": [
        {"action": "patch", "find": "alpha line", "replace": "see references/a.md"},
        {"action": "write_file", "path": "references/a.md", "content": "# A\n"}]});
    let report = sandbox.request(&good).done();
    assert_eq!((&report["number"], report["files"].as_array().unwrap().len()), (&json!(2), 2));
    let before = snapshot(&sandbox.user_skill("demo"));
    let half = json!({"name": "demo", "operations": [
        {"action": "patch", "find": "beta line", "replace": "x"},
        {"action": "patch", "find": "never there", "replace": "y"}]});
    sandbox.request(&half).refused(6, "no_match");
    assert_eq!(snapshot(&sandbox.user_skill("demo")), before);
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 2);
}

#[test]
fn requests_and_flags_share_exit_codes() {
    let sandbox = sandbox();
    let cases = [
        (json!({"action": "patch", "name": "demo", "find": "line", "replace": "x"}), 6, "ambiguous_match"),
        (json!({"action": "patch", "name": "demo", "find": "none", "replace": "x"}), 6, "no_match"),
        (
            json!({"action": "patch", "name": "demo", "find": "line", "replace": "x", "expected_count": 5}),
            6,
            "count_mismatch",
        ),
        (json!({"action": "delete", "name": "demo", "expected_revision": "99"}), 6, "stale_revision"),
        (json!({"action": "delete", "name": "none"}), 7, "not_found"),
        (json!({"action": "remove_file", "name": "demo", "path": "../x"}), 3, "invalid_path"),
        (json!({"action": "delete", "name": "No"}), 7, "not_found"),
        (json!({"action": "delete", "name": "n o"}), 3, "invalid_skill"),
        (json!({"action": "edit", "name": "demo", "content": "no frontmatter"}), 3, "invalid_skill"),
        (json!({"action": "delete", "name": "skillhub-writing-skills"}), 5, "policy_denied"),
        (json!({"action": "destroy", "name": "demo"}), 2, "invalid_request"),
        (json!({"action": "delete", "name": "demo", "force": true}), 2, "invalid_request"),
        (json!({"action": "patch", "name": "demo", "find": "alpha line"}), 2, "invalid_request"),
        (json!({"name": "demo", "operations": []}), 2, "invalid_request"),
        (json!([]), 2, "invalid_request"),
    ];
    for (request, exit, code) in &cases {
        sandbox.request(request).refused(*exit, code);
    }
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 1);
}

#[test]
fn request_dry_run_changes_nothing() {
    let sandbox = sandbox();
    let request = json!({"action": "delete", "name": "demo", "dry_run": true});
    assert_eq!(sandbox.request(&request).done()["status"], "dry_run");
    assert!(sandbox.user_skill("demo").exists());
}

#[test]
fn request_without_json_prints_text() {
    let sandbox = sandbox();
    let request = json!({"action": "delete", "name": "none"}).to_string();
    let answer = sandbox.run_with(&["manage", "--request", "-"], request.as_bytes()).exits(7);
    assert!(answer.stderr.starts_with("error: "), "{answer}");
}

/// Snapshots the home without the event log, which records refusals.
fn but_the_log(sandbox: &Sandbox) -> Snapshot {
    let mut files = snapshot(&sandbox.home());
    files.retain(|path, _| !path.ends_with("/events.jsonl"));
    files
}

#[test]
fn non_json_requests_are_refused_quickly() {
    let sandbox = sandbox();
    let before = but_the_log(&sandbox);
    let nested = "[".repeat(200_000);
    let inside = format!("{{\"action\":\"delete\",\"name\":{}", "{\"a\":".repeat(200_000));
    let cases: [&[u8]; 5] = [b"", b"{", nested.as_bytes(), b"{\"name\":\"\xff\"}", b"\0"];
    let started = Instant::now();
    for case in cases {
        let answer = sandbox.run_with(&["manage", "--request", "-", "--json"], case);
        answer.refused(2, "invalid_request");
    }
    sandbox.run_with(&["manage", "--request", "-", "--json"], inside.as_bytes()).refused(3, "too_large");
    assert!(started.elapsed().as_secs() < 90, "{:?}", started.elapsed());
    assert_eq!(but_the_log(&sandbox), before);
}

#[test]
fn oversized_request_or_content_is_refused() {
    let sandbox = sandbox();
    let before = but_the_log(&sandbox);
    let large = vec![b' '; 20_000_000];
    let inputs: [&[&str]; 3] = [
        &["manage", "--request", "-", "--json"],
        &["manage", "create", "large", "--content", "-", "--json"],
        &["manage", "write_file", "demo", "--path", "assets/a.txt", "--content", "-", "--json"],
    ];
    for args in inputs {
        sandbox.run_with(args, &large).refused_with_hint(3, "too_large");
    }
    assert_eq!(but_the_log(&sandbox), before);
}

#[test]
fn empty_or_binary_content_is_refused() {
    let sandbox = sandbox();
    let create = ["manage", "create", "other", "--content", "-", "--json"];
    for content in [&b""[..], b"---\nname: other\ndescription: \xff\n---\n"] {
        sandbox.run_with(&create, content).refused_with_hint(3, "invalid_skill");
    }
    assert!(!sandbox.user_skill("other").exists());
}
