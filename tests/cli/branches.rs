//! A project's skills on git branches: the folder follows the branch, the history stays in the home.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::support::{Sandbox, git, snapshot, write_files};

/// A git repository with a skill at revision 3 on `main` and at revision 5 on `next`, which is checked out.
fn branched() -> Sandbox {
    let sandbox = Sandbox::new();
    repo(&sandbox, &["init", "--quiet", "--initial-branch=main"]);
    sandbox.create("demo", "line one");
    patch(&sandbox, "one", "two");
    patch(&sandbox, "two", "three");
    save(&sandbox, "three");
    repo(&sandbox, &["checkout", "--quiet", "-b", "next"]);
    patch(&sandbox, "three", "four");
    patch(&sandbox, "four", "five");
    save(&sandbox, "five");
    sandbox
}

fn repo(sandbox: &Sandbox, args: &[&str]) -> String {
    git(sandbox, &[&["-C", sandbox.cwd().to_str().unwrap()], args].concat())
}

fn save(sandbox: &Sandbox, message: &str) {
    repo(sandbox, &["add", "--all"]);
    repo(sandbox, &["commit", "--quiet", "--message", message]);
}

fn switch(sandbox: &Sandbox, branch: &str) {
    repo(sandbox, &["checkout", "--quiet", branch]);
}

fn patch(sandbox: &Sandbox, from: &str, to: &str) -> Value {
    sandbox.done(&["manage", "patch", "demo", "--find", &format!("line {from}"), "--replace", &format!("line {to}")])
}

fn folder(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.cwd().join(".agents/skills").join(name)
}

fn text(sandbox: &Sandbox) -> String {
    fs::read_to_string(folder(sandbox, "demo").join("SKILL.md")).unwrap()
}

fn status(sandbox: &Sandbox) -> Value {
    sandbox.done(&["status", "demo"])["skills"][0].clone()
}

/// Returns the ids of the revisions, oldest first.
fn ids(sandbox: &Sandbox) -> Vec<Value> {
    let revisions = sandbox.done(&["history", "demo"])["revisions"].clone();
    let ids = revisions.as_array().unwrap().iter().rev().map(|revision| revision["revision"].clone());
    ids.collect()
}

#[test]
fn branch_checkout_matches_its_revision() {
    let sandbox = branched();
    let ids = ids(&sandbox);
    switch(&sandbox, "main");
    for status in [status(&sandbox), sandbox.done(&["status"])["skills"][0].clone()] {
        assert_eq!((&status["state"], &status["files"]), (&json!("clean"), &json!([])));
        assert_eq!((&status["revision"], &status["newest"]), (&ids[2], &ids[4]));
    }
    assert!(sandbox.run(&["status"]).exits(0).text().contains("clean, revision 3 of 5"));
    let read = sandbox.done(&["read", "demo"]);
    assert_eq!((&read["revision"], &read["edited"]), (&ids[2], &json!(false)));
    assert!(read["content"].as_str().unwrap().contains("line three"), "{read:#}");
    let list = sandbox.done(&["list"])["skills"][0].clone();
    assert_eq!((&list["revision"], &list["newest"], &list["edited"]), (&ids[2], &ids[4], &json!(false)));
    let diff = sandbox.done(&["diff", "demo"]);
    assert_eq!((&diff["from"], &diff["to"]), (&ids[1], &ids[2]));
    sandbox.done(&["doctor", "--fix"]);
    assert!(text(&sandbox).contains("line three"));
    assert_eq!(self::ids(&sandbox).len(), 5, "reading and doctor record nothing");
    assert_eq!(repo(&sandbox, &["status", "--porcelain"]), "");
    switch(&sandbox, "next");
    assert_eq!((status(&sandbox)["revision"].clone(), text(&sandbox).contains("line five")), (ids[4].clone(), true));
}

#[test]
fn list_shows_absent_skill() {
    let sandbox = branched();
    repo(&sandbox, &["checkout", "--quiet", "-b", "before", "main"]);
    repo(&sandbox, &["rm", "-r", "--quiet", ".agents"]);
    repo(&sandbox, &["commit", "--quiet", "--message", "none"]);
    let state = status(&sandbox)["state"].clone();
    assert_eq!((&state, &sandbox.done(&["list"])["skills"][0]["state"]), (&json!("absent"), &json!("absent")));
}

