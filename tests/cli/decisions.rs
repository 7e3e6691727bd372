//! People's decisions against agents: a library with skills in each state, and the decisions that no agent can undo.
//! The cells of the decision table are exercised in `decision_cells`.

use std::{collections::BTreeMap, fs};

use agent::decisions::SkillState;
use serde_json::{Value, json};

use super::{
    curating::{age, note_uses},
    decision_cells::COMMANDS,
};
use crate::support::{Sandbox, hostile_script, skill_md, write_files};

const PERMISSIONS: &str = "[[permissions]]\nskill = 'secret'\ndecision = 'deny'\n\
                           [[permissions]]\nskill = 'in-secret'\ndecision = 'deny'\n\
                           [[permissions]]\nskill = 'asked'\ndecision = 'ask'\n\
                           [[permissions]]\nskill = 'in-asked'\ndecision = 'ask'\n\
                           [[permissions]]\ntool = 'install_skill'\ndecision = 'allow'\n";

const WRITTEN: [&str; 8] = ["plain", "pinned", "off", "secret", "asked", "blocked", "gone", "back"];
const INSTALLED: [&str; 7] = ["in-plain", "in-pinned", "in-off", "in-secret", "in-asked", "in-blocked", "in-gone"];

/// Marker in the text of every skill that an agent must not get.
pub const MARKER: &str = "marker-of-hidden-text";

pub const BUILTIN: &str = "skillhub-writing-skills";

/// A library with skills in each state: one that was written here, `pinned`, and one that was installed, `in-pinned`.
pub struct Decided {
    pub sandbox: Sandbox,
    token: String,
    /// A proposal that waits for each of those that were written here.
    proposals: BTreeMap<&'static str, String>,
}

impl Decided {
    pub fn new() -> Self {
        let sandbox = Sandbox::new();
        let token = sandbox.token();
        for name in WRITTEN {
            sandbox.create(name, &format!("alpha line of {name}"));
        }
        let mut decided = Self { sandbox, token, proposals: BTreeMap::new() };
        for name in ["secret", "asked", "back"] {
            decided.edit(name, &format!("alpha {MARKER}"));
        }
        decided.install();
        decided.configure("policy = 'strict'\n");
        for name in WRITTEN {
            let held = decided.sandbox.done(&["manage", "patch", name, "--find", "alpha", "--replace", "gamma"]);
            decided.proposals.insert(name, held["proposal"].as_str().unwrap().to_owned());
        }
        decided.decide();
        decided.block();
        decided.configure(PERMISSIONS);
        decided
    }

    /// Installs the first of two releases of each installed skill.
    fn install(&self) {
        let specs = INSTALLED.map(|name| format!("acme/{name}"));
        self.publish("1.0.0", "alpha");
        self.sandbox.done(&[&["install"], &specs.each_ref().map(String::as_str)[..]].concat());
        self.publish("1.1.0", MARKER);
    }

    fn publish(&self, version: &str, body: &str) {
        for name in INSTALLED {
            let text = skill_md(name, &format!("Does what {name} says. Use in tests."), body);
            write_files(&self.sandbox.cwd().join(name), &[("SKILL.md", text.as_bytes(), false)]);
            self.sandbox.done(&["publish", name, "--owner", "acme", "--version", version]);
        }
    }

    fn decide(&self) {
        for prefix in ["", "in-"] {
            self.person(&["pin", &format!("{prefix}pinned")]);
            self.person(&["disable", &format!("{prefix}off")]);
        }
        self.person(&["rollback", "back", "1"]);
        self.person(&["manage", "delete", "gone"]);
        self.person(&["uninstall", "in-gone"]);
    }

    pub fn configure(&self, config: &str) {
        fs::write(self.sandbox.skillhub_home().join("config.toml"), config).unwrap();
    }

    pub fn person(&self, args: &[&str]) -> Value {
        self.sandbox.run_as(&self.token, &[args, &["--actor", "person:ann"]].concat()).done()
    }

