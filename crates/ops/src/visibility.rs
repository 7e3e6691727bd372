//! Visibility of skills: to the agents that read a folder, and to the actor.

use std::path::Path;

use agent::{Settings, Visibility};
use client::{AgentFolder, VisibilityOutcome};
use library::{Library, Origin, SkillState};
use skill::SkillName;

use crate::{refusal::Refusal, workspace::Workspace};

/// Visibility of skills by folder, under the configuration. A skill is removed from a folder if none of the agents that
/// read it may see the skill. It stays if some of them may.
pub struct FolderVisibility {
    settings: Settings,
    folders: Vec<AgentFolder>,
}

impl FolderVisibility {
    /// Loads the visibility for the agent folders of the project and the user.
    ///
    /// # Errors
    /// Part of the configuration is invalid.
    pub fn new(place: &Workspace) -> Result<Self, Refusal> {
        let known = [place.agent_folders(), place.user_agent_folders()];
        let folders = known.iter().flat_map(|known| known.all()).cloned().collect();
        Ok(Self { settings: place.settings()?, folders })
    }

    /// Returns whether a skill is hidden in a folder: by a person, or from all agents that read the folder by
    /// permissions or skill lists.
    pub fn hides(&self, library: &Library, skill: &SkillName, folder: &Path) -> bool {
        self.hides_as(library, skill, || qualified(library, skill), folder)
    }

    /// Returns whether a skill will be hidden in a folder once it is installed from an origin, because it is disabled or
    /// for the reasons of [`FolderVisibility::hides`].
    pub fn hides_installed(&self, library: &Library, skill: &SkillName, origin: &Origin, folder: &Path) -> bool {
        let is_disabled = library.state().is_ok_and(|state| !state.of(skill).enabled);
        is_disabled || self.hides_as(library, skill, || origin.qualified_name(), folder)
    }

    fn hides_as(
        &self,
        library: &Library,
        skill: &SkillName,
        qualified: impl FnOnce() -> Option<String>,
        folder: &Path,
    ) -> bool {
        if library.state().is_ok_and(|state| state.of(skill).hidden_in.iter().any(|hidden| hidden == folder)) {
            return true;
        }
        let mut ids = self.readers(folder).peekable();
        let qualified = qualified();
        ids.peek().is_some() && ids.all(|id| !self.settings.grants_visibility(id, skill.as_str(), qualified.as_deref()))
    }

    /// Returns the ids of the agents that read a folder.
    pub fn readers(&self, folder: &Path) -> impl Iterator<Item = &'static str> {
        self.folders.iter().filter(move |known| known.path == folder).flat_map(|known| known.ids.iter().copied())
    }

    /// Adds and removes a skill's links to match its state and the configuration.
    pub fn apply(&self, library: &Library, skill: &SkillName, state: &SkillState) -> Vec<VisibilityOutcome> {
        let is_seen = |folder: &Path| state.enabled && !self.hides(library, skill, folder);
        client::sync_links(library, skill, &state.placed, is_seen)
    }
}

/// Returns the qualified name of a skill that came from a registry.
pub fn qualified(library: &Library, skill: &SkillName) -> Option<String> {
    library.head(skill).ok().flatten()?.origin?.qualified_name()
}

impl Workspace {
    /// Returns a function for the visibility of local skills to the acting agent. A person sees all.
    ///
    /// # Errors
    /// Part of the configuration is invalid.
    pub fn visibility_check(&self) -> Result<impl Fn(&SkillName) -> Visibility + use<>, Refusal> {
        let (settings, agent) = (self.settings()?, self.agent(None));
        let is_open = self.is_person() || !settings.restricts_skills();
        let libraries = if is_open { Vec::new() } else { self.visible_libraries()? };
        Ok(move |skill: &SkillName| {
            if is_open {
                return Visibility::Seen;
            }
            let qualified = libraries.iter().find_map(|library| qualified(library, skill));
            settings.visibility(&agent, skill.as_str(), qualified.as_deref())
        })
    }

    /// Returns a predicate for local skills that the acting agent may know of. A person may know of all.
    ///
    /// # Errors
    /// Part of the configuration is invalid.
    pub fn seen(&self) -> Result<impl Fn(&str) -> bool + use<>, Refusal> {
        let sight = self.visibility_check()?;
        Ok(move |name: &str| {
            SkillName::parse(name)
                .map_or(true, |skill| !matches!(sight(&skill), Visibility::Denied | Visibility::NotOnList))
        })
    }
}
