//! Commands in a project about skills of the user's library, which is behind the project's.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, skill_md, snapshot};

const BODY: &str = "alpha line\nbeta line";
const PATCH: [&str; 6] = ["manage", "patch", "demo", "--find", "alpha line", "--replace"];

/// Creates the skill `demo` in the user's library.
fn create_for_user(sandbox: &Sandbox) {
    let create = ["manage", "create", "demo", "--content", "-", "--global", "--json"];
    sandbox.run_with(&create, skill_md("demo", "Of the user. Use in tests.", BODY).as_bytes()).done();
}

/// A project without skills; the user has `demo`.
fn project() -> Sandbox {
    let sandbox = Sandbox::project();
    create_for_user(&sandbox);
    sandbox
}

fn text_of(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap()
}

fn numbers(history: &Value) -> Vec<u64> {
    history["revisions"].as_array().unwrap().iter().map(|revision| revision["number"].as_u64().unwrap()).collect()
}

#[test]
fn change_and_rollback_reach_users_skill() {
    let sandbox = project();
    let patched = sandbox.run(&[&PATCH[..], &["gamma line"]].concat()).exits(0);
    assert!(patched.stderr.contains("in the user's library, ~/.agents/skills"), "{patched}");
    assert!(text_of(&sandbox).contains("gamma line"));
    let back = sandbox.done(&["rollback", "demo"]);
    assert_eq!((&back["status"], &back["number"]), (&json!("applied"), &json!(3)));
    assert!(text_of(&sandbox).contains("alpha line"));
    let request = json!({"action": "patch", "name": "demo", "find": "alpha line", "replace": "delta line"});
    assert_eq!(sandbox.request(&request).done()["number"], 4);
    let left = [".agents", "skillhub.lock"].map(|path| sandbox.cwd().join(path).exists());
    assert_eq!(left, [false, false], "the project stays as it was");
}

#[test]
fn questions_reach_users_skill() {
    let sandbox = project();
    sandbox.done(&[&PATCH[..], &["gamma line", "--global"]].concat());
    assert_eq!(numbers(&sandbox.done(&["history", "demo"])), [2, 1]);
    assert!(sandbox.done(&["diff", "demo"])["diff"].as_str().unwrap().contains("+gamma line"));
    let status = sandbox.done(&["status", "demo"]);
    assert_eq!((&status["skills"][0]["name"], &status["skills"][0]["state"]), (&json!("demo"), &json!("clean")));
    assert_eq!(sandbox.done(&["show", "demo"])["number"], 2);
    assert_eq!(sandbox.done(&["blame", "demo"])["number"], 2);
    assert_eq!(sandbox.done(&["lineage", "demo"]), sandbox.done(&["lineage", "demo", "--global"]));
}

#[test]
fn skill_of_project_comes_first() {
    let sandbox = Sandbox::project();
    sandbox.create("demo", BODY);
    create_for_user(&sandbox);
    let of_user = snapshot(&sandbox.user_skill("demo"));
    assert_eq!(sandbox.done(&[&PATCH[..], &["gamma line"]].concat())["number"], 2);
    assert_eq!(numbers(&sandbox.done(&["history", "demo"])), [2, 1]);
    assert_eq!(numbers(&sandbox.done(&["history", "demo", "--global"])), [1]);
    sandbox.done(&["rollback", "demo"]);
    assert_eq!(snapshot(&sandbox.user_skill("demo")), of_user);
}

#[test]
fn deleted_skill_of_project_is_restored_there() {
    let sandbox = Sandbox::project();
    sandbox.create("demo", BODY);
    create_for_user(&sandbox);
    let token = sandbox.token();
    let person = |args: &[&str]| sandbox.run_as(&token, &[&["--actor", "person:ann"], args].concat());
    person(&["manage", "delete", "demo"]).done();
    assert_eq!(person(&[&PATCH[..], &["gamma line"]].concat()).done()["number"], 2, "the user's is left to change");
    assert!(text_of(&sandbox).contains("gamma line"));
    assert_eq!(person(&["rollback", "demo"]).done()["number"], 3, "the project's deletion is undone");
    assert!(sandbox.cwd().join(".agents/skills/demo/SKILL.md").exists());
}

#[test]
fn selected_project_is_the_only_library() {
    let sandbox = project();
    sandbox.ask(&[&PATCH[..], &["gamma line", "--project"]].concat()).refused(7, "not_found");
    sandbox.ask(&["history", "demo", "--project"]).refused(7, "not_found");
    assert!(text_of(&sandbox).contains("alpha line"));
}

#[test]
fn held_change_is_decided_in_project() {
    let sandbox = project();
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    let held = sandbox.done(&[&PATCH[..], &["gamma line"]].concat());
    assert_eq!(held["status"], "proposed");
    let id = held["proposal"].as_str().unwrap();
    assert_eq!(sandbox.done(&["review", "list", "--skill", "demo"])["proposals"][0]["id"], id);
    let shown = sandbox.done(&["review", "show", id]);
    assert_eq!(shown, sandbox.done(&["review", "show", id, "--global"]));
    assert_eq!(sandbox.run_as(&sandbox.token(), &["review", "accept", id]).done()["number"], 2);
    assert!(text_of(&sandbox).contains("gamma line"));
}

#[test]
fn lists_of_project_name_what_the_user_has() {
    let sandbox = project();
    let log = sandbox.run(&["log"]).exits(0);
    assert!(log.stderr.contains("the user's has ") && log.stderr.ends_with(": skillhub log --global\n"), "{log}");
    assert!(!sandbox.run(&["log", "none"]).exits(0).stderr.contains("note:"));
    assert!(!sandbox.run(&["review", "list"]).exits(0).stderr.contains("note:"));
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    sandbox.done(&[&PATCH[..], &["gamma line"]].concat());
    let list = sandbox.run(&["review", "list"]).exits(0);
    assert!(list.stderr.ends_with("the user's has 1 proposal: skillhub review list --global\n"), "{list}");
}

#[test]
fn refused_change_is_logged_once() {
    let sandbox = project();
    sandbox.create("other", BODY);
    sandbox.done(&["pin", "demo"]);
    sandbox.ask(&[&PATCH[..], &["gamma line"]].concat()).refused(5, "policy_denied");
    let refused = |args: &[&str]| {
        let log = sandbox.done(args);
        log["events"].as_array().unwrap().iter().filter(|event| event["status"] == "refused").count()
    };
    assert_eq!((refused(&["log", "--global"]), refused(&["log"])), (1, 0));
}

#[test]
fn update_and_uninstall_name_the_flag() {
    let sandbox = Sandbox::project();
    sandbox.skill("notes", "Takes notes. Use in tests.", &[]);
    sandbox.done(&["install", "./notes", "--global"]);
    for command in ["update", "uninstall"] {
        let error = sandbox.ask(&[command, "notes"]).refused_with_hint(7, "not_found");
        let whole = format!("skillhub {command} notes --global");
        assert!(error["hint"].as_str().unwrap().ends_with(&whole), "{error:#}");
    }
    assert!(sandbox.user_skill("notes").exists());
}
