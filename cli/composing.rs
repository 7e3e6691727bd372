//! [`Composing`]: the composed tools of the skills that are visible from here, and what their steps may call.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use agent::{Catalogue, Settings};
use compose::{
    Access, ComposedTool, Entry, Hosts, Native, ServerSettings, ToolHost, ToolSettings, ToolSpec, Workshop,
    WorkshopError,
};
use mcp::{Remote, RemoteServer, STARTED_FOR_TOOLS};
use skill::SkillName;

use crate::{
    catalogue::public_skills,
    context::Context,
    exit::{CliError, failed},
};

/// The tools that steps may call, as long as the configuration says the same.
static KEPT: Mutex<Option<(ToolSettings, PathBuf, Hosts)>> = Mutex::new(None);

/// Lets the tools of steps go, and with them the servers that were started.
pub fn stop_tools() {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).take();
    drop(kept);
}

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
            catalogue: Catalogue::collect(&context.places(true), public_skills(context)?).map_err(failed)?,
            settings: context.settings()?,
            agent: context.agent(agent),
            is_bound: agent.is_some() || !context.is_person(),
            specs,
            hosts,
        })
    }

    /// Compiles and follows.
    pub fn workshop(&self) -> Workshop<'_> {
        Workshop { catalogue: &self.catalogue, tools: &self.specs }
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

    /// Tests for a skill that the configuration hides from the agent.
    pub fn hides(&self, skill: &str) -> bool {
        self.is_bound && self.access().hides(skill)
    }

    /// The skills to compile where none is named: those that the agent sees.
    pub fn names(&self) -> Vec<SkillName> {
        self.catalogue.visible().map(|listed| listed.name.clone()).filter(|name| !self.hides(name.as_str())).collect()
    }

    /// What became of the skill that is meant by a tool's name, its alias or its own.
    pub fn entry<'e>(
        &self,
        entries: &'e BTreeMap<String, Entry>,
        name: &str,
    ) -> Result<(&'e str, &'e Entry), CliError> {
        let is_meant =
            |skill: &str, entry: &Entry| skill == name || entry.tool().is_some_and(|tool| tool.answers_to(name));
        let found = entries.iter().find(|(skill, entry)| is_meant(skill, entry) && !self.hides(skill));
        let found = found.map(|(skill, entry)| (skill.as_str(), entry));
        found.ok_or_else(|| failed(WorkshopError::NotCompiled(name.to_owned())))
    }

    /// The composed tool that the agent means.
    pub fn tool<'e>(&self, entries: &'e BTreeMap<String, Entry>, name: &str) -> Result<&'e ComposedTool, CliError> {
        let (skill, entry) = self.entry(entries, name)?;
        let tool = entry.tool().ok_or_else(|| failed(WorkshopError::NoTool(skill.to_owned(), entry.why())))?;
        match self.access().barred(tool, entries) {
            None => Ok(tool),
            Some(barred) => {
                let (agent, tool) = (self.agent.clone(), tool.name.clone());
                Err(failed(WorkshopError::Denied { agent, tool, barred }))
            }
        }
    }
}

impl Context {
    /// Where the tools are that steps of composed tools may call, as the configuration says. As long as it says the same, a process has them once:
    /// servers that were started stay.
    ///
    /// # Errors
    /// The configuration says it in a way that cannot be used.
    pub fn tool_hosts(&self) -> Result<Hosts, CliError> {
        let settings = ToolSettings::of(&self.config.tools, &self.config.mcp_servers).map_err(failed)?;
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((for_settings, folder, hosts)) = kept.as_ref()
            && (for_settings, folder) == (&settings, &self.cwd)
        {
            return Ok(hosts.clone());
        }
        let places = self.places(true);
        let libraries = places.libraries.into_iter().map(|(library, _)| library);
        let native =
            Native::new(settings.native.clone(), &self.cwd).keeping(libraries.chain([places.home.path().to_owned()]));
        let is_started_for_tools = std::env::var_os(STARTED_FOR_TOOLS).is_some();
        let servers = settings.servers.iter().filter(|_| !is_started_for_tools);
        let servers = servers.map(|(name, server)| (name.clone(), remote(server))).collect();
        let hosts =
            Hosts::new(vec![Arc::new(native), Arc::new(Remote::new(servers))]).grouped(settings.native.groups.clone());
        *kept = Some((settings, self.cwd.clone(), hosts.clone()));
        Ok(hosts)
    }
}

fn remote(server: &ServerSettings) -> RemoteServer {
    let ServerSettings { command, env, url, approval, tools } = server.clone();
    RemoteServer { command, env, url, approval, tools }
}
