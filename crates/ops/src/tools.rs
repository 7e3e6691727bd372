//! Tools that the steps of composed tools may call in a [`Workspace`].

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use compose::{Hosts, Native, ToolSettings};

use crate::{refusal::Refusal, workspace::Workspace};

/// Cached tool hosts, valid as long as the settings and the folder are the same.
static KEPT: Mutex<Option<(ToolSettings, PathBuf, Hosts)>> = Mutex::new(None);

/// Drops the cached tool hosts, which stops the servers that they started.
pub fn stop_tools() {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).take();
    drop(kept);
}

impl Workspace {
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
