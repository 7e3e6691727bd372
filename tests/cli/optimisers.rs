//! Optimisers as external programs: good ones propose changes, hostile ones have no effect.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, snapshot, tree};

/// Modes of the hostile optimiser, with the exit and error code of each.
const HARM: [(&str, i32, &str); 17] = [
    ("hang", 1, "optimiser_failed"),
    ("flood", 1, "optimiser_failed"),
    ("memory", 1, "optimiser_failed"),
    ("fail", 1, "optimiser_failed"),
    ("deaf", 3, "optimiser_answer"),
    ("delete", 3, "optimiser_answer"),
    ("other", 3, "optimiser_answer"),
    ("policy", 3, "optimiser_answer"),
    ("prose", 3, "optimiser_answer"),
    ("nothing", 3, "optimiser_answer"),
    ("deep", 3, "optimiser_answer"),
    ("escape", 3, "invalid_path"),
    ("absolute", 3, "invalid_path"),
    ("evals", 5, "policy_denied"),
    ("evals-spelled", 5, "policy_denied"),
    ("secrets", 4, "scan_blocked"),
    ("pinned", 5, "policy_denied"),
];

fn example(name: &str) -> String {
    format!("python3 {}/examples/optimisers/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A library under the most open policy, with a skill that has cases, one of them failing.
fn library() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line\n\nbeta line");
    let cases: Vec<Value> = (1..=8)
        .map(|id| json!({"id": id, "prompt": "p", "checks": [{"type": "regex", "pattern": format!("word {id}")}]}))
        .collect();
    let evals = json!({"evals": cases}).to_string();
    let args = ["manage", "write_file", "demo", "--path", "evals/evals.json", "--content", "-", "--json"];
    sandbox.run_with(&args, evals.as_bytes()).done();
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"open\"\n").unwrap();
    sandbox
}

fn evolve(sandbox: &Sandbox, with: &str) -> Answer {
    sandbox.ask(&["evolve", "run", "demo", "--with", with, "--time-limit", "5"])
}

#[test]
fn examples_follow_the_optimiser_protocol() {
    let sandbox = Sandbox::new();
    for name in ["identity.py", "note_failures.py"] {
        let document = sandbox.done(&["evolve", "conformance", "--with", &example(name)]);
        assert_eq!(document["trials"].as_array().unwrap().len(), 6, "{document:#}");
    }
    for way in ["prose", "escape", "evals", "fail"] {
        let with = format!("{} {way}", example("hostile.py"));
        let document: Value =
            serde_json::from_slice(&sandbox.ask(&["evolve", "conformance", "--with", &with]).exits(1).stdout).unwrap();
        assert_eq!((&document["ok"], &document["trials"][0]["ok"]), (&json!(false), &json!(false)), "{document:#}");
    }
}

#[test]
fn optimisers_change_is_always_held() {
    let sandbox = library();
    let before = snapshot(&sandbox.user_skill("demo"));
    let unchanged = evolve(&sandbox, &example("note_failures.py")).done();
    assert_eq!(unchanged["status"], "unchanged", "nothing was run yet, so nothing is known to fail");
    sandbox.ask(&["eval", "run", "demo", "--runner", "cat \"$SKILLHUB_EVAL_SKILL/SKILL.md\""]).exits(1);
    let with = example("note_failures.py");
    let dry = sandbox.done(&["evolve", "run", "demo", "--with", &with, "--dry-run"]);
    assert_eq!((&dry["status"], &sandbox.done(&["review", "list"])["proposals"]), (&json!("dry_run"), &json!([])));
    let report = evolve(&sandbox, &with).done();
    assert_eq!(report["status"], "proposed", "{report:#}");
    let id = report["proposal"].as_str().unwrap();
    let listed = &sandbox.done(&["review", "list"])["proposals"][0];
    assert_eq!(listed["actor"]["kind"], "optimizer", "{listed:#}");
    assert_eq!(snapshot(&sandbox.user_skill("demo")), before, "the skill is as it was");
    let proposed = sandbox.run(&["review", "show", id, "SKILL.md"]).exits(0).text();
    let named = (1..=8).filter(|id| proposed.contains(&format!("word {id}"))).count();
    assert!((1..8).contains(&named), "those of training cases alone:\n{proposed}");
    assert_eq!(evolve(&sandbox, &with).done()["proposal"], id, "the same again is the same proposal");
    let runner = "cat \"$SKILLHUB_EVAL_SKILL/SKILL.md\"";
    let compared = sandbox.done(&["eval", "compare", "demo", "head", id, "--runner", runner]);
    assert_eq!(compared["decision"], "better", "{compared:#}");
}

#[test]
fn optimiser_gets_no_user_secrets() {
    let sandbox = library();
    let with = format!("{} tell", example("hostile.py"));
    let args = ["evolve", "run", "demo", "--with", &with, "--env", "GIVEN", "--json"];
    let mut command = sandbox.command(&args);
    command.env("GIVEN", "1").env("API_KEY", "x").env("SKILLHUB_REVIEWER_TOKEN", "y").env("SKILLHUB_TOKEN", "z");
    let told = sandbox.finish(command, &args).done()["rationale"].as_str().unwrap().to_owned();
    let names: Vec<&str> = told.split(' ').collect();
    assert!(names.contains(&"GIVEN") && names.contains(&"PATH"), "{told}");
    assert!(!told.contains("KEY") && !told.contains("SKILLHUB"), "{told}");
    let home = sandbox.done(&[
        "evolve",
        "run",
        "demo",
        "--with",
        "printf '{\"v\":1,\"patches\":[],\"rationale\":\"%s\"}' \"$HOME\"",
    ]);
    assert!(!home["rationale"].as_str().unwrap().contains(&sandbox.home().display().to_string()), "{home}");
}

