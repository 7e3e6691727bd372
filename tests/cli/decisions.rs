//! People's decisions against agents: every cell of the decision table over the command line, the Model Context
//! Protocol in both revisions, and HTTP. No agent undoes a decision.

use std::fs;

use agent::decisions::{Act, Answer, Channel, Operation, SkillState, answer};
use serde_json::{Value, json};

use crate::{
    http::gateway::{Gateway, TOKEN},
    mcp::connection::Connection,
    support::{Sandbox, hostile_script, skill_md, write_files},
};

const PERMISSIONS: &str = "[[permissions]]\nskill = 'secret'\ndecision = 'deny'\n[[permissions]]\nskill = 'asked'\n\
                           decision = 'ask'\n[[permissions]]\ntool = 'install_skill'\ndecision = 'allow'\n";

/// In the text of every skill that an agent must not get.
const MARKER: &str = "marker-of-hidden-text";

const BUILTIN: &str = "skillhub-writing-skills";

/// A library with a skill in each state.
struct Decided {
    sandbox: Sandbox,
    token: String,
}

impl Decided {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let token = sandbox.token();
        for name in ["plain", "pinned", "off", "secret", "asked", "blocked", "gone", "back"] {
            sandbox.create(name, &format!("alpha line of {name}"));
        }
        let decided = Self { sandbox, token };
        for name in ["secret", "asked", "back"] {
            decided.edit(name, &format!("alpha {MARKER}"));
        }
        decided.person(&["pin", "pinned"]);
        decided.person(&["disable", "off"]);
        decided.person(&["rollback", "back", "1"]);
        decided.person(&["manage", "delete", "gone"]);
        decided.block();
        fs::write(decided.sandbox.skillhub_home().join("config.toml"), PERMISSIONS).unwrap();
        decided
    }

    fn person(&self, args: &[&str]) -> Value {
        self.sandbox.run_as(&self.token, &[args, &["--actor", "person:ann"]].concat()).done()
    }

    fn edit(&self, name: &str, body: &str) {
        let text = skill_md(name, &format!("Does what {name} says. Use in tests."), body);
        self.sandbox.request(&json!({"action": "edit", "name": name, "content": text})).done();
    }

    fn block(&self) {
        write_files(&self.sandbox.user_skill("blocked"), &[("scripts/a.sh", hostile_script().as_bytes(), true)]);
    }

    /// What people decided, as it is now.
    fn decisions(&self) -> Value {
        let head = |name: &str| self.person(&["show", name])["files"].clone();
        let listed = self.person(&["list"]);
        let enabled = |name: &str| {
            let skills = listed["skills"].as_array().unwrap();
            skills
                .iter()
                .find(|skill| skill["name"] == name)
                .map(|skill| (skill["enabled"].clone(), skill["digest"].clone()))
        };
        let files = ["pinned", "secret", "asked", "back"].map(head);
        json!({
            "pinned": enabled("pinned"), "off": enabled("off").map(|(enabled, _)| enabled), "gone": enabled("gone").is_none(),
            "back": enabled("back"), "secret": enabled("secret"), "asked": enabled("asked"),
            "files": files,
        })
    }
}

fn name_of(state: SkillState) -> &'static str {
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

/// Holds an answer to its cell. What is allowed may end in any way but a refusal by policy.
#[track_caller]
fn check(operation: &Operation, state: SkillState, channel: Channel, document: &Value) {
    let cell = answer(operation.act, state, channel);
    let code = document.pointer("/error/code").or(document.pointer("/skills/0/error/code"));
    let code = code.and_then(Value::as_str).unwrap_or_default();
    let is_right = match cell {
        Answer::Hidden => code == "not_found",
        // A built-in skill is not in the library, which some operations answer with.
        Answer::Refused if state == SkillState::ReadOnly => ["policy_denied", "not_found"].contains(&code),
        Answer::Refused | Answer::Asks => code == "policy_denied",
        Answer::Blocked => ["scan_blocked", "external_blocked"].contains(&code),
        Answer::Held => document["status"] == "proposed" || code == "not_found",
        Answer::Allowed => code != "policy_denied",
    };
    assert!(is_right, "{} of a skill that is {state}, {channel:?}: {cell}, but {document:#}", operation.name);
    let is_hidden = matches!(state, SkillState::Denied | SkillState::Asked);
    assert!(!is_hidden || !document.to_string().contains(MARKER), "{}: {document:#}", operation.name);
}

