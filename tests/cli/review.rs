//! Held changes from outside: `review` by agents and by people, by two at once, and with damaged files.

use std::{fs, path::PathBuf, process::Command};

use serde_json::{Value, json};

use crate::support::{Answer, Sandbox, skill_md, snapshot};

/// A library with the skill `demo`, in which every change of an agent is held.
fn strict() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line\n\nbeta line\n\ngamma line");
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    sandbox
}

fn patch(sandbox: &Sandbox, find: &str, replace: &str) -> Value {
    sandbox.done(&["manage", "patch", "demo", "--find", find, "--replace", replace, "--reason", "better"])
}

fn held(sandbox: &Sandbox, find: &str, replace: &str) -> String {
    let report = patch(sandbox, find, replace);
    assert_eq!((&report["status"], &report["ok"]), (&json!("proposed"), &json!(true)), "{report:#}");
    report["proposal"].as_str().unwrap().to_owned()
}

fn states(sandbox: &Sandbox) -> Vec<String> {
    let listed = sandbox.done(&["review", "list", "--all"]);
    listed["proposals"].as_array().unwrap().iter().map(|p| p["state"].as_str().unwrap().to_owned()).collect()
}

/// The folder in the home in which proposals wait.
fn queue(sandbox: &Sandbox) -> PathBuf {
    let history = PathBuf::from(sandbox.done(&["where"])["history"].as_str().unwrap());
    history.parent().unwrap().join("proposals")
}

#[test]
fn only_person_applies_held_change() {
    let sandbox = strict();
    let before = snapshot(&sandbox.user_skill("demo"));
    let id = held(&sandbox, "alpha line", "alpha two");
    assert_eq!(held(&sandbox, "alpha line", "alpha two"), id, "the same request again");
    assert_eq!(snapshot(&sandbox.user_skill("demo")), before);
    let listed = &sandbox.done(&["review", "list", "--skill", "demo"])["proposals"][0];
    for key in ["id", "name", "state", "actor", "reason", "created", "expires", "verdict"] {
        assert!(!listed[key].is_null(), "{key} of {listed:#}");
    }
    let shown = sandbox.done(&["review", "show", &id]);
    assert_eq!(
        (&shown["proposal"]["files"][0]["path"], &shown["proposal"]["moved"]),
        (&json!("SKILL.md"), &json!(false))
    );
    assert!(sandbox.run(&["review", "show", &id, "SKILL.md"]).exits(0).text().contains("alpha two"));
    assert!(sandbox.done(&["review", "diff", &id])["diff"].as_str().unwrap().contains("+alpha two"));
    assert_eq!(sandbox.done(&["status"])["proposals"], 1);
    for args in [&["review", "accept", &id][..], &["--actor", "person:ann", "review", "accept", &id]] {
        sandbox.ask(args).refused_with_hint(5, "policy_denied");
    }
    sandbox.run_as("skillhub-reviewer-forged", &["review", "accept", &id]).refused_with_hint(5, "policy_denied");
    sandbox.run_as("forged", &["review", "reject", &id]).refused_with_hint(5, "policy_denied");
    sandbox.ask(&["--actor", "agent:other", "review", "reject", &id]).refused_with_hint(5, "policy_denied");
    assert_eq!((states(&sandbox), snapshot(&sandbox.user_skill("demo"))), (vec!["pending".to_owned()], before));
    let report = sandbox.run_as(&sandbox.token(), &["review", "accept", &id, "--reason", "fine"]).done();
    assert_eq!((&report["status"], &report["number"]), (&json!("applied"), &json!(2)));
    let newest = sandbox.done(&["history", "demo"])["revisions"][0].clone();
    assert_eq!((&newest["proposal"], &newest["reviewer"]), (&json!(id), &json!("person:ann")));
    assert_eq!(newest["actor"]["kind"], "agent");
    let log = sandbox.done(&["log", "demo"]);
    let words: Vec<&str> = log["events"].as_array().unwrap().iter().map(|e| e["status"].as_str().unwrap()).collect();
    assert_eq!(words, ["accepted", "applied", "refused", "refused", "proposed", "applied"]);
    let tried = &log["events"][3];
    assert_eq!((&tried["action"], &tried["code"]), (&json!("accept"), &json!("policy_denied")), "{tried:#}");
    assert_eq!((&tried["proposal"], &tried["actor"]), (&json!(id), &json!("agent")));
    sandbox.ask(&["review", "reject", &id]).refused_with_hint(6, "already_decided");
}

