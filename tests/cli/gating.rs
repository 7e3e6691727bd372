//! Outcomes and the gate from outside: a change that makes runs fail is detected and rolled back automatically.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::support::{Sandbox, skill_md};

/// Reports runs of `demo` as a person, of which every `bad`th failed.
fn tell(sandbox: &Sandbox, prefix: &str, runs: usize, bad: usize, revision: Option<&str>) -> Value {
    let lines = lines(prefix, runs, bad, revision);
    sandbox.run_with_proof(&["record", "--request", "-", "--json"], lines.as_bytes()).done()
}

/// Reports outcomes as an agent.
fn report(sandbox: &Sandbox, lines: &str) -> Value {
    let args = ["--actor", "agent:bot", "record", "--request", "-", "--json"];
    sandbox.run_with(&args, lines.as_bytes()).done()
}

fn lines(prefix: &str, runs: usize, bad: usize, revision: Option<&str>) -> String {
    let line = |run: usize| {
        let event = if run.is_multiple_of(bad) { "failed" } else { "completed" };
        let mut line =
            json!({"skill": "demo", "event": event, "run": format!("{prefix}{run}"), "latency_ms": 100 + run});
        if let Some(revision) = revision {
            line["revision"] = json!(revision);
        }
        format!("{line}\n")
    };
    (1..=runs).map(line).collect()
}

fn patch(sandbox: &Sandbox, find: &str, replace: &str) -> Value {
    sandbox.done(&["manage", "patch", "demo", "--find", find, "--replace", replace, "--reason", "better"])
}

fn text(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.user_skill("demo").join("SKILL.md")).unwrap()
}

/// Returns status and actor of the newest events about `demo`.
fn statuses(sandbox: &Sandbox) -> Vec<String> {
    let log = sandbox.done(&["log", "demo"]);
    let word = |event: &Value| format!("{} {}", event["status"].as_str().unwrap(), event["actor"].as_str().unwrap());
    log["events"].as_array().unwrap().iter().map(word).collect()
}

/// Makes a held change and returns its id.
fn held(sandbox: &Sandbox) -> String {
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    patch(sandbox, "alpha", "beta")["proposal"].as_str().unwrap().to_owned()
}

#[test]
fn failing_agent_change_is_rolled_back() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    assert_eq!(tell(&sandbox, "a", 100, 20, None)["recorded"], 100);
    patch(&sandbox, "alpha", "beta");
    let told = tell(&sandbox, "b", 60, 2, None);
    assert_eq!((&told["decisions"][0]["verdict"], &told["decisions"][0]["acted"]), (&json!("roll_back"), &json!(true)));
    assert!(text(&sandbox).contains("alpha line"));
    let newest = sandbox.done(&["history", "demo"])["revisions"][0].clone();
    assert_eq!((&newest["action"], &newest["actor"]["id"]), (&json!("rollback"), &json!("skillhub")));
    assert!(newest["reason"].as_str().unwrap().contains("fail more often"), "{newest:#}");
    let refused = sandbox.ask(&["manage", "patch", "demo", "--find", "alpha", "--replace", "beta"]);
    refused.refused_with_hint(5, "policy_denied");
    let checked = sandbox.done(&["evolve", "check", "demo"]);
    assert_eq!((&checked["differ"], checked["decisions"].as_array().unwrap().len()), (&json!(0), 1), "{checked:#}");
    assert_eq!(tell(&sandbox, "b", 60, 2, None)["doubles"], 60, "told again, and nothing follows");
    assert_eq!(sandbox.done(&["history", "demo"])["revisions"].as_array().unwrap().len(), 3);
}

#[test]
fn status_without_judgement_admits_recorded_runs() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha");
    let status = |args: &[&str]| sandbox.run(&[&["evolve", "status"], args].concat()).exits(0).text();
    assert!(status(&[]).contains("no recorded runs"), "nothing is recorded");
    sandbox.done(&["record", "demo", "--event", "completed", "--run", "r1"]);
    let told = status(&[]);
    assert!(!told.contains("no recorded runs") && told.contains("skillhub stats"), "{told}");
}

