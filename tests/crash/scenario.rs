//! [`Scenario`]: a prepared sandbox and one command in it.

use std::{fs, process::Command};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use crate::support::{Answer, Sandbox, skill_md, write_files};

use super::observed::own;

/// A command, and the state in which it runs.
pub struct Scenario {
    pub name: &'static str,
    pub prepare: fn(&Sandbox),
    /// The arguments. [`PROPOSAL`] is replaced by the id of the proposal in the library, [`REVIEWED`] by the proposal
    /// with the head at which it was reviewed.
    pub args: &'static [&'static str],
    pub stdin: fn() -> String,
}

/// Placeholder in arguments for an id that only the prepared sandbox knows.
const PROPOSAL: &str = "PROPOSAL";
const REVIEWED: &str = "REVIEWED";
/// Name of the file with the reviewer's token.
const TOKEN: &str = "token";

impl Scenario {
    /// Runs the command without a tracer.
    pub fn run(&self, sandbox: &Sandbox) -> Answer {
        let args = self.args_in(sandbox);
        let args: Vec<&str> = args.iter().map(String::as_str).chain(["--json"]).collect();
        let mut command = sandbox.command(&args);
        as_reviewer(sandbox, &mut command);
        sandbox.finish_with(command, &args, (self.stdin)().as_bytes())
    }

    /// Returns whether the command is `setup` or its undo, which also change configurations of hosts.
    pub fn is_setup(&self) -> bool {
        self.args[0] == "setup"
    }

    /// Returns the arguments with their placeholders filled.
    pub fn args_in(&self, sandbox: &Sandbox) -> Vec<String> {
        let word = |arg: &&str| match *arg {
            PROPOSAL => proposal(sandbox),
            REVIEWED => reviewed(sandbox),
            _ => (*arg).to_owned(),
        };
        self.args.iter().map(word).collect()
    }
}

/// Lets a command act for the sandbox's reviewer, if it has one.
pub fn as_reviewer(sandbox: &Sandbox, command: &mut Command) {
    if let Ok(token) = fs::read_to_string(sandbox.path(TOKEN)) {
        command.env("SKILLHUB_REVIEWER_TOKEN", token);
    }
}

/// Returns the proposal with the head at which it was reviewed.
fn reviewed(sandbox: &Sandbox) -> String {
    let shown = sandbox.done(&["review", "diff", &proposal(sandbox), "--onto-head"]);
    shown["reviewed"].as_str().unwrap().to_owned()
}

/// Returns the id of the only proposal in a library, open or decided.
fn proposal(sandbox: &Sandbox) -> String {
    let queue = own(sandbox).unwrap().join("proposals");
    let entries = [queue.join("decided"), queue].into_iter().flat_map(fs::read_dir).flatten();
    let mut ids =
        entries.filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".json")?.to_owned()));
    ids.next().expect("a proposal was prepared")
}

const ADOPT: &[&str] = &["adopt", "--link", "../home/.claude/skills"];
const REQUEST: &[&str] = &["manage", "--request", "-"];

