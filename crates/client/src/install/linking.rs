//! [`Linking`]: the agents' folders in which an installed skill is linked or copied.

use std::path::{Path, PathBuf};

use cap_std::{ambient_authority, fs::Dir};
use library::{
    Library, LinkChanges, LinkPlan, LinkTarget, Origin,
    folder::{self, ToolFiles},
};
use skill::SkillName;

use super::{Installed, planned::PlannedSkill};
use crate::{
    agent_folders::{AgentFolder, AgentFolders},
    tracked::TrackedFolders,
};

/// Returns whether no agent that reads a folder may see a skill of a library that is installed from an origin.
pub type Hides<'a> = dyn Fn(&Library, &SkillName, &Origin, &Path) -> bool + 'a;

/// Options for linking the skills of one request.
pub(crate) struct Linking<'a> {
    /// Folders of the agents that are named or in use.
    pub folders: &'a [AgentFolder],
    /// True for an update: skills that the library has keep their links as they are.
    pub only_new: bool,
    /// True if copies are written in place of links.
    pub copy: bool,
    /// True to link restored skills also for the agents of their lock file entries that this machine has.
    pub of_lock: bool,
    /// True if folders that git tracks are replaced.
    pub replaces_tracked: bool,
    /// Command that replaces them, for the hint in a warning.
    pub command: &'a str,
}

/// Planned links of one skill, and warnings about folders left unchanged.
#[derive(Debug, Default)]
pub(crate) struct Linked {
    pub plan: LinkPlan,
    pub warnings: Vec<String>,
}

impl Linking<'_> {
    /// Plans the links of a skill. An existing folder or link of its name is replaced, unless git tracks it.
    pub fn of(&self, library: &Library, skill: &SkillName, tracked: &mut TrackedFolders) -> Linked {
        let ours = library.state().map(|state| state.of(skill).placed).unwrap_or_default();
        let mut linked = Linked::default();
        for folder in self.folders {
            let path = folder.path.join(skill.as_str());
            let is_other = path_exists(&path) && !ours.contains(&path) && !shows_link(library, skill, &path);
            if is_other && !self.replaces_tracked && tracked.has(&path) {
                let path = path.display();
                linked.warnings.push(format!(
                    "{path} is tracked by git and was not replaced, so its agent keeps reading that copy; to replace \
                     it with a link, run: {} --link",
                    self.command
                ));
                continue;
            }
            let is_copy = ours.contains(&path) && is_folder(&path);
            let copy = self.copy || folder.copy || is_copy;
            linked.plan.targets.push(LinkTarget { copy, ..folder.target(is_other) });
        }
        linked
    }

    /// Returns the folders for a skill. For a skill restored from the lock file, they include those of its agents that
    /// this machine has: a clone has no folders of agents yet. For a skill imported from another tool, they include
    /// other agents' folders that already show it.
    pub(super) fn folders_for(
        &self,
        library: &Library,
        planned: &PlannedSkill,
        known: &AgentFolders,
    ) -> Vec<AgentFolder> {
        let skill = &planned.candidate.name;
        let is_kept = self.only_new && planned.head.is_some();
        let mut folders = if is_kept { Vec::new() } else { self.folders.to_vec() };
        let locked = planned.candidate.locked.as_ref().filter(|_| self.of_lock);
        for folder in locked.iter().flat_map(|locked| known.on_machine(&locked.agents, library.path())) {
            if folders.iter().all(|other| other.path != folder.path) {
                folders.push(folder);
            }
        }
        if planned.candidate.taken.is_some() {
            let shown = |folder: &&AgentFolder| {
                folder.path != library.path() && shows_any(library, planned, &folder.path.join(skill.as_str()))
            };
            let others: Vec<_> = known.all().iter().filter(shown).filter(|f| !folders.contains(f)).cloned().collect();
            folders.extend(others);
        }
        folders
    }
}

/// Copies the outcome of the links into a result.
pub(super) fn follow(result: &mut Installed, changes: LinkChanges) {
    result.links = changes.placed;
    for path in changes.hidden {
        let path = path.display();
        result.warnings.push(format!("not linked at {path}: the skill is hidden from agents there"));
    }
    result.originals = changes.originals.into_iter().map(|original| original.path).collect();
    result.warnings.extend(changes.warnings);
}

/// Returns whether a path exists. A dangling link counts.
pub(crate) fn path_exists(path: &Path) -> bool {
    entry_of(path).is_some()
}

fn is_folder(path: &Path) -> bool {
    entry_of(path).is_some_and(|metadata| metadata.is_dir())
}

fn entry_of(path: &Path) -> Option<cap_std::fs::Metadata> {
    let (folder, name) = path.parent().zip(path.file_name())?;
    Dir::open_ambient_dir(folder, ambient_authority()).ok()?.symlink_metadata(name).ok()
}

/// Returns whether the path is a link to the skill, or a folder with one of its known contents.
fn shows_any(library: &Library, planned: &PlannedSkill, path: &Path) -> bool {
    if shows_link(library, &planned.candidate.name, path) {
        return true;
    }
    let Ok(dir) = Dir::open_ambient_dir(path, ambient_authority()) else { return false };
    let Ok(found) = folder::read_dir(dir, ToolFiles::Skip, library.limits()) else { return false };
    let contents = [planned.cleared.bundle(), &planned.before, &planned.candidate.bundle];
    contents.into_iter().any(|content| folder::has_content(&found, content))
}

/// Returns whether the path is a link to the skill's folder.
fn shows_link(library: &Library, skill: &SkillName, path: &Path) -> bool {
    entry_of(path).is_some_and(|metadata| metadata.is_symlink())
        && library::resolve(path).is_ok_and(|real| real == library.path().join(skill.as_str()))
}

/// Returns the paths at which a plan creates links or copies of a skill.
pub(crate) fn paths_of(plan: &LinkPlan, skill: &SkillName) -> Vec<PathBuf> {
    plan.targets.iter().map(|target| target.folder.join(skill.as_str())).collect()
}
