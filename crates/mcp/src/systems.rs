//! [`SYSTEMS`]: what other systems call our tools, and what their hosts expect beside them. Each is a module that hangs on the rest by its line
//! in the table alone.

mod crab_claw;
mod opencode;
mod spring;

use std::sync::Arc;

use ops::Refusal;
use rmcp::model::{JsonObject, Tool};
use skill::SkillName;

use crate::tool::{Answer, Call, Spec};

/// The systems.
pub(crate) const SYSTEMS: &[System] = &[crab_claw::CRAB_CLAW, opencode::OPENCODE, spring::SPRING];

/// A system.
pub(crate) struct System {
    /// Our name of a tool that it calls otherwise.
    pub own_name: fn(&str) -> Option<String>,
    /// Gives the arguments of a tool their names here.
    pub arguments: fn(&Spec, &mut JsonObject) -> Result<(), Refusal>,
    /// Makes the list of tools what its hosts expect.
    pub offer: fn(&Call<'_>, &mut Vec<Tool>) -> Result<(), Refusal>,
    /// The names of the tools that come with a skill.
    pub names: fn(&Call<'_>, &SkillName) -> Vec<String>,
    /// The tool of a name that came with a skill.
    pub find: fn(&Call<'_>, &str) -> Result<Option<Brought>, Refusal>,
}

/// A tool that came with a skill.
#[derive(Clone)]
pub(crate) struct Brought {
    /// What people are told of it.
    pub title: String,
    /// Calls it.
    pub run: Arc<Run>,
}

type Run = dyn Fn(&Call<'_>, JsonObject) -> Result<Answer, Refusal> + Send + Sync;

impl System {
    /// One with our names and no tools.
    const PLAIN: Self = Self {
        own_name: |_| None,
        arguments: |_, _| Ok(()),
        offer: |_, _| Ok(()),
        names: |_, _| Vec::new(),
        find: |_, _| Ok(None),
    };
}

/// The tool of a name that came with a skill, in whichever system.
pub(crate) fn find(call: &Call<'_>, name: &str) -> Result<Option<Brought>, Refusal> {
    SYSTEMS.iter().find_map(|system| (system.find)(call, name).transpose()).transpose()
}