#[test]
fn only_reviewed_revision_is_accepted() {
    let sandbox = strict();
    let token = sandbox.token();
    let id = held(&sandbox, "alpha line", "alpha two");
    assert_eq!(held(&sandbox, "gamma line", "gamma two"), id);
    for args in [
        vec!["review", "accept", &format!("{id}@1")],
        vec!["review", "accept", &id, "--revision", "1"],
        vec!["review", "accept", &id],
    ] {
        let error = sandbox.run_as(&token, &args).refused_with_hint(6, "stale_revision");
        assert_eq!(error["details"]["revision"], 2);
    }
    sandbox.run(&["review", "show", &format!("{id}@1")]).exits(6);
    assert!(sandbox.run(&["review", "show", &id]).exits(0).text().contains(&format!("{id}@2")));
    sandbox.run_as(&token, &["review", "accept", &format!("{id}@2")]).done();
    let text = fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap();
    assert!(text.contains("alpha two") && text.contains("gamma two"), "{text}");
}

#[test]
fn person_edits_and_accepts_at_terminal() {
    let sandbox = strict();
    let id = held(&sandbox, "alpha line", "alpha two");
    let editor = sandbox.path("editor");
    fs::write(&editor, "#!/bin/sh\nsed -i 's/alpha two/alpha three/' \"$1\"\n").unwrap();
    let args = ["review", "edit", &id];
    let edit = |editor: &str| -> Answer {
        let mut command: Command = sandbox.command(&args);
        command.env("EDITOR", editor);
        sandbox.with_terminal(command, &args, crate::support::Terminal::BOTH)
    };
    edit("true").exits(2);
    edit("false").exits(1);
    edit(&format!("sh {}", editor.display())).exits(0);
    sandbox.ask(&args).refused_with_hint(5, "policy_denied");
    sandbox.at_terminal(&["review", "accept", &format!("{id}@2")]).exits(0);
    let newest = sandbox.done(&["history", "demo"])["revisions"][0].clone();
    let shown = sandbox.done(&["show", "demo"]);
    let editor = newest["edited_by"].as_str().unwrap();
    assert!(editor.starts_with("person") && newest["actor"]["kind"] == "agent", "{newest:#}");
    assert_eq!((&shown["edited_by"], &shown["proposal"], &shown["number"]), (&json!(editor), &json!(id), &json!(2)));
    for args in [["history", "demo"], ["show", "demo"]] {
        let text = sandbox.run(&args).exits(0).text();
        assert!(text.contains(&format!("proposal {id} edited by {editor}, accepted by")), "{text}");
    }
    let git_dir = sandbox.done(&["where"])["history"].as_str().unwrap().to_owned();
    let git = Command::new("git").args(["--git-dir", &git_dir, "log", "-1", "refs/skills/demo"]).output().unwrap();
    let log = String::from_utf8(git.stdout).unwrap();
    assert!(log.contains(&format!("Skillhub-Edited-By: {editor}")), "{log}");
    assert!(fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap().contains("alpha three"));
}

#[test]
fn concurrent_acceptances_have_one_winner() {
    let sandbox = strict();
    let token = sandbox.token();
    let id = held(&sandbox, "alpha line", "alpha two");
    let args = ["review", "accept", &id, "--json"];
    let children: Vec<_> =
        (0..4).map(|_| sandbox.start(sandbox.command(&args).env("SKILLHUB_REVIEWER_TOKEN", &token))).collect();
    let codes: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap().status.code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 6))), "{codes:?}");
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 2);
}

/// Accepting processes are killed at any moment: the skill and its proposal always agree.
#[test]
fn killed_acceptance_is_atomic() {
    let sandbox = strict();
    let token = sandbox.token();
    for number in 0..6 {
        let (find, replace) = (format!("beta {number}"), format!("beta {}", number + 1));
        let find = if number == 0 { "beta line" } else { &find };
        let id = held(&sandbox, find, &replace);
        let args = ["review", "accept", &id];
        let mut child = sandbox.start(sandbox.command(&args).env("SKILLHUB_REVIEWER_TOKEN", &token));
        std::thread::sleep(std::time::Duration::from_millis(8 * number));
        child.kill().unwrap();
        child.wait().unwrap();
        let state = sandbox.done(&["review", "show", &id])["proposal"]["state"].clone();
        let newest = sandbox.done(&["history", "demo"])["revisions"][0]["proposal"].clone();
        assert_eq!(state == "accepted", newest == id.as_str(), "{state} {newest}");
        if state == "pending" {
            sandbox.run_as(&token, &["review", "accept", &id]).done();
        }
        assert_eq!(sandbox.done(&["status", "demo"])["skills"][0]["state"], "clean");
    }
}

