//! [`Scenario`]: a prepared place and one command in it.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use crate::support::{Answer, Sandbox, skill_md, write_files};

/// A command, and what is there before it.
pub struct Scenario {
    pub name: &'static str,
    pub prepare: fn(&Sandbox),
    pub args: &'static [&'static str],
    pub stdin: fn() -> String,
}

impl Scenario {
    /// Runs the command without a tracer.
    pub fn run(&self, sandbox: &Sandbox) -> Answer {
        sandbox.run_with(&[self.args, &["--json"]].concat(), (self.stdin)().as_bytes())
    }
}

const REQUEST: &[&str] = &["manage", "--request", "-"];

/// All of them.
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
        name: "adopt",
        prepare: found_folder,
        args: &["adopt", "../home/.agents/skills/found"],
        stdin: String::new,
    },
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
    std::fs::create_dir(sandbox.home().join(".claude")).unwrap();
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

fn installed(sandbox: &Sandbox) {
    sources(sandbox);
    sandbox.done(&["install", "./one", "./two"]);
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
    std::fs::remove_dir_all(sandbox.user_skill("demo")).unwrap();
}

/// What a checkpoint waits for.
const JOURNAL_BYTES: usize = 4 << 20;
/// The file with which the journal grows over that.
const LAST_BYTES: usize = 64 << 10;

/// A journal that one more file fills, of a skill that is small.
fn long_journal(sandbox: &Sandbox) {
    one_skill(sandbox);
    let journal = || super::observed::own(sandbox).unwrap().join("journal").metadata().unwrap().len() as usize;
    for number in 1.. {
        let Some(left) = JOURNAL_BYTES.checked_sub(journal() + LAST_BYTES / 2).filter(|left| *left > LAST_BYTES) else {
            break;
        };
        let bytes: Vec<u8> = (0..left.min(1 << 20)).map(|at| (at * number % 251) as u8).collect();
        let content = BASE64_STANDARD.encode(bytes);
        let write = json!({"action": "write_file", "name": "demo", "path": "assets/a.bin", "content_base64": content});
        sandbox.request(&write).done();
    }
    sandbox.done(&["manage", "remove_file", "demo", "--path", "assets/a.bin"]);
}
