//! `skillhub sync`: one library on several machines, over real bare repositories.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Child,
    thread,
    time::{Duration, SystemTime},
};

use serde_json::Value;

use crate::support::{Random, Sandbox, git, hostile_line, repository, skill_md};

/// Number of random edits by all machines together. `SKILLHUB_SYNC_EDITS` sets another one.
const EDITS: u64 = 200;

/// A machine of a person: a home of its own, and the remote that all of them share.
struct Machine {
    sandbox: Sandbox,
    token: String,
    remote: PathBuf,
}

impl Machine {
    fn new(remote: &Path) -> Self {
        let sandbox = Sandbox::new();
        let token = sandbox.token();
        Self { sandbox, token, remote: remote.to_owned() }
    }

    #[track_caller]
    fn person(&self, args: &[&str]) -> Value {
        self.sandbox.run_as(&self.token, args).done()
    }

    #[track_caller]
    fn sync(&self) -> Value {
        self.person(&["sync", self.remote.to_str().unwrap()])
    }

    fn patch(&self, name: &str, find: &str, replace: &str) -> Value {
        self.sandbox.done(&["manage", "patch", name, "--find", find, "--replace", replace])
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.sandbox.user_skill(name).join("SKILL.md")).unwrap()
    }

    fn history(&self) -> PathBuf {
        let libraries = self.sandbox.skillhub_home().join("libraries");
        let library = fs::read_dir(libraries).unwrap().map(|entry| entry.unwrap().path());
        library.map(|path| path.join("history.git")).find(|path| path.is_dir()).unwrap()
    }

    fn git(&self, args: &[&str]) -> String {
        git(&self.sandbox, &[&["--git-dir", self.history().to_str().unwrap()], args].concat())
    }

    /// Returns each skill with its newest revision.
    fn heads(&self) -> String {
        self.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/skills"])
    }

    /// Returns the ids of all revisions of all skills.
    fn revisions(&self) -> Vec<String> {
        self.git(&["rev-list", "--glob=refs/skills/*"]).lines().map(str::to_owned).collect()
    }
}

fn remote(sandbox: &Sandbox) -> PathBuf {
    let path = sandbox.path("remote.git");
    git(sandbox, &["init", "--quiet", "--bare", path.to_str().unwrap()]);
    path
}

fn change<'d>(document: &'d Value, name: &str) -> &'d str {
    let rows = document["skills"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).map_or("", |row| row["change"].as_str().unwrap())
}

const BODY: &str = "first line\n\nsecond line of many words\n\nthird line of other words\n\nlast line";

/// Two machines with the skill `demo`.
fn pair() -> (Sandbox, Machine, Machine) {
    let shared = Sandbox::new();
    let remote = remote(&shared);
    let (one, two) = (Machine::new(&remote), Machine::new(&remote));
    one.sandbox.create("demo", BODY);
    assert_eq!(change(&one.sync(), "demo"), "sent");
    assert_eq!(change(&two.sync(), "demo"), "received");
    (shared, one, two)
}

#[test]
fn edits_of_two_machines_are_merged() {
    let (_shared, one, two) = pair();
    assert_eq!(one.heads(), two.heads());
    assert_eq!(one.text("demo"), two.text("demo"));
    one.patch("demo", "first line", "first line of one");
    two.patch("demo", "last line", "last line of two");
    one.sync();
    assert_eq!(change(&two.person(&["sync", "--dry-run"]), "demo"), "merged");
    assert!(!two.text("demo").contains("of one"), "a dry run changed the skill");
    assert_eq!(change(&two.person(&["sync"]), "demo"), "merged");
    assert_eq!(change(&one.sync(), "demo"), "received");
    assert_eq!(one.heads(), two.heads());
    for text in ["first line of one", "last line of two"] {
        assert!(one.text("demo").contains(text) && two.text("demo").contains(text), "{text}");
    }
    assert_eq!(one.sync()["skills"].as_array().unwrap().len(), 0);
    let moved = one.sandbox.path("moved.git");
    git(&one.sandbox, &["init", "--quiet", "--bare", moved.to_str().unwrap()]);
    let warnings = one.person(&["sync", moved.to_str().unwrap()])["warnings"].to_string();
    assert!(warnings.contains("remote is now") && warnings.contains("remote.git"), "{warnings}");
    one.sync();
    let history = one.sandbox.done(&["history", "demo"]);
    assert_eq!(history["revisions"].as_array().unwrap().len(), 3, "{history:#}");
    assert_eq!(one.revisions().len(), 4);
    one.sandbox.done(&["doctor"]);
    two.sandbox.done(&["doctor"]);
}

