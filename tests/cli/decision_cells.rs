//! Every cell of the decision table over the command line, MCP in both revisions, and HTTP. A row without a call fails.

mod commands;

use std::{collections::BTreeSet, fs};

use agent::decisions::{Act, Answer, Channel, Operation, ROUTES, SkillState, TOOLS, answer};
use serde_json::{Value, json};

use super::decisions::{BUILTIN, Decided, MARKER, name_of};
use crate::{
    http::{
        gateway::{Gateway, TOKEN},
        library_pages::{Browser, Got},
    },
    mcp::connection::Connection,
    support::{skill_md, write_files},
};
pub use commands::COMMANDS;
use commands::OTHERS;

/// Cells whose answer depends on more than the state of the skill, with that answer: the code of an error, or `done`.
const CONDITIONAL: [(&str, SkillState, &str); 34] = [
    // A tool that cannot be compiled has its own code, and the report about it can be removed.
    ("tools compile", SkillState::Disabled, "skill_disabled"),
    ("tools compile", SkillState::Blocked, "unreadable"),
    ("tools remove", SkillState::Disabled, "done"),
    ("tools remove", SkillState::Blocked, "done"),
    ("skills_codegen", SkillState::Disabled, "skill_disabled"),
    ("skills_codegen", SkillState::Blocked, "unreadable"),
    ("skills_codegen_remove", SkillState::Disabled, "done"),
    ("skills_codegen_remove", SkillState::Blocked, "done"),
    ("POST /api/skills.codegen", SkillState::Disabled, "skill_disabled"),
    ("POST /api/skills.codegen", SkillState::Blocked, "unreadable"),
    ("POST /api/skills.codegen.remove", SkillState::Disabled, "done"),
    ("POST /api/skills.codegen.remove", SkillState::Blocked, "done"),
    // The optimiser of the test answers nothing that could be judged.
    ("evolve run", SkillState::Pinned, "optimiser_answer"),
    ("evolve run", SkillState::Blocked, "optimiser_answer"),
    ("evolve run", SkillState::TakenBack, "optimiser_answer"),
    // An agent takes its own proposal back, which changes no skill.
    ("review reject", SkillState::Pinned, "done"),
    ("review reject", SkillState::Blocked, "done"),
    ("review reject", SkillState::TakenBack, "done"),
    // A person disabled the skill and archived nothing.
    ("curate restore", SkillState::Disabled, "not_found"),
    // What is not installed is not updated.
    ("update", SkillState::TakenBack, "not_found"),
    // A folder or archive whose name is taken by other content; a hidden name answers like a free one.
    ("adopt", SkillState::Pinned, "exists"),
    ("adopt", SkillState::Blocked, "exists"),
    ("adopt", SkillState::Denied, "policy_denied"),
    ("POST /api/skills/install", SkillState::Pinned, "exists"),
    ("POST /api/skills/install", SkillState::Blocked, "exists"),
    ("POST /api/skills/install", SkillState::Denied, "policy_denied"),
    ("POST /api/skills/install", SkillState::Asked, "exists"),
    // A page that only leads to a rollback is refused as the rollback.
    ("GET /skills/{name}/rollback", SkillState::Pinned, "policy_denied"),
    ("GET /skills/{name}/rollback", SkillState::TakenBack, "policy_denied"),
    // Lists of what was done, and of proposals, name what is gone.
    ("log", SkillState::TakenBack, "done"),
    ("review", SkillState::TakenBack, "done"),
    ("review list", SkillState::TakenBack, "done"),
    ("skill_review_list", SkillState::TakenBack, "done"),
    ("GET /api/proposals", SkillState::TakenBack, "done"),
];

/// Cells exercised over one channel, and the answers that differ from the table.
struct Cells {
    channel: Channel,
    called: BTreeSet<(&'static str, &'static str)>,
    wrong: Vec<String>,
}

impl Cells {
    fn new(channel: Channel) -> Self {
        Self { channel, called: BTreeSet::new(), wrong: Vec::new() }
    }