#[test]
fn persons_change_only_raises_alarm() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    tell(&sandbox, "a", 100, 20, None);
    let args = ["manage", "patch", "demo", "--find", "alpha", "--replace", "beta", "--actor", "person:ann"];
    sandbox.run_as(&sandbox.token(), &args).done();
    let told = tell(&sandbox, "b", 60, 2, None);
    assert_eq!(told["decisions"][0]["verdict"], "alarm");
    assert!(text(&sandbox).contains("beta line"));
    tell(&sandbox, "c", 5, 2, None);
    let alarms = statuses(&sandbox).iter().filter(|status| status.starts_with("alarmed")).count();
    assert_eq!(alarms, 1, "once");
    sandbox.ask(&["evolve", "force", "demo", "rollback"]).refused_with_hint(5, "policy_denied");
    sandbox.run_as(&sandbox.token(), &["evolve", "force", "demo", "rollback"]).done();
    assert!(text(&sandbox).contains("alpha line"));
    assert_eq!(sandbox.done(&["evolve", "check", "demo"])["differ"], 0);
}

#[test]
fn trial_fixes_revision_per_run() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    let id = held(&sandbox);
    let accept = ["review", "accept", &id, "--canary", "0.5"];
    sandbox.ask(&accept).refused_with_hint(5, "policy_denied");
    let report = sandbox.run_as(&sandbox.token(), &accept).done();
    let tried = report["revision"].as_str().unwrap().to_owned();
    assert!(text(&sandbox).contains("alpha line"), "the folder has what stood before");
    let read = |run: &str| sandbox.done(&["read", "demo", "--run", run]);
    let given: Vec<Value> = (0..12).map(|run| read(&run.to_string())).collect();
    let new = given.iter().filter(|read| read["revision"] == *tried).count();
    assert!((1..12).contains(&new), "{new}");
    for (run, first) in given.iter().enumerate() {
        assert_eq!(read(&run.to_string()), *first);
        assert_eq!(first["content"].as_str().unwrap().contains("beta line"), first["revision"] == *tried);
    }
    let status = sandbox.done(&["evolve", "status", "demo"]);
    assert_eq!(status["skills"][0]["state"], "canary", "{status:#}");
    sandbox.run_as(&sandbox.token(), &["evolve", "pause", "demo"]).done();
    assert!((0..12).all(|run| read(&run.to_string())["revision"] != *tried), "paused");
    sandbox.run_as(&sandbox.token(), &["evolve", "resume", "demo"]).done();
    let base = sandbox.done(&["history", "demo"])["revisions"][0]["revision"].as_str().unwrap().to_owned();
    tell(&sandbox, "good", 60, 1000, Some(&base));
    let told = tell(&sandbox, "new", 60, 1, Some(&tried));
    assert_eq!(told["decisions"][0]["verdict"], "roll_back", "{told:#}");
    assert!(text(&sandbox).contains("alpha line"));
    assert!((0..12).all(|run| read(&run.to_string())["revision"] == *base));
    assert_eq!(sandbox.done(&["evolve", "check", "demo"])["differ"], 0);
    assert!(statuses(&sandbox)[0].starts_with("rolled_back optimizer:skillhub"), "{:?}", statuses(&sandbox));
}

/// Puts a change of `demo` on trial, and returns the revision on trial and the one before.
fn on_trial(sandbox: &Sandbox) -> (String, String) {
    let id = held(sandbox);
    let report = sandbox.run_as(&sandbox.token(), &["review", "accept", &id, "--canary", "0.5"]).done();
    let base = sandbox.done(&["history", "demo"])["revisions"][0]["revision"].as_str().unwrap().to_owned();
    (report["revision"].as_str().unwrap().to_owned(), base)
}

