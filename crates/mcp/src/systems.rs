//! Compatibility with other agent systems, their tool names and the extra tools that their hosts expect. A system's
//! module is connected to the rest only by its line in [`SYSTEMS`].

mod crab_claw;
mod opencode;
mod spring;

use std::sync::Arc;

use agent::Settings;
use ops::Refusal;
use rmcp::model::{JsonObject, Tool};
use skill::SkillName;

use crate::{
    shared::Options,
    tool::{Call, Spec, ToolResult},
};

/// All supported systems.
pub(crate) const SYSTEMS: &[System] = &[crab_claw::CRAB_CLAW, opencode::OPENCODE, spring::SPRING];

/// Adapter for one agent system. Each hook may leave its input unchanged.
pub(crate) struct System {
    /// Maps the system's name of a tool to the name here.
    pub own_name: fn(&str) -> Option<String>,
    /// Renames the system's tool arguments to the names here.
    pub arguments: fn(&Spec, &mut JsonObject) -> Result<(), Refusal>,
    /// Returns the name under which the system's hosts are offered one of the server's own tools, if it differs.
    pub listed_name: fn(&Call<'_>, &Settings, &str) -> Option<&'static str>,
    /// Adjusts the list of tools to the expectations of the system's hosts.
    pub offer: fn(&Call<'_>, &Options, &mut Vec<Tool>) -> Result<(), Refusal>,
    /// Returns the names of the tools that come with a skill.
    pub names: fn(&Call<'_>, &SkillName) -> Vec<String>,
    /// Finds a tool that came with a skill, by name.
    pub find: fn(&Call<'_>, &str) -> Result<Option<BundledTool>, Refusal>,
}

/// A tool that came with a skill.
#[derive(Clone)]
pub(crate) struct BundledTool {
    /// Display name in progress messages.
    pub title: String,
    /// Function that executes a call.
    pub run: Arc<Run>,
}

type Run = dyn Fn(&Call<'_>, JsonObject) -> Result<ToolResult, Refusal> + Send + Sync;

impl System {
    /// An adapter that changes nothing and adds no tools.
    const PLAIN: Self = Self {
        own_name: |_| None,
        arguments: |_, _| Ok(()),
        listed_name: |_, _, _| None,
        offer: |_, _, _| Ok(()),
        names: |_, _| Vec::new(),
        find: |_, _| Ok(None),
    };
}

/// Finds a tool that came with a skill, in any of the systems.
pub(crate) fn find(call: &Call<'_>, name: &str) -> Result<Option<BundledTool>, Refusal> {
    SYSTEMS.iter().find_map(|system| (system.find)(call, name).transpose()).transpose()
}
