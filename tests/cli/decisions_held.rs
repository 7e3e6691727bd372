//! Decisions that hold: reviewed heads, ended waivers, strict policies, states of earlier versions, and bounds of notes.

use std::{fs, path::PathBuf, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::delicate_changes::warned;
use crate::{
    http::gateway::{Gateway, TOKEN},
    mcp::connection::Connection,
    support::{Sandbox, hostile_script, skill_md},
};

/// The file with the settings of the only library.
fn state_of_library(sandbox: &Sandbox) -> PathBuf {
    let libraries = fs::read_dir(sandbox.skillhub_home().join("libraries")).unwrap();
    libraries.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap().join("state.toml")
}

/// Installs a skill whose findings a person accepted.
fn install_accepted(sandbox: &Sandbox, token: &str) {
    sandbox.skill("demo", "Does demo. Use in tests.", &[("scripts/a.sh", &hostile_script())]);
    let error = sandbox.ask(&["install", "./demo"]).refused(4, "scan_blocked");
    let found = error["details"]["findings"].as_array().unwrap().iter();
    let grave = found.filter(|finding| matches!(finding["severity"].as_str(), Some("high" | "critical")));
    let rules = grave.map(|finding| finding["rule"].as_str().unwrap()).collect::<Vec<_>>().join(",");
    sandbox.run_as(token, &["install", "./demo", "--accept", &rules, "--reason", "our own"]).done();
}

#[test]
fn unattributed_disable_counts_as_persons() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    let state = state_of_library(&sandbox);
    // The state as the build before wrote it.
    fs::write(&state, "format = 1\n\n[skills.demo]\nenabled = false\npinned = false\nplaced = []\n").unwrap();
    sandbox.ask(&["enable", "demo"]).refused(5, "policy_denied");
    let token = sandbox.token();
    sandbox.run_as(&token, &["enable", "demo", "--actor", "person:ann"]).done();
    sandbox.done(&["read", "demo"]);
}

#[test]
fn strict_holds_deletion_and_rollback() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    sandbox.done(&["manage", "patch", "demo", "--find", "alpha", "--replace", "beta"]);
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    let rollback = sandbox.done(&["rollback", "demo", "1"]);
    assert_eq!((&rollback["status"], &rollback["action"]), (&json!("proposed"), &json!("rollback")), "{rollback:#}");
    sandbox.ask(&["undo"]).refused(5, "policy_denied");
    let token = sandbox.token();
    let id = rollback["proposal"].as_str().unwrap();
    let reviewed = sandbox.done(&["review", "show", id])["proposal"]["reviewed"].as_str().unwrap().to_owned();
    let accepted = sandbox.run_as(&token, &["review", "accept", &reviewed]).done();
    assert_eq!(accepted["number"], 3, "{accepted:#}");
    assert!(sandbox.done(&["read", "demo"]).to_string().contains("alpha"));
    assert_eq!(sandbox.done(&["manage", "delete", "demo"])["status"], "proposed");
}

#[test]
fn rollback_is_judged_like_edit() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    // A script that the scanner warns of is held from an agent, and so is bringing it back.
    fs::write(sandbox.cwd().join("a.sh"), warned("scripts/a.sh")).unwrap();
    let write = ["manage", "write_file", "demo", "--path", "scripts/a.sh", "--content", "a.sh"];
    let held = sandbox.done(&write);
    assert_eq!(held["status"], "proposed", "{held:#}");
    let token = sandbox.token();
    sandbox.run_as(&token, &["review", "accept", held["proposal"].as_str().unwrap()]).done();
    sandbox.done(&["manage", "remove_file", "demo", "--path", "scripts/a.sh"]);
    assert_eq!(sandbox.done(&["rollback", "demo", "2"])["status"], "proposed");
    sandbox.ask(&["undo"]).refused(5, "policy_denied");
}

#[test]
fn decision_names_the_reviewed_head() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    let config = sandbox.skillhub_home().join("config.toml");
    fs::write(&config, "policy = \"strict\"\n").unwrap();
    let patch = ["manage", "patch", "demo", "--find", "alpha", "--replace", "beta"];
    let id = sandbox.done(&patch)["proposal"].as_str().unwrap().to_owned();
    let reviewed = sandbox.done(&["review", "diff", &id])["reviewed"].as_str().unwrap().to_owned();
    assert_eq!(reviewed.split('@').count(), 3, "{reviewed}");
    let token = sandbox.token();
    let more = ["manage", "write_file", "demo", "--path", "references/a.md", "--content", "-", "--actor", "person:ann"];
    let mut command = sandbox.command(&[&more[..], &["--json"]].concat());
    command.env("SKILLHUB_REVIEWER_TOKEN", &token);
    sandbox.finish_with(command, &more, b"more\n").done();
    for seen in [reviewed.as_str(), &id, &format!("{id}@1")] {
        let error = sandbox.run_as(&token, &["review", "accept", seen]).refused_with_hint(6, "stale_revision");
        assert!(error["details"]["diff"].as_str().unwrap().contains("+beta line"), "{error:#}");
        let now = error["details"]["target"].as_str().unwrap();
        assert!(now.starts_with(&format!("{id}@1@")) && now != reviewed, "{error:#}");
    }
    let gateway = Gateway::start(&sandbox, TOKEN, &[]);
    let (status, error) = gateway.ask_as(&token, &format!("POST /api/proposals/{reviewed}/accept"), &json!({}));
    assert_eq!((status, &error["error"]["code"]), (409, &json!("stale_revision")), "{error:#}");
    let mut agent = Connection::open(&sandbox, &[]);
    let shown = agent.done("skill_review_show", &json!({"id": id, "onto_head": true}));
    agent.close();
    let now = sandbox.done(&["review", "diff", &id, "--onto-head"])["reviewed"].as_str().unwrap().to_owned();
    assert_eq!(shown["proposal"]["reviewed"], json!(now));
    let accepted = sandbox.run_as(&token, &["review", "accept", &now]).done();
    assert_eq!(accepted["number"], 3, "{accepted:#}");
}

