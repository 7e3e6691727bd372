//! `publish --from-fork`: an evolved skill under one's own name, and the patch for its upstream.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::support::{Sandbox, git, repository, skill_md, tree, write_files};

const BODY: &str = "1. Read the list.\n2. Group by kind.\n3. Write.\n";

/// acme/demo 1.2.0 installed and changed.
fn evolved() -> Sandbox {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("upstream/demo");
    let text = skill_md("demo", "Writes notes. Use in tests.", BODY);
    write_files(&folder, &[("SKILL.md", text.as_bytes(), false), ("scripts/run.sh", b"#!/bin/sh\ntrue\n", true)]);
    sandbox.done(&["publish", folder.to_str().unwrap(), "--owner", "acme", "--version", "1.2.0"]);
    sandbox.done(&["install", "acme/demo"]);
    patch(&sandbox, "Group by kind.", "Group by kind and area.");
    sandbox
}

fn patch(sandbox: &Sandbox, find: &str, replace: &str) {
    sandbox.done(&["manage", "patch", "demo", "--find", find, "--replace", replace]);
}

fn release(sandbox: &Sandbox, name: &str) -> Value {
    sandbox.done(&["info", name])["releases"][0].clone()
}

#[test]
fn fork_publishes_with_its_origin() {
    let sandbox = evolved();
    let lock = fs::read(sandbox.done(&["where"])["lock"].as_str().unwrap()).unwrap();
    let dry = sandbox.done(&["publish", "demo", "--from-fork", "--owner", "me", "--dry-run"]);
    assert_eq!([&dry["status"], &dry["forked_from"]["version"]], ["dry_run", "1.2.0"]);
    sandbox.ask(&["info", "me/demo"]).refused(7, "not_found");
    let published = sandbox.done(&["publish", "demo", "--from-fork", "--owner", "me"]);
    assert_eq!([&published["status"], &published["name"], &published["version"]], ["published", "me/demo", "1.0.0"]);
    let upstream = release(&sandbox, "acme/demo");
    let fork = release(&sandbox, "me/demo");
    assert_eq!(fork["forked_from"], json!({"name": "acme/demo", "version": "1.2.0", "digest": upstream["digest"]}));
    assert_eq!(upstream.get("forked_from"), None, "a line without it is as it was");
    let told = sandbox.run(&["info", "me/demo"]).exits(0).text();
    assert!(told.contains("forked from acme/demo 1.2.0"), "{told}");
    assert_eq!(
        fs::read(sandbox.done(&["where"])["lock"].as_str().unwrap()).unwrap(),
        lock,
        "it follows upstream still"
    );
    let elsewhere = sandbox.path("elsewhere/skills");
    let library = elsewhere.to_str().unwrap();
    sandbox.done(&["--library", library, "install", "me/demo"]);
    assert_eq!(tree(&elsewhere.join("demo")), tree(&sandbox.user_skill("demo")));
    sandbox.done(&["--library", library, "verify"]);
    sandbox.done(&["index", "verify"]);
    patch(&sandbox, "3. Write.", "3. Write it down.");
    let next = sandbox.done(&["publish", "demo", "--from-fork", "--owner", "me"]);
    assert_eq!(next["version"], "1.0.1", "the next patch of one's own");
    assert_eq!(sandbox.done(&["--library", library, "update"])["skills"][0]["version"], "1.0.1");
}

#[test]
fn fork_reports_outcomes_as_counts() {
    let sandbox = evolved();
    let id = |run: usize| format!("secret-run-{run}");
    let line = |run: usize| {
        let event = if run.is_multiple_of(5) { "failed" } else { "completed" };
        format!("{}\n", json!({"skill": "demo", "event": event, "run": id(run), "task": format!("secret-task-{run}")}))
    };
    let lines: String = (1..=10).map(line).collect();
    sandbox.run_with(&["record", "--request", "-", "--json"], lines.as_bytes()).done();
    let counts = json!({"runs": 10, "successes": 8, "failures": 2, "unknown": 0});
    let dry = sandbox.done(&["publish", "demo", "--from-fork", "--owner", "me", "--dry-run"]);
    assert_eq!((&dry["forked_from"]["outcomes"], dry["forked_from"].get("evals")), (&counts, None), "{dry:#}");
    let silent = sandbox.done(&["publish", "demo", "--from-fork", "--owner", "me", "--dry-run", "--no-results"]);
    assert_eq!(silent["forked_from"].get("outcomes"), None);
    sandbox.done(&["publish", "demo", "--from-fork", "--owner", "me"]);
    assert_eq!(release(&sandbox, "me/demo")["forked_from"]["outcomes"], counts);
    let info = sandbox.done(&["info", "me/demo"]);
    let outcomes = &info["forks"][0]["outcomes"];
    assert_eq!((&outcomes["rate"], &outcomes["interval"]["level"]), (&json!(0.8), &json!(0.95)), "{info:#}");
    let told = sandbox.run(&["info", "me/demo"]).exits(0).text();
    assert!(told.contains("10 runs before publication: 8 succeeded, 2 failed, 0 unknown, 80 %"), "{told}");
    for text in
        [info["releases"].to_string(), info["forks"].to_string(), told.replace(info["registry"].as_str().unwrap(), "")]
    {
        assert!(!text.contains("secret") && !text.contains(sandbox.home().to_str().unwrap()), "{text}");
    }
    sandbox.done(&["index", "verify"]);
    patch(&sandbox, "3. Write.", "3. Write it down.");
    sandbox.done(&["publish", "demo", "--from-fork", "--owner", "me"]);
    assert_eq!(release(&sandbox, "me/demo")["forked_from"].get("outcomes"), None, "nobody ran this revision");
}