#[test]
fn write_on_branch_records_return() {
    let sandbox = branched();
    switch(&sandbox, "main");
    let report = patch(&sandbox, "three", "six");
    assert_eq!(report["number"], 7);
    let revisions = sandbox.done(&["history", "demo"])["revisions"].clone();
    assert_eq!(
        (&revisions[1]["action"], &revisions[1]["reason"]),
        (&json!("external"), &json!("returned to revision 3"))
    );
    assert!(report["diff"].as_str().unwrap().contains("-line three"), "{report:#}");
    sandbox.done(&["rollback", "demo"]);
    assert!(text(&sandbox).contains("line three"), "the revision before is that of this branch");
    assert_eq!(repo(&sandbox, &["status", "--porcelain"]), "");
    switch(&sandbox, "next");
    assert_eq!(status(&sandbox)["state"], "clean");
    assert!(text(&sandbox).contains("line five"));
}

#[test]
fn rollback_starts_from_branch_revision() {
    let sandbox = branched();
    switch(&sandbox, "main");
    sandbox.done(&["rollback", "demo"]);
    assert!(text(&sandbox).contains("line two"), "{}", text(&sandbox));
    assert_eq!(ids(&sandbox).len(), 7);
    sandbox.done(&["rollback", "demo", "5"]);
    assert!(text(&sandbox).contains("line five"));
}

#[test]
fn rollback_to_head_leaves_branch() {
    let sandbox = branched();
    switch(&sandbox, "main");
    sandbox.done(&["rollback", "demo", "head"]);
    assert!(text(&sandbox).contains("line five"));
    let revisions = sandbox.done(&["history", "demo"])["revisions"].clone();
    assert_eq!(revisions[1]["reason"], "returned to revision 3");
    assert_eq!(status(&sandbox)["state"], "clean");
}

#[test]
fn undo_stays_on_the_branch() {
    let sandbox = branched();
    switch(&sandbox, "main");
    let error = sandbox.ask(&["undo"]).refused_with_hint(6, "stale_revision");
    assert!(error["message"].as_str().unwrap().contains("revision 3"), "{error:#}");
    assert!(text(&sandbox).contains("line three"));
    patch(&sandbox, "three", "six");
    sandbox.done(&["undo"]);
    assert!(text(&sandbox).contains("line three"), "{}", text(&sandbox));
}

#[test]
fn commit_on_branch_records_return() {
    let sandbox = branched();
    switch(&sandbox, "main");
    let report = sandbox.done(&["commit", "demo", "--reason", "main is what we ship"]);
    assert_eq!((&report["status"], &report["number"]), (&json!("applied"), &json!(6)));
    let newest = sandbox.done(&["history", "demo"])["revisions"][0].clone();
    assert_eq!(newest["reason"], "returned to revision 3: main is what we ship");
    sandbox.done(&["rollback", "demo"]);
    assert!(text(&sandbox).contains("line two"), "a return is passed over");
}

#[test]
fn edit_on_branch_is_modified() {
    let sandbox = branched();
    switch(&sandbox, "main");
    let file = folder(&sandbox, "demo").join("SKILL.md");
    fs::write(&file, text(&sandbox).replace("line three", "line edited")).unwrap();
    assert_eq!(status(&sandbox)["state"], "modified");
    let read = sandbox.done(&["read", "demo"]);
    assert_eq!((&read["edited"], &read["revision"]), (&json!(true), &Value::Null));
    repo(&sandbox, &["checkout", "--quiet", "--", "."]);
    assert_eq!(status(&sandbox)["state"], "clean");
}

