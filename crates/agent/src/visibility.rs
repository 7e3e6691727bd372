//! [`Visibility`]: the decision of our own readers to show a skill to an agent.

use library::Scope;

use crate::{listed_skill::ListedSkill, permission::PermissionDecision, settings::Settings};

/// Decision of our own readers about a skill and an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visibility {
    /// The skill is shown.
    Seen,
    /// The skill is shown with a person's consent.
    Asked,
    /// A person or an agent disabled it.
    Disabled,
    /// A permission denies it.
    Denied,
    /// The agent has a list of skills that does not contain it.
    NotOnList,
    /// Its content is hidden from agents, for the given reason.
    Unusable(String),
}

impl Visibility {
    /// Returns whether the agent may know that the skill exists.
    pub fn is_granted(&self) -> bool {
        !matches!(self, Self::Denied | Self::NotOnList)
    }
}

impl ListedSkill {
    /// Returns the decision of our own readers for an agent. Reasons that apply to every agent take precedence.
    pub fn visibility(&self, settings: &Settings, agent: &str) -> Visibility {
        if !self.enabled {
            return Visibility::Disabled;
        }
        if let Some(fault) = &self.fault {
            return Visibility::Unusable(fault.clone());
        }
        if self.scope == Scope::Builtin && self.name.as_str() == EVOLVING && !settings.mentions_evolution(agent) {
            return Visibility::Unusable("agents may not change skills here: skill_evolution is disabled".to_owned());
        }
        permitted(settings, agent, self.name.as_str(), self.qualified().as_deref())
    }
}

/// Name of the built-in skill with which agents change skills.
const EVOLVING: &str = "skillhub-evolving-skills";

impl Settings {
    /// Returns the decision by the configuration alone, from the skill's bare name and, if it was installed,
    /// `owner/name`.
    pub fn visibility(&self, agent: &str, name: &str, qualified: Option<&str>) -> Visibility {
        permitted(self, agent, name, qualified)
    }

    /// Returns whether the configuration lets an agent see a skill, by its bare name and, if it was installed,
    /// `owner/name`.
    pub fn grants_visibility(&self, agent: &str, name: &str, qualified: Option<&str>) -> bool {
        permitted(self, agent, name, qualified).is_granted()
    }
}

/// Returns the part of [`Visibility`] that depends on the configuration.
fn permitted(settings: &Settings, agent: &str, name: &str, qualified: Option<&str>) -> Visibility {
    match settings.permissions.skill(agent, name, qualified) {
        PermissionDecision::Deny => Visibility::Denied,
        _ if !settings.is_on_list(agent, name, qualified) => Visibility::NotOnList,
        PermissionDecision::Ask => Visibility::Asked,
        PermissionDecision::Allow => Visibility::Seen,
    }
}
