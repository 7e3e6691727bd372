//! The gate from outside, on a skill that declines in steps too small for a comparison of neighbours.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use super::documents::assert_fits;
use crate::support::Sandbox;

/// Creates a skill that a person keeps, with 100 runs of which 95 succeeded. The command of `[notify]` writes its input
/// to `heard`.
fn kept(gate: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let (program, heard) = (sandbox.path("hook.sh"), sandbox.path("heard"));
    fs::write(&program, format!("#!/bin/sh\ncat >> {}\n", heard.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!("[notify]\ncommand = [{:?}]\n[gate]\n{gate}\n", program.to_str().unwrap());
    sandbox.create("demo", "version 0 line");
    fs::write(sandbox.skillhub_home().join("config.toml"), config).unwrap();
    sandbox.run_as(&sandbox.token(), &["review", "keep", "demo"]).done();
    tell(&sandbox, "kept", 100, 20);
    sandbox
}

/// Reports runs of `demo` as a person, of which every `bad`th failed, and returns the gate's decisions.
fn tell(sandbox: &Sandbox, prefix: &str, runs: usize, bad: usize) -> Vec<Value> {
    let results: Vec<bool> = (1..=runs).map(|run| !run.is_multiple_of(bad)).collect();
    report(sandbox, prefix, &results)
}

/// Reports runs of `demo` as a person, and returns the gate's decisions.
fn report(sandbox: &Sandbox, prefix: &str, results: &[bool]) -> Vec<Value> {
    let line = |(run, success): (usize, &bool)| {
        let event = if *success { "completed" } else { "failed" };
        format!("{}\n", json!({"skill": "demo", "event": event, "run": format!("{prefix}-{run}")}))
    };
    let lines: String = results.iter().enumerate().map(line).collect();
    let told = sandbox.run_with_proof(&["record", "--request", "-", "--json"], lines.as_bytes()).done();
    told["decisions"].as_array().unwrap().clone()
}

fn patch(sandbox: &Sandbox, version: usize) -> String {
    let (find, replace) = (format!("version {version}"), format!("version {}", version + 1));
    sandbox.done(&["manage", "patch", "demo", "--find", &find, "--replace", &replace]);
    replace
}

/// Patches `demo` as an agent, `times` times, with ten runs each of which three failed. Returns the gate's decisions.
fn decline(sandbox: &Sandbox, from: usize, times: usize) -> Vec<Value> {
    let mut decisions = Vec::new();
    for version in from..from + times {
        let replace = patch(sandbox, version);
        decisions.extend(tell(sandbox, &replace.replace(' ', "-"), 10, 3));
        if !text(sandbox).contains(&replace) {
            break;
        }
    }
    decisions
}

fn text(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap()
}

/// Returns the notifications about decisions of the gate.
fn heard(sandbox: &Sandbox) -> Vec<Value> {
    let text = fs::read_to_string(sandbox.path("heard")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the entry of the line in `evolve status`.
fn line(sandbox: &Sandbox) -> Option<Value> {
    let status = sandbox.done(&["evolve", "status", "demo"]);
    status["skills"].as_array().unwrap().iter().find(|entry| entry["line"].is_object()).cloned()
}

#[test]
fn decline_is_notified_until_person_keeps() {
    let sandbox = kept("");
    let decisions = decline(&sandbox, 0, 16);
    assert_eq!(decisions.len(), 1, "once: {decisions:#?}");
    assert_eq!((&decisions[0]["verdict"], &decisions[0]["acted"]), (&json!("alarm"), &json!(true)));
    assert!(text(&sandbox).contains("version 16"), "a person decides");

    let heard = heard(&sandbox);
    heard.iter().for_each(|event| assert_fits("notify", event));
    let [event] = heard.as_slice() else { panic!("{heard:#?}") };
    let message = event["message"].as_str().unwrap();
    assert_eq!(event["event"], "alarmed");
    assert!(
        message.starts_with("demo: ") && message.contains(" runs succeeded since you kept revision 1; 95 % expected")
    );

    let status = sandbox.run(&["evolve", "status", "demo"]).text();
    assert!(status.contains("demo, changes since its review checkpoint, revision 1: alarm"), "{status}");
    assert!(status.contains("112 of 160 runs succeeded since you kept revision 1; 95 % expected"), "{status}");
    assert!(status.contains("skillhub rollback demo 1") && status.contains("skillhub review keep demo"), "{status}");
    let checked = sandbox.done(&["evolve", "check", "demo"]);
    assert_eq!((&checked["differ"], checked["decisions"].as_array().unwrap().len()), (&json!(0), 1), "{checked:#}");

    sandbox.create("another", "comes before demo by name");
    let inbox = sandbox.done(&["review"]);
    assert_eq!(
        (&inbox["skills"][0]["name"], &inbox["alarms"][0]["name"]),
        (&json!("demo"), &json!("demo")),
        "{inbox:#}"
    );
    assert_eq!(
        (&inbox["skills"][0]["alarm"], &inbox["skills"][1]["alarm"]),
        (&inbox["alarms"][0]["why"], &Value::Null)
    );
    for args in [["list"], ["status"]] {
        let text = sandbox.at_terminal(&args).text();
        assert!(text.contains("alarm for demo: ") && text.contains("2 skills changed since you looked"), "{text}");
    }
    assert!(sandbox.run(&["review"]).text().contains("alarm: "), "the person sees it with the change");

    sandbox.run_as(&sandbox.token(), &["review", "keep", "demo"]).done();
    assert_eq!(sandbox.done(&["review"])["alarms"], json!([]));
    assert_eq!(line(&sandbox), None, "the newest revision is the measure from now on");
    assert_eq!(decline(&sandbox, 16, 3), Vec::<Value>::new());
}

/// From 95 % to 50 % over 400 runs.
#[test]
fn even_fall_is_reported_once_recorded() {
    let sandbox = kept("");
    tell(&sandbox, "more", 100, 20);
    let (mut owed, mut decisions, mut runs) = (0.0, Vec::new(), 0);
    while runs < 400 && decisions.is_empty() {
        let prefix = patch(&sandbox, runs / 10).replace(' ', "-");
        let results: Vec<bool> = (runs..runs + 10)
            .map(|run| {
                owed += 0.05 + 0.45 * run as f64 / 400.0;
                let fails = owed >= 1.0;
                owed -= f64::from(u8::from(fails));
                !fails
            })
            .collect();
        decisions = report(&sandbox, &prefix, &results);
        runs += 10;
    }
    assert_eq!(decisions.first().map(|decision| &decision["verdict"]), Some(&json!("alarm")), "{decisions:#?}");
    assert!((50..=240).contains(&runs), "after {runs} runs");
}

#[test]
fn decline_rolls_back_by_policy() {
    let sandbox = kept("decline = \"roll-back\"");
    let decisions = decline(&sandbox, 0, 16);
    let last = decisions.last().unwrap();
    assert_eq!((&last["verdict"], &last["acted"], decisions.len()), (&json!("roll_back"), &json!(true), 1));
    assert!(text(&sandbox).contains("version 0"), "{}", text(&sandbox));
    let newest = sandbox.done(&["history", "demo"])["revisions"][0].clone();
    assert_eq!((&newest["action"], &newest["actor"]["id"]), (&json!("rollback"), &json!("skillhub")));
    let refused = sandbox.ask(&["manage", "patch", "demo", "--find", "version 0", "--replace", "version 2"]);
    refused.refused_with_hint(5, "policy_denied");
    assert_eq!(line(&sandbox), None);
    sandbox.done(&["manage", "patch", "demo", "--find", "version 0", "--replace", "other words"]);
    let outcomes = sandbox.done(&["review"])["skills"][0]["outcomes"].clone();
    assert_eq!(
        (&outcomes["before"]["successes"], &outcomes["before"]["runs"]),
        (&json!(95), &json!(100)),
        "{outcomes:#}"
    );
    let stats = sandbox.run(&["stats", "demo"]).text();
    assert!(stats.contains("with which the gate restored what you kept"), "{stats}");
    assert_eq!(sandbox.done(&["evolve", "check", "demo"])["differ"], 0);
    assert_eq!(heard(&sandbox).last().unwrap()["event"], "rolled_back");
}

#[test]
fn decline_leaves_pinned_skill_to_people() {
    let sandbox = kept("decline = \"roll-back\"");
    let mut decisions = decline(&sandbox, 0, 3);
    assert_eq!(decisions, Vec::<Value>::new());
    sandbox.run_as(&sandbox.token(), &["pin", "demo"]).done();
    decisions = tell(&sandbox, "pinned", 60, 3);
    let last = decisions.last().unwrap();
    assert_eq!(last["verdict"], "alarm", "{decisions:#?}");
    assert!(last["why"].as_str().unwrap().contains("pinned"), "{decisions:#?}");
    assert!(text(&sandbox).contains("version 3"));
    let alarms = heard(&sandbox).iter().filter(|event| event["event"] == "alarmed").count();
    assert_eq!(alarms, 1, "{:#?}", heard(&sandbox));
    assert_eq!(sandbox.done(&["evolve", "check", "demo"])["differ"], 0);
}

#[test]
fn persons_later_change_is_never_undone() {
    let sandbox = kept("decline = \"roll-back\"");
    decline(&sandbox, 0, 1);
    let args = ["manage", "patch", "demo", "--find", "version 1", "--replace", "version 2", "--actor", "person:ann"];
    sandbox.run_as(&sandbox.token(), &args).done();
    let decisions = decline(&sandbox, 2, 15);
    assert_eq!(decisions.iter().filter(|decision| decision["acted"] == true).count(), 1, "{decisions:#?}");
    assert!(decisions[0]["why"].as_str().unwrap().contains("revision 3 was made by a person"), "{decisions:#?}");
    assert!(text(&sandbox).contains("version 17"));
}

#[test]
fn decline_is_not_tested_if_off() {
    let sandbox = kept("decline = \"off\"");
    assert_eq!(decline(&sandbox, 0, 14), Vec::<Value>::new());
    assert_eq!((line(&sandbox), heard(&sandbox).len()), (None, 0));
    fs::write(sandbox.skillhub_home().join("config.toml"), "[gate]\ndecline = \"undo\"\n").unwrap();
    let refused = sandbox.ask(&["evolve", "status", "demo"]).refused_with_hint(2, "invalid_config");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("`undo`") && message.contains("`roll-back`"), "{message}");
}