/// All scenarios, in the order in which they run.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "patch",
        prepare: one_skill,
        args: &["manage", "patch", "demo", "--find", "alpha line", "--replace", "gamma line"],
        stdin: String::new,
    },
    Scenario { name: "operations", prepare: one_skill, args: REQUEST, stdin: operations },
    Scenario { name: "rollback", prepare: two_revisions, args: &["rollback", "demo", "1"], stdin: String::new },
    Scenario { name: "delete", prepare: two_revisions, args: &["manage", "delete", "demo"], stdin: String::new },
    Scenario {
        name: "delete beside a tool's folder",
        prepare: with_a_tools_folder,
        args: &["manage", "delete", "demo"],
        stdin: String::new,
    },
    Scenario {
        name: "write_file",
        prepare: one_skill,
        args: &["manage", "write_file", "demo", "--path", "references/new.md", "--content", "-"],
        stdin: || "some text\n".repeat(2000),
    },
    Scenario {
        name: "create in a fresh home",
        prepare: |_| {},
        args: &["manage", "create", "demo", "--content", "-"],
        stdin: || skill_md("demo", "Does what it says. Use in tests.", "alpha line"),
    },
    Scenario { name: "install", prepare: sources, args: &["install", "./one"], stdin: String::new },
    Scenario {
        name: "install several",
        prepare: sources,
        args: &["install", "./one", "./two", "./three"],
        stdin: String::new,
    },
    Scenario {
        name: "install from a registry",
        prepare: published,
        args: &["install", "acme/one", "acme/two"],
        stdin: String::new,
    },
    Scenario { name: "uninstall", prepare: installed, args: &["uninstall", "one", "two"], stdin: String::new },
    Scenario {
        name: "delete of an install",
        prepare: installed,
        args: &["manage", "delete", "one"],
        stdin: String::new,
    },
    Scenario { name: "rollback of a delete", prepare: deleted, args: &["rollback", "one", "1"], stdin: String::new },
    Scenario {
        name: "adopt",
        prepare: found_folder,
        args: &["adopt", "../home/.agents/skills/found"],
        stdin: String::new,
    },
    Scenario { name: "adopt with links", prepare: of_an_agent, args: ADOPT, stdin: String::new },
    Scenario { name: "undo of an adopt", prepare: adopted, args: &["undo", "--to", "start"], stdin: String::new },
    Scenario {
        name: "enable for an agent",
        prepare: hidden_from_an_agent,
        args: &["enable", "one", "--agent", "claude-code"],
        stdin: String::new,
    },
    Scenario {
        name: "disable for an agent",
        prepare: installed,
        args: &["disable", "one", "--agent", "claude-code"],
        stdin: String::new,
    },
    Scenario { name: "setup", prepare: of_an_agent, args: &["setup", "-y"], stdin: String::new },
    Scenario { name: "undo of a setup", prepare: set_up, args: &["setup", "--undo"], stdin: String::new },
    Scenario {
        name: "taking over a hand edit",
        prepare: hand_edit,
        args: &["manage", "patch", "demo", "--find", "alpha line", "--replace", "gamma line"],
        stdin: String::new,
    },
    Scenario {
        name: "checkpoint",
        prepare: long_journal,
        args: &["manage", "write_file", "demo", "--path", "assets/last.bin", "--content", "-"],
        stdin: || "z".repeat(LAST_BYTES),
    },
    Scenario { name: "doctor --fix", prepare: missing_folder, args: &["doctor", "--fix"], stdin: String::new },
    Scenario {
        name: "a change that is held",
        prepare: strict,
        args: &["manage", "patch", "demo", "--find", "alpha line", "--replace", "gamma line"],
        stdin: String::new,
    },
    Scenario { name: "accept", prepare: held, args: &["review", "accept", PROPOSAL], stdin: String::new },
    Scenario {
        name: "accept after a change",
        prepare: held_and_moved,
        args: &["review", "accept", REVIEWED],
        stdin: String::new,
    },
    Scenario { name: "reject", prepare: held, args: &["review", "reject", PROPOSAL], stdin: String::new },
    Scenario { name: "gc", prepare: long_log, args: &["gc"], stdin: String::new },
];

fn one_skill(sandbox: &Sandbox) {
    sandbox.create("demo", "alpha line");
    let script = json!({"action": "write_file", "name": "demo", "path": "scripts/run.sh", "executable": true,
        "content": "#!/bin/sh\nprintf x\n"});
    sandbox.request(&script).done();
}

fn two_revisions(sandbox: &Sandbox) {
    one_skill(sandbox);
    sandbox.done(&["manage", "patch", "demo", "--find", "alpha line", "--replace", "beta line"]);
}

fn with_a_tools_folder(sandbox: &Sandbox) {
    two_revisions(sandbox);
    write_files(&sandbox.user_skill("demo"), &[(".git/config", b"[core]\n", false)]);
}

fn operations() -> String {
    let operations = json!([
        {"action": "patch", "find": "alpha line", "replace": "gamma line"},
        {"action": "write_file", "path": "references/a.md", "content": "a\n"},
        {"action": "write_file", "path": "references/deep/b.md", "content": "b\n"},
        {"action": "remove_file", "path": "scripts/run.sh"},
    ]);
    json!({"name": "demo", "operations": operations}).to_string()
}

fn sources(sandbox: &Sandbox) {
    fs::create_dir(sandbox.home().join(".claude")).unwrap();
    for name in ["one", "two", "three"] {
        let files = [("scripts/run.sh", "#!/bin/sh\nprintf x\n"), ("references/a.md", "a\n")];
        sandbox.skill(name, &format!("Does what {name} says. Use in tests."), &files);
    }
}

fn published(sandbox: &Sandbox) {
    sources(sandbox);
    for name in ["one", "two"] {
        sandbox.done(&["publish", &format!("./{name}"), "--owner", "acme"]);
    }
}

pub fn installed(sandbox: &Sandbox) {
    sources(sandbox);
    sandbox.done(&["install", "./one", "./two"]);
}