#[test]
fn optimiser_sees_outcomes_without_runs() {
    let sandbox = library();
    let with = "cp /dev/stdin seen.json; python3 -c 'import json; seen = json.load(open(\"seen.json\")); \
                print(json.dumps({\"v\": 1, \"patches\": [], \"rationale\": json.dumps(seen[\"outcomes\"])}))'";
    let told = || -> Value {
        let answer = evolve(&sandbox, with).done();
        serde_json::from_str(answer["rationale"].as_str().unwrap()).unwrap()
    };
    assert_eq!(told(), Value::Null, "nobody told of any run");
    for (run, event) in
        [("secret-1", "completed"), ("secret-2", "failed"), ("secret-3", "aborted"), ("secret-4", "completed")]
    {
        sandbox.done(&["record", "demo", "--event", event, "--run", run, "--task", "hidden"]);
    }
    let outcomes = told();
    // Runs of one task count once a day.
    let counts = ["runs", "successes", "failures", "unknown"].map(|field| outcomes[field].as_u64().unwrap());
    assert_eq!(counts[0], counts[1..].iter().sum::<u64>(), "{outcomes:#}");
    let stats = sandbox.done(&["stats", "demo"])["revisions"][0].clone();
    assert_eq!(outcomes, stats);
    let text = outcomes.to_string();
    assert!(counts[0] > 0 && !text.contains("secret") && !text.contains("hidden"), "{text}");
    sandbox.done(&["manage", "patch", "demo", "--find", "alpha", "--replace", "gamma"]);
    assert_eq!(told(), Value::Null, "of another revision");
}

#[test]
fn hostile_optimiser_is_contained_and_logged() {
    let sandbox = library();
    let before = snapshot(&sandbox.user_skill("demo"));
    let outside = (tree(&sandbox.cwd()), fs::metadata("/tmp/escaped.md").is_ok());
    let started = Instant::now();
    for (way, exit, code) in HARM {
        if way == "pinned" {
            sandbox.run(&["pin", "demo"]).exits(0);
        }
        let argument = if way == "pinned" { "rationale" } else { way };
        let limit = if way == "hang" { "1" } else { "30" };
        let with = format!("{} {argument}", example("hostile.py"));
        let error = sandbox
            .ask(&["evolve", "run", "demo", "--with", &with, "--time-limit", limit])
            .refused_with_hint(exit, code);
        let message = error["message"].as_str().unwrap();
        assert!(message.chars().count() < 3_000 && !message.chars().any(char::is_control), "{way}: {message:?}");
        let newest = sandbox.done(&["log", "demo"])["events"][0].clone();
        assert_eq!((&newest["status"], &newest["code"]), (&json!("refused"), &json!(code)), "{way}: {newest:#}");
        assert_eq!(
            newest["actor"].as_str().unwrap_or_default().split(':').next(),
            Some("optimizer"),
            "{way}: {newest:#}"
        );
    }
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    assert_eq!(snapshot(&sandbox.user_skill("demo")), before);
    assert_eq!((tree(&sandbox.cwd()), fs::metadata("/tmp/escaped.md").is_ok()), outside);
    assert_eq!(sandbox.done(&["review", "list"])["proposals"], json!([]));
    assert!(fs::read_dir(sandbox.path("tmp")).unwrap().next().is_none(), "a place of an optimiser was left");
}

#[test]
fn hostile_reasons_are_plain_text() {
    let sandbox = library();
    let before = snapshot(&sandbox.user_skill("demo"));
    let report = evolve(&sandbox, &format!("{} rationale", example("hostile.py"))).done();
    assert_eq!(report["status"], "proposed");
    let listed = sandbox.done(&["review", "list"])["proposals"][0].clone();
    let reason = listed["reason"].as_str().unwrap();
    assert!(
        reason.chars().count() <= 1_501 && !reason.chars().any(|c| c.is_control() || c == '\u{202e}'),
        "{reason:?}"
    );
    assert_eq!((&listed["state"], snapshot(&sandbox.user_skill("demo"))), (&json!("pending"), before));
}

#[test]
fn optimiser_edits_only_seen_revision() {
    let sandbox = library();
    let program = env!("CARGO_BIN_EXE_skillhub");
    let library = sandbox.user_skill("");
    let with = format!(
        "cat > /dev/null; SKILLHUB_HOME='{}' {program} --library '{}' manage patch demo --find 'alpha line' --replace 'alpha two' >&2; \
         printf '{{\"v\":1,\"rationale\":\"r\",\"patches\":[{{\"action\":\"patch\",\"find\":\"beta line\",\"replace\":\"b\"}}]}}'",
        sandbox.skillhub_home().display(),
        library.display()
    );
    sandbox.ask(&["evolve", "run", "demo", "--with", &with]).refused_with_hint(6, "stale_revision");
}
