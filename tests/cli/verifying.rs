//! `verify`: installed files checked against the lock file.

use std::fs;

use serde_json::Value;

use crate::support::Sandbox;

fn installed() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.skill("demo", "Writes notes. Use in tests.", &[("scripts/run.sh", "#!/bin/sh\nprintf x\n")]);
    sandbox.done(&["publish", "demo", "--owner", "acme", "--version", "1.0.0"]);
    sandbox.done(&["install", "acme/demo"]);
    sandbox
}

fn status(document: &Value) -> &str {
    document["skills"][0]["status"].as_str().unwrap()
}

#[test]
fn pristine_and_evolved_skills_verify() {
    let sandbox = installed();
    assert_eq!(status(&sandbox.done(&["verify"])), "pristine");
    sandbox.done(&["manage", "patch", "demo", "--find", "Read the input.", "--replace", "Read."]);
    assert_eq!(status(&sandbox.done(&["verify"])), "evolved");
    let text = sandbox.run(&["verify"]).exits(0).text();
    assert!(text.contains("evolved") && text.contains("acme/demo"), "{text}");
}

#[test]
fn missing_lock_file_is_no_success() {
    let empty = Sandbox::new();
    let text = empty.run(&["verify"]).exits(0).text();
    assert!(text.starts_with("Nothing to verify: ") && text.ends_with("skillhub.lock does not exist\n"), "{text}");
    let sandbox = installed();
    fs::remove_file(sandbox.done(&["where"])["lock"].as_str().unwrap()).unwrap();
    let error = sandbox.ask(&["verify"]).refused_with_hint(8, "integrity");
    assert!(error["message"].as_str().unwrap().ends_with("but these skills are installed: demo"), "{error:#}");
    sandbox.done(&["doctor", "--fix"]);
    assert_eq!(status(&sandbox.done(&["verify"])), "pristine");
}

#[test]
fn line_end_changes_are_not_modifications() {
    let sandbox = installed();
    let file = sandbox.user_skill("demo").join("SKILL.md");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace('\n', "\r\n")).unwrap();
    assert_eq!(status(&sandbox.done(&["verify", "--offline"])), "pristine");
}

#[test]
fn verify_reports_every_difference() {
    let sandbox = installed();
    let script = sandbox.user_skill("demo").join("scripts/run.sh");
    let lock = sandbox.done(&["where"])["lock"].as_str().unwrap().to_owned();
    fs::write(&script, "#!/bin/sh\nprintf y\n").unwrap();
    let found = sandbox.done(&["verify"]);
    assert_eq!((status(&found), &found["skills"][0]["files"][0]["path"]), ("modified", &"scripts/run.sh".into()));
    fs::write(&script, "#!/bin/sh\nprintf x\n").unwrap();
    assert_eq!(status(&sandbox.done(&["verify"])), "pristine");
    let good = fs::read_to_string(&lock).unwrap();
    for field in ["digest = \"sha256:", "content = \"sha256:", "archive = \"sha256:"] {
        let at = good.find(field).unwrap() + field.len();
        let other = if good[at..].starts_with('0') { "1" } else { "0" };
        fs::write(&lock, format!("{}{other}{}", &good[..at], &good[at + 1..])).unwrap();
        assert_eq!(status(&sandbox.ask(&["verify"]).exits(8).json()), "tampered", "{field}");
    }
    assert!(sandbox.run(&["verify"]).exits(8).text().contains("skillhub doctor --fix"), "only the archive is wrong");
    sandbox.done(&["doctor", "--fix"]);
    assert_eq!(fs::read_to_string(&lock).unwrap(), good);
    fs::remove_dir_all(sandbox.user_skill("demo")).unwrap();
    assert_eq!(status(&sandbox.ask(&["verify"]).exits(8).json()), "missing");
    sandbox.done(&["install"]);
    assert_eq!(status(&sandbox.done(&["verify"])), "pristine");
}

#[test]
fn edit_without_history_is_tampering() {
    let sandbox = Sandbox::project();
    sandbox.skill("demo", "Writes notes. Use in tests.", &[("scripts/run.sh", "#!/bin/sh\nprintf x\n")]);
    sandbox.done(&["publish", "demo", "--owner", "acme", "--version", "1.0.0"]);
    sandbox.done(&["install", "acme/demo"]);
    let verify = |home: &str| {
        let args = ["verify", "--offline", "--json"];
        let mut command = sandbox.command(&args);
        command.env("SKILLHUB_HOME", sandbox.path(home));
        sandbox.finish(command, &args)
    };
    assert_eq!(status(&verify("home/other").done()), "pristine", "as in a clone");
    let script = sandbox.cwd().join(".agents/skills/demo/scripts/run.sh");
    fs::write(&script, "#!/bin/sh\nprintf y\n").unwrap();
    assert_eq!(status(&verify("home/.skillhub").done()), "modified");
    assert_eq!(status(&verify("home/other").exits(8).json()), "tampered");
    sandbox.done(&["commit", "demo", "--reason", "y is better"]);
    assert_eq!(status(&verify("home/other").done()), "evolved", "the lock file names what was recorded");
}

#[test]
fn verify_reports_registry_changes() {
    let sandbox = installed();
    sandbox.done(&["yank", "acme/demo@1.0.0"]);
    let yanked = sandbox.done(&["verify"]);
    assert_eq!(status(&yanked), "pristine", "only its advice changed");
    assert!(yanked["skills"][0]["warnings"][0].as_str().unwrap().contains("yanked"), "{yanked:#}");
    assert_eq!(sandbox.done(&["verify", "--offline"])["ok"], true);
    fs::remove_dir_all(sandbox.skillhub_home().join("registry")).unwrap();
    let gone = sandbox.done(&["verify"]);
    assert!(!gone["skills"][0]["warnings"].as_array().unwrap().is_empty(), "{gone:#}");
}

#[test]
fn verify_without_lock_file_is_empty() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.done(&["verify"])["skills"], serde_json::json!([]));
    sandbox.create("mine", "Body.\n");
    let lock = sandbox.done(&["where"])["lock"].as_str().unwrap().to_owned();
    fs::write(&lock, "no lock file").unwrap();
    sandbox.ask(&["verify"]).refused(8, "damaged_lock_file");
}