fn deleted(sandbox: &Sandbox) {
    installed(sandbox);
    sandbox.done(&["manage", "delete", "one"]);
}

/// Creates skills in a folder of Claude Code, one of them a link to another folder.
pub fn of_an_agent(sandbox: &Sandbox) {
    let folder = sandbox.home().join(".claude/skills");
    sources(sandbox);
    fs::create_dir(&folder).unwrap();
    for name in ["one", "two"] {
        fs::rename(sandbox.path("work").join(name), folder.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(sandbox.path("work").join("three"), folder.join("three")).unwrap();
}

fn adopted(sandbox: &Sandbox) {
    of_an_agent(sandbox);
    sandbox.done(ADOPT);
}

fn set_up(sandbox: &Sandbox) {
    of_an_agent(sandbox);
    sandbox.done(&["setup", "-y"]);
}

fn hidden_from_an_agent(sandbox: &Sandbox) {
    installed(sandbox);
    sandbox.done(&["disable", "one", "--agent", "claude-code"]);
}

fn found_folder(sandbox: &Sandbox) {
    one_skill(sandbox);
    let text = skill_md("found", "Was there before. Use in tests.", "alpha line");
    write_files(&sandbox.user_skill("found"), &[("SKILL.md", text.as_bytes(), false)]);
}

fn hand_edit(sandbox: &Sandbox) {
    one_skill(sandbox);
    write_files(&sandbox.user_skill("demo"), &[("references/mine.md", b"by hand\n", false)]);
}

fn missing_folder(sandbox: &Sandbox) {
    two_revisions(sandbox);
    fs::remove_dir_all(sandbox.user_skill("demo")).unwrap();
}

/// Creates a library that holds every change of an agent, and a reviewer.
fn strict(sandbox: &Sandbox) {
    one_skill(sandbox);
    fs::write(sandbox.path(TOKEN), sandbox.token()).unwrap();
    set_policy(sandbox, "strict");
}

fn set_policy(sandbox: &Sandbox, preset: &str) {
    fs::write(sandbox.skillhub_home().join("config.toml"), format!("policy = \"{preset}\"\n")).unwrap();
}

/// Creates a held change.
fn held(sandbox: &Sandbox) {
    strict(sandbox);
    let operations = json!({"name": "demo", "operations": [
        {"action": "patch", "find": "alpha line", "replace": "gamma line"},
        {"action": "write_file", "path": "references/held.md", "content": "held\n"},
    ]});
    let report = sandbox.request(&operations).done();
    assert_eq!(report["status"], "proposed");
}

/// Creates a held change, and then changes another file.
fn held_and_moved(sandbox: &Sandbox) {
    held(sandbox);
    set_policy(sandbox, "open");
    sandbox.done(&["manage", "write_file", "demo", "--path", "references/other.md", "--content", "-"]);
    set_policy(sandbox, "strict");
}

/// Creates a log that `gc` sets aside, loose objects and several references.
fn long_log(sandbox: &Sandbox) {
    two_revisions(sandbox);
    sandbox.create("other", "one line");
    let reason = "a word ".repeat(280);
    for step in 0..20 {
        let (skill, content) = (["demo", "other"][step % 2], format!("step {step}\n"));
        let write = json!({"action": "write_file", "name": skill, "path": "references/step.md", "content": content,
            "reason": reason});
        sandbox.request(&write).done();
    }
}

/// Size of the journal that triggers a checkpoint.
const JOURNAL_BYTES: usize = 2 << 20;
/// Size of the file whose commit lets the journal exceed that.
const LAST_BYTES: usize = 64 << 10;

/// Creates a small skill with a journal that one more file fills.
fn long_journal(sandbox: &Sandbox) {
    one_skill(sandbox);
    let journal = || own(sandbox).unwrap().join("journal").metadata().unwrap().len() as usize;
    for number in 1.. {
        let Some(left) = JOURNAL_BYTES.checked_sub(journal() + LAST_BYTES / 2).filter(|left| *left > LAST_BYTES) else {
            break;
        };
        let bytes: Vec<u8> = (0..left.min(1 << 19)).map(|at| (at * number % 251) as u8).collect();
        let content = BASE64_STANDARD.encode(bytes);
        let write = json!({"action": "write_file", "name": "demo", "path": "assets/a.bin", "content_base64": content});
        sandbox.request(&write).done();
    }
    sandbox.done(&["manage", "remove_file", "demo", "--path", "assets/a.bin"]);
}
