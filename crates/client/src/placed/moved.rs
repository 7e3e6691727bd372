//! [`MovedLink`]: repair of agents' links after the library's folder was moved.

use std::path::{Path, PathBuf};

use cap_std::{ambient_authority, fs::Dir};
use library::{AgentDir, AgentLinkError, Library, LibraryError, MovedFolder, Relocation, SkillState, Stamp};
use skill::SkillName;

use super::{LinkState, look};

/// Result for one link or copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedLink {
    /// Name of the skill.
    pub skill: SkillName,
    /// Path of the link or copy after the move.
    pub path: PathBuf,
    /// Outcome for this path.
    pub outcome: MovedOutcome,
}

/// Outcome for one link or copy after the move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MovedOutcome {
    /// The path shows the skill, as before.
    Kept,
    /// The link pointed to the old folder and now points to the new one.
    Pointed,
    /// The path no longer exists.
    Gone,
    /// The path was left unchanged, for this reason.
    Left(String),
}

impl MovedOutcome {
    /// Returns the word for the outcome in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Pointed => "pointed",
            Self::Gone => "gone",
            Self::Left(_) => "left",
        }
    }
}

/// Updates the links of a moved library to its new folder, and records their new paths. Calling it again has no further
/// effect.
///
/// # Errors
/// The library's state cannot be read or written.
pub fn follow_move(library: &Library, moved: &Relocation, stamp: &Stamp) -> Result<Vec<MovedLink>, LibraryError> {
    let (state, folder) = (library.state()?, library.moved_folder());
    let present = |path: &Path| present_of(folder.as_ref(), path);
    let mut places = Vec::new();
    for (name, set) in state.skills() {
        let Ok(skill) = SkillName::parse(name) else { continue };
        let found: Vec<MovedLink> =
            set.placed.iter().map(|path| follow(library, moved, &skill, present(path))).collect();
        let mut placed: Vec<PathBuf> = found.iter().map(|place| place.path.clone()).collect();
        placed.sort();
        placed.dedup();
        let hidden_in: Vec<PathBuf> = set.hidden_in.iter().map(|path| present(path)).collect();
        if (&placed, &hidden_in) != (&set.placed, &set.hidden_in) {
            let change = |state: &mut SkillState| (state.placed, state.hidden_in) = (placed, hidden_in);
            library.set_state(&skill, stamp, "link", change)?;
        }
        places.extend(found);
    }
    Ok(places)
}

/// Returns the present path of a link or an agent's folder, which may have stayed where it was.
fn present_of(moved: Option<&MovedFolder>, noted: &Path) -> PathBuf {
    let present = moved.map(|moved| moved.present(noted));
    let has_stayed = |present: &PathBuf| path_exists(noted) && !path_exists(present);
    present.filter(|present| !has_stayed(present)).unwrap_or_else(|| noted.to_owned())
}

fn follow(library: &Library, moved: &Relocation, skill: &SkillName, path: PathBuf) -> MovedLink {
    let old = library::resolve(&moved.from).unwrap_or_else(|_| moved.from.clone()).join(skill.as_str());
    let outcome = match look(library, skill, &path) {
        LinkState::Ours | LinkState::EndedTrial => MovedOutcome::Kept,
        LinkState::Nothing => MovedOutcome::Gone,
        LinkState::Dangling(to) if to == old => match point(library, skill, &path) {
            Ok(()) => MovedOutcome::Pointed,
            Err(error) => MovedOutcome::Left(error.to_string()),
        },
        LinkState::Dangling(to) | LinkState::Elsewhere(to) => {
            MovedOutcome::Left(format!("it leads to {}", to.display()))
        }
        LinkState::Other => MovedOutcome::Left("it has other files".to_owned()),
    };
    MovedLink { skill: skill.clone(), path, outcome }
}

fn point(library: &Library, skill: &SkillName, path: &Path) -> Result<(), AgentLinkError> {
    let folder = path.parent().unwrap_or(path);
    let dir = AgentDir::create(folder)?;
    dir.remove_dangling_link(skill)?;
    library.link_in(&dir, skill).map(drop)
}

fn path_exists(path: &Path) -> bool {
    let Some((parent, name)) = path.parent().zip(path.file_name()) else { return false };
    Dir::open_ambient_dir(parent, ambient_authority()).is_ok_and(|dir| dir.symlink_metadata(name).is_ok())
}