#[test]
fn hand_edit_is_named_and_not_sent() {
    let (_shared, one, _two) = pair();
    let file = one.sandbox.user_skill("demo").join("SKILL.md");
    fs::write(&file, one.text("demo") + "By hand.\n").unwrap();
    for args in [&["sync", "--dry-run"][..], &["sync"]] {
        let synced = one.person(args);
        assert_eq!(synced["skills"].as_array().unwrap().len(), 0, "{synced:#}");
        assert!(synced["warnings"][0].as_str().unwrap().contains("skillhub commit demo --reason"), "{synced:#}");
    }
    one.sandbox.done(&["commit", "demo", "--reason", "by hand"]);
    let synced = one.sync();
    assert_eq!((change(&synced, "demo"), synced["warnings"].as_array().unwrap().len()), ("sent", 0));
}

#[test]
fn merge_of_machines_can_be_undone() {
    let (_shared, one, two) = pair();
    one.patch("demo", "first line", "first line of one");
    two.patch("demo", "last line", "last line of two");
    let before = two.text("demo");
    one.sync();
    assert_eq!(change(&two.sync(), "demo"), "merged");
    let merged = two.text("demo");
    two.sandbox.done(&["undo"]);
    assert_eq!(two.text("demo"), before);
    two.sync();
    assert_eq!(change(&one.sync(), "demo"), "received");
    assert_eq!(one.text("demo"), before, "the undo reaches the other machine");
    two.sandbox.done(&["undo"]);
    assert_eq!(two.text("demo"), merged, "and can be undone");
}

#[test]
fn conflict_waits_for_a_person() {
    for decision in ["accept", "reject"] {
        let (_shared, one, two) = pair();
        one.patch("demo", "second line of many words", "second line as one says");
        two.patch("demo", "second line of many words", "second line as two says");
        one.sync();
        let before = two.heads();
        let held = two.sync();
        assert_eq!(change(&held, "demo"), "conflict");
        assert_eq!(two.heads(), before);
        let id = held["skills"][0]["proposal"].as_str().unwrap();
        assert_eq!(two.sync()["skills"][0]["proposal"], id, "the same conflict is held once");
        let target = format!("{id}@1");
        two.person(&["review", decision, if decision == "accept" { &target } else { id }]);
        two.sync();
        one.sync();
        assert_eq!(one.heads(), two.heads());
        let winner = if decision == "accept" { "as one says" } else { "as two says" };
        assert!(one.text("demo").contains(winner) && two.text("demo").contains(winner), "{decision}");
        two.patch("demo", "last line", "later line");
        two.sync();
        assert_eq!(change(&one.sync(), "demo"), "received");
    }
}

#[test]
fn deletion_reaches_the_other_machine() {
    let (_shared, one, two) = pair();
    one.sandbox.done(&["manage", "delete", "demo"]);
    one.sync();
    assert_eq!(change(&two.sync(), "demo"), "received");
    assert!(!two.sandbox.user_skill("demo").exists());
    assert_eq!(one.heads(), two.heads());
}

#[test]
fn conflict_with_a_deletion_names_the_machine_that_deleted() {
    let (_shared, one, two) = pair();
    // The longer line comes first in the merge, on both machines.
    one.patch("demo", "first line", "line of one");
    one.sandbox.done(&["manage", "delete", "demo"]);
    two.patch("demo", "last line", "line of two");
    one.sync();
    let synced = two.sync();
    let told = synced["skills"][0]["message"].as_str().unwrap();
    assert!(told.contains("was removed on one side and has changed in the current skill"), "{synced:#}");
}

