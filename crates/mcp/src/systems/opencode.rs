//! OpenCode's tool `skill`: `read_skill` under another name, with the list of skills as its description.

use agent::{Form, ListOptions, Settings};
use ops::Refusal;
use rmcp::model::Tool;

use super::System;
use crate::{
    offer::{budget, listed_text},
    shared::Options,
    tool::Call,
    tools::skills::READ_SKILL,
};

/// Agent id that gets the tool by default, and the form of its description.
const ID: &str = "opencode";

/// OpenCode's name of [`READ_SKILL`].
const SKILL: &str = "skill";

/// Adapter for OpenCode.
pub(super) const OPENCODE: System = System {
    own_name: |name| (name == SKILL).then(|| READ_SKILL.name.to_owned()),
    listed_name,
    offer: |call, options, tools| rename_tool(call, options, tools),
    ..System::PLAIN
};

fn listed_name(call: &Call<'_>, settings: &Settings, tool: &str) -> Option<&'static str> {
    (tool == READ_SKILL.name && settings.has_skill_tool(call.agent).unwrap_or(call.agent == ID)).then_some(SKILL)
}

fn rename_tool(call: &Call<'_>, options: &Options, tools: &mut [Tool]) -> Result<(), Refusal> {
    let settings = call.place.settings()?;
    if let Some(name) = listed_name(call, &settings, READ_SKILL.name)
        && let Some(tool) = tools.iter_mut().find(|tool| tool.name == READ_SKILL.name)
    {
        let look = ListOptions::of(Form::named(ID).unwrap_or(Form::XML));
        let budget = budget(options);
        let listed = call.live.with(|catalogue| listed_text(&catalogue.seen(&settings, call.agent), look, budget))?;
        (tool.name, tool.description) = (name.into(), Some(listed.into()));
    }
    Ok(())
}
