//! Cases of skills from outside: `eval lint`, `run`, `compare`, with real runners, and what needs a comparison.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{Sandbox, skill_md, write_files};

/// A runner that follows the skill: it prints the body.
const FAITHFUL: &str = "#!/bin/sh\necho \"prompt: $SKILLHUB_EVAL_PROMPT\"\ncat \"$SKILLHUB_EVAL_SKILL/SKILL.md\"\n\
                        printf '{\"total_tokens\": 7}' > \"$SKILLHUB_EVAL_METRICS\"\nmkdir out\necho done > out/made.txt\n";

fn script(sandbox: &Sandbox, name: &str, text: &str) -> String {
    let path = sandbox.path(name);
    write_files(&sandbox.path(""), &[(name, text.as_bytes(), true)]);
    path.display().to_string()
}

fn cases() -> String {
    json!({"skill_name": "demo", "evals": [
        {"id": 1, "prompt": "Count it", "files": ["evals/files/in.txt"], "expectations": [
            "The answer is polite", {"type": "regex", "pattern": "alpha"}, {"type": "file_exists", "path": "in.txt"}]},
        {"id": "two", "prompt": "Name it", "checks": [
            {"type": "exit_code"}, {"type": "regex", "pattern": "beta"}, {"type": "regex", "path": "out/made.txt", "pattern": "done"}]},
    ]})
    .to_string()
}

/// A skill with cases in the library, in which every change of an agent is held.
fn library() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line\n\nbeta line\n\ngamma line");
    for (path, text) in [("evals/files/in.txt", "one two".to_owned()), ("evals/evals.json", cases())] {
        sandbox
            .run_with(&["manage", "write_file", "demo", "--path", path, "--content", "-", "--json"], text.as_bytes())
            .done();
    }
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    sandbox
}

fn held(sandbox: &Sandbox, find: &str, replace: &str) -> String {
    let report = sandbox.done(&["manage", "patch", "demo", "--find", find, "--replace", replace]);
    report["proposal"].as_str().unwrap().to_owned()
}