    /// Checks an answer against its cell. A permitted operation may end in any way except a policy refusal.
    #[track_caller]
    fn check(&mut self, row: &str, state: SkillState, document: &Value) {
        let row = Operation::find(self.channel, row).unwrap_or_else(|| panic!("{row} has no row"));
        self.called.insert((row.name, name_of(state)));
        let conditional = CONDITIONAL.iter().find(|(name, of, _)| (*name, *of) == (row.name, state));
        let code = code(document);
        let (is_right, wanted) = match conditional {
            Some((.., wanted)) => (code == *wanted, (*wanted).to_owned()),
            None => {
                let cell = answer(row.act, state, self.channel);
                (is_right(row.act, (cell, state), code, document), cell.to_string())
            }
        };
        let is_hidden = matches!(state, SkillState::Denied | SkillState::Asked);
        if !is_right || is_hidden && document.to_string().contains(MARKER) {
            self.wrong.push(format!("{} of {state}: {wanted}, but {document}", row.name));
        }
    }

    /// Checks an answer about no particular skill against the cells of the row. Operations that change skills without
    /// naming them are tested further in `decisions`; here only the names of hidden skills are forbidden.
    #[track_caller]
    fn check_whole(&mut self, row: &str, document: &Value) {
        let row = Operation::find(self.channel, row).unwrap_or_else(|| panic!("{row} has no row"));
        for state in SkillState::ALL {
            if matches!(row.act, Act::Lists | Act::Nothing | Act::Decides) {
                self.check(row.name, state, document);
            } else if state == SkillState::Denied && is_named(document, name_of(state)) {
                self.wrong.push(format!("{} names a hidden skill: {document}", row.name));
            } else if row.skills.is_empty() {
                self.called.insert((row.name, name_of(state)));
            }
        }
    }

    /// Panics if an answer was wrong, or a row or cell was not exercised.
    #[track_caller]
    fn end(self, rows: &[Operation]) {
        for row in rows {
            for state in SkillState::ALL {
                assert!(self.called.contains(&(row.name, name_of(state))), "no call: {} of {state}", row.name);
            }
        }
        assert!(self.wrong.is_empty(), "{:?}:\n{}", self.channel, self.wrong.join("\n"));
    }
}

/// Returns the error code, or `done`.
fn code(document: &Value) -> &str {
    let places = ["/error/code", "/skills/0/error/code", "/skills/0/problems/0/code"];
    let found = places.iter().find_map(|place| document.pointer(place)?.as_str());
    found.unwrap_or(if document["ok"] == false { "failed" } else { "done" })
}

fn is_right(act: Act, (cell, state): (Answer, SkillState), code: &str, document: &Value) -> bool {
    match cell {
        Answer::Hidden if act == Act::Lists => !is_named(document, name_of(state)),
        Answer::Hidden => code == "not_found",
        // A built-in skill is not in the library, which some operations answer with.
        Answer::Refused if state == SkillState::ReadOnly => ["policy_denied", "not_found"].contains(&code),
        Answer::Refused | Answer::Asks => code == "policy_denied",
        Answer::Blocked => ["scan_blocked", "external_blocked"].contains(&code),
        Answer::Held => document["status"] == "proposed" || code == "not_found",
        Answer::Allowed => code != "policy_denied",
    }
}

/// Returns whether a list has the skill of this name, or the installed skill of its state.
fn is_named(document: &Value, name: &str) -> bool {
    let text = document.to_string();
    let forms = |name: String| [format!("\"{name}\""), format!("/{name}\""), format!("/{name}\\"), format!(">{name}<")];
    [name.to_owned(), format!("in-{name}")].into_iter().flat_map(forms).any(|form| text.contains(&form))
}

/// Commands whose answers are not JSON.
const AS_TEXT: [&[&str]; 6] =
    [&["mcp"], &["completions", "bash"], &["tour"], &["help"], &["to-prompt", "fresh"], &["read-properties", "fresh"]];

/// Returns the row of a command line.
fn row_of(args: &[&str]) -> &'static Operation {
    let words = [3, 2, 1].map(|count| args.iter().take(count).copied().collect::<Vec<_>>().join(" "));
    words.iter().find_map(|words| Operation::find(Channel::Cli, words)).unwrap()
}