#[test]
fn decisions_and_counts_travel() {
    let (_shared, one, two) = pair();
    one.person(&["pin", "demo"]);
    one.person(&["review", "keep", "demo"]);
    let run = r#"{"skill":"demo","event":"completed","run":"r-1"}"#;
    one.sandbox.run_with(&["record", "--request", "-", "--json"], run.as_bytes()).done();
    one.sync();
    two.sync();
    two.sync();
    let patch = ["manage", "patch", "demo", "--find", "last line", "--replace", "new line", "--reason", "better"];
    assert_eq!(two.sandbox.ask(&patch).exit, 5, "pinned");
    let stats = two.sandbox.done(&["stats", "demo"]);
    assert_eq!(stats["other_machines"]["successes"], 1, "{stats:#}");
    assert_eq!(stats["checkpoint"], 1);
    two.person(&["unpin", "demo"]);
    two.sync();
    one.sync();
    assert_eq!(one.sandbox.done(&["stats", "demo"])["other_machines"], Value::Null);
    one.sandbox.done(&patch);
}

#[test]
fn open_proposal_is_decided_on_any_machine() {
    let (_shared, one, two) = pair();
    std::fs::write(one.sandbox.skillhub_home().join("config.toml"), "policy = \"strict\"\n").unwrap();
    let script = ["manage", "write_file", "demo", "--path", "scripts/run.py", "--content", "-", "--json"];
    let code = "import subprocess\nsubprocess.run(['sh', '-c', input()])\n";
    let held = one.sandbox.run_with(&script, code.as_bytes()).done();
    assert_eq!(held["status"], "proposed", "{held:#}");
    let id = held["proposal"].as_str().unwrap();
    one.sync();
    two.sync();
    two.person(&["review", "reject", id]);
    two.sync();
    one.sync();
    let open = one.sandbox.done(&["review", "list"]);
    assert!(!open.to_string().contains(id), "{open:#}");
}

/// Commits a file on top of a skill's branch, as somebody who can write to the remote.
fn tamper(machine: &Machine, name: &str, text: &str, is_honest: bool) {
    let clone = machine.sandbox.path("clone");
    let (place, branch) = (clone.to_str().unwrap(), format!("skills/{name}"));
    git(&machine.sandbox, &["clone", "--quiet", "--branch", &branch, machine.remote.to_str().unwrap(), place]);
    fs::write(clone.join("SKILL.md"), text).unwrap();
    let files = testkit::bundle(&[("SKILL.md", text)]);
    let message = git(&machine.sandbox, &["-C", place, "log", "-1", "--format=%B"]);
    let mut message = message.trim_end().replace("Skillhub-Number: 1", "Skillhub-Number: 2");
    if is_honest {
        let start = message.find("Skillhub-Digest: ").unwrap();
        let end = start + message[start..].find('\n').unwrap();
        message.replace_range(start..end, &format!("Skillhub-Digest: {}", files.digest()));
    }
    git(&machine.sandbox, &["-C", place, "add", "--all"]);
    git(&machine.sandbox, &["-C", place, "commit", "--quiet", &format!("--message={message}")]);
    git(&machine.sandbox, &["-C", place, "push", "--quiet", "origin", &branch]);
}

#[test]
fn blocked_content_never_becomes_a_head() {
    let (_shared, one, two) = pair();
    let text = skill_md("demo", "Does what demo says. Use in tests.", &format!("{BODY}\n\n{}", hostile_line()));
    tamper(&one, "demo", &text, true);
    let before = (two.heads(), two.text("demo"));
    let answer = two.sandbox.run_as(&two.token, &["sync"]).exits(4).json();
    assert_eq!(change(&answer, "demo"), "blocked", "{answer:#}");
    assert_eq!((two.heads(), two.text("demo")), before);
}

#[test]
fn foreign_commit_is_refused() {
    let (_shared, one, two) = pair();
    tamper(&one, "demo", &skill_md("demo", "Does what demo says. Use in tests.", "other words"), false);
    let before = (two.heads(), two.text("demo"));
    let answer = two.sandbox.run_as(&two.token, &["sync"]).exits(3).json();
    assert_eq!(change(&answer, "demo"), "refused", "{answer:#}");
    assert_eq!((two.heads(), two.text("demo")), before);
}

