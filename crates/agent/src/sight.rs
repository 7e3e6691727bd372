//! [`Sight`]: whether our own readers show a skill to an agent.

use library::Scope;

use crate::{listed::Listed, permission::Decision, settings::Settings};

/// The decision of our own readers about a skill and an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// They show it.
    Seen,
    /// They show it after a person was asked.
    Asked,
    /// A person or an agent disabled it.
    Disabled,
    /// A permission denies it.
    Denied,
    /// The agent has a list of skills, and it is not on it.
    NotOnList,
    /// Its content is not shown to agents: why.
    Unusable(String),
}

impl Listed {
    /// The decision of our own readers for an agent. Reasons that hold for every agent come first.
    #[must_use]
    pub fn sight(&self, settings: &Settings, agent: &str) -> Sight {
        if !self.enabled {
            return Sight::Disabled;
        }
        if let Some(fault) = &self.fault {
            return Sight::Unusable(fault.clone());
        }
        if self.scope == Scope::Builtin && self.name.as_str() == EVOLVING && !settings.tells_of_evolution(agent) {
            return Sight::Unusable("agents change no skills here: skill_evolution is off".to_owned());
        }
        permitted(settings, agent, self.name.as_str(), self.qualified().as_deref())
    }
}

/// The built-in skill by which agents change skills.
const EVOLVING: &str = "skillhub-evolving-skills";

impl Settings {
    /// The configuration's part of what an agent sees of a skill, by its bare name and, where it was installed,
    /// `owner/name`.
    #[must_use]
    pub fn sight(&self, agent: &str, name: &str, qualified: Option<&str>) -> Sight {
        permitted(self, agent, name, qualified)
    }

    /// Tests the configuration for an agent and a skill, by its bare name and, where it was installed, `owner/name`.
    #[must_use]
    pub fn lets_see(&self, agent: &str, name: &str, qualified: Option<&str>) -> bool {
        !matches!(permitted(self, agent, name, qualified), Sight::Denied | Sight::NotOnList)
    }
}

/// The configuration's part of [`Sight`].
fn permitted(settings: &Settings, agent: &str, name: &str, qualified: Option<&str>) -> Sight {
    match settings.permissions.skill(agent, name, qualified) {
        Decision::Deny => Sight::Denied,
        _ if !settings.is_on_list(agent, name, qualified) => Sight::NotOnList,
        Decision::Ask => Sight::Asked,
        Decision::Allow => Sight::Seen,
    }
}
