//! [`Spec`]: a tool with its schemas, its hints and what it does; [`Call`] and [`Answer`] of it.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
};

use agent::{Declared, Listed, Live, Session, Settings, Sight};
use jiff::Timestamp;
use library::Actor;
use ops::{Question, Refusal, Workplace};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use skill::{QualifiedName, SkillName};
use skill_manage::{Report, Status};

/// A tool.
pub(crate) struct Spec {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// The schema of its arguments.
    pub input: fn() -> Value,
    /// The properties of its answer besides `ok`.
    pub output: fn() -> Value,
    pub effect: Effect,
    pub run: fn(&Call<'_>, JsonObject) -> Result<Answer, Refusal>,
}

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Reads,
    /// Nothing, and it asks registries.
    Fetches,
    /// It changes skills; the history keeps what was.
    Changes,
    /// It brings skills from registries.
    Installs,
}

impl Effect {
    fn reads(self) -> bool {
        matches!(self, Self::Reads | Self::Fetches)
    }

    /// Whether it asks registries, which may take a while.
    pub fn goes_out(self) -> bool {
        matches!(self, Self::Fetches | Self::Installs)
    }
}

/// One call.
pub(crate) struct Call<'a> {
    /// Where the server works.
    pub place: &'a Workplace,
    /// The client, as the connection names it.
    pub actor: Actor,
    pub now: Timestamp,
    /// The agent, as permissions name it.
    pub agent: &'a str,
    /// The skills that there are.
    pub live: &'a Live,
    /// The keys of the questions to which a person agreed for this call.
    pub agreed: &'a [String],
    /// Set when nobody waits for the answer any more.
    pub cancelled: &'a AtomicBool,
    /// The run that the connection is; none where requests do not belong together.
    pub run: Option<&'a str>,
    /// What the connection read so far; nothing where requests do not belong together.
    pub session: &'a Session,
    /// The skills that the connection changed; none where requests do not belong together.
    pub authored: &'a Authored,
}

impl Call<'_> {
    /// Goes on where a person agreed to just this; `hint` says how a person does it without the agent.
    pub fn ask(&self, what: &str, question: Question, hint: impl Into<String>) -> Result<(), Refusal> {
        match self.agreed.contains(&question.key) {
            true => Ok(()),
            false => Err(Refusal::to_ask(what, question, hint)),
        }
    }
}

/// What a tool answers.
pub(crate) struct Answer {
    /// The structured content.
    pub document: Value,
    /// The text for the model, where it is not the document.
    pub text: Option<String>,
    /// Whether what clients list may be another now.
    pub changes_lists: bool,
    /// What the skill that was read says of tools.
    pub declared: Option<Declared>,
}

impl From<Value> for Answer {
    fn from(document: Value) -> Self {
        Self { document, text: None, changes_lists: false, declared: None }
    }
}

impl Spec {
    /// As clients list it.
    pub fn tool(&self) -> Tool {
        let reads = self.effect.reads();
        let hints =
            ToolAnnotations::from_raw(Some(self.title.to_owned()), Some(reads), Some(!reads), Some(reads), Some(false));
        let answer = json!({
            "type": "object",
            "properties": with((self.output)(), "ok", json!({"type": "boolean"})),
            "required": ["ok"],
        });
        Tool::new(self.name, self.description, object((self.input)()))
            .with_title(self.title)
            .with_raw_output_schema(object(answer))
            .with_annotations(hints)
    }
}

impl Call<'_> {
    /// What the configuration lets the agent see of a skill.
    pub fn sight(&self, settings: &Settings, name: &SkillName) -> Result<Sight, Refusal> {
        let listed = self.live.with(|catalogue| catalogue.find(name).ok().and_then(Listed::qualified))?;
        let of_history = || -> Result<Option<String>, Refusal> {
            let origin = self.place.library()?.head(name)?.and_then(|head| head.origin);
            Ok(origin.and_then(|origin| origin.name.parse::<QualifiedName>().ok()).map(|name| name.to_string()))
        };
        let qualified = listed.map_or_else(of_history, |name| Ok(Some(name)))?;
        Ok(settings.sight(self.agent, name.as_str(), qualified.as_deref()))
    }

    /// Tests for skills that the agent may know of.
    pub fn sees(&self, settings: &Settings, name: &SkillName) -> bool {
        let sight = self.sight(settings, name);
        !settings.restricts_skills() || sight.is_ok_and(|sight| !matches!(sight, Sight::Denied | Sight::NotOnList))
    }
}

/// The skills that a connection changed, or proposed to change. What it reports of their runs does not count.
#[derive(Debug, Default)]
pub(crate) struct Authored(Mutex<BTreeSet<String>>);

impl Authored {
    pub fn has(&self, skill: &SkillName) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(skill.as_str())
    }

    pub fn add(&self, report: &Report) {
        if matches!(report.status, Status::Applied | Status::Proposed) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(report.name.clone());
        }
    }
}

pub(crate) fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

fn with(mut properties: Value, key: &str, schema: Value) -> Value {
    properties[key] = schema;
    properties
}
