//! Tools that the steps of composed tools may call in a [`Workspace`].

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use agent::CatalogueCache;
use compose::{
    Access, Compiled, Hosts, Native, Outcome, ToolEntry, ToolHost, ToolManager, ToolSettings, class_of, known_code,
};
use serde_json::{Value, json};
use skill::{
    SkillName,
    failure::{Failure, FailureKind, Hint},
};

use crate::{refusal::Refusal, workspace::Workspace};

/// Cached tool hosts, valid as long as the settings and the folder are the same.
static KEPT: Mutex<Option<(ToolSettings, PathBuf, Hosts)>> = Mutex::new(None);

/// Drops the cached tool hosts, which stops the servers that they started.
pub fn stop_tools() {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).take();
    drop(kept);
}

impl Refusal {
    /// Converts the failure of a composed tool.
    pub fn of_tool(failure: &compose::Failure, details: Value) -> Self {
        let kind = class_of(&failure.code);
        let code = if kind == FailureKind::Refused { "policy_denied" } else { known_code(&failure.code) };
        let message = failure.message.clone();
        let failure = Failure { kind, code, hint: failure.hint.clone().map(Hint::from) };
        Self { message, failure, details: Box::new(details), question: None }
    }
}

impl Workspace {
    /// Runs a function with the manager of the tools that are compiled from the skills of a catalogue.
    ///
    /// # Errors
    /// The configuration of tools or servers is invalid, or the catalogue cannot be read.
    pub fn with_tools<T>(&self, live: &CatalogueCache, run: impl FnOnce(&ToolManager<'_>) -> T) -> Result<T, Refusal> {
        let tools = self.tool_hosts()?.tools();
        Ok(live.with(|catalogue| run(&ToolManager { catalogue, tools: &tools }))?)
    }

    /// Compiles the named skills, or all that the actor sees if none is named.
    ///
    /// # Errors
    /// A skill does not exist, or the stored tools cannot be used.
    pub fn compile_tools(&self, manager: &ToolManager<'_>, mut names: Vec<SkillName>) -> Result<Compiled, Refusal> {
        let (settings, agent) = (self.settings()?, self.agent(None));
        let access = Access::new(manager.catalogue, &settings, &agent);
        let is_hidden = |name: &str| !self.is_person() && access.hides(name);
        if names.is_empty() {
            names = manager.catalogue.visible().map(|listed| listed.name.clone()).collect();
            names.retain(|name| !is_hidden(name.as_str()));
        }
        let mut compiled = manager.compile(&names)?;
        compiled.skills.retain(|name, _| !is_hidden(name));
        if !self.is_person() {
            let mut seen = manager.seen_by(&access, &manager.store()?.read()?);
            for (name, outcome) in &mut compiled.skills {
                if let Some(ToolEntry::Broken { problems, .. }) = seen.remove(name) {
                    *outcome = Outcome::Broken(problems);
                }
            }
        }
        Ok(compiled)
    }

    /// Returns the document of the compiled tools whose skills the actor may know of.
    ///
    /// # Errors
    /// The stored tools cannot be used.
    pub fn list_tools(&self, manager: &ToolManager<'_>) -> Result<Value, Refusal> {
        let (settings, agent) = (self.settings()?, self.agent(None));
        let mut entries = manager.follow()?;
        if !self.is_person() {
            entries = manager.seen_by(&Access::new(manager.catalogue, &settings, &agent), &entries);
        }
        let seen = entries.iter().filter(|(_, entry)| !entry.is_gone());
        let tools: Vec<Value> = seen.map(|(skill, entry)| entry.document(skill)).collect();
        Ok(json!({"ok": true, "tools": tools}))
    }

    /// Removes the tools of skills, and returns the document of it.
    ///
    /// # Errors
    /// One of the skills was never compiled. Nothing is removed then.
    pub fn remove_tools(&self, manager: &ToolManager<'_>, names: &[SkillName]) -> Result<Value, Refusal> {
        manager.remove(names)?;
        let removed: Vec<&str> = names.iter().map(SkillName::as_str).collect();
        Ok(json!({"ok": true, "removed": removed}))
    }

    /// Returns the hosts of the tools that steps may call, as configured. They are cached per process as long as the
    /// configuration is unchanged, so started servers keep running.
    ///
    /// # Errors
    /// The configuration of tools or servers is invalid.
    pub fn tool_hosts(&self) -> Result<Hosts, Refusal> {
        let settings = ToolSettings::of(&self.config.tools, &self.config.mcp_servers)?;
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
        let servers = (self.setup().servers)(settings.servers.clone());
        let hosts = Hosts::new(vec![Arc::new(native), servers]).grouped(settings.native.groups.clone());
        *kept = Some((settings, self.cwd.clone(), hosts.clone()));
        Ok(hosts)
    }
}
