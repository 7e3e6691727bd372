//! Compatibility with Crab Claw, the system from which skills with `tool_schema` originate.

use super::System;
use crate::names::SHELL;

/// Tool name of Crab Claw, and its fields for the owner and kind of composed tools.
pub(super) const CRAB_CLAW: System =
    System { tools: &[("bash", SHELL)], marks: &[("owner", "composed_subsystem"), ("kind", "Tool")] };