    fn edit(&self, name: &str, body: &str) {
        let text = skill_md(name, &format!("Does what {name} says. Use in tests."), body);
        self.sandbox.request(&json!({"action": "edit", "name": name, "content": text})).done();
    }

    /// Writes what the scanner blocks into two skills.
    pub fn block(&self) {
        for name in ["blocked", "in-blocked"] {
            let script = hostile_script();
            write_files(&self.sandbox.user_skill(name), &[("scripts/a.sh", script.as_bytes(), true)]);
        }
    }

    /// The proposal about the skill of a state, or the id of none.
    pub fn proposal(&self, state: SkillState) -> &str {
        self.proposals.get(name_of(state)).map_or("b8q4rw", String::as_str)
    }

    /// People's decisions as they are now.
    pub fn decisions(&self) -> Value {
        let listed = self.person(&["list"]);
        let field = |name: &str, field: &str| {
            let skills = listed["skills"].as_array().unwrap();
            skills.iter().find(|skill| skill["name"] == name).map(|skill| skill[field].clone())
        };
        let kept = ["pinned", "in-pinned", "secret", "in-secret", "asked", "in-asked", "back"];
        let digests = kept.map(|name| field(name, "digest"));
        let files = ["pinned", "secret", "asked", "back"].map(|name| self.person(&["show", name])["files"].clone());
        json!({
            "off": field("off", "enabled"), "in-off": field("in-off", "enabled"), "gone": field("gone", "name"),
            "in-gone": field("in-gone", "name"), "digests": digests, "files": files,
        })
    }
}

/// The skill of a state that was written here.
pub fn name_of(state: SkillState) -> &'static str {
    match state {
        SkillState::Normal => "plain",
        SkillState::Pinned => "pinned",
        SkillState::Disabled => "off",
        SkillState::Denied => "secret",
        SkillState::Asked => "asked",
        SkillState::ReadOnly => BUILTIN,
        SkillState::Blocked => "blocked",
        SkillState::TakenBack => "gone",
    }
}

#[test]
fn denied_skill_looks_missing() {
    let decided = Decided::new();
    let sandbox = &decided.sandbox;
    // Those of skills that were installed, and of folders, are asked about other names.
    let others = ["read", "install", "update", "uninstall", "adopt", "log"];
    let is_about_proposal = |args: &[&str]| args.contains(&"PROPOSAL") || args[..2] == ["review", "list"];
    for args in COMMANDS.iter().filter(|args| !others.contains(&args[0]) && !is_about_proposal(args)) {
        let given =
            |name: &'static str| args.iter().map(|arg| if *arg == "NAME" { name } else { *arg }).collect::<Vec<_>>();
        let error = |name: &'static str| sandbox.ask(&given(name)).json()["error"].to_string().replace(name, "NAME");
        assert_eq!(error("secret"), error("missing"), "{args:?}");
    }
    for command in ["update", "uninstall"] {
        let error = |name: &str| sandbox.ask(&[command, name]).json()["error"].to_string().replace(name, "NAME");
        assert_eq!(error("in-secret"), error("in-missing"), "{command}");
    }
    let created = |name: &str| {
        let request = json!({"action": "create", "name": name, "content": skill_md(name, "Tests. Use in tests.", "x")});
        let error = sandbox.request(&request).refused(7, "not_found");
        assert_eq!(sandbox.ask(&["manage", "create", name, "--content", "none.md"]).json()["error"], error);
        assert!(error["message"].as_str().unwrap().contains("cannot use the name"), "{error:#}");
    };
    created("secret");
    let name = "secret";
    let request = json!({"action": "patch", "name": name, "find": "alpha", "replace": "beta"});
    sandbox.request(&request).refused(7, "not_found");
}

