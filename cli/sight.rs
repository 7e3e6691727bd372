//! [`FolderSight`]: the skills that the agents which read a folder may see in it.

use std::path::Path;

use agent::Settings;
use client::{AgentFolder, SightOutcome};
use library::{Library, SkillState};
use skill::{QualifiedName, SkillName};

use crate::{context::Context, exit::CliError};

/// The configuration's word on skills, folder by folder: a skill is taken out of a folder when none of the
/// agents that read it may see it. Where only some of them may not, it stays.
pub struct FolderSight {
    settings: Settings,
    folders: Vec<AgentFolder>,
}

impl FolderSight {
    /// That of the folders of the project and of the user.
    ///
    /// # Errors
    /// A part of the configuration cannot be used.
    pub fn new(context: &Context) -> Result<Self, CliError> {
        let known = [context.agent_folders(), context.user_agent_folders()];
        let folders = known.iter().flat_map(|known| known.all()).cloned().collect();
        Ok(Self { settings: context.settings()?, folders })
    }

    /// Tests for a skill that a person hid in a folder, or that a permission or the lists of skills hide from all agents
    /// that read the folder.
    pub fn hides(&self, library: &Library, skill: &SkillName, folder: &Path) -> bool {
        if library.state().is_ok_and(|state| state.of(skill).hidden_in.iter().any(|hidden| hidden == folder)) {
            return true;
        }
        let mut ids = self.readers(folder).peekable();
        let head = library.head(skill).ok().flatten();
        let origin = head.and_then(|head| head.origin).map(|origin| origin.name);
        let qualified = origin.and_then(|name| name.parse::<QualifiedName>().ok()).map(|name| name.to_string());
        ids.peek().is_some() && ids.all(|id| !self.settings.lets_see(id, skill.as_str(), qualified.as_deref()))
    }

    /// The agents that read a folder.
    pub fn readers(&self, folder: &Path) -> impl Iterator<Item = &'static str> {
        self.folders.iter().filter(move |known| known.path == folder).flat_map(|known| known.ids.iter().copied())
    }

    /// Brings the places of a skill to what its state and the configuration say.
    pub fn apply(&self, library: &Library, skill: &SkillName, state: &SkillState) -> Vec<SightOutcome> {
        let is_seen = |folder: &Path| state.enabled && !self.hides(library, skill, folder);
        client::follow_sight(library, skill, &state.placed, is_seen)
    }
}
