//! [`Hosts`]: the agents in use, and those known by a folder in the home alone.

use std::path::PathBuf;

use agent::{Host, Places, Surroundings};
use library::{Scope, find_agent};

use super::Workplace;

/// The hosts whose view of the skills matters here.
pub struct Hosts {
    /// Those of agents in use.
    pub in_use: Vec<Host>,
    /// Those of agents that only a folder in the home shows.
    pub known: Vec<Host>,
}

impl Hosts {
    /// All of them, those in use first.
    pub fn all(&self) -> impl Iterator<Item = &Host> {
        self.in_use.iter().chain(&self.known)
    }

    /// Tests for an agent in use, by its id.
    pub fn is_in_use(&self, id: &str) -> bool {
        self.in_use.iter().any(|host| host.id == id)
    }
}

impl Workplace {
    /// The ids of the agents in use: those with a folder of their own in the project; outside of projects, those
    /// with one in the home; and those that the configuration names. Where the flags named the library's folder there are none.
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

    /// The hosts of the agents in use, and of those that the home shows.
    pub fn hosts(&self) -> Hosts {
        let in_use: Vec<Host> = self.agents_in_use().into_iter().filter_map(|id| self.host(id)).collect();
        if self.place.named {
            return Hosts { in_use, known: Vec::new() };
        }
        let mut known = self.with_surroundings(Host::of_user);
        known.retain(|host| !in_use.iter().any(|used| used.id == host.id));
        Hosts { in_use, known }
    }

    /// The host of an agent; `None` for an id that the agents' table does not have.
    pub fn host(&self, id: &str) -> Option<Host> {
        let agent = find_agent(id)?;
        Some(self.with_surroundings(|around| Host::of(agent, around)))
    }

    /// Where skills are found here, as [`Workplace::places`], with the folders that one agent's host reads. An id
    /// that the agents' table does not have gets the common folders.
    pub fn places_of(&self, agent: &str) -> Places {
        Places { folders: self.folders_of(agent), ..self.places(false) }
    }

    /// The folders that an agent's host reads; none where the flags named the library's folder.
    pub(super) fn folders_of(&self, agent: &str) -> Vec<(PathBuf, Scope)> {
        match self.place.named {
            true => Vec::new(),
            false => self.with_surroundings(|around| Places::folders_of(agent, around)),
        }
    }

    fn with_surroundings<T>(&self, look: impl FnOnce(&Surroundings<'_>) -> T) -> T {
        let variable = |name: &str| (self.setup.variables)(name).map(PathBuf::from);
        look(&Surroundings {
            project: self.place.project.as_deref(),
            cwd: &self.cwd,
            user_home: &self.user_home,
            variable: &variable,
        })
    }
}
