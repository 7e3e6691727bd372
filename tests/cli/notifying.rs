//! Evidence for a held change, superseded proposals, and the notification command.

use std::{fs, os::unix::fs::PermissionsExt, time::Instant};

use serde_json::{Value, json};

use super::documents::assert_fits;
use crate::support::Sandbox;

/// Creates a library that holds every change of an agent, and a notification command that records its input.
fn sandbox(script: &str, more: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "one\ntwo\nthree");
    let program = sandbox.path("hook.sh");
    let heard = sandbox.path("heard");
    fs::write(&program, format!("#!/bin/sh\n{}\n", script.replace("HEARD", heard.to_str().unwrap()))).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config =
        format!("policy = \"strict\"\n[notify]\ncommand = [{:?}, \"for me\"]\n{more}", program.to_str().unwrap());
    fs::write(sandbox.skillhub_home().join("config.toml"), config).unwrap();
    sandbox
}

fn heard(sandbox: &Sandbox) -> Vec<Value> {
    let text = fs::read_to_string(sandbox.path("heard")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn patch(sandbox: &Sandbox, find: &str, replace: &str, more: &[&str]) -> Value {
    sandbox.done(&[&["manage", "patch", "demo", "--find", find, "--replace", replace][..], more].concat())
}

#[test]
fn notify_command_gets_events_without_secrets() {
    let sandbox = sandbox("cat >> HEARD; printf '%s' \"$1$SKILLHUB_REVIEWER_TOKEN\" > HEARD.args", "");
    let token = sandbox.token();
    let held = patch(&sandbox, "one", "ONE", &["--reason", "it is loud"]);
    let id = held["proposal"].as_str().unwrap();
    patch(&sandbox, "two", "TWO", &[]);
    sandbox.run_as(&token, &["review", "accept", &format!("{id}@2"), "--reason", "good"]).done();
    let rejected = patch(&sandbox, "three", "3", &[])["proposal"].as_str().unwrap().to_owned();
    sandbox.run_as(&token, &["review", "reject", &rejected]).done();
    let heard = heard(&sandbox);
    heard.iter().for_each(|event| assert_fits("notify", event));
    let words: Vec<&str> = heard.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(words, ["proposed", "amended", "accepted", "proposed", "rejected"]);
    assert_eq!([&heard[0]["proposal"], &heard[0]["reason"], &heard[0]["name"]], [id, "it is loud", "demo"]);
    assert!(heard[2]["revision"].is_string() && heard[2]["actor"] == "person:ann", "{:#}", heard[2]);
    assert_eq!(fs::read_to_string(sandbox.path("heard.args")).unwrap(), "for me");
}

#[test]
fn failing_notify_command_changes_nothing() {
    for script in ["exit 3", "sleep 30"] {
        let sandbox = sandbox(script, "timeout_seconds = 1\n");
        let started = Instant::now();
        let answer = sandbox.ask(&["manage", "patch", "demo", "--find", "one", "--replace", "x"]);
        assert!(answer.stderr.contains("the command of [notify] failed"), "{answer}");
        assert_eq!(answer.done()["status"], "proposed");
        assert!(started.elapsed().as_secs() < 15);
    }
    let sandbox = sandbox("cat >> HEARD", "events = [\"accepted\"]\n");
    patch(&sandbox, "one", "x", &[]);
    assert!(heard(&sandbox).is_empty(), "it asked for something else");
    fs::remove_file(sandbox.path("hook.sh")).unwrap();
    patch(&sandbox, "two", "x", &[]);
}

#[test]
fn project_cannot_set_notify_command() {
    let sandbox = Sandbox::project();
    sandbox.create("demo", "one");
    let program = sandbox.path("hook.sh");
    fs::write(&program, format!("#!/bin/sh\ncat >> {}\n", sandbox.path("heard").display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!("policy = \"strict\"\n[notify]\ncommand = [{:?}]\n", program.to_str().unwrap());
    for place in ["config.toml", ".skillhub/config.toml", ".agents/config.toml", ".agents/skills/config.toml"] {
        let path = sandbox.cwd().join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &config).unwrap();
    }
    sandbox.done(&["manage", "patch", "demo", "--find", "one", "--replace", "x"]);
    assert!(heard(&sandbox).is_empty());
}

#[test]
fn amendments_add_their_evidence() {
    let sandbox = sandbox("true", "");
    let evidence = ["--evidence", "eval:run-7", "--evidence", "https://example.invalid/run/7"];
    let held = patch(&sandbox, "one", "ONE", &evidence);
    let id = held["proposal"].as_str().unwrap().to_owned();
    let more = json!({"action": "patch", "name": "demo", "find": "two", "replace": "TWO", "evidence": ["eval:run-7", "fewer words"]});
    sandbox.request(&more).done();
    let shown = sandbox.done(&["review", "show", &id])["proposal"]["evidence"].clone();
    let expected = json!([
        {"kind": "link", "text": "https://example.invalid/run/7"}, {"kind": "eval", "text": "run-7"},
        {"kind": "text", "text": "fewer words"},
    ]);
    assert_eq!(shown, expected);
    let text = sandbox.run(&["review", "show", &id]).exits(0).text();
    assert!(text.contains("run-7") && text.contains("fewer words"), "{text}");
    sandbox
        .ask(&["manage", "patch", "demo", "--find", "one", "--replace", "x", "--evidence", "eval:"])
        .refused(2, "invalid_request");
}

#[test]
fn superseded_proposal_names_its_successor() {
    let sandbox = sandbox("true", "");
    let token = sandbox.token();
    let of = |actor: &str, find: &str, replace: &str| {
        patch(&sandbox, find, replace, &["--actor", actor])["proposal"].as_str().unwrap().to_owned()
    };
    let (one, same, other) = (of("agent:a", "one", "ONE"), of("agent:b", "one", "ONE"), of("agent:c", "two", "TWO"));
    sandbox.run_as(&token, &["review", "accept", &one]).done();
    let state = |id: &str| {
        let shown = sandbox.done(&["review", "show", id])["proposal"].clone();
        (shown["state"].as_str().unwrap().to_owned(), shown["superseded_by"].clone())
    };
    assert_eq!(state(&same), ("superseded".to_owned(), json!(one)));
    assert_eq!(state(&other), ("pending".to_owned(), Value::Null));

    let clash = of("agent:d", "three", "3");
    let person = ["manage", "patch", "demo", "--find", "three", "--replace", "III", "--actor", "person"];
    sandbox.run_as(&token, &person).done();
    let newer = of("agent:d", "III", "iii");
    assert_eq!(state(&clash), ("superseded".to_owned(), json!(newer)));
    assert_eq!(state(&newer), ("pending".to_owned(), Value::Null));
}