fn decision(sandbox: &Sandbox) -> Value {
    sandbox.done(&["evolve", "status", "demo"])["skills"][0]["decision"].clone()
}

#[test]
fn invented_runs_promote_nothing() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    let (tried, base) = on_trial(&sandbox);
    for (prefix, revision) in [("old", &base), ("new", &tried)] {
        report(&sandbox, &lines(prefix, 300, 1000, Some(revision)));
    }
    let decision = decision(&sandbox);
    assert_eq!((&decision["verdict"], &decision["candidate"]["runs"]), (&json!("wait"), &json!(0)), "{decision:#}");
    assert_eq!(decision["uncounted"]["unseen"], 600);
    assert!(text(&sandbox).contains("alpha line"));
    let shown = sandbox.run(&["evolve", "status", "demo"]).text();
    assert!(shown.contains("not counted: 600 runs that did not read the skill from skillhub"), "{shown}");
}

#[test]
fn daily_runs_per_agent_are_capped() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    on_trial(&sandbox);
    for run in 0..25 {
        sandbox.done(&["--actor", "agent:bot", "read", "demo", "--run", &format!("r{run}")]);
    }
    let ends: String = (0..25)
        .map(|run| format!("{}\n", json!({"skill": "demo", "event": "completed", "run": format!("r{run}")})))
        .collect();
    report(&sandbox, &ends);
    let decision = decision(&sandbox);
    let counted = decision["base"]["runs"].as_u64().unwrap() + decision["candidate"]["runs"].as_u64().unwrap();
    assert_eq!((counted, &decision["uncounted"]["beyond_limit"]), (20, &json!(5)), "{decision:#}");
}

#[test]
fn authors_own_runs_never_count() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    let args = ["manage", "patch", "demo", "--find", "alpha", "--replace", "beta", "--run", "r1", "--thread", "t1"];
    let id = sandbox.done(&args)["proposal"].as_str().unwrap().to_owned();
    sandbox.run_as(&sandbox.token(), &["review", "accept", &id, "--canary", "1"]).done();
    for (run, thread) in [("r1", None), ("r2", Some("t1")), ("r3", Some("t2"))] {
        sandbox.done(&["read", "demo", "--run", run]);
        let line = json!({"skill": "demo", "event": "completed", "run": run, "thread": thread});
        report(&sandbox, &line.to_string());
    }
    let decision = decision(&sandbox);
    let counts = (&decision["candidate"]["runs"], &decision["uncounted"]["authored"]);
    assert_eq!(counts, (&json!(1), &json!(2)), "{decision:#}");
}

#[test]
fn reports_cannot_undo_accepted_change() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    tell(&sandbox, "a", 100, 1000, None);
    let id = held(&sandbox);
    sandbox.run_as(&sandbox.token(), &["review", "accept", &id]).done();
    report(&sandbox, &lines("b", 4, 1, None));
    assert!(text(&sandbox).contains("beta line"), "four reports of an agent");
    let told = tell(&sandbox, "c", 60, 1, None);
    assert_eq!(told["decisions"][0]["verdict"], "alarm", "{told:#}");
    assert!(told["decisions"][0]["why"].as_str().unwrap().contains("accepted by a person"), "{told:#}");
    assert!(text(&sandbox).contains("beta line"));
}

#[test]
fn successful_trial_is_promoted() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    let id = held(&sandbox);
    let report = sandbox.run_as(&sandbox.token(), &["review", "accept", &id, "--canary", "0.5"]).done();
    let tried = report["revision"].as_str().unwrap().to_owned();
    let base = sandbox.done(&["history", "demo"])["revisions"][0]["revision"].as_str().unwrap().to_owned();
    let mut promoted = false;
    for round in 0..8 {
        tell(&sandbox, &format!("old{round}-"), 25, 10, Some(&base));
        let told = tell(&sandbox, &format!("new{round}-"), 25, 10, Some(&tried));
        promoted |= told["decisions"][0]["verdict"] == "promote";
    }
    assert!(promoted && text(&sandbox).contains("beta line"));
    assert_eq!(sandbox.done(&["evolve", "check", "demo"])["differ"], 0);
}