/// Returns the arguments of a command about the skill of a state. `FOLDER` is a folder in an agent's folder, with other
/// content or with content that a person deleted.
fn given(decided: &Decided, args: &[&str], state: SkillState) -> Vec<String> {
    let name = name_of(state);
    let folder = decided.sandbox.home().join(".claude/skills").join(name);
    if args.contains(&"FOLDER") {
        let body = if state == SkillState::TakenBack { format!("alpha line of {name}") } else { "other".to_owned() };
        let text = skill_md(name, &format!("Does what {name} says. Use in tests."), &body);
        write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
    }
    let installed = if name == BUILTIN { name.to_owned() } else { format!("in-{name}") };
    let word = |arg: &&str| match *arg {
        "NAME" => name.to_owned(),
        "PROPOSAL" => decided.proposal(state).to_owned(),
        "FOLDER" => folder.to_str().unwrap().to_owned(),
        arg => arg.replace("IN", &installed),
    };
    args.iter().map(word).collect()
}

/// Runs the command as an agent that edited the skill's folder before, if the folder exists and the command records
/// edits.
fn ask(decided: &Decided, args: &[String], state: SkillState) -> Value {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let file = decided.sandbox.user_skill(name_of(state)).join("SKILL.md");
    let before = fs::read_to_string(&file).ok().filter(|_| words[0] == "commit" && state != SkillState::Blocked);
    if let Some(before) = &before {
        fs::write(&file, before.replace("alpha", "gamma")).unwrap();
    }
    let document = decided.sandbox.ask(&words).json();
    if let (Some(before), false) = (before, document["ok"] == true) {
        fs::write(&file, before).unwrap();
    }
    document
}

#[test]
fn commands_cannot_undo_decisions() {
    let decided = Decided::new();
    let (before, mut cells) = (decided.decisions(), Cells::new(Channel::Cli));
    // For `serve admin-token`, which creates no folder.
    fs::create_dir(decided.sandbox.cwd().join("served")).unwrap();
    for args in OTHERS {
        let document = decided.sandbox.ask(args).json();
        cells.check_whole(row_of(args).name, &document);
    }
    for args in AS_TEXT {
        cells.check_whole(row_of(args).name, &json!(decided.sandbox.run(args).text()));
    }
    for args in COMMANDS {
        for state in SkillState::ALL {
            if state == SkillState::Blocked {
                decided.block();
            }
            let document = ask(&decided, &given(&decided, args, state), state);
            cells.check(row_of(args).name, state, &document);
        }
    }
    cells.end(agent::decisions::COMMANDS);
    assert_eq!(decided.decisions(), before, "undone decisions");
}

/// Returns the tool calls about the skill of a state.
fn calls(decided: &Decided, state: SkillState) -> Vec<(&'static str, Value)> {
    let name = name_of(state);
    let spec = if name == BUILTIN { name.to_owned() } else { format!("acme/in-{name}") };
    vec![
        ("read_skill", json!({"name": name})),
        ("read_skill_file", json!({"name": name, "path": "SKILL.md"})),
        ("search_skills", json!({"query": format!("{name} alpha")})),
        ("skill_history", json!({"name": name})),
        ("skill_diff", json!({"name": name})),
        ("skill_status", json!({"name": name})),
        ("skill_review_list", json!({"name": name})),
        ("skill_review_show", json!({"id": decided.proposal(state)})),
        ("record_outcome", json!({"name": name, "event": "failed", "run": "r"})),
        ("skills_codegen", json!({"names": [name]})),
        ("skills_codegen_status", json!({})),
        ("skill_manage", json!({"action": "patch", "name": name, "find": "alpha", "replace": "beta"})),
        ("skill_rollback", json!({"name": name, "revision": "1"})),
        ("disable_skill", json!({"name": name})),
        ("enable_skill", json!({"name": name})),
        ("skills_codegen_remove", json!({"names": [name]})),
        ("search_marketplace", json!({"query": name})),
        ("install_skill", json!({"spec": spec})),
    ]
}