#[test]
fn agent_cannot_restore_rejected_content() {
    let decided = Decided::new();
    let sandbox = &decided.sandbox;
    let old = skill_md("gone", "Does what gone says. Use in tests.", "alpha line of gone");
    let create = |text: &str| sandbox.request(&json!({"action": "create", "name": "gone", "content": text}));
    create(&old).refused(5, "policy_denied");
    create(&old.replace('\n', "\r\n")).refused(5, "policy_denied");
    sandbox.ask(&["rollback", "gone"]).refused(5, "policy_denied");
    sandbox.ask(&["undo"]).refused(5, "policy_denied");
    sandbox.ask(&["undo", "--to", "start"]).refused(5, "policy_denied");
    write_files(&sandbox.user_skill("gone"), &[("SKILL.md", old.as_bytes(), false)]);
    sandbox.ask(&["commit", "gone", "--reason", "x"]).refused(5, "policy_denied");
    let folder = sandbox.user_skill("gone");
    sandbox.ask(&["adopt", folder.to_str().unwrap()]).refused(5, "policy_denied");
    assert_ne!(sandbox.ask(&["read", "gone"]).exit, 0, "not even as a folder");
    fs::remove_dir_all(folder).unwrap();
    let other = create(&old.replace("alpha", "another")).done();
    assert_eq!(other["status"], "proposed", "a person decides about a skill that comes back");
    // What a person rolled back is not brought back as an edit, as a rollback or by hand.
    let bad = skill_md("back", "Does what back says. Use in tests.", &format!("alpha {MARKER}"));
    sandbox.request(&json!({"action": "edit", "name": "back", "content": bad})).refused(5, "policy_denied");
    sandbox.ask(&["rollback", "back", "2"]).refused(5, "policy_denied");
    write_files(&sandbox.user_skill("back"), &[("SKILL.md", bad.as_bytes(), false)]);
    sandbox.ask(&["commit", "back", "--reason", "x"]).refused(5, "policy_denied");
    let read = sandbox.done(&["read", "back"]);
    assert!(!read.to_string().contains(MARKER) && read["held"].is_string(), "{read:#}");
    decided.person(&["commit", "back", "--reason", "it was right"]);
    assert!(sandbox.done(&["read", "back"]).to_string().contains(MARKER), "a person brings it back");
}

#[test]
fn agent_enables_only_agent_disabled_skills() {
    let decided = Decided::new();
    let sandbox = &decided.sandbox;
    sandbox.done(&["disable", "plain"]);
    sandbox.done(&["enable", "plain"]);
    sandbox.ask(&["enable", "off"]).refused_with_hint(5, "policy_denied");
    // Disabling it once more does not make it the agent's.
    sandbox.done(&["disable", "off"]);
    sandbox.ask(&["enable", "off"]).refused(5, "policy_denied");
    sandbox.done(&["disable", "plain"]);
    decided.person(&["disable", "plain"]);
    sandbox.ask(&["enable", "plain"]).refused(5, "policy_denied");
    decided.person(&["enable", "plain"]);
    sandbox.done(&["read", "plain"]);
}

#[test]
fn refused_decisions_are_logged() {
    let decided = Decided::new();
    let sandbox = &decided.sandbox;
    let tries: [&[&str]; 8] = [
        &["evolve", "try", "plain", "1"],
        &["evolve", "pause", "plain"],
        &["evolve", "resume", "plain"],
        &["evolve", "force", "plain", "promote"],
        &["tools", "call", "asked"],
        &["unpin", "pinned"],
        &["enable", "off"],
        &["update", "--accept-key", "SHA256:abc"],
    ];
    let refusals = || {
        let events = decided.person(&["log"])["events"].clone();
        events.as_array().unwrap().iter().filter(|event| event["status"] == "refused").count()
    };
    for args in tries {
        let before = refusals();
        assert_ne!(sandbox.ask(args).exit, 0, "{args:?}");
        assert_eq!(refusals(), before + 1, "{args:?}");
    }
}