#[test]
fn degraded_promotion_is_reported_once() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    let id = held(&sandbox);
    let report = sandbox.run_as(&sandbox.token(), &["review", "accept", &id, "--canary", "0.5"]).done();
    let tried = report["revision"].as_str().unwrap().to_owned();
    let base = sandbox.done(&["history", "demo"])["revisions"][0]["revision"].as_str().unwrap().to_owned();
    let status = || sandbox.done(&["evolve", "status", "demo"])["skills"][0].clone();
    for round in 0..8 {
        tell(&sandbox, &format!("old{round}-"), 25, 10, Some(&base));
        tell(&sandbox, &format!("new{round}-"), 25, 10, Some(&tried));
    }
    assert_eq!(status()["state"], "active", "it was promoted");
    // More runs than those by which it is held to the revision before: from here on it is held to its own first ones.
    let calm = tell(&sandbox, "calm", 300, 10, None);
    let watched = status();
    let (drift, events) = (&watched["decision"]["drift"], statuses(&sandbox).len());
    assert!(drift["n"].as_u64() >= Some(300) && drift["e_value"].as_f64() < drift["threshold"].as_f64(), "{watched:#}");
    assert_eq!((&watched["state"], &calm["decisions"]), (&json!("active"), &json!([])), "{calm:#}");

    let told = tell(&sandbox, "later", 60, 2, None);
    assert_eq!(told["decisions"][0]["verdict"], "alarm", "{told:#}");
    assert!(text(&sandbox).contains("beta line"), "a person decides");
    let alarmed = status();
    assert_eq!(alarmed["state"], "alarm");
    assert!(alarmed["decision"]["why"].as_str().unwrap().contains("than they did at first"), "{alarmed:#}");
    tell(&sandbox, "later still", 20, 2, None);
    let newest = statuses(&sandbox);
    assert_eq!(newest.len(), events + 1, "once: {newest:?}");
    assert_eq!(newest[0], "alarmed optimizer:skillhub");
    let checked = sandbox.done(&["evolve", "check", "demo"]);
    let verdicts: Vec<&Value> =
        checked["decisions"].as_array().unwrap().iter().map(|one| &one["decision"]["verdict"]).collect();
    assert_eq!((&checked["differ"], verdicts), (&json!(0), vec![&json!("promote"), &json!("alarm")]), "{checked:#}");
}

#[test]
fn gate_decides_before_optimiser_runs() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    tell(&sandbox, "a", 100, 20, None);
    patch(&sandbox, "alpha", "beta");
    let head = sandbox.done(&["history", "demo"])["revisions"][0]["revision"].clone();
    // Written past the program, so that nobody has looked yet.
    let history = std::path::PathBuf::from(sandbox.done(&["where"])["history"].as_str().unwrap());
    let log = history.parent().unwrap().join("outcomes/demo.jsonl");
    let ts = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let line = |run: usize| {
        let outcome =
            json!({"v": 1, "ts": ts, "skill": "demo", "revision": head, "event": "failed", "run": format!("b{run}")});
        format!("{outcome}\n")
    };
    let before = fs::read_to_string(&log).unwrap();
    fs::write(&log, before + &(0..60).map(line).collect::<String>()).unwrap();
    let with = "cat > /dev/null; printf '{\"v\":1,\"patches\":[],\"rationale\":\"\"}'";
    sandbox.done(&["evolve", "run", "demo", "--with", with, "--dry-run"]);
    assert!(text(&sandbox).contains("beta line"), "a dry run changes nothing");
    sandbox.done(&["evolve", "run", "demo", "--with", with]);
    assert!(text(&sandbox).contains("alpha line"));
    assert_eq!(sandbox.done(&["evolve", "check", "demo"])["differ"], 0);
}

