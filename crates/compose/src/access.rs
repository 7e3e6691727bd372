//! Permissions of an agent to use tools ([`Access`]).

use std::collections::{BTreeMap, HashMap};

use agent::{Catalogue, PermissionDecision, Settings, Visibility};

use crate::{
    names::{PREFIX, tool_name},
    store::ToolEntry,
    tool::{ComposedTool, reach},
    trace::{StepTrace, Trace},
};

/// Permissions of an agent: those of the configuration, and those of the skills that it sees.
pub struct Access<'a> {
    settings: &'a Settings,
    agent: &'a str,
    /// Decision for the skill of each composed tool. Disabled and unusable skills are missing.
    skills: HashMap<String, PermissionDecision>,
    /// Tool names of all skills of the catalogue, with true if the configuration hides the skill.
    hidden: HashMap<String, bool>,
}

impl<'a> Access<'a> {
    /// Evaluates the permissions of an agent.
    pub fn new(catalogue: &Catalogue, settings: &'a Settings, agent: &'a str) -> Self {
        let skills = catalogue.skills.iter().filter_map(|listed| {
            let decision = match listed.visibility(settings, agent) {
                Visibility::Seen => PermissionDecision::Allow,
                Visibility::Asked => PermissionDecision::Ask,
                Visibility::Denied | Visibility::NotOnList => PermissionDecision::Deny,
                Visibility::Disabled | Visibility::Unusable(_) => return None,
            };
            Some((tool_name(listed.name.as_str()), decision))
        });
        let hidden = catalogue.skills.iter().map(|listed| {
            let name = listed.name.as_str();
            (tool_name(name), !settings.grants_visibility(agent, name, listed.qualified().as_deref()))
        });
        Self { skills: skills.collect(), hidden: hidden.collect(), settings, agent }
    }

    /// Returns the decision for one tool by itself, without the tools that it calls.
    pub fn decision(&self, tool: &str) -> PermissionDecision {
        let of_list = match self.settings.capability(self.agent, tool) {
            Some(false) => PermissionDecision::Deny,
            Some(true) | None => PermissionDecision::Allow,
        };
        of_list.max(self.of_tool(tool)).max(self.of_skill(tool))
    }

    /// Returns the decision for a tool `part` that the composed tool `whole` calls, directly or through others. If
    /// the agent's list of capabilities names `whole`, that grants its parts as well, except unusable ones. `Ask` is
    /// never weakened.
    pub fn decision_within(&self, whole: &str, part: &str) -> PermissionDecision {
        let is_granted = whole != part && self.settings.capability(self.agent, whole) == Some(true);
        let is_usable = !part.starts_with(PREFIX) || self.skills.contains_key(part);
        if !is_granted || !is_usable {
            return self.decision(part);
        }
        let asked = [self.of_tool(part), self.of_skill(part)].contains(&PermissionDecision::Ask);
        if asked { PermissionDecision::Ask } else { PermissionDecision::Allow }
    }

    fn of_tool(&self, tool: &str) -> PermissionDecision {
        self.settings.permissions.tool(self.agent, tool)
    }

    /// Returns the decision for the skill of a composed tool. Other tools are allowed.
    fn of_skill(&self, tool: &str) -> PermissionDecision {
        match tool.starts_with(PREFIX) {
            true => self.skills.get(tool).copied().unwrap_or(PermissionDecision::Deny),
            false => PermissionDecision::Allow,
        }
    }

    /// Returns whether the configuration hides a skill from this agent.
    pub fn hides(&self, skill: &str) -> bool {
        let by_name = || !self.settings.grants_visibility(self.agent, skill, None);
        self.hidden.get(&tool_name(skill)).copied().unwrap_or_else(by_name)
    }

    /// Returns whether a run was one of a hidden skill, or called one, and the agent has no grant for it.
    pub fn hides_run(&self, run: &Trace) -> bool {
        self.hides_within(&run.tool, run)
    }

    fn hides_within(&self, whole: &str, run: &Trace) -> bool {
        let inner = |step: &StepTrace| {
            step.calls.iter().filter_map(|call| call.run.as_deref()).any(|run| self.hides_within(whole, run))
        };
        self.hides_part(whole, &run.tool)
            || run.steps.iter().any(|step| self.hides_part(whole, &step.tool) || inner(step))
    }

    /// Returns whether a composed tool is one of a hidden skill, or calls one, and the agent has no grant for it.
    pub(crate) fn hides_tool(&self, tool: &ComposedTool, entries: &BTreeMap<String, ToolEntry>) -> bool {
        let tools = by_name(entries);
        reach(tool, |name| tools.get(name).copied()).into_iter().any(|part| self.hides_part(&tool.name, part))
    }

    fn hides_part(&self, whole: &str, part: &str) -> bool {
        let is_hidden = part.strip_prefix(PREFIX).is_some_and(|skill| self.hides(skill));
        is_hidden && self.decision_within(whole, part) == PermissionDecision::Deny
    }

    /// Returns the tools among some entries that the agent may use together with everything they call.
    pub fn offered<'e>(&self, entries: &'e BTreeMap<String, ToolEntry>) -> Vec<&'e ComposedTool> {
        let tools = by_name(entries);
        let offered = entries.values().filter_map(ToolEntry::tool);
        offered.filter(|tool| self.barred_by(tool, &tools).is_none()).collect()
    }

    /// Returns the name of the first tool that is denied to the agent: `tool` itself or one that it calls.
    pub fn first_denied(&self, tool: &ComposedTool, entries: &BTreeMap<String, ToolEntry>) -> Option<String> {
        self.barred_by(tool, &by_name(entries)).map(str::to_owned)
    }

    fn barred_by<'e>(&self, tool: &'e ComposedTool, tools: &HashMap<&str, &'e ComposedTool>) -> Option<&'e str> {
        let all = reach(tool, |name| tools.get(name).copied());
        all.into_iter().find(|part| self.decision_within(&tool.name, part) == PermissionDecision::Deny)
    }
}

fn by_name(entries: &BTreeMap<String, ToolEntry>) -> HashMap<&str, &ComposedTool> {
    entries.values().filter_map(ToolEntry::tool).map(|tool| (tool.name.as_str(), tool)).collect()
}