fn json_at(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The results have the fields that viewers of other tools read.
#[test]
fn runner_never_sees_the_assertions() {
    let sandbox = library();
    let nosy = format!("{FAITHFUL}ls -R \"$SKILLHUB_EVAL_SKILL\"\ncat\nenv | grep -c TOKEN || true\n");
    let runner = script(&sandbox, "run.sh", &nosy);
    let mut command = sandbox.command(&["eval", "run", "demo", "--runner", &runner, "--baseline", "--json"]);
    command.env("SKILLHUB_REVIEWER_TOKEN", "secret").env("SKILLHUB_TOKEN", "secret");
    let document = sandbox.finish(command, &["eval run"]).done();
    assert_eq!((&document["passed"], &document["failed"], &document["ungraded"]), (&json!(5), &json!(0), &json!(1)));
    let results = PathBuf::from(document["results"].as_str().unwrap());
    let benchmark = json_at(&results.join("benchmark.json"));
    assert_eq!(benchmark["runs"].as_array().unwrap().len(), 4);
    assert_eq!(benchmark["run_summary"]["with_skill"]["tokens"]["mean"], 7.0);
    assert!(benchmark["run_summary"]["delta"]["pass_rate"].as_str().unwrap().starts_with('+'));
    let run = results.join("eval-1/with_skill/run-1");
    assert_eq!(json_at(&run.join("grading.json"))["summary"]["passed"], 2);
    assert_eq!(json_at(&run.join("timing.json"))["total_tokens"], 7);
    assert_eq!(fs::read_to_string(run.join("outputs/out/made.txt")).unwrap(), "done\n");
    let answer = fs::read_to_string(run.join("answer.txt")).unwrap();
    assert!(answer.contains("prompt: Count it") && answer.trim_end().ends_with('0'), "{answer}");
    for hidden in ["evals", "regex", "polite", "expectations"] {
        assert!(!answer.replace("skillhub-eval-", "").contains(hidden), "{hidden}: {answer}");
    }
    assert!(fs::read_dir(sandbox.path("tmp")).unwrap().next().is_none(), "a place of a run was left");
}

#[test]
fn judge_grades_prose_assertions() {
    let sandbox = Sandbox::new();
    let evals = json!({"evals": [{"id": 1, "prompt": "p", "assertions": ["It is good", "It is bad"],
        "checks": [{"type": "script", "path": "evals/check.sh"}]}]});
    let check = "read first; [ \"$first\" = 'prompt: p' ] && [ -f out/made.txt ]";
    sandbox.skill(
        "demo",
        "Does demo. Use in tests.",
        &[("evals/evals.json", &evals.to_string()), ("evals/check.sh", check)],
    );
    let runner = script(&sandbox, "run.sh", FAITHFUL);
    let judge = "python3 -c 'import json,sys; q=json.load(sys.stdin); print(json.dumps({\"expectations\":[{\"passed\": \"good\" in a, \"evidence\": \"said\"} for a in q[\"assertions\"]]}))'";
    let plain = sandbox.done(&["eval", "run", "./demo", "--runner", &runner]);
    assert_eq!((&plain["passed"], &plain["ungraded"]), (&json!(0), &json!(3)));
    let args = ["eval", "run", "./demo", "--runner", &runner, "--judge", judge, "--allow-scripts"];
    let judged: Value = serde_json::from_slice(&sandbox.ask(&args).exits(1).stdout).unwrap();
    assert_eq!((&judged["passed"], &judged["failed"], &judged["ungraded"]), (&json!(2), &json!(1), &json!(0)));
    let broken: Value = serde_json::from_slice(
        &sandbox.ask(&["eval", "run", "./demo", "--runner", &runner, "--judge", "exit 3"]).exits(0).stdout,
    )
    .unwrap();
    assert_eq!(broken["ungraded"], 3, "a judge that fails decides nothing");
}

#[test]
fn hanging_or_flooding_runner_is_stopped() {
    let sandbox = library();
    let started = Instant::now();
    for (runner, limit, told) in [
        ("sleep 60 & sleep 60", ["--time-limit", "1"], "exceeded the time limit"),
        ("yes", ["--output-limit", "64"], "output limit"),
    ] {
        let args = ["eval", "run", "demo", "--case", "two", "--runner", runner, limit[0], limit[1]];
        let text = sandbox.run(&args).exits(1).text();
        assert!(text.contains(told), "{text}");
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    sandbox.ask(&["eval", "run", "demo", "--runner", "./not-there.sh"]).refused_with_hint(1, "runner_failed");
    sandbox.ask(&["eval", "run", "demo", "--runner", "true", "--case", "9"]).refused_with_hint(7, "not_found");
}

#[test]
fn invalid_cases_are_reported_unrun() {
    let sandbox = Sandbox::new();
    let evals = "{\n\"evals\": [\n {\"id\": 1, \"prompt\": \"\"},\n {\"id\": 2, \"prompt\": \"p\", \"assertions\": [{\"type\": \"x\"}]}\n]}";
    sandbox.skill("demo", "Does demo. Use in tests.", &[("evals/evals.json", evals)]);
    let text = sandbox.run(&["eval", "lint", "./demo"]).exits(3).text();
    assert!(text.contains("demo/evals/evals.json:3") && text.contains("demo/evals/evals.json:4"), "{text}");
    let refused = sandbox.ask(&["eval", "run", "./demo", "--runner", "true"]).refused_with_hint(3, "invalid_evals");
    assert!(refused["details"]["problems"].as_array().unwrap().len() >= 2, "{refused:#}");
    sandbox.create("bare", "Text.");
    sandbox.ask(&["eval", "run", "bare", "--runner", "true"]).refused_with_hint(7, "not_found");
}

#[test]
fn held_change_needs_its_own_comparison() {
    let sandbox = library();
    let runner = script(&sandbox, "run.sh", FAITHFUL);
    let token = sandbox.token();
    let accept = |id: &str| sandbox.run_as(&token, &["review", "accept", id, "--require-evals"]);
    let id = held(&sandbox, "beta line", "nothing");
    accept(&id).refused_with_hint(5, "evals_required");
    let worse = sandbox.ask(&["eval", "compare", "demo", "head", &id, "--runner", &runner]).exits(1);
    let worse: Value = serde_json::from_slice(&worse.stdout).unwrap();
    assert_eq!((&worse["decision"], &worse["ok"]), (&json!("worse"), &json!(false)), "{worse:#}");
    let message = accept(&id).refused_with_hint(5, "evals_required")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("is worse"), "{message}");
    sandbox.run_as(&token, &["review", "reject", &id]).done();
    let id = held(&sandbox, "gamma line", "delta line");
    let part =
        sandbox.done(&["eval", "compare", "demo", "head", &id, "--runner", &runner, "--case", "1", "--repeat", "1"]);
    assert_eq!(part["kept"], false, "a part of the cases counts for nothing");
    accept(&id).refused_with_hint(5, "evals_required");
    let equal = sandbox.done(&["eval", "compare", "demo", "head", &id, "--runner", &runner]);
    assert_eq!((&equal["decision"], &equal["evals_changed"]), (&json!("no_difference"), &json!(false)));
    assert_eq!(equal["cases"][0]["telling_nothing"], json!([1, 2]), "{equal:#}");
    let amended = held(&sandbox, "alpha line", "alpha line two");
    assert_eq!(amended, id);
    accept(&format!("{id}@2")).refused_with_hint(5, "evals_required");
    sandbox.done(&["eval", "compare", "demo", "head", &format!("{id}@2"), "--runner", &runner]);
    let report = accept(&format!("{id}@2")).done();
    assert_eq!(report["status"], "applied");
}

#[test]
fn candidate_is_graded_by_base_evals() {
    let sandbox = library();
    let runner = script(&sandbox, "run.sh", FAITHFUL);
    let base = sandbox.user_skill("demo");
    let candidate = sandbox.cwd().join("demo");
    let text = skill_md("demo", "Does demo. Use in tests.", "alpha line");
    let evals = json!({"evals": [{"id": 1, "prompt": "p", "checks": [{"type": "exit_code"}]}]}).to_string();
    write_files(&candidate, &[("SKILL.md", text.as_bytes(), false), ("evals/evals.json", evals.as_bytes(), false)]);
    let args = ["eval", "compare", "demo", base.to_str().unwrap(), "./demo", "--runner", &runner];
    let document: Value = serde_json::from_slice(&sandbox.ask(&args).exits(1).stdout).unwrap();
    assert_eq!((&document["evals_changed"], &document["decision"]), (&json!(true), &json!("worse")), "{document:#}");
    assert_eq!(document["cases"].as_array().unwrap().len(), 2, "the base's cases");
}

#[test]
fn flaky_assertion_is_excluded() {
    let sandbox = library();
    let flaky = format!(
        "{FAITHFUL}n=$(cat \"{0}\" 2>/dev/null || echo 0)\necho $((n + 1)) > \"{0}\"\n[ $((n % 2)) = 0 ]\n",
        sandbox.path("count").display()
    );
    let runner = script(&sandbox, "run.sh", &flaky);
    let document = sandbox
        .done(&["eval", "compare", "demo", "head", "head", "--runner", &runner, "--case", "two", "--trial", "3"]);
    assert_eq!(
        (&document["cases"][0]["flaky"], &document["decision"]),
        (&json!([0]), &json!("no_difference")),
        "{document:#}"
    );
}
