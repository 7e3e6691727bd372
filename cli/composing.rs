//! [`Composing`]: the composed tools of the skills that are visible from here, and what their steps may call.

use std::collections::BTreeMap;

use agent::{Catalogue, Settings};
use compose::{Access, ComposedTool, Hosts, ToolEntry, ToolHost, ToolManager, ToolSpec, Trace, WorkshopError};

use crate::{
    context::Context,
    exit::{CliError, failed},
};

/// What `tools` works with.
pub struct Composing {
    catalogue: Catalogue,
    settings: Settings,
    agent: String,
    /// The agent is named or acts itself, and is not shown what the configuration denies to it.
    is_bound: bool,
    hosts: Hosts,
    specs: Vec<ToolSpec>,
}

impl Composing {
    /// For an agent: the one that is named, else the one that acts.
    pub fn new(context: &Context, agent: Option<&str>) -> Result<Self, CliError> {
        let hosts = context.tool_hosts()?;
        let specs = hosts.tools();
        for (server, why) in hosts.faults() {
            context.out.note(&format!("the tools of the MCP server {server} are missing: {why}"));
        }
        Ok(Self {
            catalogue: Catalogue::collect(&context.places(true), context.public_skills()?).map_err(failed)?,
            settings: context.settings()?,
            agent: context.agent(agent),
            is_bound: agent.is_some() || !context.is_person(),
            specs,
            hosts,
        })
    }

    /// Compiles and follows.
    pub fn workshop(&self) -> ToolManager<'_> {
        ToolManager { catalogue: &self.catalogue, tools: &self.specs }
    }

    /// Where the tools are that steps call.
    pub fn host(&self) -> &dyn ToolHost {
        &self.hosts
    }

    /// The tools that steps may call.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Which tools the agent may use.
    pub fn access(&self) -> Access<'_> {
        Access::new(&self.catalogue, &self.settings, &self.agent)
    }

    /// Tests for a run that the agent may not know of.
    pub fn hides_run(&self, run: &Trace) -> bool {
        self.is_bound && self.access().hides_run(run)
    }

    /// The entries as the agent may know them.
    pub fn seen(&self, entries: &BTreeMap<String, ToolEntry>) -> BTreeMap<String, ToolEntry> {
        if self.is_bound { self.workshop().seen_by(&self.access(), entries) } else { entries.clone() }
    }

    /// Finds the entry of a skill by the name or alias of its tool, or by its own, among entries that the agent may know.
    ///
    /// # Errors
    /// No entry has that name.
    pub fn entry<'e>(
        &self,
        entries: &'e BTreeMap<String, ToolEntry>,
        name: &str,
    ) -> Result<(&'e str, &'e ToolEntry), CliError> {
        let is_meant =
            |skill: &str, entry: &ToolEntry| skill == name || entry.tool().is_some_and(|tool| tool.answers_to(name));
        let found = entries.iter().find(|(skill, entry)| is_meant(skill, entry));
        let found = found.map(|(skill, entry)| (skill.as_str(), entry));
        found.ok_or_else(|| failed(WorkshopError::NotCompiled(name.to_owned())))
    }

    /// The composed tool that the agent means.
    pub fn tool<'e>(&self, entries: &'e BTreeMap<String, ToolEntry>, name: &str) -> Result<&'e ComposedTool, CliError> {
        let seen = self.seen(entries);
        let (skill, entry) = self.entry(&seen, name)?;
        let tool = entry.tool().and_then(|_| entries.get(skill)?.tool());
        let tool = tool.ok_or_else(|| failed(WorkshopError::NoTool(skill.to_owned(), entry.why())))?;
        match self.access().first_denied(tool, entries) {
            None => Ok(tool),
            Some(barred) => {
                let (agent, tool) = (self.agent.clone(), tool.name.clone());
                Err(failed(WorkshopError::Denied { agent, tool, barred }))
            }
        }
    }
}
