//! Definition of a tool ([`Spec`]), with the context ([`Call`]) and the result ([`ToolResult`]) of its calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
};

use agent::{CatalogueCache, Declared, Session, Visibility};
use ops::{Question, Refusal, Workspace};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use skill::{SkillName, failure::Hint};
use skill_manage::{Report, Status};

use crate::consent::Answer;

/// Definition of one tool.
pub(crate) struct Spec {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    /// Schema of its arguments.
    pub input: fn() -> Value,
    /// Properties of its answer, in addition to `ok`. Null if they are not declared.
    pub output: fn() -> Value,
    pub effect: Effect,
    pub run: fn(&Call<'_>, JsonObject) -> Result<ToolResult, Refusal>,
}

/// Side effects of a tool, which determine its annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// No side effects.
    Reads,
    /// No changes, but requests to registries.
    Fetches,
    /// Changes of skills. The history keeps the previous state.
    Changes,
    /// Installation of skills from registries.
    Installs,
}

impl Effect {
    fn reads(self) -> bool {
        matches!(self, Self::Reads | Self::Fetches)
    }

    /// Returns whether the tool contacts registries, which may be slow.
    pub fn contacts_registry(self) -> bool {
        matches!(self, Self::Fetches | Self::Installs)
    }
}

/// The server's own tools that a client was offered, each with its name in the client's list.
pub(crate) type ListedNames = BTreeMap<&'static str, &'static str>;

/// Context of one tool call.
pub(crate) struct Call<'a> {
    /// The opened project and user libraries.
    pub place: &'a Workspace,
    /// Agent id for permission checks.
    pub agent: &'a str,
    /// Catalogue of available skills, kept up to date.
    pub live: &'a CatalogueCache,
    /// Keys of the questions that a person answered for this call, and the progress that the questions noted.
    pub agreed: &'a [String],
    /// Choice of the person at the client, for the question that was asked last.
    pub answer: Option<&'a Answer>,
    /// Set once the client no longer waits for the answer.
    pub cancelled: &'a AtomicBool,
    /// Run id of the connection, `None` in the stateless protocol.
    pub run: Option<&'a str>,
    /// Returns the tools that the client was offered.
    pub offered: &'a dyn Fn(&Call<'_>) -> Result<ListedNames, Refusal>,
    /// Skills read over this connection, empty in the stateless protocol.
    pub session: &'a Session,
    /// Skills changed over this connection, empty in the stateless protocol.
    pub authored: &'a AuthoredSkills,
}

impl Call<'_> {
    /// Returns `Ok` if a person has accepted exactly this question, else the refusal that asks it. `hint` names the way
    /// to do it without the agent.
    pub fn ask(&self, what: &str, question: Question, hint: impl Into<Hint>) -> Result<(), Refusal> {
        if self.agreed.contains(&question.key) { Ok(()) } else { Err(Refusal::to_ask(what, question, hint)) }
    }
}

/// Result of a tool call.
pub(crate) struct ToolResult {
    /// Structured content.
    pub document: Value,
    /// Text for the model, if it differs from the document.
    pub text: Option<String>,
    /// True if the lists that clients fetch may have changed.
    pub changes_lists: bool,
    /// Tool declarations of the skill that was read.
    pub declared: Option<Declared>,
    /// Tools for the next step, which join the list.
    pub next: &'static [&'static str],
}

impl From<Value> for ToolResult {
    fn from(document: Value) -> Self {
        Self { document, text: None, changes_lists: false, declared: None, next: &[] }
    }
}

impl Spec {
    /// Describes the tool for a client's tool list.
    pub fn tool(&self) -> Tool {
        // Left out where the protocol's default is right.
        let hints = ToolAnnotations::from_raw(None, Some(self.effect.reads()), None, None, Some(false));
        let tool = Tool::new(self.name, self.description, object((self.input)()))
            .with_title(self.title)
            .with_annotations(hints);
        let mut properties = (self.output)();
        if properties.is_null() {
            return tool;
        }
        properties["ok"] = json!({"type": "boolean"});
        let answer = json!({"type": "object", "properties": properties, "required": ["ok"]});
        tool.with_raw_output_schema(object(answer))
    }
}

impl Call<'_> {
    /// Returns a function for the visibility of skills to the agent, under the configuration.
    pub fn sight(&self) -> Result<impl Fn(&SkillName) -> Visibility, Refusal> {
        self.place.visibility_to(None, Some(self.live))
    }
}

/// Skills that a connection changed or proposed to change. Its own outcome reports on them are not counted.
#[derive(Debug, Default)]
pub(crate) struct AuthoredSkills(Mutex<BTreeSet<String>>);

impl AuthoredSkills {
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
