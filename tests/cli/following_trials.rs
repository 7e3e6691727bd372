//! Trials in hosts that read folders: links follow the revision that a session gets, and return at the end.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::support::Sandbox;

/// A skill that Claude Code reads by a link, with a change on trial in half of the runs.
struct Trial {
    sandbox: Sandbox,
    /// The stored trial, as `evolve status` shows it.
    stored: Value,
    link: PathBuf,
    /// Message of the acceptance.
    accepted: String,
}

impl Trial {
    fn begin() -> Self {
        let sandbox = Sandbox::new();
        fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
        sandbox.create("demo", "alpha line");
        sandbox.done(&["enable", "demo", "--agent", "claude-code"]);
        sandbox.done(&["mcp", "install", "--agent", "claude-code"]);
        Self::of(sandbox, "alpha", "beta")
    }

    fn of(sandbox: Sandbox, find: &str, replace: &str) -> Self {
        fs::write(sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
        let patch = ["manage", "patch", "demo", "--find", find, "--replace", replace, "--reason", "better"];
        let id = sandbox.done(&patch)["proposal"].as_str().unwrap().to_owned();
        let accepted = sandbox.run_as(&sandbox.token(), &["review", "accept", &id, "--canary", "0.5"]).done();
        let stored = sandbox.done(&["evolve", "status", "demo"])["skills"][0]["trial"].clone();
        let link = sandbox.home().join(".claude/skills/demo");
        assert!(link.is_symlink() && stored["id"].is_string(), "{stored}");
        Self { sandbox, stored, link, accepted: accepted["message"].as_str().unwrap().to_owned() }
    }

    /// Starts a session with the command that the hook of the host has.
    fn session(&self, id: &str) {
        let settings = fs::read_to_string(self.sandbox.home().join(".claude/settings.json")).unwrap();
        let settings: Value = serde_json::from_str(&settings).unwrap();
        let command = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"].as_str().unwrap();
        assert!(command.ends_with(" record --hook claude-code"), "{command}");
        let report = json!({"session_id": id, "hook_event_name": "SessionStart", "source": "startup",
            "transcript_path": "/none", "cwd": self.sandbox.cwd()});
        let answer =
            self.sandbox.run_with(&["record", "--hook", "claude-code"], report.to_string().as_bytes()).exits(0);
        assert_eq!((answer.text().as_str(), answer.stderr.as_str()), ("", ""));
    }

    /// Returns whether our own reader gives the run of a session the candidate.
    fn is_candidate(&self, id: &str) -> bool {
        let read = self.sandbox.done(&["read", "demo", "--run", &format!("claude-code:{id}")]);
        read["revision"] == self.stored["candidate"]
    }

    /// Starts sessions until one gets the wanted side, and returns its id.
    fn session_with(&self, candidate: bool) -> String {
        let ids = (0..100).map(|number| format!("own-{number}"));
        let mut started = ids.inspect(|id| self.session(id));
        started.find(|_| self.leads_to_library() != candidate).unwrap()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.link.join("SKILL.md")).unwrap()
    }

    fn leads_to_library(&self) -> bool {
        self.link.canonicalize().unwrap() == self.sandbox.user_skill("demo").canonicalize().unwrap()
    }

    fn force(&self, verdict: &str) {
        self.sandbox.run_as(&self.sandbox.token(), &["evolve", "force", "demo", verdict]).done();
    }

    fn files(&self) -> PathBuf {
        let trials = |library: fs::DirEntry| library.path().join("trials").join(self.stored["id"].as_str().unwrap());
        let libraries = fs::read_dir(self.sandbox.skillhub_home().join("libraries")).unwrap();
        libraries.map(|library| trials(library.unwrap())).find(|trials| trials.is_dir()).unwrap()
    }

    /// Returns the codes of the findings of `doctor` that need a repair.
    fn doctor(&self, args: &[&str]) -> String {
        self.sandbox.run(&[&["doctor", "--json"], args].concat()).text()
    }
}

