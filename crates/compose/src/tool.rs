//! Tools compiled from a skill's `tool_schema` ([`ComposedTool`]).

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

/// JSON Pointer of `tool_schema` in the frontmatter.
pub(crate) const POINTER: &str = "/tool_schema";

/// A tool made of steps, in its stored form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComposedTool {
    /// Skill that declares it.
    pub skill: String,
    /// Name for calls: `skill_<name>`.
    pub name: String,
    /// Name for protocols that require ASCII of at most 64 characters.
    pub alias: String,
    /// Description for agents.
    pub description: String,
    /// JSON Schema of its input.
    pub input: Value,
    /// JSON Schema of its output, if the skill declares one.
    pub output: Option<Value>,
    /// Strictest approval level of its steps when it was compiled.
    pub approval: Approval,
    /// The `tool_schema` as the author wrote it.
    pub tool_schema: Value,
    /// Digest of the skill from which it was compiled.
    pub source: String,
    /// Tools called by its steps, with the fingerprint (SHA-256) of each at compile time.
    pub uses: BTreeMap<String, String>,
    /// Nesting depth of composed tools below it; 0 if it calls none.
    pub depth: usize,
}

impl ComposedTool {
    /// Returns its interface for steps of other tools.
    pub fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.clone(),
            description: self.description.clone(),
            input: self.input.clone(),
            output: self.output.clone(),
            approval: self.approval,
        }
    }

    /// Parses the stored steps; `None` if the file was edited and they are invalid.
    pub fn declaration(&self) -> Option<Declaration> {
        let mut problems = Problems::new("");
        let read = declaration::read(&self.tool_schema, POINTER, &mut problems);
        read.filter(|_| problems.count() == 0)
    }

    /// Returns the tool as JSON: `{"name","alias","skill","description","approval","input","output","tools"}`, and
    /// fields for other systems.
    pub fn document(&self) -> Value {
        json!(self.json_fields())
    }

    /// Returns the parts of that JSON.
    pub(crate) fn json_fields(&self) -> ToolDocument<'_> {
        ToolDocument {
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

    /// Returns whether a name refers to it: its own, its alias, or the skill's.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.alias == name || names::tool_name(name) == self.name
    }
}

/// JSON of a tool.
#[derive(Serialize)]
pub(crate) struct ToolDocument<'a> {
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

/// Returns the names of a composed tool and of all tools below it, without duplicates.
pub(crate) fn reach<'t>(tool: &'t ComposedTool, find: impl Fn(&str) -> Option<&'t ComposedTool>) -> BTreeSet<&'t str> {
    let mut all = BTreeSet::from([tool.name.as_str()]);
    let mut open = vec![tool];
    while let Some(tool) = open.pop() {
        let added = tool.uses.keys().filter(|used| all.insert(used));
        open.extend(added.filter_map(|used| find(used)));
    }
    all
}
