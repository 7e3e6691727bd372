//! [`FolderSight`]: the skills that the agents which read a folder may see in it; and those that who acts may know of.

use std::path::Path;

use agent::{Settings, Sight};
use client::{AgentFolder, SightOutcome};
use library::{Library, SkillState};
use skill::{QualifiedName, SkillName};

use crate::{refusal::Refusal, workplace::Workplace};

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
    pub fn new(place: &Workplace) -> Result<Self, Refusal> {
        let known = [place.agent_folders(), place.user_agent_folders()];
        let folders = known.iter().flat_map(|known| known.all()).cloned().collect();
        Ok(Self { settings: place.settings()?, folders })
    }

    /// Tests for a skill that a person hid in a folder, or that a permission or the lists of skills hide from all agents
    /// that read the folder.
    pub fn hides(&self, library: &Library, skill: &SkillName, folder: &Path) -> bool {
        if library.state().is_ok_and(|state| state.of(skill).hidden_in.iter().any(|hidden| hidden == folder)) {
            return true;
        }
        let mut ids = self.readers(folder).peekable();
        let qualified = qualified(library, skill);
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

/// The name of a skill in the registry that it came from, where it came from one.
pub fn qualified(library: &Library, skill: &SkillName) -> Option<String> {
    let origin = library.head(skill).ok().flatten()?.origin?;
    origin.name.parse::<QualifiedName>().ok().map(|name| name.to_string())
}

impl Workplace {
    /// The configuration's word on a skill of the libraries here for the agent that acts; a person sees all.
    ///
    /// # Errors
    /// A part of the configuration cannot be used.
    pub fn sights(&self) -> Result<impl Fn(&SkillName) -> Sight + use<>, Refusal> {
        let (settings, agent) = (self.settings()?, self.agent(None));
        let is_open = self.is_person() || !settings.restricts_skills();
        let libraries = if is_open { Vec::new() } else { self.visible_libraries()? };
        Ok(move |skill: &SkillName| {
            if is_open {
                return Sight::Seen;
            }
            let qualified = libraries.iter().find_map(|library| qualified(library, skill));
            settings.sight(&agent, skill.as_str(), qualified.as_deref())
        })
    }

    /// A test for skills of the libraries here that the agent which acts may know of; a person may know of all.
    ///
    /// # Errors
    /// A part of the configuration cannot be used.
    pub fn seen(&self) -> Result<impl Fn(&str) -> bool + use<>, Refusal> {
        let sight = self.sights()?;
        Ok(move |name: &str| {
            SkillName::parse(name).map_or(true, |skill| !matches!(sight(&skill), Sight::Denied | Sight::NotOnList))
        })
    }
}
