//! [`place`]: links to an installed skill, or copies of it, in agents' folders.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use library::{AgentDir, Library, PlaceLinkError, Placed, SkillState, Stamp};
use scan::Cleared;
use skill::{Bundle, SkillName};

use super::{Installed, plan::Planned};
use crate::{
    agent_folders::AgentFolder,
    placed::{renew_copy, shows},
};

/// A skill that is to be placed.
struct Placing<'a> {
    skill: &'a SkillName,
    library: &'a Path,
    files: &'a Cleared,
    before: &'a Bundle,
    copy: bool,
    /// Whether a copy that another tool placed is as good as a link.
    takes_over: bool,
}

/// The folders in which a skill is to be placed: of one that is taken over, those that show it already,
/// by a link or as a copy.
pub(super) fn folders_for(library: &Library, planned: &Planned, folders: &[AgentFolder]) -> Vec<AgentFolder> {
    let skill = &planned.candidate.name;
    let is_wanted = |folder: &&AgentFolder| {
        planned.candidate.taken.is_none() || shows(library, skill, &folder.path.join(skill.as_str()))
    };
    folders.iter().filter(is_wanted).cloned().collect()
}

/// Places a skill in the folders and renews the copies that were placed before, which are `known`. Nothing
/// here fails the install; what did not work is a warning. Returns where it all stands.
pub(super) fn place(
    library: &Library,
    planned: &Planned,
    (folders, copy): (&[AgentFolder], bool),
    known: Vec<PathBuf>,
    result: &mut Installed,
) -> Vec<PathBuf> {
    let skill = &planned.candidate.name;
    let (files, before) = (&planned.cleared, &planned.before);
    let takes_over = planned.candidate.taken.is_some();
    let placing = Placing { skill, library: library.path(), files, before, copy, takes_over };
    let mut placed = Vec::new();
    for folder in folders {
        let was_ours = known.contains(&folder.path.join(skill.as_str()));
        match placing.place(&folder.path, was_ours) {
            Ok(path) => placed.push(path),
            Err(error) => result.warnings.push(error.to_string()),
        }
    }
    for path in known.iter().filter(|path| !placed.contains(path)) {
        if let Some(Err(error)) = path.parent().map(|folder| placing.renew_copy(folder)) {
            result.warnings.push(error.to_string());
        }
    }
    let mut all: Vec<PathBuf> = known.into_iter().chain(placed.iter().cloned()).collect();
    all.sort();
    all.dedup();
    result.links = placed;
    all
}

/// Remembers where skills stand, in one step for all of them.
pub(super) fn note_places(
    library: &Library,
    places: &BTreeMap<SkillName, Vec<PathBuf>>,
    stamp: &Stamp,
    results: &mut [Installed],
) {
    let note = |skill: &SkillName, state: &mut SkillState| {
        state.placed = places.get(skill).cloned().unwrap_or_default();
    };
    if let Err(error) = library.set_states(places.keys(), stamp, "link", note) {
        for result in results.iter_mut().filter(|result| !result.links.is_empty()) {
            result.warnings.push(format!("the places of {} were not noted: {error}", result.name));
        }
    }
}

impl Placing<'_> {
    fn place(&self, folder: &Path, was_ours: bool) -> Result<PathBuf, PlaceLinkError> {
        let dir = AgentDir::create(folder)?;
        let was_copy = was_ours && dir.remove_copy(self.skill, self.before)?;
        if self.copy || was_copy {
            dir.remove_link(self.skill, self.library)?;
            return dir.place_copy(self.skill, self.files).map(path_of);
        }
        match dir.place_link(self.skill, self.library) {
            Err(PlaceLinkError::Occupied(_)) if self.takes_over => dir.place_copy(self.skill, self.files).map(path_of),
            placed => placed.map(path_of),
        }
    }

    /// A copy from before that is not asked for now is brought up to date all the same.
    fn renew_copy(&self, folder: &Path) -> Result<(), PlaceLinkError> {
        renew_copy(self.skill, folder, (self.before, self.files))
    }
}

fn path_of(placed: Placed) -> PathBuf {
    placed.path().to_owned()
}