/// The commands about one skill, those last that take it away.
const COMMANDS: [&[&str]; 31] = [
    &["history", "NAME"],
    &["show", "NAME"],
    &["diff", "NAME"],
    &["blame", "NAME"],
    &["lineage", "NAME"],
    &["status", "NAME"],
    &["stats", "NAME"],
    &["read", "NAME"],
    &["tools", "show", "NAME"],
    &["tools", "call", "NAME"],
    &["tools", "compile", "NAME"],
    &["eval", "lint", "NAME"],
    &["eval", "run", "NAME", "--runner", "true"],
    &["eval", "compare", "NAME", "1", "head", "--runner", "true"],
    &["evolve", "status", "NAME"],
    &["evolve", "check", "NAME"],
    &["evolve", "try", "NAME", "1"],
    &["evolve", "pause", "NAME"],
    &["evolve", "resume", "NAME"],
    &["evolve", "force", "NAME", "promote"],
    &["unpin", "NAME"],
    &["waive", "NAME", "remote-pipe-to-shell", "--reason", "x"],
    &["record", "NAME", "--event", "completed", "--run", "r1"],
    &["commit", "NAME", "--reason", "x"],
    &["manage", "patch", "NAME", "--find", "alpha", "--replace", "beta"],
    &["rollback", "NAME", "1"],
    &["disable", "NAME"],
    &["enable", "NAME"],
    &["tools", "remove", "NAME"],
    &["install", "NAME"],
    &["uninstall", "NAME"],
];

/// Cells that depend on more than the state: what is clean has nothing to record, what is not compiled is not run, what
/// was never installed is not updated.
fn is_conditional(operation: &Operation, state: SkillState) -> bool {
    match operation.act {
        _ if matches!(state, SkillState::Denied | SkillState::Asked) => false,
        Act::Runs => state != SkillState::Normal,
        Act::Installs => state != SkillState::Normal && operation.name != "uninstall",
        _ => operation.name == "commit" && state != SkillState::Normal,
    }
}

#[test]
fn no_command_of_an_agent_undoes_a_decision() {
    let decided = Decided::new();
    let before = decided.decisions();
    for args in COMMANDS {
        let words = [args[..1].join(" "), args[..2].join(" ")];
        let operation = words.iter().find_map(|words| Operation::find(Channel::Cli, words)).unwrap();
        for state in SkillState::ALL {
            let is_removal =
                operation.name == "uninstall" && matches!(state, SkillState::Disabled | SkillState::Blocked);
            if is_removal || is_conditional(operation, state) {
                continue;
            }
            let given: Vec<&str> = args.iter().map(|arg| if *arg == "NAME" { name_of(state) } else { *arg }).collect();
            let document = decided.sandbox.ask(&given).json();
            check(operation, state, Channel::Cli, &document);
        }
    }
    for args in [
        &["list"][..],
        &["status"],
        &["log"],
        &["debug"],
        &["prompt", "--format", "json"],
        &["undo", "--list"],
        &["tools", "list"],
    ] {
        // A rule of the scanner speaks of secrets.
        let text = decided.sandbox.ask(args).text().replace("secrets", "");
        assert!(!text.contains("secret"), "{args:?}: {text}");
    }
    assert_eq!(decided.decisions(), before, "undone decisions");
}

