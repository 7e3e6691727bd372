//! Hosts of the agents in use, and of those known only by a folder in the home.

use std::path::PathBuf;

use agent::{Host, HostEnvironment, SkillLocations};
use library::{Scope, find_agent};

use super::Workspace;

/// Hosts whose views of the skills matter here.
pub struct Hosts {
    /// Hosts of agents in use.
    pub in_use: Vec<Host>,
    /// Hosts of agents known only by a folder in the home.
    pub known: Vec<Host>,
}

impl Hosts {
    /// Returns all hosts, those in use first.
    pub fn all(&self) -> impl Iterator<Item = &Host> {
        self.in_use.iter().chain(&self.known)
    }

    /// Returns whether the agent with this id is in use.
    pub fn is_in_use(&self, id: &str) -> bool {
        self.in_use.iter().any(|host| host.id == id)
    }
}

impl Workspace {
    /// Returns the ids of the agents in use: those with a folder of their own in the project (in the home, outside of
    /// projects), and those that the configuration names. The list is empty if the library's folder was set explicitly.
    pub fn agents_in_use(&self) -> Vec<&'static str> {
        if self.place.named {
            return Vec::new();
        }
        let hosts = self.with_surroundings(|around| match around.project {
            Some(_) => Host::of_project(around),
            None => Host::of_user(around),
        });
        let mut ids: Vec<&'static str> = hosts.iter().map(|host| host.id).collect();
        let configured = self.config.agents.in_use.iter().filter_map(|id| find_agent(id)).map(|agent| agent.id);
        for id in configured {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    /// Returns the hosts of the agents in use, and of those with a folder in the home.
    pub fn hosts(&self) -> Hosts {
        let in_use: Vec<Host> = self.agents_in_use().into_iter().filter_map(|id| self.host(id)).collect();
        if self.place.named {
            return Hosts { in_use, known: Vec::new() };
        }
        let mut known = self.with_surroundings(Host::of_user);
        known.retain(|host| !in_use.iter().any(|used| used.id == host.id));
        Hosts { in_use, known }
    }

    /// Returns the host of an agent, `None` for an id that is not in the table of agents.
    pub fn host(&self, id: &str) -> Option<Host> {
        let agent = find_agent(id)?;
        Some(self.with_surroundings(|around| Host::of(agent, around)))
    }

    /// Returns the locations of skills like [`Workspace::places`], with the folders that one agent's host reads. An
    /// unknown id gets the common folders.
    pub fn places_of(&self, agent: &str) -> SkillLocations {
        SkillLocations { folders: self.folders_of(agent), ..self.places(false) }
    }

    /// Returns the folders that an agent's host reads. The list is empty if the library's folder was set explicitly.
    pub(super) fn folders_of(&self, agent: &str) -> Vec<(PathBuf, Scope)> {
        match self.place.named {
            true => Vec::new(),
            false => self.with_surroundings(|around| SkillLocations::folders_of(agent, around)),
        }
    }

    fn with_surroundings<T>(&self, look: impl FnOnce(&HostEnvironment<'_>) -> T) -> T {
        let variable = |name: &str| (self.setup.variables)(name).map(PathBuf::from);
        look(&HostEnvironment {
            project: self.place.project.as_deref(),
            cwd: &self.cwd,
            user_home: &self.user_home,
            variable: &variable,
        })
    }
}
