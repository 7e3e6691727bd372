//! [`SkillStorage`]: a source of skills, and the steps for listing it.

use library::{Library, LibraryError, State};

use crate::{
    builtin::Builtin,
    listed_skill::{ListedSkill, listed, of_builtin},
    skill_locations::Access,
};

/// Source of skills, such as a folder.
pub(crate) trait SkillStorage {
    /// Finds the skills and parses them. A folder without a valid name or path is not a skill.
    fn find(&self) -> Result<Vec<ListedSkill>, LibraryError>;

    /// Returns the settings of the skills, which are stored separately from the files.
    fn states(&self) -> Result<State, LibraryError>;

    /// Finds the skills, and adds whether they are enabled and pinned.
    fn load(&self) -> Result<Vec<ListedSkill>, LibraryError> {
        let (states, mut found) = (self.states()?, self.find()?);
        for skill in &mut found {
            let state = states.of(&skill.name);
            (skill.enabled, skill.pinned) = (state.enabled, state.pinned);
        }
        Ok(found)
    }
}

/// Folder of skills with an optional history.
pub(crate) struct LocalStorage<'a> {
    pub library: &'a Library,
    pub access: Access,
    /// Index among the libraries of the catalogue.
    pub place: usize,
    /// True for a library, false for a folder of agents.
    pub is_own: bool,
}

impl SkillStorage for LocalStorage<'_> {
    fn find(&self) -> Result<Vec<ListedSkill>, LibraryError> {
        let glances = self.access.summaries(self.library)?.into_iter();
        let mut found: Vec<ListedSkill> = glances.map(|glance| listed(self.library, self.place, glance)).collect();
        found.iter_mut().for_each(|skill| skill.found_elsewhere = !self.is_own);
        Ok(found)
    }

    fn states(&self) -> Result<State, LibraryError> {
        self.library.state()
    }
}

/// Read-only skills, from the program and from a registry.
pub(crate) struct ReadOnlyStorage<'a> {
    pub skills: Vec<Builtin>,
    /// Library whose state stores their enabled flags.
    pub library: Option<&'a Library>,
}

impl SkillStorage for ReadOnlyStorage<'_> {
    fn find(&self) -> Result<Vec<ListedSkill>, LibraryError> {
        Ok(self.skills.iter().cloned().map(of_builtin).collect())
    }

    fn states(&self) -> Result<State, LibraryError> {
        Ok(self.library.map(Library::state).transpose()?.unwrap_or_default())
    }
}