#[test]
fn sessions_get_their_assigned_revision() {
    let trial = Trial::begin();
    let mut candidates = 0;
    for number in 0..40 {
        let id = format!("session-{number}");
        trial.session(&id);
        let gets = trial.text().contains("beta");
        assert_eq!(gets, trial.is_candidate(&id), "{id}");
        assert_eq!(!gets, trial.leads_to_library(), "{id}");
        candidates += usize::from(gets);
    }
    assert!((10..=30).contains(&candidates), "{candidates} of 40");
    trial.session_with(true);
    assert!(!trial.doctor(&[]).contains("agent_reads_other") && !trial.doctor(&[]).contains("link_"));
    assert_eq!(trial.sandbox.done(&["debug", "--agent", "claude-code"])["skills"][0]["reads"], "trial");
    let mode = fs::metadata(trial.link.join("SKILL.md")).unwrap().permissions();
    assert!(mode.readonly(), "an edit through the link would be lost");
}

#[test]
fn agents_that_cannot_follow_are_named() {
    let trial = Trial::begin();
    assert!(!trial.accepted.contains("cannot follow"), "{}", trial.accepted);
    fs::create_dir_all(trial.sandbox.home().join(".codex")).unwrap();
    let sentence = "Codex cannot follow this trial and reads revision 1";
    let status = trial.sandbox.run(&["evolve", "status", "demo"]).text();
    assert!(status.contains(sentence) && !status.contains("no agent in use"), "{status}");
    let agents = trial.sandbox.done(&["evolve", "status", "demo"])["skills"][0]["agents"].clone();
    assert_eq!(agents, json!({"follow": ["Claude Code"], "cannot_follow": ["Codex"]}));
    for (agent, expected) in [("codex", json!([format!("demo: {sentence}")])), ("claude-code", json!([]))] {
        assert_eq!(trial.sandbox.done(&["debug", "--agent", agent])["trials"], expected);
    }

    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.home().join(".codex")).unwrap();
    fs::create_dir_all(sandbox.home().join(".claude/skills")).unwrap();
    sandbox.create("demo", "alpha line");
    sandbox.done(&["enable", "demo", "--agent", "claude-code"]);
    let trial = Trial::of(sandbox, "alpha", "beta");
    let first = trial.accepted.find("no agent in use can follow this trial").unwrap();
    assert!(first < trial.accepted.find("Claude Code cannot follow").unwrap(), "without a hook: {}", trial.accepted);
    assert!(trial.accepted.contains(sentence), "{}", trial.accepted);
}

#[test]
fn outcome_counts_for_the_revision_read() {
    let trial = Trial::begin();
    let id = trial.session_with(true);
    let body = trial.text().splitn(3, "---\n").nth(2).unwrap().to_owned();
    let call = json!({"type": "assistant", "sessionId": id, "message": {"content": [
        {"type": "tool_use", "id": "t1", "name": "Skill", "input": {"skill": "demo"}},
    ]}});
    let text = json!({"type": "user", "sessionId": id, "isMeta": true, "sourceToolUseID": "t1",
        "message": {"content": [{"type": "text", "text": format!("Base directory for this skill: /x\n\n{body}")}]}});
    let file = trial.sandbox.path("session.jsonl");
    fs::write(&file, format!("{call}\n{text}\n")).unwrap();
    let told = trial.sandbox.done(&["record", "--import", "claude-code", file.to_str().unwrap()]);
    assert_eq!(told["recorded"], 1, "{told}");
    let outcomes = trial.sandbox.done(&["record", "demo", "--show"])["outcomes"].clone();
    assert_eq!(outcomes[0]["revision"], trial.stored["candidate"], "{outcomes}");
    let run = format!("claude-code:{id}");
    trial.sandbox.done(&["record", "demo", "--event", "completed", "--run", &run]);
    let decision = trial.sandbox.done(&["evolve", "status", "demo"])["skills"][0]["decision"].clone();
    assert_eq!((&decision["candidate"]["runs"], &decision["base"]["runs"]), (&json!(1), &json!(0)), "{decision}");
}