#[test]
fn fork_reports_upstream_case_results() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("upstream/demo");
    let cases: Vec<Value> = (1..=4)
        .map(|id| json!({"id": id, "prompt": "secret prompt", "checks": [{"type": "regex", "pattern": "kind and area"}]}))
        .collect();
    let (text, evals) = (skill_md("demo", "Writes notes. Use in tests.", BODY), json!({"evals": cases}).to_string());
    write_files(&folder, &[("SKILL.md", text.as_bytes(), false), ("evals/evals.json", evals.as_bytes(), false)]);
    sandbox.done(&["publish", folder.to_str().unwrap(), "--owner", "acme", "--version", "1.2.0"]);
    sandbox.done(&["install", "acme/demo"]);
    patch(&sandbox, "Group by kind.", "Group by kind and area.");
    let runner = "cat \"$SKILLHUB_EVAL_SKILL/SKILL.md\"";
    let compared = sandbox.done(&["eval", "compare", "demo", "1", "head", "--runner", runner]);
    sandbox.done(&["publish", "demo", "--from-fork", "--owner", "me"]);
    let evals = release(&sandbox, "me/demo")["forked_from"]["evals"].clone();
    assert_eq!(evals["cases"], 4, "{evals:#}");
    for field in ["wins", "losses", "ties"] {
        assert_eq!(evals[field], compared["overall"][field], "{evals:#}");
    }
    assert!(evals["wins"].as_u64() > Some(0));
    let told = sandbox.run(&["info", "me/demo"]).exits(0).text();
    assert!(told.contains("on 4 cases against acme/demo 1.2.0: better in"), "{told}");
    assert!(!sandbox.done(&["info", "me/demo"]).to_string().contains("secret"));
}

#[test]
fn fork_records_hand_edit_first() {
    let sandbox = evolved();
    let path = sandbox.user_skill("demo").join("SKILL.md");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("3. Write.", "3. Write by hand.")).unwrap();
    let folder = sandbox.user_skill("demo");
    sandbox.done(&["publish", folder.to_str().unwrap(), "--from-fork", "--owner", "me", "--version", "2.0.0"]);
    let elsewhere = sandbox.path("elsewhere/skills");
    sandbox.done(&["--library", elsewhere.to_str().unwrap(), "install", "me/demo@2.0.0"]);
    assert!(fs::read_to_string(elsewhere.join("demo/SKILL.md")).unwrap().contains("Write by hand."));
}

#[test]
fn non_fork_is_refused() {
    let sandbox = evolved();
    sandbox.ask(&["publish", "demo", "--from-fork"]).refused_with_hint(2, "no_owner");
    sandbox.ask(&["publish", "demo", "--from-fork", "--owner", "acme"]).refused_with_hint(2, "own_skill");
    sandbox.ask(&["publish", "none", "--from-fork", "--owner", "me"]).refused_with_hint(7, "not_found");
    sandbox.ask(&["publish", "../x", "--from-fork", "--owner", "me"]).refused_with_hint(3, "invalid_skill");
    sandbox.create("mine", "Read. Write.");
    sandbox.ask(&["publish", "mine", "--from-fork", "--owner", "me"]).refused_with_hint(7, "not_installed");
    sandbox.done(&["rollback", "demo", "1"]);
    sandbox.ask(&["publish", "demo", "--from-fork", "--owner", "me"]).refused_with_hint(6, "unchanged");
    sandbox.ask(&["info", "me/demo"]).refused(7, "not_found");
}

#[test]
fn git_applies_the_upstream_diff() {
    let sandbox = evolved();
    sandbox.done(&[
        "manage", "write_file", "demo", "--path", "references/areas.md", "--content", "/dev/null", "--reason", "empty",
    ]);
    let clone = sandbox.path("upstream");
    repository(&sandbox, &clone);
    let patch = sandbox.done(&["diff", "demo", "--upstream"])["diff"].as_str().unwrap().to_owned();
    let file = sandbox.path("demo.patch");
    fs::write(&file, patch).unwrap();
    let mut apply = Command::new("git");
    let args = ["-C", clone.to_str().unwrap(), "apply", "--directory=demo", file.to_str().unwrap()];
    let output = sandbox.confine(&mut apply).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let changed = git(&sandbox, &["-C", clone.to_str().unwrap(), "diff"]);
    assert!(changed.contains("+2. Group by kind and area."), "{changed}");
    assert_eq!(fs::read(clone.join("demo/SKILL.md")).unwrap(), fs::read(sandbox.user_skill("demo/SKILL.md")).unwrap());
}