#[test]
fn bulk_operations_respect_permissions() {
    let decided = Decided::new();
    let (sandbox, before) = (&decided.sandbox, decided.decisions());
    for args in [&["update"][..], &["update", "--dry-run"], &["install"], &["outdated"]] {
        let document = sandbox.ask(args).json();
        let of_asked = document["skills"].as_array().unwrap().iter().find(|skill| skill["name"] == "acme/in-asked");
        let is_shown = of_asked.is_some_and(|skill| skill.to_string().contains(MARKER));
        assert!(!is_shown && !document.to_string().contains("in-secret"), "{args:?}: {document:#}");
    }
    assert_eq!(decided.decisions(), before);
    // What an agent did before a person hid the skill from it.
    for (name, code) in [("secret", "policy_denied"), ("asked", "policy_denied")] {
        decided.configure("");
        decided.edit(name, "beta");
        decided.configure(PERMISSIONS);
        for args in [&["undo"][..], &["undo", "--dry-run"], &["undo", "--to", "start"]] {
            let error = sandbox.ask(args).refused(5, code).to_string();
            assert!(!error.contains(MARKER) && !error.contains("secret "), "{args:?}: {error}");
        }
    }
}

#[test]
fn hidden_folder_names_look_missing() {
    let decided = Decided::new();
    let sandbox = &decided.sandbox;
    decided.configure(&PERMISSIONS.replace("'in-secret'", "'unknown'"));
    let errors = ["secret", "unknown"].map(|name| {
        let folder = sandbox.home().join(".claude/skills").join(name);
        let text = skill_md(name, "Does things. Use in tests.", "other text");
        write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
        let folder = folder.to_str().unwrap().to_owned();
        ["adopt", "install"].map(|command| {
            let error = sandbox.ask(&[command, &folder]).refused(5, "policy_denied");
            error["message"].to_string().replace(name, "NAME")
        })
    });
    assert_eq!(errors[0], errors[1]);
}

#[test]
fn disabled_adopted_skill_gets_no_link() {
    let decided = Decided::new();
    let sandbox = &decided.sandbox;
    let link = sandbox.home().join(".claude/skills/off");
    let text = skill_md("off", "Does what off says. Use in tests.", "alpha line of off");
    write_files(&link, &[("SKILL.md", text.as_bytes(), false)]);
    let adopted = sandbox.done(&["adopt", link.to_str().unwrap()]);
    assert_eq!(adopted["skills"][0]["links"], json!([]), "{adopted:#}");
    assert!(!link.exists(), "agents do not see it there");
    sandbox.done(&["undo"]);
}

/// A library in which `curate` archives, with the plan of a person who sees all.
fn stale() -> (Decided, String) {
    let decided = Decided::new();
    age(&decided.sandbox);
    note_uses(&decided.sandbox, "back", &[120, 60, 1]);
    let plan = decided.person(&["curate", "plan"])["id"].as_str().unwrap().to_owned();
    (decided, plan)
}

#[test]
fn agent_archives_only_hideable_skills() {
    let (decided, plan) = stale();
    let before = decided.decisions();
    let applied = decided.sandbox.done(&["curate", "apply", &plan]);
    let names: Vec<&str> =
        applied["skills"].as_array().unwrap().iter().map(|skill| skill["skill"].as_str().unwrap()).collect();
    assert_eq!(names, ["in-plain", "plain"], "{applied:#}");
    assert_eq!(decided.decisions(), before);
}

#[test]
fn agent_cannot_restore_persons_archive() {
    let (decided, plan) = stale();
    let sandbox = &decided.sandbox;
    decided.person(&["curate", "apply", &plan]);
    let archived = decided.person(&["curate", "list"])["skills"].clone();
    for skill in archived.as_array().unwrap() {
        for which in ["name", "id"] {
            let code = if skill["name"].as_str().unwrap().ends_with("secret") { "not_found" } else { "policy_denied" };
            // What the hint says of a skill under `ask` works only once it is no longer archived.
            let args = ["curate", "restore", skill[which].as_str().unwrap(), "--json"];
            let answer = sandbox.command(&args).output().unwrap().stdout;
            let document: Value = serde_json::from_slice(&answer).unwrap();
            assert_eq!(document["error"]["code"], code, "{skill}: {document:#}");
        }
    }
    assert!(archived.as_array().unwrap().len() > 4, "{archived:#}");
}