#[test]
fn end_of_trial_returns_links() {
    for verdict in ["promote", "rollback"] {
        let trial = Trial::begin();
        trial.session_with(true);
        let files = trial.files();
        trial.force(verdict);
        assert!(trial.leads_to_library() && !files.exists(), "{verdict}");
        assert_eq!(trial.text().contains("beta"), verdict == "promote");
    }
    let trial = Trial::begin();
    let id = trial.session_with(true);
    trial.sandbox.run_as(&trial.sandbox.token(), &["evolve", "pause", "demo"]).done();
    assert!(trial.leads_to_library(), "paused");
    trial.session(&id);
    assert!(trial.leads_to_library(), "paused");
}

#[test]
fn link_left_by_a_crash_returns() {
    for repair in [&["doctor", "--fix"][..], &["list"], &["read", "demo"]] {
        let trial = Trial::begin();
        trial.session_with(true);
        let (files, target) = (trial.files(), fs::read_link(&trial.link).unwrap());
        trial.force("rollback");
        // As if the process had been killed after it recorded the end.
        copy(&trial.sandbox.user_skill("demo"), &files.join("demo"));
        fs::remove_file(&trial.link).unwrap();
        symlink(target, &trial.link).unwrap();
        if repair[0] == "doctor" {
            assert!(trial.doctor(&[]).contains("whose trial has ended"), "{}", trial.doctor(&[]));
        }
        trial.sandbox.run(repair);
        assert!(trial.leads_to_library(), "{repair:?}");
    }
}

#[test]
fn killed_hook_leaves_a_whole_link() {
    let trial = Trial::begin();
    for (number, delay) in (0..30).map(|number| (number, number * 3)) {
        let id = format!("killed-{number}");
        let report = json!({"session_id": id, "hook_event_name": "SessionStart", "cwd": trial.sandbox.cwd()});
        let mut command = trial.sandbox.command(&["record", "--hook", "claude-code"]);
        let mut hook = trial.sandbox.start(command.stdin(std::process::Stdio::piped()));
        let mut input = hook.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, report.to_string().as_bytes()).unwrap();
        drop(input);
        std::thread::sleep(std::time::Duration::from_millis(delay));
        hook.kill().unwrap();
        hook.wait().unwrap();
        assert!(trial.text().contains("line"), "the link leads nowhere");
    }
    trial.session_with(true);
    trial.session_with(false);
    assert!(trial.leads_to_library());
    let left = fs::read_dir(trial.link.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "a temporary link was left");
}

#[test]
fn foreign_link_is_never_changed() {
    let trial = Trial::begin();
    let id = trial.session_with(true);
    let own = trial.sandbox.path("mine");
    copy(&trial.sandbox.user_skill("demo"), &own);
    fs::remove_file(&trial.link).unwrap();
    symlink(&own, &trial.link).unwrap();
    trial.session(&id);
    assert_eq!(fs::read_link(&trial.link).unwrap(), own);
    trial.force("promote");
    assert_eq!(fs::read_link(&trial.link).unwrap(), own);
    fs::remove_file(&trial.link).unwrap();
    copy(&own, &trial.link);
    trial.session(&id);
    assert!(!trial.link.is_symlink(), "a copy stays one");
}

#[test]
fn removal_takes_the_link_on_trial() {
    for args in
        [&["disable", "demo"][..], &["disable", "demo", "--agent", "claude-code"], &["manage", "delete", "demo"]]
    {
        let trial = Trial::begin();
        trial.session_with(true);
        let args = [args, &["--actor", "person"]].concat();
        trial.sandbox.run_as(&trial.sandbox.token(), &args).done();
        assert!(!trial.link.is_symlink(), "{args:?}");
    }
}

/// A transcript could not tell such revisions apart, so the outcome would count for the wrong one.
#[test]
fn revision_of_equal_text_is_not_linked() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    sandbox.create("demo", "alpha line");
    sandbox.done(&["enable", "demo", "--agent", "claude-code"]);
    sandbox.done(&["mcp", "install", "--agent", "claude-code"]);
    let trial = Trial::of(sandbox, "description: ", "description: Also ");
    for number in 0..20 {
        trial.session(&format!("same-{number}"));
        assert!(trial.leads_to_library());
    }
}

/// Copies a skill without subfolders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}