#[test]
fn expired_waiver_blocks_again() {
    let sandbox = Sandbox::new();
    let token = sandbox.token();
    install_accepted(&sandbox, &token);
    let waivers = sandbox.done(&["waive", "--list"])["waivers"].clone();
    let waiver = waivers[0]["id"].as_str().unwrap();
    sandbox.done(&["read", "demo"]);
    assert!(sandbox.done(&["prompt", "--format", "json"]).to_string().contains("demo"));
    let mut agent = Connection::open(&sandbox, &[]);
    agent.done("read_skill", &json!({"name": "demo"}));
    sandbox.run_as(&token, &["waive", "--remove", waiver]).done();
    sandbox.ask(&["read", "demo"]).refused(4, "external_blocked");
    assert_eq!(agent.refused("read_skill", &json!({"name": "demo"}))["code"], "external_blocked");
    agent.close();
    assert!(!sandbox.done(&["prompt", "--format", "json"]).to_string().contains("demo"));
    assert_eq!(sandbox.done(&["status", "demo"])["skills"][0]["state"], "blocked");
    assert_eq!(sandbox.done(&["status"])["skills"][0]["state"], "blocked");
    let error = sandbox.ask(&["manage", "patch", "demo", "--find", "Read", "--replace", "Look at"]);
    error.refused(4, "scan_blocked");
    // What takes the finding away is let through.
    sandbox.done(&["manage", "remove_file", "demo", "--path", "scripts/a.sh"]);
    sandbox.done(&["read", "demo"]);
}

#[test]
fn waiver_ends_during_a_connection() {
    let sandbox = Sandbox::new();
    install_accepted(&sandbox, &sandbox.token());
    let state = state_of_library(&sandbox);
    let end = Timestamp::now() + SignedDuration::from_secs(5);
    let lines = fs::read_to_string(&state).unwrap();
    let ends_soon = |line: &str| match line.starts_with("until = ") {
        true => format!("until = \"{end:.0}\"\n"),
        false => format!("{line}\n"),
    };
    fs::write(&state, lines.lines().map(ends_soon).collect::<String>()).unwrap();
    let mut agent = Connection::open(&sandbox, &[]);
    agent.done("read_skill", &json!({"name": "demo"}));
    std::thread::sleep(Timestamp::now().duration_until(end).unsigned_abs() + Duration::from_secs(1));
    assert_eq!(agent.refused("read_skill", &json!({"name": "demo"}))["code"], "external_blocked");
    agent.close();
    sandbox.ask(&["read", "demo"]).refused(4, "external_blocked");
    assert_eq!(sandbox.done(&["status", "demo"])["skills"][0]["state"], "blocked");
}

#[test]
fn decision_notes_are_bounded() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    let held = sandbox.done(&["manage", "patch", "demo", "--find", "alpha", "--replace", "beta"]);
    let id = held["proposal"].as_str().unwrap();
    let (token, long) = (sandbox.token(), "x".repeat(100_000));
    for decision in ["accept", "reject"] {
        sandbox.run_as(&token, &["review", decision, id, "--reason", &long]).refused(3, "too_large");
    }
    sandbox.ask(&["commit", "demo", "--reason", &long]).refused(3, "too_large");
    let waive = ["waive", "demo", "remote-pipe-to-shell", "--reason", &long];
    assert!([2, 3].contains(&sandbox.run_as(&token, &waive).exit));
}

#[test]
fn people_only_flags_need_a_person() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    sandbox.ask(&["update", "--accept-key", "SHA256:abc"]).refused_with_hint(5, "policy_denied");
    for command in [&["search", "demo"][..], &["doctor"], &["config", "check"], &["where"]] {
        sandbox.ask(&[command, &["--accept-rewrite"]].concat()).refused_with_hint(5, "policy_denied");
    }
    assert_ne!(sandbox.run_as(&sandbox.token(), &["search", "demo", "--accept-rewrite"]).exit, 5);
}

#[test]
fn damaged_user_library_stops_no_project() {
    let sandbox = Sandbox::new();
    sandbox.create("mine", "alpha line");
    let libraries = fs::read_dir(sandbox.skillhub_home().join("libraries")).unwrap();
    let own = libraries.map(|entry| entry.unwrap().path()).find(|path| path.join("history.git").exists()).unwrap();
    fs::remove_dir_all(own.join("history.git/objects")).unwrap();
    fs::write(own.join("history.git/HEAD"), "damaged").unwrap();
    fs::create_dir(sandbox.cwd().join(".git")).unwrap();
    let text = skill_md("other", "Does other things. Use in tests.", "alpha line");
    let create = |name: &str, text: &str| sandbox.request(&json!({"action": "create", "name": name, "content": text}));
    create("other", &text).done();
    create("mine", &text.replace("other", "mine")).refused(6, "exists");
}
