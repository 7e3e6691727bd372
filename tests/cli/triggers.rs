//! `eval run --trigger` and `eval compare --trigger`: which skill is chosen for a query, by real commands.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, skill_md, write_files};

/// A chooser that reads every listed skill whose description has the first word of the query.
const CHOOSER: &str = "#!/bin/sh\nword=${SKILLHUB_EVAL_PROMPT%% *}\n\
                       awk -v word=\"$word\" '/^<name>$/ {getline name} /^<description>$/ {getline text; \
                       if (index(tolower(text), tolower(word))) print name}' \"$SKILLHUB_EVAL_SKILLS\"\n";

fn queries() -> String {
    json!([
        {"query": "fill in the form of the tax office", "should_trigger": true},
        {"query": "merge these two documents", "should_trigger": true},
        {"query": "draw a chart of the sales", "should_trigger": false},
    ])
    .to_string()
}

/// Two skills that compete: the one with queries, and one that takes "merge".
fn library() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let create = |name: &str, description: &str| {
        let text = skill_md(name, description, "Do it.");
        sandbox.request(&json!({"action": "create", "name": name, "content": text})).done();
    };
    create("pdf-forms", "Fill in PDF documents.");
    create("pdf-joiner", "Merge documents into one.");
    let write = ["manage", "write_file", "pdf-forms", "--path", "evals/eval_queries.json", "--content", "-", "--json"];
    sandbox.run_with(&write, queries().as_bytes()).done();
    write_files(&sandbox.path(""), &[("choose.sh", CHOOSER.as_bytes(), true)]);
    let chooser = sandbox.path("choose.sh").display().to_string();
    (sandbox, chooser)
}

fn failed(sandbox: &Sandbox, args: &[&str]) -> Value {
    serde_json::from_slice(&sandbox.ask(args).exits(1).stdout).unwrap()
}

#[test]
fn neighbour_takes_query_of_skill() {
    let (sandbox, chooser) = library();
    let report = failed(&sandbox, &["eval", "run", "pdf-forms", "--trigger", "--runner", &chooser]);
    let passed: Vec<&Value> = report["queries"].as_array().unwrap().iter().map(|query| &query["passed"]).collect();
    assert_eq!(passed, [true, false, true], "{report:#}");
    assert_eq!((&report["should_trigger"]["count"], &report["should_trigger"]["of"]), (&json!(3), &json!(6)));
    assert_eq!(report["should_not_trigger"]["count"], 0);
    assert_eq!(report["should_trigger"]["interval"]["kind"], "wilson");
    assert_eq!(report["neighbours"], json!([{"name": "pdf-joiner", "runs": 3, "queries": 1}]));
    let stored = fs::read(std::path::Path::new(report["results"].as_str().unwrap()).join("triggers.json")).unwrap();
    let stored: Value = serde_json::from_slice(&stored).unwrap();
    assert_eq!(stored["answers"][1]["chosen"], json!([["pdf-joiner"], ["pdf-joiner"], ["pdf-joiner"]]));
    let text = sandbox.run(&["eval", "run", "pdf-forms", "--trigger", "--runner", &chooser]).exits(1).text();
    assert!(text.contains("pdf-joiner was chosen instead in 3 runs of 1 query"), "{text}");
    assert!(fs::read_dir(sandbox.path("tmp")).unwrap().next().is_none(), "a place of a run was left");
}

/// Its answer is labelled, and the same each time.
#[test]
fn search_is_baseline_without_runner() {
    let (sandbox, _) = library();
    let report = failed(&sandbox, &["eval", "run", "pdf-forms", "--trigger"]);
    assert!(report["chooser"].as_str().unwrap().contains("a baseline and not an agent"), "{report:#}");
    assert_eq!(report["should_trigger"]["of"], 2, "one run of each query is enough");
    assert_eq!(report["neighbours"][0]["name"], "pdf-joiner");
    let again = failed(&sandbox, &["eval", "run", "pdf-forms", "--trigger", "--repeat", "5"]);
    assert_eq!(again["queries"], report["queries"]);
}

#[test]
fn description_is_compared_by_its_queries() {
    let (sandbox, chooser) = library();
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    let held = |replace: &str| {
        let patch =
            ["manage", "patch", "pdf-forms", "--find", "description: Fill in PDF documents.", "--replace", replace];
        sandbox.done(&patch)["proposal"].as_str().unwrap().to_owned()
    };
    let id = held("description: Fill in and merge PDF documents.");
    let compare = ["eval", "compare", "pdf-forms", "head", &id, "--trigger", "--runner", &chooser, "--repeat", "7"];
    let better = sandbox.done(&compare);
    assert_eq!((&better["decision"], &better["overall"]["wins"]), (&json!("better"), &json!(7)), "{better:#}");
    assert_eq!(better["base"]["triggers"]["should_trigger"]["rate"], 0.5);
    assert_eq!(better["candidate"]["triggers"]["should_trigger"]["rate"], 1.0);
    let text = sandbox.run(&compare).exits(0).text();
    assert!(text.contains("better: proposal") && !text.contains("More than the description"), "{text}");
    let token = sandbox.token();
    let accept = sandbox.run_as(&token, &["review", "accept", &id, "--require-evals"]);
    accept.refused_with_hint(5, "evals_required");
    sandbox.run_as(&token, &["review", "reject", &id]).done();
    let id = held("description: Draw charts.");
    let worse = failed(&sandbox, &["eval", "compare", "pdf-forms", "head", &id, "--trigger", "--runner", &chooser]);
    assert_eq!(worse["decision"], "worse", "{worse:#}");
}