#[test]
fn tools_cannot_undo_decisions() {
    let decided = Decided::new();
    let before = decided.decisions();
    for open in [Connection::open, Connection::newer] {
        let (mut agent, mut cells) = (open(&decided.sandbox, &[]), Cells::new(Channel::Mcp));
        for state in SkillState::ALL {
            for (tool, arguments) in calls(&decided, state) {
                decided.block();
                let document = agent.call(tool, &arguments)["structuredContent"].clone();
                cells.check(tool, state, &document);
            }
        }
        // Updates of visible skills brought the marker, which their differences show.
        let inbox = agent.call("skill_review_list", &json!({"all": true}))["structuredContent"].clone();
        let is_asked = |skill: &Value| skill["name"].as_str().is_some_and(|name| name.ends_with("asked"));
        assert!(!is_named(&inbox, name_of(SkillState::Denied)), "{inbox}");
        assert!(!inbox["skills"].as_array().unwrap().iter().any(is_asked), "{inbox}");
        for (tool, arguments) in [("skill_status", json!({})), ("search_skills", json!({"query": "secret marker"}))] {
            let answer = agent.call(tool, &arguments)["structuredContent"].clone();
            let is_shown = is_named(&answer, name_of(SkillState::Denied)) || answer.to_string().contains(MARKER);
            assert!(!is_shown, "{tool}: {answer}");
        }
        agent.close();
        cells.end(TOOLS);
    }
    assert_eq!(decided.decisions(), before, "undone decisions");
}

/// Returns the API requests about a skill; those that remove it are last.
fn requests(name: &str) -> Vec<(&'static str, Value)> {
    let text = skill_md(name, &format!("Does what {name} says. Use in tests."), "another");
    vec![
        ("GET /api/prompt/{form}", Value::Null),
        ("GET /api/skills", Value::Null),
        ("GET /api/skills/custom", Value::Null),
        ("POST /api/skills/reload", Value::Null),
        ("GET /api/proposals", Value::Null),
        ("GET /api/skills.codegen.status", Value::Null),
        ("GET /api/skills/{name}", Value::Null),
        ("GET /api/skills/custom/{name}", Value::Null),
        ("GET /api/skills/custom/{name}/history", Value::Null),
        ("GET /api/skills/custom/{name}/diff", Value::Null),
        ("GET /api/proposals/{id}", Value::Null),
        ("POST /api/proposals/{id}/accept", json!({})),
        ("POST /api/proposals/{id}/reject", json!({})),
        ("POST /api/skills.codegen", json!({"names": [name]})),
        ("POST /api/skills.codegen.remove", json!({"names": [name]})),
        ("PUT /api/skills/custom/{name}", json!({"content": text})),
        ("POST /api/skills/custom/{name}/rollback", json!({"revision": "1"})),
        ("PUT /api/skills/{name}", json!({"enabled": true})),
        ("DELETE /api/skills/custom/{name}", json!({})),
    ]
}

/// Returns the fields of a form with their values.
type Fields = &'static [(&'static str, &'static str)];

/// The paths of pages about the skill of a state, by their rows, with the fields of forms.
const PAGES: [(&str, &str, Fields); 17] = [
    ("GET /", "/", &[]),
    ("GET /review", "/review", &[]),
    ("GET /-/sign-in", "/-/sign-in", &[]),
    ("GET /-/static/{file}", "/-/static/none.css", &[]),
    ("GET /skills/{name}", "/skills/NAME", &[]),
    ("GET /skills/{name}/files/{revision}/{*path}", "/skills/NAME/files/1/SKILL.md", &[]),
    ("GET /skills/{name}/files/{revision}/{*path}", "/skills/NAME/files/now/SKILL.md", &[]),
    ("GET /skills/{name}/history", "/skills/NAME/history", &[]),
    ("GET /skills/{name}/diff", "/skills/NAME/diff", &[]),
    ("GET /skills/{name}/rollback", "/skills/NAME/rollback?to=1", &[]),
    ("GET /skills/{name}/changes", "/skills/NAME/changes", &[]),
    ("POST /skills/{name}/keep", "/skills/NAME/keep", &[("revision", "1")]),
    ("GET /review/{id}", "/review/PROPOSAL", &[]),
    ("POST /review/{id}/{decision}", "/review/PROPOSAL/accept", &[("revision", "1")]),
    ("POST /review/{id}/{decision}", "/review/PROPOSAL/reject", &[("revision", "1")]),
    ("POST /skills/{name}/sight", "/skills/NAME/sight", &[("enabled", "yes")]),
    ("POST /skills/{name}/rollback", "/skills/NAME/rollback", &[("to", "1")]),
];

