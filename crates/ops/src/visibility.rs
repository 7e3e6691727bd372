//! Visibility of skills: to the agents that read a folder, and to the actor.

use std::path::Path;

use agent::{
    Catalogue, CatalogueCache, ListedSkill, Settings, Visibility,
    decisions::{Admission, Channel, Operation},
};
use client::{AgentFolder, VisibilityOutcome};
use library::{Library, LibraryError, Origin, ProposalEntry, ProposalId, SkillState};
use skill::SkillName;
use skill_manage::{ManageError, review::ReviewError};

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
fn qualified(library: &Library, skill: &SkillName) -> Option<String> {
    library.head(skill).ok().flatten()?.origin?.qualified_name()
}

/// Returns the qualified name of the skill that a name means: in the first library with its history, else in the first
/// one that had it. A folder without history does not lift a permission about the skill that it shadows.
fn origin(libraries: &[Library], skill: &SkillName) -> Result<Option<String>, LibraryError> {
    let heads = libraries.iter().filter_map(|library| library.head(skill).transpose());
    let heads = heads.collect::<Result<Vec<_>, _>>()?;
    Ok(heads.into_iter().min_by_key(|head| head.tombstone).and_then(|head| head.origin?.qualified_name()))
}

/// Checks an operation on skills and proposals against the decision table. Each proposal comes with its library. `ask`
/// is called for a skill whose use a person has to approve.
///
/// # Errors
/// The operation's error for a missing skill or proposal, or the refusal of `ask`.
pub fn admit(
    operation: &Operation,
    channel: Channel,
    sight: impl Fn(&SkillName) -> Visibility,
    skills: impl IntoIterator<Item = SkillName>,
    proposals: impl IntoIterator<Item = (ProposalId, Result<Library, Refusal>)>,
    ask: impl Fn(&SkillName) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let admission = |skill: &SkillName| operation.admit(channel, skill, &sight(skill));
    for skill in skills {
        if admission(&skill)? == Admission::Ask {
            ask(&skill)?;
        }
    }
    for (id, library) in proposals {
        // The operation itself reports a proposal that does not exist.
        let Ok(library) = library else { continue };
        let entry = library.proposal(&id)?;
        let Some(skill) = entry.as_ref().and_then(ProposalEntry::skill) else { continue };
        if admission(skill).map_err(|_hidden| ManageError::from(ReviewError::NotFound(id)))? == Admission::Ask {
            ask(skill)?;
        }
    }
    Ok(())
}

impl Workspace {
    /// Checks that a skill exists. The answer for a missing one then does not depend on the rest of the request, like
    /// that for a hidden one.
    ///
    /// # Errors
    /// The operation's error for a missing skill, or a library cannot be read.
    pub fn check_exists(&self, live: &CatalogueCache, operation: &Operation, skill: &SkillName) -> Result<(), Refusal> {
        let is_known = live.with(|catalogue| catalogue.has(skill.as_str()))? || self.has_skill(skill)?;
        if is_known { Ok(()) } else { Err(operation.missing(skill).into()) }
    }

    /// Returns a function for the visibility of local skills to the acting agent. A person sees all.
    ///
    /// # Errors
    /// Part of the configuration is invalid.
    pub fn visibility_check(&self) -> Result<impl Fn(&SkillName) -> Visibility + use<>, Refusal> {
        self.visibility_to(None, None)
    }

    /// Returns a function for the visibility of skills to the named agent, else to the acting one. A person sees all.
    /// The origin of a skill is that of the skill which its name means, in the catalogue or else in the libraries. A
    /// skill is denied if its origin cannot be read.
    ///
    /// # Errors
    /// Part of the configuration is invalid, or a library cannot be read.
    pub fn visibility_to<'a>(
        &self,
        agent: Option<&str>,
        live: Option<&'a CatalogueCache>,
    ) -> Result<impl Fn(&SkillName) -> Visibility + use<'a>, Refusal> {
        let (settings, agent) = (self.settings()?, self.agent(agent));
        let is_open = self.is_person() || !settings.restricts_skills();
        let libraries = if is_open { Vec::new() } else { self.visible_with_groups()? };
        let qualified = move |skill: &SkillName| -> Result<Option<String>, Refusal> {
            let listed = |catalogue: &Catalogue| {
                catalogue.find(skill).ok().filter(|listed| !listed.damaged).map(ListedSkill::qualified)
            };
            match live.map(|live| live.with(listed)).transpose()?.flatten() {
                Some(qualified) => Ok(qualified),
                None => Ok(origin(&libraries, skill)?),
            }
        };
        Ok(move |skill: &SkillName| match is_open {
            true => Visibility::Seen,
            false => qualified(skill).map_or(Visibility::Denied, |qualified| {
                settings.visibility(&agent, skill.as_str(), qualified.as_deref())
            }),
        })
    }

    /// Returns a predicate for local skills that the acting agent may know of. A person may know of all.
    ///
    /// # Errors
    /// Part of the configuration is invalid.
    pub fn seen(&self) -> Result<impl Fn(&str) -> bool + use<>, Refusal> {
        let sight = self.visibility_check()?;
        Ok(move |name: &str| SkillName::parse(name).map_or(true, |skill| sight(&skill).is_granted()))
    }
}