#[test]
fn invalid_outcome_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    for (line, code, exit) in [
        (r#"{"skill":"demo","event":"won"}"#, "invalid_request", 2),
        (r#"{"skill":"demo","event":"failed","extra":1}"#, "invalid_request", 2),
        (r#"{"skill":"demo","event":"failed","run":"a\nb"}"#, "invalid_request", 2),
        (r#"{"skill":"demo","event":"failed","ts":"2999-01-01T00:00:00Z"}"#, "invalid_request", 2),
        (r#"{"skill":"demo","event":"failed","revision":"77"}"#, "not_found", 7),
        (r#"{"skill":"none","event":"failed"}"#, "not_found", 7),
        ("", "invalid_request", 2),
    ] {
        let answer = sandbox.run_with(&["record", "--request", "-", "--json"], line.as_bytes()).exits(exit);
        assert_eq!(answer.json()["error"]["code"], code, "{line}");
    }
    assert_eq!(sandbox.done(&["stats", "demo"])["revisions"], json!([]));
    tell(&sandbox, "a", 3, 3, None);
    let own = std::path::PathBuf::from(sandbox.done(&["where"])["history"].as_str().unwrap());
    let log = own.parent().unwrap().join("outcomes/demo.jsonl");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, [b"damage\n".as_slice(), &whole].concat()).unwrap();
    let stats = sandbox.done(&["stats", "demo"]);
    assert_eq!((&stats["unreadable"], &stats["revisions"][0]["runs"]), (&json!(1), &json!(3)));
    let doctor = sandbox.ask(&["doctor"]).exits(1).json();
    let outcomes =
        doctor["checks"].as_array().unwrap().iter().find(|check| check["check"] == "outcomes").unwrap().clone();
    assert_eq!(outcomes["code"], "damaged_outcomes", "{outcomes:#}");
}

#[test]
fn host_transcripts_show_used_skills() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    let folder = sandbox.cwd().join("projects/one");
    fs::create_dir_all(&folder).unwrap();
    // Written for this test after the format as it is described.
    let line = |skill: &str, id: &str| {
        json!({"type": "assistant", "sessionId": "s1", "timestamp": "2026-01-02T03:04:05Z", "message": {"content": [
            {"type": "tool_use", "id": id, "name": "Skill", "input": {"skill": skill}},
        ]}})
    };
    let text = format!("{}\n{}\nno json\n", line("demo", "t1"), line("other", "t2"));
    fs::write(folder.join("s1.jsonl"), text).unwrap();
    let args = ["record", "--import", "claude-code", "projects"];
    let told = sandbox.done(&args);
    assert_eq!((&told["recorded"], &told["import"]), (&json!(1), &json!({"read": 2, "skipped": 1, "not_here": 1})));
    assert_eq!(sandbox.done(&args)["doubles"], 1);
    assert_eq!(sandbox.done(&["stats", "demo"])["revisions"][0]["unknown"], 1, "nobody said that it went well");
    let doctor = sandbox.done(&["doctor"]).to_string();
    assert!(
        doctor.contains("days old, so trials do not advance"),
        "the session's time counts, not the file's: {doctor}"
    );
    sandbox.ask(&["record", "--import", "emacs", "projects"]).exits(2);
}

/// A session of Claude Code that read a text of the skill, written for these tests in the form of version 2.1.331.
fn session(sandbox: &Sandbox, id: &str, body: &str) -> PathBuf {
    let now = "2026-01-02T03:04:05Z";
    let call = json!({"type": "assistant", "sessionId": id, "timestamp": now, "message": {"content": [
        {"type": "tool_use", "id": "t1", "name": "Skill", "input": {"skill": "demo"}},
    ]}});
    let text = json!({"type": "user", "sessionId": id, "timestamp": now, "isMeta": true, "sourceToolUseID": "t1",
        "message": {"content": [{"type": "text", "text": format!("Base directory for this skill: /x\n\n{body}")}]}});
    let file = sandbox.path(&format!("{id}.jsonl"));
    fs::write(&file, format!("{call}\n{text}\n")).unwrap();
    file
}

fn recorded(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.done(&["record", "demo", "--show"])["outcomes"].as_array().unwrap().clone()
}

/// Returns the body of a skill's text.
fn body_of(sandbox: &Sandbox) -> String {
    let text = sandbox.run(&["show", "demo", "SKILL.md"]).exits(0).text();
    text.splitn(3, "---\n").nth(2).unwrap().to_owned()
}

#[test]
fn session_counts_for_the_text_that_it_read() {
    let sandbox = Sandbox::new();
    let first = sandbox.create("demo", "alpha line")["revision"].clone();
    let body = body_of(&sandbox);
    sandbox.done(&["manage", "patch", "demo", "--find", "alpha", "--replace", "beta", "--reason", "x"]);
    let import = |file: &Path| sandbox.done(&["record", "--import", "claude-code", file.to_str().unwrap()]);
    assert_eq!(import(&session(&sandbox, "s1", &body))["recorded"], 1);
    assert_eq!(import(&session(&sandbox, "s2", &body.replace("alpha", "beta")))["recorded"], 1);
    let told = import(&session(&sandbox, "s3", &body.replace("alpha", "an edit by hand")));
    assert_eq!((&told["recorded"], &told["unrecorded"]), (&json!(0), &json!(1)));
    let read = recorded(&sandbox);
    let revisions: Vec<&Value> = read.iter().map(|outcome| &outcome["revision"]).collect();
    assert_eq!((revisions.len(), revisions[0]), (2, &first));
    assert_ne!(revisions[1], &first);
    let plain = sandbox.run(&["record", "demo", "--show"]).exits(0).text();
    assert!(plain.contains("claude-code:s1") && plain.contains("2 outcomes in "), "{plain}");
}

/// The hook prints nothing, does not fail, and leaves the work to a process that outlives it.
#[test]
fn hook_records_session_quietly() {
    let sandbox = Sandbox::new();
    sandbox.create("demo", "alpha line");
    let file = session(&sandbox, "s1", &body_of(&sandbox));
    let report = json!({"session_id": "s1", "transcript_path": file, "cwd": sandbox.cwd()}).to_string();
    for bad in ["", "{", "[]", &"x".repeat(20 << 20), "{\"transcript_path\": \"/none\"}"] {
        let answer = sandbox.run_with(&["record", "--hook", "claude-code"], bad.as_bytes()).exits(0);
        assert_eq!((answer.text().as_str(), answer.stderr.as_str()), ("", ""));
    }
    let config = sandbox.skillhub_home().join("config.toml");
    let record = || sandbox.run_with(&["record", "--hook", "claude-code"], report.as_bytes()).exits(0);
    for text in ["[agent]\nuse_log = false\n", "damaged ="] {
        fs::write(&config, text).unwrap();
        let answer = record();
        assert_eq!((answer.text().as_str(), answer.stderr.as_str()), ("", ""));
    }
    fs::remove_file(&config).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(recorded(&sandbox), Vec::<Value>::new());
    record();
    let is_recorded = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        recorded(&sandbox).len() == 1
    });
    assert!(is_recorded, "the session left no outcome");
    let outcome = &recorded(&sandbox)[0];
    let fields = [&outcome["run"], &outcome["event"], &outcome["actor"], &outcome["basis"]];
    assert_eq!(fields, ["claude-code:s1", "activated", "agent:claude-code", "transcript"]);
}

#[test]
fn gate_actor_cannot_be_impersonated() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.cwd().join("SKILL.md"), skill_md("demo", "A demo.", "text")).unwrap();
    sandbox.ask(&["--actor", "optimizer:skillhub", "manage", "create", "demo", "--content", "SKILL.md"]).exits(2);
}