/// Converts the answer of a page to a document of the API.
fn document(got: &Got) -> Value {
    let code = match got.status {
        403 => "policy_denied",
        404 => "not_found",
        422 => "external_blocked",
        status if status >= 400 => "failed",
        _ => return json!({"ok": true, "page": got.text}),
    };
    json!({"ok": false, "error": {"code": code}, "page": got.text})
}

/// Packs an archive under the name of the skill of a state, with other content or with content that a person deleted.
fn archive(decided: &Decided, state: SkillState) -> Vec<u8> {
    let name = name_of(state);
    let body = if state == SkillState::TakenBack { format!("alpha line of {name}") } else { "other".to_owned() };
    let folder = decided.sandbox.path("packed").join(name);
    let text = skill_md(name, &format!("Does what {name} says. Use in tests."), &body);
    write_files(&folder, &[("SKILL.md", text.as_bytes(), false)]);
    decided.sandbox.done(&["pack", folder.to_str().unwrap(), "-o", "packed.skill"]);
    let archive = fs::read(decided.sandbox.cwd().join("packed.skill")).unwrap();
    fs::remove_file(decided.sandbox.cwd().join("packed.skill")).unwrap();
    archive
}

#[test]
fn routes_cannot_undo_decisions() {
    let decided = Decided::new();
    let (before, mut cells) = (decided.decisions(), Cells::new(Channel::Http));
    let gateway = Gateway::start(&decided.sandbox, TOKEN, &[]);
    let browser = Browser::signed_in(&gateway, "");
    for state in SkillState::ALL {
        for (row, path, fields) in PAGES {
            decided.block();
            let path = path.replace("NAME", name_of(state)).replace("PROPOSAL", decided.proposal(state));
            let got = if row.starts_with("GET") { browser.get(&path) } else { browser.send(&path, fields) };
            cells.check(row, state, &document(&got));
        }
    }
    for state in SkillState::ALL {
        for (row, body) in requests(name_of(state)) {
            decided.block();
            let line = row
                .replace("{name}", name_of(state))
                .replace("{form}", "deerflow")
                .replace("{id}", decided.proposal(state));
            cells.check(row, state, &gateway.ask(&line, &body).1);
        }
        let row = "POST /api/skills/install";
        let bearer = format!("Authorization: Bearer {TOKEN}");
        let (_, answer) = gateway.send(row, &[&bearer], &archive(&decided, state));
        cells.check(row, state, &answer);
    }
    for path in ["/-/sign-in", "/-/sign-out"] {
        cells.check_whole(&format!("POST {path}"), &document(&browser.send(path, &[("token", TOKEN)])));
    }
    cells.end(ROUTES);
    // The skill that was deleted and installed again is disabled as before.
    assert_eq!(decided.decisions(), before, "undone decisions");
}

#[test]
fn hidden_skill_looks_missing_over_http() {
    let decided = Decided::new();
    let gateway = Gateway::start(&decided.sandbox, TOKEN, &[]);
    let browser = Browser::signed_in(&gateway, "");
    let of_api = |name: &str| {
        let about = requests(name).into_iter().filter(|(row, _)| row.contains("{name}") || row.contains("codegen"));
        let ask = |(row, body): (&'static str, Value)| {
            (row, gateway.ask(&row.replace("{name}", name).replace("{form}", "xml"), &body).1.to_string())
        };
        about.map(ask).map(|(row, text)| (row, text.replace(name, "NAME"))).collect::<Vec<_>>()
    };
    let of_pages = |name: &str| {
        let about = PAGES.iter().filter(|(row, path, _)| row.starts_with("GET") && path.contains("NAME"));
        let text = |path: &str| browser.get(&path.replace("NAME", name)).text;
        about.map(|(row, path, _)| (*row, text(path).replace(name, "NAME"))).collect::<Vec<_>>()
    };
    assert_eq!(of_api("secret"), of_api("absent"));
    for row in ["PUT /api/skills/custom/NAME", "DELETE /api/skills/custom/NAME"] {
        let malformed = |name: &str| {
            let (status, answer) = gateway.ask(&row.replace("NAME", name), &json!({"unknown": 1}));
            (status, answer.to_string().replace(name, "NAME"))
        };
        assert_eq!(malformed("secret"), malformed("absent"), "{row}");
    }
    assert_eq!(of_pages("secret"), of_pages("absent"));
}
