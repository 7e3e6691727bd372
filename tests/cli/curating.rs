//! `curate`: a plan first, then exactly that plan; everything can be restored.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::support::{Sandbox, skill_md};

/// Returns the folder with the library's log and history.
fn own(sandbox: &Sandbox) -> PathBuf {
    let history: PathBuf = sandbox.done(&["where"])["history"].as_str().unwrap().into();
    history.parent().unwrap().to_owned()
}

/// Dates everything in the log to the first of January.
pub fn age(sandbox: &Sandbox) {
    let log = own(sandbox).join("events.jsonl");
    let lines = fs::read_to_string(&log).unwrap();
    let aged = lines.lines().map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        event["time"] = json!("2026-01-01T00:00:00Z");
        format!("{event}\n")
    });
    fs::write(&log, aged.collect::<String>()).unwrap();
}

/// Records uses of a skill, one in each month of a year until now.
pub fn note_uses(sandbox: &Sandbox, skill: &str, days_ago: &[u64]) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let time = |days: u64| jiff::Timestamp::from_second(i64::try_from(now - days * 86_400).unwrap()).unwrap();
    let lines = days_ago.iter().map(|days| {
        let used = json!({"v": 1, "time": time(*days).to_string(), "skill": skill, "kind": "read", "state": "done",
            "agent": ""});
        format!("{used}\n")
    });
    let file = own(sandbox).join("uses.jsonl");
    let before = fs::read_to_string(&file).unwrap_or_default();
    fs::write(&file, before + &lines.collect::<String>()).unwrap();
}

/// Skills that came long ago: used is used, the others are not; needed is named by used, pinned is pinned.
fn library() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.create("used", "Read `needed` as well.");
    for name in ["forgotten", "needed", "kept"] {
        sandbox.create(name, "Text.");
    }
    sandbox.done(&["pin", "kept"]);
    age(&sandbox);
    note_uses(&sandbox, "used", &[120, 60, 1]);
    sandbox
}

fn names(document: &Value, key: &str, field: &str) -> Vec<String> {
    document[key].as_array().unwrap().iter().map(|one| one[field].as_str().unwrap().to_owned()).collect()
}

fn listed(sandbox: &Sandbox, name: &str) -> bool {
    sandbox.run(&["prompt"]).exits(0).text().contains(name)
}

#[test]
fn unused_skill_is_archived_and_restored() {
    let sandbox = library();
    let plan = sandbox.done(&["curate", "plan"]);
    assert_eq!(names(&plan, "archive", "skill"), ["forgotten"], "{plan:#}");
    assert_eq!(names(&plan, "kept", "skill"), ["kept", "needed"]);
    assert!(listed(&sandbox, "forgotten"), "a plan changes nothing");
    let dry = sandbox.done(&["curate", "apply", "--dry-run"]);
    assert_eq!([&dry["status"], &dry["skills"][0]["status"]], ["dry_run", "dry_run"]);
    assert!(listed(&sandbox, "forgotten"));

    let before = sandbox.done(&["history", "forgotten"]);
    let applied = sandbox.done(&["curate", "apply", plan["id"].as_str().unwrap()]);
    assert_eq!(applied["skills"][0]["status"], "archived");
    assert!(!listed(&sandbox, "forgotten") && listed(&sandbox, "used"));
    assert_eq!(sandbox.done(&["history", "forgotten"]), before, "the history stays");
    assert!(sandbox.user_skill("forgotten").join("SKILL.md").exists(), "and so do the files");

    let archived = sandbox.done(&["curate", "list"]);
    let id = archived["skills"][0]["id"].as_str().unwrap();
    assert_eq!(archived["skills"][0]["name"], "forgotten");
    sandbox.ask(&["curate", "restore", "used"]).refused_with_hint(7, "not_found");
    sandbox.done(&["curate", "restore", id]);
    assert!(listed(&sandbox, "forgotten"));
    assert!(sandbox.done(&["curate", "list"])["skills"].as_array().unwrap().is_empty());
    let undone = sandbox.done(&["undo"]);
    assert_eq!(undone["undone"]["action"], "restore");
    assert_eq!(names(&sandbox.done(&["curate", "list"]), "skills", "name"), ["forgotten"]);
    sandbox.done(&["curate", "restore", "forgotten"]);
}

#[test]
fn archiving_can_be_undone() {
    let sandbox = library();
    sandbox.done(&["curate", "plan"]);
    sandbox.done(&["curate", "apply"]);
    assert!(!listed(&sandbox, "forgotten"));
    assert_eq!(sandbox.done(&["undo"])["undone"]["action"], "archive");
    assert!(listed(&sandbox, "forgotten"));
}

/// Reports runs with a skill, this many days ago each.
fn tell_runs(sandbox: &Sandbox, skill: &str, days_ago: &[i64]) {
    let time = |days: i64| jiff::Timestamp::now() - jiff::SignedDuration::from_hours(24 * days);
    let line = |days: &i64| {
        let ts = time(*days).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let run = format!("{skill}-{days}");
        format!("{}\n", json!({"skill": skill, "event": "completed", "run": run, "revision": "1", "ts": ts}))
    };
    let lines: String = days_ago.iter().map(line).collect();
    sandbox.run_with(&["record", "--request", "-", "--json"], lines.as_bytes()).done();
}