#[test]
fn bad_remote_is_refused() {
    let shared = Sandbox::new();
    let machine = Machine::new(&remote(&shared));
    let code = shared.path("code");
    fs::create_dir_all(&code).unwrap();
    fs::write(code.join("main.rs"), "fn main() {}\n").unwrap();
    repository(&shared, &code);
    machine.sandbox.create("demo", BODY);
    let other = ["sync", code.to_str().unwrap()];
    machine.sandbox.run_as(&machine.token, &other).refused_with_hint(2, "not_a_library");
    assert!(!git(&shared, &["-C", code.to_str().unwrap(), "branch"]).contains("skills/"), "nothing was sent");
    let secret = machine.sandbox.run_as(&machine.token, &["sync", "https://u:secret@host.invalid/x.git"]);
    assert!(!secret.refused_with_hint(2, "invalid_spec").to_string().contains("secret"));
    machine.sandbox.run_as(&machine.token, &["sync"]).refused_with_hint(2, "no_remote");
    machine.sandbox.run_as(&machine.token, &["sync", "none.git"]).refused_with_hint(9, "git_failed");
    machine.sandbox.ask(&["sync", machine.remote.to_str().unwrap()]).refused(5, "policy_denied");
}

#[test]
fn lock_of_killed_git_is_removed() {
    let (_shared, one, two) = pair();
    one.patch("demo", "first line", "first line of one");
    one.sync();
    let lock = two.history().join("refs/sync/skills/demo.lock");
    fs::write(&lock, "").unwrap();
    let error = two.sandbox.run_as(&two.token, &["sync"]).refused_with_hint(9, "git_failed");
    assert!(error["hint"].as_str().unwrap().contains("skillhub doctor --fix"), "{error:#}");
    let before = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().write(true).open(&lock).unwrap().set_modified(before).unwrap();
    two.person(&["doctor", "--fix"]);
    assert_eq!(change(&two.sync(), "demo"), "received");
}

/// Starts a command and kills it after a while, which may be too late.
fn kill(machine: &Machine, args: &[&str], milliseconds: u64) {
    let mut command = machine.sandbox.command(args);
    command.env("SKILLHUB_REVIEWER_TOKEN", &machine.token);
    let mut child: Child = machine.sandbox.start(&mut command);
    thread::sleep(Duration::from_millis(milliseconds));
    let _ended_before = child.kill();
    child.wait().unwrap();
}

/// Changes a line and returns the new revision. A patch first finishes what a killed command began, which may change
/// the line that it was to replace; then the line is read again.
fn renumber(machine: &Machine, name: &str, start: &str, new: &str) -> String {
    let patch = || {
        let text = machine.text(name);
        let old = text.lines().find(|line| line.starts_with(start)).unwrap();
        machine.sandbox.ask(&["manage", "patch", name, "--find", old, "--replace", new])
    };
    let mut answer = patch();
    if answer.exit != 0 {
        answer.refused(6, "no_match");
        answer = patch();
    }
    answer.done()["revision"].as_str().unwrap().to_owned()
}

/// Decides every conflict of a machine. One that an interrupted sync reported first is accepted onto the head, and one
/// that conflicts with an edit made since is rejected.
fn decide(machine: &Machine, synced: &Value, random: &mut Random) {
    for row in synced["skills"].as_array().unwrap().iter().filter(|row| row["change"] == "conflict") {
        let id = row["proposal"].as_str().unwrap();
        let accept = |target: &str| machine.sandbox.run_as(&machine.token, &["review", "accept", target]);
        let mut answer = (random.below(2) == 1).then(|| accept(&format!("{id}@1")));
        if let Some(first) =
            answer.take_if(|first| first.exit == 6 && first.json()["error"]["code"] == "stale_revision")
        {
            answer = Some(accept(first.json()["error"]["details"]["target"].as_str().unwrap()));
        }
        match answer {
            Some(accepted) if accepted.exit == 0 => {}
            Some(refused) => {
                refused.refused(6, "merge_conflict");
                machine.person(&["review", "reject", id]);
            }
            None => drop(machine.person(&["review", "reject", id])),
        }
    }
}

