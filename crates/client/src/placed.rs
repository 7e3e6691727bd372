//! [`LinkedSkill`]: inspection and repair of the links and copies in agents' folders.

mod for_agents;
mod moved;
mod visibility;

use std::path::{Path, PathBuf};

use cap_std::{ambient_authority, fs::Dir};
use library::{AgentDir, AgentLinkError, Library, LibraryError, Stamp};
use skill::SkillName;

pub use for_agents::{RELINK, hide_from, show_in};
pub use moved::{MovedLink, MovedOutcome, follow_move};
pub use visibility::{VisibilityOutcome, sync_link, sync_links};

/// A link or copy of a skill in an agent's folder, as recorded in the library's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedSkill {
    /// Name of the skill.
    pub skill: SkillName,
    /// Path of the link or copy.
    pub path: PathBuf,
    /// True if the library still has the skill.
    pub exists: bool,
    /// True if the skill is enabled. The links of a disabled skill are removed until it is enabled again.
    pub enabled: bool,
    /// Current state of the path.
    pub standing: LinkState,
}

/// State of a path at which a skill was linked or copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkState {
    /// A link to the skill or to its revision on trial, or a copy of one of its revisions.
    Ours,
    /// A link to the files of a trial that has ended.
    EndedTrial,
    /// The path does not exist.
    Nothing,
    /// A link whose target does not exist.
    Dangling(PathBuf),
    /// A link to another folder.
    Elsewhere(PathBuf),
    /// A folder or file that is not a copy of any revision of the skill.
    Other,
}

impl LinkedSkill {
    /// Returns whether the path is in its expected state.
    pub fn is_as_expected(&self) -> bool {
        self.exists && (self.standing == LinkState::Ours || !self.enabled && self.standing == LinkState::Nothing)
    }

    /// Describes the state of the path, as a clause about it.
    pub fn describe(&self) -> String {
        match &self.standing {
            LinkState::Ours if self.exists => format!("shows {}", self.skill),
            LinkState::Ours => format!("still shows {}, which no longer exists", self.skill),
            LinkState::EndedTrial => format!("still shows a revision of {} whose trial has ended", self.skill),
            LinkState::Nothing if self.exists => format!("should show {}, but nothing is there", self.skill),
            LinkState::Nothing => format!("is still recorded for {}, but both are gone", self.skill),
            LinkState::Dangling(to) => format!("leads to {}, which does not exist", to.display()),
            LinkState::Elsewhere(to) => format!(
                "leads to {} and no longer to {}; keep it, or remove it and install again",
                to.display(),
                self.skill
            ),
            LinkState::Other => {
                format!("has files that are in no revision of {}, so skillhub does not remove them", self.skill)
            }
        }
    }
}

/// Inspects every link and copy in the library's state.
///
/// # Errors
/// The library cannot be read.
pub fn linked_skills(library: &Library) -> Result<Vec<LinkedSkill>, LibraryError> {
    let state = library.state()?;
    let mut found = Vec::new();
    for (name, set) in state.skills() {
        let Ok(skill) = SkillName::parse(name) else { continue };
        let exists = library.head(&skill)?.is_some_and(|head| !head.tombstone);
        for path in &set.placed {
            let standing = look(library, &skill, path);
            found.push(LinkedSkill {
                skill: skill.clone(),
                path: path.clone(),
                exists,
                enabled: set.enabled,
                standing,
            });
        }
    }
    Ok(found)
}

fn is_taken(skill: &SkillName, path: &Path) -> bool {
    let dir = path.parent().map(|folder| Dir::open_ambient_dir(folder, ambient_authority()));
    matches!(dir, Some(Ok(dir)) if dir.symlink_metadata(skill.as_str()).is_ok())
}

fn look(library: &Library, skill: &SkillName, path: &Path) -> LinkState {
    let Some(folder) = path.parent() else { return LinkState::Nothing };
    let Ok(dir) = Dir::open_ambient_dir(folder, ambient_authority()) else { return LinkState::Nothing };
    let Ok(metadata) = dir.symlink_metadata(skill.as_str()) else { return LinkState::Nothing };
    if metadata.is_symlink() {
        if let Some(id) = library.trial_of_link(skill, path) {
            let trial = library.state().ok().and_then(|state| state.of(skill).trial);
            return if trial.is_some_and(|trial| trial.id == id) { LinkState::Ours } else { LinkState::EndedTrial };
        }
        let Ok(target) = dir.read_link_contents(skill.as_str()) else { return LinkState::Other };
        let leads_to = library::resolve(&folder.join(&target)).unwrap_or(target);
        if leads_to == library.path().join(skill.as_str()) {
            return LinkState::Ours;
        }
        let opened = Dir::open_ambient_dir(&leads_to, ambient_authority());
        let leads_nowhere = opened.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        return if leads_nowhere { LinkState::Dangling(leads_to) } else { LinkState::Elsewhere(leads_to) };
    }
    let read = || library::folder::read(&dir, skill.as_str(), library::folder::ToolFiles::Skip, library.limits()).ok();
    match read() {
        Some(files) if library.former_contents(skill).any(|former| library::folder::has_content(&files, &former)) => {
            LinkState::Ours
        }
        _ => LinkState::Other,
    }
}

/// Repairs one link. A missing or dangling link is created again. The link to a removed skill is deleted, along with
/// its record. Returns whether the path is in its expected state afterwards.
///
/// # Errors
/// The library, or the agent's folder, cannot be changed.
pub fn repair_link(library: &Library, placed: &LinkedSkill, stamp: &Stamp) -> Result<bool, AgentLinkError> {
    let Some(folder) = placed.path.parent() else { return Ok(false) };
    library.return_link(&placed.skill, &placed.path)?;
    let has_agent = |folder: &Path| Dir::open_ambient_dir(folder, ambient_authority()).is_ok();
    let dir = match AgentDir::open(folder)? {
        Some(dir) => dir,
        None if !placed.exists => return Ok(forget(library, placed, stamp)),
        // The folder may have been lost in a power failure. If the agent's own folder is gone too, nothing is created.
        None if folder.parent().is_some_and(has_agent) => AgentDir::create(folder)?,
        None => return Ok(false),
    };
    match &placed.standing {
        LinkState::Ours | LinkState::EndedTrial if placed.exists => Ok(true),
        // A folder with the skill's content may be a restored original, and is kept.
        LinkState::Ours | LinkState::EndedTrial => {
            dir.remove_link(&placed.skill, library.path())?;
            Ok(forget(library, placed, stamp))
        }
        LinkState::Nothing if !placed.exists => Ok(forget(library, placed, stamp)),
        LinkState::Dangling(_) if !placed.exists => {
            Ok(dir.remove_dangling_link(&placed.skill)? && forget(library, placed, stamp))
        }
        LinkState::Nothing => library.link_in(&dir, &placed.skill).map(|_| true),
        LinkState::Dangling(_) => {
            dir.remove_dangling_link(&placed.skill)?;
            library.link_in(&dir, &placed.skill).map(|_| true)
        }
        LinkState::Elsewhere(_) | LinkState::Other => Ok(false),
    }
}

fn forget(library: &Library, placed: &LinkedSkill, stamp: &Stamp) -> bool {
    let change = |state: &mut library::SkillState| state.placed.retain(|path| *path != placed.path);
    library.set_state(&placed.skill, stamp, "unlink", change).is_ok()
}
