//! Tool names of other systems ([`SYSTEMS`]). Each system has a module, which is only referenced here.

mod crab_claw;

use serde_json::{Map, Value};

/// All supported systems.
const SYSTEMS: &[System] = &[crab_claw::CRAB_CLAW];

/// Compatibility names of another system.
struct System {
    /// Pairs of its tool names and skillhub's.
    tools: &'static [(&'static str, &'static str)],
    /// Additional fields for the JSON of each composed tool.
    marks: &'static [(&'static str, &'static str)],
}

/// Translates a tool name of another system to skillhub's.
pub fn own_name(tool: &str) -> &str {
    names().find(|(theirs, _)| *theirs == tool).map_or(tool, |(_, ours)| ours)
}

/// Returns a clause for messages with the other names of a native tool.
pub(crate) fn also_called(tool: &str) -> String {
    names().filter(|(_, ours)| *ours == tool).map(|(theirs, _)| format!(", also called `{theirs}`,")).collect()
}

/// Returns the additional fields of all systems for the JSON of a composed tool.
pub(crate) fn marks() -> Map<String, Value> {
    let marks = SYSTEMS.iter().flat_map(|system| system.marks);
    marks.map(|(key, value)| ((*key).to_owned(), Value::from(*value))).collect()
}

fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    SYSTEMS.iter().flat_map(|system| system.tools).copied()
}
