//! [`SYSTEMS`]: names that other systems have for tools, a module for each, which hang on the rest by their line here alone.

mod crab_claw;

use serde_json::{Map, Value};

/// The systems.
const SYSTEMS: &[System] = &[crab_claw::CRAB_CLAW];

/// A system.
struct System {
    /// What it calls tools, and what we do.
    tools: &'static [(&'static str, &'static str)],
    /// What its documents say of each composed tool.
    marks: &'static [(&'static str, &'static str)],
}

/// Gives our name of a tool that a system calls otherwise.
#[must_use]
pub fn own_name(tool: &str) -> &str {
    names().find(|(theirs, _)| *theirs == tool).map_or(tool, |(_, ours)| ours)
}

/// A clause with the other names of a tool of ours.
pub(crate) fn also_called(tool: &str) -> String {
    names().filter(|(_, ours)| *ours == tool).map(|(theirs, _)| format!(", also called `{theirs}`,")).collect()
}

/// What documents say of each composed tool.
pub(crate) fn marks() -> Map<String, Value> {
    let marks = SYSTEMS.iter().flat_map(|system| system.marks);
    marks.map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect()
}

fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    SYSTEMS.iter().flat_map(|system| system.tools).copied()
}