#[test]
fn no_tool_undoes_a_decision() {
    let decided = Decided::new();
    let before = decided.decisions();
    let calls = |name: &str| {
        [
            ("read_skill", json!({"name": name})),
            ("read_skill_file", json!({"name": name, "path": "SKILL.md"})),
            ("skill_history", json!({"name": name})),
            ("skill_diff", json!({"name": name})),
            ("skill_status", json!({"name": name})),
            ("record_outcome", json!({"name": name, "event": "failed", "run": "r"})),
            ("skills_codegen", json!({"names": [name]})),
            ("skill_manage", json!({"action": "patch", "name": name, "find": "alpha", "replace": "beta"})),
            ("skill_rollback", json!({"name": name, "revision": "1"})),
            ("disable_skill", json!({"name": name})),
            ("enable_skill", json!({"name": name})),
            ("skills_codegen_remove", json!({"names": [name]})),
            ("install_skill", json!({"spec": name})),
        ]
    };
    let connections = [Connection::open, Connection::newer];
    for open in connections {
        decided.block();
        let mut agent = open(&decided.sandbox, &[]);
        for state in SkillState::ALL {
            for (tool, arguments) in calls(name_of(state)) {
                let operation = Operation::find(Channel::Mcp, tool).unwrap();
                if !is_conditional(operation, state) {
                    let document = agent.call(tool, &arguments)["structuredContent"].clone();
                    check(operation, state, Channel::Mcp, &document);
                }
            }
        }
        for (tool, arguments) in [
            ("skill_status", json!({})),
            ("skill_review_list", json!({"all": true})),
            ("search_skills", json!({"query": "secret marker"})),
            ("skills_codegen_status", json!({})),
        ] {
            let answer = agent.call(tool, &arguments).to_string();
            assert!(!answer.contains("\"secret\"") && !answer.contains(MARKER), "{tool}: {answer}");
        }
        agent.close();
    }
    assert_eq!(decided.decisions(), before, "undone decisions");
}

#[test]
fn no_route_undoes_a_decision() {
    let decided = Decided::new();
    let before = decided.decisions();
    let gateway = Gateway::start(&decided.sandbox, TOKEN, &[]);
    let text = |name: &str| skill_md(name, &format!("Does what {name} says. Use in tests."), "another");
    let routes = |name: &str| {
        [
            ("GET /api/skills/{name}", Value::Null),
            ("GET /api/skills/custom/{name}/history", Value::Null),
            ("GET /api/skills/custom/{name}/diff", Value::Null),
            ("GET /api/skills/custom/{name}", Value::Null),
            ("PUT /api/skills/custom/{name}", json!({"content": text(name)})),
            ("DELETE /api/skills/custom/{name}", json!({})),
            ("POST /api/skills/custom/{name}/rollback", json!({"revision": "1"})),
            ("PUT /api/skills/{name}", json!({"enabled": true})),
            ("POST /api/skills.codegen", json!({"names": [name]})),
            ("POST /api/skills.codegen.remove", json!({"names": [name]})),
        ]
    };
    for state in SkillState::ALL {
        for (route, body) in routes(name_of(state)) {
            let operation = Operation::find(Channel::Http, route).unwrap();
            let is_visible_anyway = operation.act == Act::Reads && state == SkillState::Disabled;
            let is_removal = route.starts_with("DELETE") && state == SkillState::Disabled;
            if is_visible_anyway || is_removal || is_conditional(operation, state) {
                continue;
            }
            let (_, document) = gateway.ask(&route.replace("{name}", name_of(state)), &body);
            check(operation, state, Channel::Http, &document);
        }
    }
    for route in ["GET /api/skills", "GET /api/skills/custom", "GET /api/proposals?all=true"] {
        let (_, document) = gateway.ask(route, &Value::Null);
        assert!(!document.to_string().contains("secret"), "{route}: {document:#}");
    }
    assert_eq!(decided.decisions(), before, "undone decisions");
}

#[test]
fn denied_skill_answers_like_a_missing_one() {
    let decided = Decided::new();
    let sandbox = &decided.sandbox;
    for args in COMMANDS.iter().filter(|args| !["install", "uninstall", "read"].contains(&args[0])) {
        let given =
            |name: &'static str| args.iter().map(|arg| if *arg == "NAME" { name } else { *arg }).collect::<Vec<_>>();
        let error = |name: &'static str| sandbox.ask(&given(name)).json()["error"].to_string().replace(name, "NAME");
        assert_eq!(error("secret"), error("missing"), "{args:?}");
    }
    let name = "secret";
    let request = json!({"action": "patch", "name": name, "find": "alpha", "replace": "beta"});
    sandbox.request(&request).refused(7, "not_found");
}

#[test]
fn agent_brings_nothing_back_that_a_person_took_back() {
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
fn agent_enables_only_what_an_agent_disabled() {
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
fn every_refused_decision_is_in_the_log() {
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