#[test]
fn random_edits_and_kills_converge() {
    let edits = std::env::var("SKILLHUB_SYNC_EDITS").ok().and_then(|text| text.parse().ok()).unwrap_or(EDITS);
    let shared = Sandbox::new();
    let remote = remote(&shared);
    let machines = [(); 3].map(|()| Machine::new(&remote));
    let names = ["alpha", "beta", "gamma"];
    let lines: Vec<String> = (0..12).map(|line| format!("step {line} of the work is number 0")).collect();
    for name in names {
        machines[0].sandbox.create(name, &lines.join("\n\n"));
    }
    machines.iter().for_each(|machine| drop(machine.sync()));
    let (mut random, mut made, mut conflicts) = (Random::new(7), BTreeSet::new(), 0);
    for edit in 1..=edits {
        let machine = &machines[usize::try_from(random.below(3)).unwrap()];
        let name = names[usize::try_from(random.below(3)).unwrap()];
        let start = format!("step {} of the work is number ", random.below(12));
        let new = format!("{start}{edit}");
        if random.below(8) == 0 {
            // The killed edit may have been made.
            let old = machine.text(name).lines().find(|line| line.starts_with(&start)).unwrap().to_owned();
            kill(machine, &["manage", "patch", name, "--find", &old, "--replace", &new], random.below(60));
            continue;
        }
        made.insert(renumber(machine, name, &start, &new));
        match random.below(6) {
            0 | 1 => kill(machine, &["sync", machine.remote.to_str().unwrap()], random.below(400)),
            2 | 3 => {
                let synced = machine.sync();
                conflicts += synced["skills"].as_array().unwrap().iter().filter(|r| r["change"] == "conflict").count();
                decide(machine, &synced, &mut random);
            }
            _ => {}
        }
    }
    for _ in 0..12 {
        for machine in &machines {
            let synced = machine.sync();
            decide(machine, &synced, &mut random);
        }
        if machines.iter().all(|machine| machine.heads() == machines[0].heads()) {
            break;
        }
    }
    for machine in &machines {
        assert_eq!(machine.heads(), machines[0].heads());
        let all = machine.revisions();
        let distinct: BTreeSet<String> = all.iter().cloned().collect();
        assert_eq!(all.len(), distinct.len());
        assert!(made.is_subset(&distinct), "a machine lacks a revision");
        assert_eq!(distinct, machines[0].revisions().into_iter().collect());
        machine.person(&["doctor", "--fix"]);
        machine.sandbox.done(&["doctor"]);
    }
    println!("{edits} edits, {} revisions, {conflicts} conflicts", machines[0].revisions().len());
}

/// Two machines push at the same moment. The slower one takes over the changes of the faster one, and both succeed.
#[test]
fn simultaneous_syncs_lose_nothing() {
    let (_shared, one, two) = pair();
    for round in 0..4 {
        one.patch("demo", "first line", &format!("first line {round}"));
        two.patch("demo", "last line", &format!("last line {round}"));
        one.sandbox.create(&format!("of-one-{round}"), BODY);
        two.sandbox.create(&format!("of-two-{round}"), BODY);
        thread::scope(|scope| {
            let other = scope.spawn(|| one.sync());
            two.sync();
            other.join().unwrap();
        });
        one.sync();
        two.sync();
        assert_eq!(one.sync()["skills"].as_array().unwrap().len(), 0, "round {round}");
        assert_eq!(one.heads(), two.heads(), "round {round}");
        assert_eq!(one.heads().lines().count(), 3 + 2 * round, "round {round}");
        assert_eq!(one.text("demo"), two.text("demo"), "round {round}");
        assert!(one.text("demo").contains(&format!("first line {round}")), "round {round}");
        assert!(one.text("demo").contains(&format!("last line {round}")), "round {round}");
    }
    one.sandbox.done(&["doctor"]);
    two.sandbox.done(&["doctor"]);
}
