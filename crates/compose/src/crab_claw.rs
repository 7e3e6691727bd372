//! Names of Crab Claw, the system that skills which compile to tools come from, beside ours.

use crate::names::SHELL;

/// Who composed tools belong to.
pub(crate) const OWNER: &str = "composed_subsystem";
/// What a composed tool is: the same as a tool of a host.
pub(crate) const KIND: &str = "Tool";

/// Gives our name of a tool that Crab Claw calls otherwise.
#[must_use]
pub fn own_name(tool: &str) -> &str {
    if tool == "bash" { SHELL } else { tool }
}
