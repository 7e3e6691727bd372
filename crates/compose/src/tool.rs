//! [`ComposedTool`]: a tool that a skill's `tool_schema` was compiled to.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    declaration::{self, Declaration},
    host::{Approval, ToolSpec},
    names,
    problem::Problems,
    systems,
};

/// Where a `tool_schema` stands in the frontmatter.
pub(crate) const POINTER: &str = "/tool_schema";

/// A tool made of steps, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComposedTool {
    /// The skill that declares it.
    pub skill: String,
    /// How it is called: `skill_<name>`.
    pub name: String,
    /// The name where a protocol wants ASCII of at most 64 characters.
    pub alias: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its input.
    pub input: Value,
    /// The JSON Schema of its output, where the skill declares one.
    pub output: Option<Value>,
    /// The strictest level of its steps.
    pub approval: Approval,
    /// The `tool_schema` as the author wrote it.
    pub tool_schema: Value,
    /// The digest of the skill that it was compiled from.
    pub source: String,
    /// The tools that its steps call, and the sha256 of what each was when it was compiled.
    pub uses: BTreeMap<String, String>,
    /// How deep composed tools stand in each other below it; 0 where it calls none.
    pub depth: usize,
}

impl ComposedTool {
    /// As a tool that others' steps may call.
    #[must_use]
    pub fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.clone(),
            description: self.description.clone(),
            input: self.input.clone(),
            output: self.output.clone(),
            approval: self.approval,
        }
    }

    /// Its steps, read again from what is stored; `None` where that was changed by hand into something else.
    #[must_use]
    pub fn declaration(&self) -> Option<Declaration> {
        let mut problems = Problems::new("");
        let read = declaration::read(&self.tool_schema, POINTER, &mut problems);
        read.filter(|_| problems.count() == 0)
    }

    /// As a document: `{"name","alias","skill","description","approval","input","output","tools"}`, and what other systems say.
    #[must_use]
    pub fn document(&self) -> Value {
        json!(self.told())
    }

    /// The parts of the document.
    pub(crate) fn told(&self) -> Told<'_> {
        Told {
            name: &self.name,
            alias: &self.alias,
            marks: systems::marks(),
            skill: &self.skill,
            description: &self.description,
            approval: self.approval,
            input: &self.input,
            output: self.output.as_ref(),
            tools: self.uses.keys().collect(),
        }
    }

    /// Whether it is called by this name: its own, its alias, or the skill's.
    #[must_use]
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.alias == name || names::tool_name(name) == self.name
    }
}

/// What a document says of a tool.
#[derive(Serialize)]
pub(crate) struct Told<'a> {
    name: &'a str,
    alias: &'a str,
    #[serde(flatten)]
    marks: Map<String, Value>,
    skill: &'a str,
    description: &'a str,
    approval: Approval,
    input: &'a Value,
    output: Option<&'a Value>,
    tools: Vec<&'a String>,
}

/// The names of a composed tool and of all tools below it, each once.
pub(crate) fn reach<'t>(tool: &'t ComposedTool, find: impl Fn(&str) -> Option<&'t ComposedTool>) -> BTreeSet<&'t str> {
    let mut all = BTreeSet::from([tool.name.as_str()]);
    let mut open = vec![tool];
    while let Some(tool) = open.pop() {
        let added = tool.uses.keys().filter(|used| all.insert(used));
        open.extend(added.filter_map(|used| find(used)));
    }
    all
}