#[test]
fn crlf_checkout_matches_its_revision() {
    let sandbox = branched();
    let ids = ids(&sandbox);
    repo(&sandbox, &["config", "core.autocrlf", "true"]);
    switch(&sandbox, "main");
    assert!(text(&sandbox).contains("line three\r\n"), "{:?}", text(&sandbox));
    let status = status(&sandbox);
    assert_eq!((&status["state"], &status["revision"]), (&json!("clean"), &ids[2]));
    let read = sandbox.done(&["read", "demo"]);
    assert_eq!((&read["revision"], &read["edited"]), (&ids[2], &json!(false)));
    patch(&sandbox, "three", "six");
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"][1]["reason"], "returned to revision 3");
}

#[test]
fn skill_of_another_branch_is_absent() {
    let sandbox = branched();
    sandbox.create("other", "line");
    save(&sandbox, "other");
    switch(&sandbox, "main");
    assert!(!folder(&sandbox, "other").exists());
    let states: Vec<Value> = sandbox.done(&["status"])["skills"].as_array().unwrap().clone();
    let other = states.iter().find(|skill| skill["name"] == "other").unwrap();
    assert_eq!(
        (&other["state"], &other["revision"], other["newest"].is_string()),
        (&json!("absent"), &Value::Null, true)
    );
    sandbox.done(&["doctor", "--fix"]);
    assert!(!folder(&sandbox, "other").exists());
    assert_eq!(repo(&sandbox, &["status", "--porcelain"]), "");
    assert!(!sandbox.run(&["prompt"]).exits(0).text().contains("other"));
    switch(&sandbox, "next");
    assert_eq!(sandbox.done(&["status", "other"])["skills"][0]["state"], "clean");
}

#[test]
fn installed_skill_follows_its_lock_file() {
    let sandbox = Sandbox::new();
    repo(&sandbox, &["init", "--quiet", "--initial-branch=main"]);
    write_files(&sandbox.cwd(), &[("README", b"x", false)]);
    save(&sandbox, "begin");
    repo(&sandbox, &["checkout", "--quiet", "-b", "next"]);
    let source = sandbox.path("source/demo");
    let md = crate::support::skill_md("demo", "Does it. Use in tests.", "line one");
    write_files(&source, &[("SKILL.md", md.as_bytes(), false)]);
    sandbox.done(&["install", source.to_str().unwrap()]);
    save(&sandbox, "install");
    switch(&sandbox, "main");
    assert_eq!(status(&sandbox)["state"], "absent");
    sandbox.done(&["doctor", "--fix"]);
    assert_eq!(repo(&sandbox, &["status", "--porcelain"]), "", "neither folder nor lock file");
    switch(&sandbox, "next");
    assert_eq!(status(&sandbox)["state"], "clean");
    let before = snapshot(&folder(&sandbox, "demo"));
    fs::remove_dir_all(folder(&sandbox, "demo")).unwrap();
    assert_eq!(status(&sandbox)["state"], "missing", "the lock file names it");
    sandbox.done(&["doctor", "--fix"]);
    assert_eq!(snapshot(&folder(&sandbox, "demo")), before);
    repo(&sandbox, &["checkout", "--quiet", "-b", "later"]);
    patch(&sandbox, "one", "two");
    save(&sandbox, "two");
    switch(&sandbox, "next");
    assert_eq!(sandbox.done(&["verify", "--offline"])["skills"][0]["status"], "pristine");
    let lock = fs::read(sandbox.cwd().join("skillhub.lock")).unwrap();
    sandbox.ask(&["doctor", "--fix"]).exits(0);
    assert_eq!(fs::read(sandbox.cwd().join("skillhub.lock")).unwrap(), lock, "not that of the other branch");
    assert_eq!(repo(&sandbox, &["status", "--porcelain"]), "");
}

#[test]
fn strict_policy_holds_branch_folder() {
    let sandbox = branched();
    let ids = ids(&sandbox);
    switch(&sandbox, "main");
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    let read = sandbox.done(&["read", "demo"]);
    assert_eq!((&read["revision"], read["held"].is_string()), (&ids[4], true));
    let report = sandbox.run_as(&sandbox.token(), &["--actor", "person:ann", "commit", "demo", "--reason", "main"]);
    assert_eq!(report.done()["status"], "applied");
    assert!(sandbox.done(&["read", "demo"])["content"].as_str().unwrap().contains("line three"));
}
