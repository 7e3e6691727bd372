//! `curate`: trigger evals from failed and corrected runs, as proposals.

use std::fs;

use serde_json::{Value, json};

use crate::support::Sandbox;

const QUERIES: &str = "evals/eval_queries.json";

fn fail(sandbox: &Sandbox, run: &str, event: &str, query: &str) {
    sandbox.done(&["record", "demo", "--event", event, "--run", run, "--query", query]);
}

/// Plans and applies. Returns the suggestions that were made.
fn suggested(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.done(&["curate", "plan"]);
    sandbox.done(&["curate", "apply"])["evals"].as_array().unwrap().clone()
}

fn failed_once() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "Text.");
    fail(&sandbox, "r1", "failed", "fill in the tax form");
    let evals = suggested(&sandbox);
    assert_eq!((evals.len(), &evals[0]["status"]), (1, &json!("proposed")), "{evals:?}");
    let id = evals[0]["proposal"].as_str().unwrap().to_owned();
    (sandbox, id)
}

#[test]
fn accepted_queries_are_read_by_eval_run() {
    let (sandbox, id) = failed_once();
    assert_eq!(suggested(&sandbox), Vec::<Value>::new(), "it was suggested before");
    let shown = sandbox.run(&["review", "show", &id]).exits(0).text();
    assert!(shown.contains("failed in the run r1"), "{shown}");
    assert!(shown.contains("suggested evals always wait for a person") && !shown.contains("[queries"), "{shown}");
    let change = sandbox.run(&["review", "diff", &id]).exits(0).text();
    assert!(change.contains("fill in the tax form"), "{change}");
    sandbox.run_as(&sandbox.token(), &["review", "accept", &id]).done();
    let report = sandbox.ask(&["eval", "run", "demo", "--trigger"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["queries"].as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!(suggested(&sandbox), Vec::<Value>::new());
}

#[test]
fn rejected_query_is_not_suggested_again() {
    let (sandbox, id) = failed_once();
    sandbox.run_as(&sandbox.token(), &["review", "reject", &id]).done();
    fail(&sandbox, "r2", "corrected", "fill in the tax form");
    assert_eq!(suggested(&sandbox), Vec::<Value>::new());
    fail(&sandbox, "r3", "corrected", "another request");
    assert_eq!(suggested(&sandbox)[0]["queries"], 1);
}

#[test]
fn pinned_skills_and_successes_are_left() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "Text.");
    fail(&sandbox, "r1", "completed", "a private request");
    let stored = sandbox.done(&["record", "demo", "--show"]);
    assert_eq!(stored["outcomes"][0]["query"], Value::Null, "{stored:#}");
    fail(&sandbox, "r2", "failed", "a request");
    sandbox.done(&["pin", "demo"]);
    assert_eq!(suggested(&sandbox), Vec::<Value>::new());
}

#[test]
fn hostile_words_are_contained() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "Text.");
    let key = ["-----BEGIN RSA PRIVATE", " KEY-----"].concat();
    let long = format!("\u{1b}[31m\"]}}\n---\n# Ignore\u{202e} {}", "x".repeat(1 << 20));
    for (run, query) in [("r1", long.as_str()), ("r2", key.as_str()), ("r3", "a plain request")] {
        let line = json!({"skill": "demo", "event": "failed", "run": run, "query": query}).to_string();
        sandbox.run_with(&["record", "--request", "-", "--json"], line.as_bytes()).done();
    }
    let evals = suggested(&sandbox);
    let id = evals[0]["proposal"].as_str().unwrap();
    let text = sandbox.run(&["review", "diff", id]).exits(0).text();
    assert!(text.contains("a plain request") && text.len() < 20_000, "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
}

/// A session of Claude Code in which the agent corrected the skill, in the form of version 2.1.331.
#[test]
fn corrected_session_gives_its_first_message() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "Text.");
    let line = |kind: &str, content: Value| json!({"type": kind, "sessionId": "s1", "message": {"content": content}});
    let call =
        |id: &str, name: &str, input: Value| json!([{"type": "tool_use", "id": id, "name": name, "input": input}]);
    let answer = |id: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": "ok"}]);
    let lines = [
        line("user", json!("<command-name>/clear</command-name>")),
        line("user", json!("sort\nmy letters")),
        line("assistant", call("1", "Skill", json!({"skill": "demo"}))),
        line("user", answer("1")),
        line("assistant", call("2", "mcp__skillhub__skill_manage", json!({"action": "patch", "name": "demo"}))),
        line("user", answer("2")),
        line("user", json!("thank you")),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(sandbox.path("s1.jsonl"), text).unwrap();
    sandbox.done(&["record", "--import", "claude-code", sandbox.path("s1.jsonl").to_str().unwrap()]);
    let stored = sandbox.done(&["record", "demo", "--show"])["outcomes"].clone();
    assert_eq!((&stored[0]["query"], &stored[1]["query"]), (&Value::Null, &json!("sort my letters")), "{stored:#}");
    let evals = suggested(&sandbox);
    let id = evals[0]["proposal"].as_str().unwrap();
    let shown = sandbox.run(&["review", "diff", id]).exits(0).text();
    assert!(shown.contains(QUERIES) && shown.contains("sort my letters"), "{shown}");
}
