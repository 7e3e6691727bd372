//! The whole life of skills under control: made, improved, made worse, rolled back, archived, merged.

use std::{fs, path::PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::support::{Sandbox, skill_md};

/// Reports runs of a skill as a person, of which every `bad`th failed.
fn tell(sandbox: &Sandbox, skill: &str, prefix: &str, runs: usize, bad: usize) -> Value {
    let line = |run: usize| {
        let event = if run.is_multiple_of(bad) { "failed" } else { "completed" };
        format!("{}\n", json!({"skill": skill, "event": event, "run": format!("{prefix}{run}")}))
    };
    let lines: String = (1..=runs).map(line).collect();
    sandbox.run_with_proof(&["record", "--request", "-", "--json"], lines.as_bytes()).done()
}

fn patch(sandbox: &Sandbox, skill: &str, find: &str, replace: &str, reason: &str) {
    let args = ["manage", "patch", skill, "--find", find, "--replace", replace, "--reason", reason];
    assert_eq!(sandbox.done(&args)["status"], "applied");
}

fn text(sandbox: &Sandbox, skill: &str) -> String {
    fs::read_to_string(sandbox.user_skill(skill).join("SKILL.md")).unwrap()
}

/// Makes everything that the log says half a year old, and notes that these skills were read since.
fn half_a_year_later(sandbox: &Sandbox, read: &[&str]) {
    let history: PathBuf = sandbox.done(&["where"])["history"].as_str().unwrap().into();
    let own = history.parent().unwrap();
    let ago = |days: i64| (Timestamp::now() - SignedDuration::from_hours(24 * days)).to_string();
    let log = own.join("events.jsonl");
    let aged = fs::read_to_string(&log).unwrap().lines().fold(String::new(), |aged, line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        event["time"] = json!(ago(180));
        format!("{aged}{event}\n")
    });
    fs::write(&log, aged).unwrap();
    let uses = read.iter().flat_map(|skill| [120, 60, 1].map(|days| (skill, days))).fold(
        String::new(),
        |uses, (skill, days)| {
            let used = json!({"v": 1, "time": ago(days), "skill": skill, "kind": "read", "state": "done", "agent": ""});
            format!("{uses}{used}\n")
        },
    );
    fs::write(own.join("uses.jsonl"), uses).unwrap();
}

/// A release of `acme/sort-lists` with this last paragraph.
fn publish(sandbox: &Sandbox, version: &str, last: &str) {
    let body = format!("Read the list.\n\nSort the list.\n\n{last}");
    let text = skill_md("sort-lists", "Sorts lists. Use when a list is out of order.", &body);
    let folder = sandbox.path("upstream/sort-lists");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), text).unwrap();
    sandbox.done(&["publish", folder.to_str().unwrap(), "--owner", "acme", "--version", version]);
}

#[test]
fn skills_evolve_over_their_life() {
    let sandbox = Sandbox::new();

    // An agent makes a skill, and a better one of it.
    sandbox.create("weekly-notes", "Collect the changes.\n\nWrite one line for each.");
    tell(&sandbox, "weekly-notes", "first-", 60, 6);
    patch(&sandbox, "weekly-notes", "one line for each", "one line for each, newest first", "the user asked for it");
    assert_eq!(tell(&sandbox, "weekly-notes", "better-", 100, 20)["decisions"], json!([]), "it does well and stays");

    // Its second improvement is none: runs fail, and it is taken back.
    patch(&sandbox, "weekly-notes", "Collect the changes.", "Guess the changes.", "it is faster");
    let told = tell(&sandbox, "weekly-notes", "worse-", 60, 2);
    assert_eq!(told["decisions"][0]["verdict"], "roll_back", "{told:#}");
    let now = text(&sandbox, "weekly-notes");
    assert!(now.contains("Collect the changes.") && now.contains("newest first"), "the first improvement stays: {now}");

    // A person reads why, and that the same log leads to the same decision.
    let history = sandbox.done(&["history", "weekly-notes"])["revisions"].clone();
    let why = history[0]["reason"].as_str().unwrap();
    assert!(history[0]["actor"]["id"] == "skillhub" && why.contains("fail more often"), "{history:#}");
    assert!(sandbox.run(&["log", "weekly-notes"]).exits(0).text().contains("fail more often"));
    let rates: Vec<_> = sandbox.done(&["stats", "weekly-notes"])["revisions"].as_array().unwrap().clone();
    assert!(rates.len() >= 3, "{rates:#?}");
    assert_eq!(sandbox.done(&["evolve", "check", "weekly-notes"])["differ"], 0);

    // What nobody uses is archived, by a plan, and can come back.
    publish(&sandbox, "1.0.0", "Say how long it was.");
    sandbox.done(&["install", "acme/sort-lists"]);
    sandbox.create("forgotten", "Nobody reads this.");
    half_a_year_later(&sandbox, &["weekly-notes", "sort-lists"]);
    let plan = sandbox.done(&["curate", "plan"]);
    let archive: Vec<_> = plan["archive"].as_array().unwrap().iter().map(|one| one["skill"].clone()).collect();
    assert_eq!(archive, ["forgotten"], "{plan:#}");
    sandbox.done(&["curate", "apply", plan["id"].as_str().unwrap()]);
    assert!(!sandbox.run(&["prompt"]).exits(0).text().contains("forgotten"));
    sandbox.done(&["curate", "restore", "forgotten"]);

    // What was changed here and what upstream changed are merged.
    patch(&sandbox, "sort-lists", "Sort the list.", "Sort the list by name.", "the user wants names");
    publish(&sandbox, "1.1.0", "Say how long it was and how long it took.");
    let updated = sandbox.done(&["update", "sort-lists"]);
    assert_eq!(updated["skills"][0]["status"], "merged", "{updated:#}");
    let merged = text(&sandbox, "sort-lists");
    assert!(merged.contains("by name") && merged.contains("how long it took"), "{merged}");
    let lineage = sandbox.done(&["lineage", "sort-lists"]).to_string();
    assert!(lineage.contains("merged_from") && lineage.contains("1.1.0"), "{lineage}");
}
