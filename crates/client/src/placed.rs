//! [`PlacedSkill`]: links and copies in agents' folders, looked at and placed again.

mod for_agents;
mod moved;
mod sight;

use std::path::{Path, PathBuf};

use cap_std::{ambient_authority, fs::Dir};
use library::{AgentDir, Library, LibraryError, PlaceLinkError, Stamp};
use skill::SkillName;

pub(crate) use for_agents::RELINK;
pub use for_agents::{hide_in, show_in};
pub use moved::{MovedOutcome, MovedPlace, follow_move};
pub use sight::{SightOutcome, follow_sight, follow_sight_at};

/// A place where a skill was put for agents, as the library's state has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedSkill {
    /// The skill.
    pub skill: SkillName,
    /// The place.
    pub path: PathBuf,
    /// Whether the skill exists.
    pub exists: bool,
    /// Whether agents see it; the links to one that is switched off are taken away meanwhile.
    pub enabled: bool,
    /// What stands there now.
    pub standing: Standing,
}

/// What stands where a skill was placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// A link to the skill, or a copy of one of its revisions.
    Ours,
    /// Nothing.
    Nothing,
    /// A link that leads nowhere.
    Dangling(PathBuf),
    /// A link to something else.
    Elsewhere(PathBuf),
    /// Files that no revision of the skill has.
    Other,
}

impl PlacedSkill {
    /// Whether nothing needs to be done.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.exists && (self.standing == Standing::Ours || !self.enabled && self.standing == Standing::Nothing)
    }

    /// What is wrong, as a clause about the place.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.standing {
            Standing::Ours if self.exists => format!("shows {}", self.skill),
            Standing::Ours => format!("still shows {}, which is gone", self.skill),
            Standing::Nothing if self.exists => format!("{} was placed here and nothing is", self.skill),
            Standing::Nothing => format!("{} is gone, and the place is still noted", self.skill),
            Standing::Dangling(to) => format!("leads to {}, where nothing is", to.display()),
            Standing::Elsewhere(to) => format!(
                "leads to {} and no longer to {}; remove it, then install again, or leave it",
                to.display(),
                self.skill
            ),
            Standing::Other => {
                format!("holds files that no revision of {} has; they are not ours to take away", self.skill)
            }
        }
    }
}

/// Looks at every place that the library's state notes.
///
/// # Errors
/// The library cannot be read.
pub fn placed_skills(library: &Library) -> Result<Vec<PlacedSkill>, LibraryError> {
    let state = library.state()?;
    let mut found = Vec::new();
    for (name, set) in state.skills() {
        let Ok(skill) = SkillName::parse(name) else { continue };
        let exists = library.head(&skill)?.is_some_and(|head| !head.tombstone);
        for path in &set.placed {
            let standing = look(library, &skill, path);
            found.push(PlacedSkill {
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

fn look(library: &Library, skill: &SkillName, path: &Path) -> Standing {
    let Some(folder) = path.parent() else { return Standing::Nothing };
    let Ok(dir) = Dir::open_ambient_dir(folder, ambient_authority()) else { return Standing::Nothing };
    let Ok(metadata) = dir.symlink_metadata(skill.as_str()) else { return Standing::Nothing };
    if metadata.is_symlink() {
        let Ok(target) = dir.read_link_contents(skill.as_str()) else { return Standing::Other };
        let leads_to = library::resolve(&folder.join(&target)).unwrap_or(target);
        if leads_to == library.path().join(skill.as_str()) {
            return Standing::Ours;
        }
        let opened = Dir::open_ambient_dir(&leads_to, ambient_authority());
        let leads_nowhere = opened.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        return if leads_nowhere { Standing::Dangling(leads_to) } else { Standing::Elsewhere(leads_to) };
    }
    let read = || library::folder::read(&dir, skill.as_str(), library::folder::Leftovers::Skip, library.limits()).ok();
    match read() {
        Some(files) if library.former_contents(skill).any(|former| files.same_but_line_ends(&former)) => Standing::Ours,
        _ => Standing::Other,
    }
}

/// Places a skill again where nothing or a link to nowhere stands; takes the link to a skill that is gone
/// away and forgets its place. Says whether all is well now.
///
/// # Errors
/// The system or the library refused.
pub fn mend_placed(library: &Library, placed: &PlacedSkill, stamp: &Stamp) -> Result<bool, PlaceLinkError> {
    let Some(folder) = placed.path.parent() else { return Ok(false) };
    let has_agent = |folder: &Path| Dir::open_ambient_dir(folder, ambient_authority()).is_ok();
    let dir = match AgentDir::open(folder)? {
        Some(dir) => dir,
        None if !placed.exists => return Ok(forget(library, placed, stamp)),
        // Lost with the power, perhaps; an agent that is gone altogether gets nothing.
        None if folder.parent().is_some_and(has_agent) => AgentDir::create(folder)?,
        None => return Ok(false),
    };
    match &placed.standing {
        Standing::Ours if placed.exists => Ok(true),
        // A folder with its content may be an original that is in its place again, and stays.
        Standing::Ours => {
            dir.remove_link(&placed.skill, library.path())?;
            Ok(forget(library, placed, stamp))
        }
        Standing::Nothing if !placed.exists => Ok(forget(library, placed, stamp)),
        Standing::Dangling(_) if !placed.exists => {
            Ok(dir.remove_dangling_link(&placed.skill)? && forget(library, placed, stamp))
        }
        Standing::Nothing => dir.place_link(&placed.skill, library.path()).map(|_| true),
        Standing::Dangling(_) => {
            dir.remove_dangling_link(&placed.skill)?;
            dir.place_link(&placed.skill, library.path()).map(|_| true)
        }
        Standing::Elsewhere(_) | Standing::Other => Ok(false),
    }
}

fn forget(library: &Library, placed: &PlacedSkill, stamp: &Stamp) -> bool {
    let change = |state: &mut library::SkillState| state.placed.retain(|path| *path != placed.path);
    library.set_state(&placed.skill, stamp, "unlink", change).is_ok()
}