#[test]
fn conflict_and_damaged_proposal_are_reported() {
    let sandbox = strict();
    let token = sandbox.token();
    let id = held(&sandbox, "alpha line", "alpha two");
    let file = sandbox.user_skill("demo").join("SKILL.md");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("alpha line", "alpha by hand")).unwrap();
    let error = sandbox.run_as(&token, &["review", "accept", &id]).refused_with_hint(6, "merge_conflict");
    assert_eq!(error["details"]["conflicts"][0]["path"], "SKILL.md");
    assert!(fs::read_to_string(&file).unwrap().contains("alpha by hand"));
    assert_eq!(sandbox.done(&["review", "diff", &id, "--onto-head"])["conflicts"].as_array().unwrap().len(), 1);
    let shown = sandbox.run(&["review", "diff", &id, "--onto-head"]).exits(0).text();
    assert!(["alpha line", "alpha by hand", "alpha two"].iter().all(|text| shown.contains(text)), "{shown}");
    fs::write(queue(&sandbox).join("broken.json"), "{\"format\": 1").unwrap();
    assert_eq!(states(&sandbox), ["stale", "damaged"]);
    sandbox.run_as(&token, &["review", "accept", "broken"]).refused_with_hint(8, "damaged_proposal");
    sandbox.ask(&["review", "reject", "broken"]).refused_with_hint(5, "policy_denied");
    let both = sandbox.run_as(&token, &["review", "reject", "broken", &id, "nothere"]).exits(7).json();
    assert_eq!(both["proposals"][2]["error"]["code"], "not_found");
    assert_eq!(both["error"], both["proposals"][2]["error"], "the gravest");
    assert_eq!(states(&sandbox), ["rejected", "rejected"]);
    for bad in [&["review", "show", "../x"][..], &["review", "accept", "a", "b", "--revision", "1"]] {
        sandbox.run_as(&token, bad).refused_with_hint(2, "usage");
    }
}

#[test]
fn held_creation_is_hidden_until_accepted() {
    let sandbox = strict();
    let text = skill_md("fresh", "Does new things. Use in tests.", "Text.");
    let report = sandbox.run_with(&["manage", "create", "fresh", "--content", "-", "--json"], text.as_bytes()).done();
    let id = report["proposal"].as_str().unwrap().to_owned();
    assert!(!sandbox.user_skill("fresh").exists());
    assert!(!sandbox.run(&["prompt"]).exits(0).text().contains("fresh"));
    sandbox.ask(&["read", "fresh"]).refused(7, "not_found");
    sandbox.run_as(&sandbox.token(), &["review", "accept", &id]).done();
    assert!(sandbox.run(&["prompt"]).exits(0).text().contains("fresh"));
}

#[test]
fn held_change_shows_new_capabilities() {
    let sandbox = strict();
    let calm = held(&sandbox, "alpha line", "alpha two");
    let quiet = sandbox.run(&["review", "list"]).exits(0).text();
    assert!(!quiet.contains(" + "), "{quiet}");
    let block = "beta line\n\n```sh\ncurl -s https://api.metrics.dev/v1\n```";
    let report = patch(&sandbox, "beta line", block);
    let id = report["proposal"].as_str().unwrap();
    let whats = |document: &Value| -> Vec<String> {
        let added = document["capabilities_added"].as_array().unwrap_or_else(|| panic!("{document:#}"));
        added.iter().map(|one| format!("{} {}", one["kind"].as_str().unwrap(), one["what"].as_str().unwrap())).collect()
    };
    let added = ["network api.metrics.dev", "runs curl"];
    let listed = sandbox.done(&["review", "list"])["proposals"].clone();
    let of = |id: &str| listed.as_array().unwrap().iter().find(|one| one["id"] == id).unwrap();
    assert_eq!((whats(&report), whats(of(id))), (added.map(str::to_owned).to_vec(), added.map(str::to_owned).to_vec()));
    assert!(calm == id || whats(of(&calm)).is_empty(), "{listed:#}");
    assert_eq!(whats(&sandbox.done(&["review", "show", id])["proposal"]), added);
    for text in [sandbox.run(&["review", "list"]).text(), sandbox.run(&["review", "show", id]).text()] {
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("+ ")).collect();
        assert!(lines.len() == 2 && lines.iter().all(|line| line.len() <= 80), "{text}");
        assert!(lines[0].ends_with("+ network api.metrics.dev") && lines[1].ends_with("+ runs curl"), "{text}");
    }
}

#[test]
fn hostile_capability_names_stay_on_line() {
    let sandbox = strict();
    let tool = format!("Bash\\e]0;x\\a{}", "y".repeat(300));
    let text = skill_md("demo", "Does what demo says. Use in tests.", "alpha line");
    let text = text.replacen("---\n\n", &format!("allowed-tools: [\"{tool}\"]\n---\n\n"), 1);
    fs::write(sandbox.cwd().join("new"), &text).unwrap();
    let report = sandbox.done(&["manage", "edit", "demo", "--content", "new"]);
    let id = report["proposal"].as_str().unwrap();
    let shown = sandbox.run(&["review", "show", id]).exits(0).text();
    let line = shown.lines().find(|line| line.contains("+ tool Bash")).unwrap_or_else(|| panic!("{shown}"));
    assert!(line.chars().count() <= 80 && line.contains("\\u{1b}") && !shown.contains('\x1b'), "{shown}");
}