#[test]
fn outcomes_count_as_use() {
    let fresh = || {
        let sandbox = Sandbox::new();
        ["used", "idle", "forgotten"].iter().for_each(|name| drop(sandbox.create(name, "Text.")));
        age(&sandbox);
        sandbox
    };
    let sandbox = fresh();
    tell_runs(&sandbox, "used", &[150, 60, 2]);
    tell_runs(&sandbox, "idle", &[140, 120]);
    let plan = sandbox.done(&["curate", "plan"]);
    assert_eq!(names(&plan, "archive", "skill"), ["forgotten", "idle"], "{plan:#}");
    let reason = |at: usize| plan["archive"][at]["reason"].as_str().unwrap().to_owned();
    assert!(reason(0).starts_with("never used since") && reason(1).starts_with("not used since"), "{plan:#}");

    // One outcome that comes before the plan is applied keeps the skill.
    tell_runs(&sandbox, "idle", &[1]);
    let applied = sandbox.ask(&["curate", "apply"]).exits(6).json();
    let statuses = names(&applied, "skills", "status");
    assert_eq!(statuses, ["archived", "refused"], "{applied:#}");

    // Nothing was told of any skill for two months: that is the log's silence, and no skill's.
    let sandbox = fresh();
    tell_runs(&sandbox, "used", &[150, 60]);
    let plan = sandbox.done(&["curate", "plan"]);
    assert!(plan["archive"].as_array().unwrap().is_empty() && plan["silence"].is_string(), "{plan:#}");
    // What is told since lately only says nothing of the time before.
    let sandbox = fresh();
    tell_runs(&sandbox, "used", &[20, 2]);
    let plan = sandbox.done(&["curate", "plan"]);
    assert!(plan["archive"].as_array().unwrap().is_empty() && plan["silence"].is_string(), "{plan:#}");
}

#[test]
fn nothing_recorded_means_nothing_archived() {
    let sandbox = Sandbox::new();
    sandbox.create("forgotten", "Text.");
    age(&sandbox);
    let plan = sandbox.done(&["curate", "plan", "--stale-days", "1"]);
    assert!(plan["archive"].as_array().unwrap().is_empty() && plan["silence"].is_string(), "{plan:#}");
    let text = sandbox.run(&["curate", "plan"]).exits(0).text();
    assert!(text.contains("Nothing is archived") && text.contains("no uses are recorded"), "{text}");
    sandbox.done(&["curate", "apply"]);
    assert!(listed(&sandbox, "forgotten"));
}

#[test]
fn outdated_plan_step_is_refused() {
    for word in ["pinned", "changed", "used"] {
        let sandbox = library();
        sandbox.done(&["curate", "plan"]);
        match word {
            "pinned" => drop(sandbox.done(&["pin", "forgotten"])),
            "changed" => {
                drop(sandbox.done(&["manage", "patch", "forgotten", "--find", "Text.", "--replace", "More."]));
            }
            _ => note_uses(&sandbox, "forgotten", &[0]),
        }
        let answer = sandbox.ask(&["curate", "apply"]).exits(6).json();
        assert_eq!(answer["skills"][0]["status"], "refused", "{word}: {answer:#}");
        assert!(answer["skills"][0]["why"].as_str().unwrap().contains(word), "{answer:#}");
        assert!(listed(&sandbox, "forgotten"));
        let log = sandbox.done(&["log"]);
        let is_noted = |event: &Value| event["action"] == "archive" && event["code"] == "stale_plan";
        assert!(log["events"].as_array().unwrap().iter().any(is_noted), "{log:#}");
    }
    let sandbox = library();
    sandbox.ask(&["curate", "apply"]).refused_with_hint(7, "not_found");
    sandbox.ask(&["curate", "apply", "../../x"]).refused(7, "not_found");
}

#[test]
fn copies_and_dead_links_are_reported() {
    let sandbox = Sandbox::new();
    let body: String = (0..80).map(|word| format!("word{word} ")).collect();
    for name in ["first", "second"] {
        let text = skill_md(name, "Sorts the same things. Use in tests.", &body);
        sandbox.run_with(&["manage", "create", name, "--content", "-", "--json"], text.as_bytes()).done();
    }
    sandbox.create("broken", "Read [it](references/none.md).");
    let report = sandbox.done(&["curate", "plan"])["report"].clone();
    assert_eq!(report["duplicates"][0]["skills"], json!(["first", "second"]));
    assert!(report["duplicates"][0]["percent"].as_u64().unwrap() > 90, "{report:#}");
    assert_eq!(report["collisions"], json!([["first", "second"]]));
    assert_eq!([&report["drift"][0]["skill"], &report["drift"][0]["kind"]], ["broken", "dead_link"]);
    assert!(report["description_tokens"].as_u64().unwrap() > 20);
}
