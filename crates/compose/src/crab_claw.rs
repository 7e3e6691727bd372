//! Names of Crab Claw, the system that skills which compile to tools come from, beside ours.

use crate::names::SHELL;

/// Gives our name of a tool that Crab Claw calls otherwise.
#[must_use]
pub fn own_name(tool: &str) -> &str {
    if tool == "bash" { SHELL } else { tool }
}
