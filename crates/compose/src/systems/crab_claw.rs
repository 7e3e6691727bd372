//! Names of Crab Claw, the system that skills which compile to tools come from.

use super::System;
use crate::names::SHELL;

/// Crab Claw: what it calls a tool of ours, who owns composed tools, and that they are like those of a host.
pub(super) const CRAB_CLAW: System =
    System { tools: &[("bash", SHELL)], marks: &[("owner", "composed_subsystem"), ("kind", "Tool")] };
