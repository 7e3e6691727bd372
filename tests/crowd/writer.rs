//! [`Writer`]: a concurrent writer that records its acknowledged operations.

use jiff::Timestamp;
use library::{Actor, Home, Library, Scope};
use serde_json::{Value, json};
use skill::{Limits, SkillName};
use skill_manage::{ChangeRequest, Context, Notes, Preset, Rollback};

use crate::support::{Random, Sandbox};

/// A revision that was acknowledged to a writer.
#[derive(Debug, Clone)]
pub struct Acknowledged {
    pub skill: String,
    pub revision: String,
    pub number: u64,
    pub previous: Option<String>,
}

/// A concurrent writer with its own seed.
pub struct Writer<'a> {
    sandbox: &'a Sandbox,
    at: usize,
    skill: String,
    /// The open library; `None` for a writer that starts a process for each operation.
    open: Option<Library>,
    random: Random,
    may_delete: bool,
    /// Error codes of refused operations, such as those that lost a race.
    pub refused: Vec<String>,
    pub acknowledged: Vec<Acknowledged>,
}

impl<'a> Writer<'a> {
    pub fn new(sandbox: &'a Sandbox, at: usize, skill: String, may_delete: bool) -> Self {
        let open = (at % 2 == 1).then(|| open(sandbox));
        let random = Random::new(at as u64);
        Self { sandbox, at, skill, open, random, may_delete, refused: Vec::new(), acknowledged: Vec::new() }
    }

    /// Makes one random operation.
    pub fn work(&mut self, step: usize) {
        let (at, skill) = (self.at, self.skill.clone());
        let line = format!("Writer {at} has done ");
        let note = |step: usize| format!("references/{at}-{}.md", step % 7);
        let request = match self.random.below(20) {
            0..=8 => json!({"action": "write_file", "path": note(step), "content": format!("step {step} of {at}\n")}),
            9..=13 => json!({"action": "patch", "find": line, "replace": format!("{line}{step}, then ")}),
            14..=15 => json!({"action": "remove_file", "path": note(step + 3)}),
            16..=17 => json!({"operations": [
                {"action": "write_file", "path": note(step), "content": format!("first of {step}\n")},
                {"action": "write_file", "path": note(step + 1), "content": format!("second of {step}\n")},
            ]}),
            18 if self.may_delete && at < 2 => json!({"action": "delete"}),
            _ => return self.roll_back(),
        };
        let mut request = request;
        request["name"] = Value::from(skill);
        let answer = self.send(&request);
        self.note(answer);
    }

    /// Restores the previous revision, also after a deletion.
    fn roll_back(&mut self) {
        let answer = match self.open.as_mut() {
            None => self.sandbox.ask(&["rollback", &self.skill]).json(),
            Some(library) => {
                let skill = SkillName::parse(&self.skill).unwrap();
                let notes = Notes::default();
                let rollback = Rollback { skill, to: None, expected_revision: None, notes, dry_run: false };
                answer(skill_manage::roll_back(library, &rollback, &context()))
            }
        };
        self.note(answer);
    }

    fn send(&mut self, request: &Value) -> Value {
        match self.open.as_mut() {
            None => self.sandbox.request(request).json(),
            Some(library) => {
                let request = ChangeRequest::from_json(request.to_string().as_bytes(), &Limits::default()).unwrap();
                answer(skill_manage::manage(library, &request, &context()))
            }
        }
    }

    fn note(&mut self, answer: Value) {
        if answer["ok"] == false {
            let code = answer["error"]["code"].as_str().unwrap().to_owned();
            // On a busy machine, the wait for the lock may time out.
            let of_races = ["not_found", "no_match", "locked", "stale_revision"];
            let message = answer["error"]["message"].as_str().unwrap();
            // Of two writers that restore a deleted skill, the later one finds the deletion as the previous revision.
            let before_is_deletion = code == "invalid_request" && message.contains("is its deletion");
            assert!(before_is_deletion || of_races.contains(&code.as_str()), "{answer:#}");
            if code == "not_found" && message.contains("no skill") {
                self.roll_back_deleted();
            }
            self.refused.push(code);
        } else if answer["status"] == "applied" {
            let text = |key: &str| answer[key].as_str().map(str::to_owned);
            self.acknowledged.push(Acknowledged {
                skill: self.skill.clone(),
                revision: text("revision").unwrap(),
                number: answer["number"].as_u64().unwrap(),
                previous: text("previous_revision"),
            });
        }
    }

    /// Restores a skill that another writer deleted; several writers may try.
    fn roll_back_deleted(&mut self) {
        let answer = self.sandbox.ask(&["rollback", &self.skill]).json();
        if answer["ok"] == true {
            self.note(answer);
        }
    }
}

fn open(sandbox: &Sandbox) -> Library {
    let home = Home::at(sandbox.skillhub_home()).unwrap();
    Library::open(&sandbox.home().join(".agents/skills"), Scope::User, &home, "git").unwrap()
}

fn context() -> Context<'static> {
    let actor: Actor = "agent:server".parse().unwrap();
    Context { actor, time: Timestamp::now(), policy: Preset::Open.into(), surroundings: &Vec::new }
}

/// Converts the result of a call to the command line's document.
fn answer(result: Result<skill_manage::Report, skill_manage::ManageError>) -> Value {
    match result {
        Ok(report) => serde_json::to_value(report).unwrap(),
        Err(error) => json!({"ok": false, "error": {"code": error.code(), "message": error.to_string()}}),
    }
}