/// A command that fails or talks is no evidence about the skill.
#[test]
fn failing_runner_is_not_evidence() {
    let (sandbox, chooser) = library();
    for (runner, told) in [
        ("./not-there.sh", "exit code 127"),
        ("exit 3", "exit code 3"),
        ("echo I would read pdf-forms", "is not the name of a skill"),
        ("echo '[7]'", "is not a list of names"),
    ] {
        let args = ["eval", "run", "pdf-forms", "--trigger", "--runner", runner];
        let error = sandbox.ask(&args).refused_with_hint(1, "runner_failed");
        assert!(error["message"].as_str().unwrap().contains(told), "{error:#}");
    }
    let sleepy = format!("case \"$SKILLHUB_EVAL_PROMPT\" in merge*) sleep 60;; *) exec {chooser};; esac");
    let args = ["eval", "run", "pdf-forms", "--trigger", "--runner", &sleepy, "--time-limit", "1", "--repeat", "1"];
    let report = failed(&sandbox, &args);
    assert_eq!((&report["queries"][1]["failed"], &report["queries"][1]["passed"]), (&json!(1), &Value::Null));
    assert_eq!(report["should_trigger"]["of"], 1, "{report:#}");
}

/// The command learns neither the tested skill nor the expected choice.
#[test]
fn chooser_learns_only_query_and_list() {
    let (sandbox, _) = library();
    let spy =
        format!("cat > {0}/stdin; env > {0}/env; cat \"$SKILLHUB_EVAL_SKILLS\" > {0}/list", sandbox.path("").display());
    failed(&sandbox, &["eval", "run", "pdf-forms", "--trigger", "--runner", &spy, "--repeat", "1"]);
    let read = |name: &str| fs::read_to_string(sandbox.path(name)).unwrap();
    let input: Value = serde_json::from_str(&read("stdin")).unwrap();
    let mut fields: Vec<&String> = input.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["names", "prompt", "skills", "v", "work"]);
    assert_eq!(input["skills"], read("list"));
    assert!(read("list").contains("<name>\npdf-forms\n</name>") && read("list").contains("pdf-joiner"));
    let ours: Vec<String> =
        read("env").lines().filter(|line| line.starts_with("SKILLHUB_EVAL_")).map(str::to_owned).collect();
    assert!(ours.len() == 3 && ours.iter().all(|line| !line.contains("pdf-forms")), "{ours:?}");
}

#[test]
fn malformed_queries_are_refused_unrun() {
    let sandbox = Sandbox::new();
    let many: Vec<Value> = (0..10_000).map(|at| json!({"query": format!("q{at}"), "should_trigger": true})).collect();
    let many = json!(many).to_string();
    for (text, told) in [
        ("{\"queries\": ", "not valid JSON"),
        ("[]", "the list of queries is empty"),
        ("\n[{\"query\": \"q\"}]", "demo/evals/eval_queries.json:2 `should_trigger` must be true or false"),
        (many.as_str(), "there are 10000 queries; the limit is 500"),
    ] {
        sandbox.skill("demo", "Does demo. Use in tests.", &[("evals/eval_queries.json", text)]);
        let lint = sandbox.run(&["eval", "lint", "./demo"]).exits(3).text();
        assert!(lint.contains(told), "{told}: {lint}");
        sandbox.ask(&["eval", "run", "./demo", "--trigger"]).refused_with_hint(3, "invalid_evals");
        sandbox
            .ask(&["eval", "compare", "demo", "./demo", "./demo", "--trigger"])
            .refused_with_hint(3, "invalid_evals");
    }
    sandbox.skill("demo", "Does demo. Use in tests.", &[("evals/eval_queries.json", &queries())]);
    let lint = sandbox.run(&["eval", "lint", "./demo"]).exits(0).text();
    assert!(lint.contains("3 queries"), "{lint}");
    sandbox.create("bare", "Text.");
    sandbox.ask(&["eval", "run", "bare", "--trigger"]).refused_with_hint(7, "not_found");
    for wrong in [&["--judge", "true"][..], &["--baseline"], &["--case", "1"]] {
        sandbox.run(&[&["eval", "run", "./demo", "--trigger"], wrong].concat()).exits(2);
    }
    sandbox.run(&["eval", "run", "./demo"]).exits(2);
}
