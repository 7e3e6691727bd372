//! [`follow_sight`]: removes the links of a hidden skill from agents' folders, and restores them later.

use std::path::{Path, PathBuf};

use library::{AgentDir, Library, Placed};
use skill::SkillName;

use super::{Standing, is_taken, look};

/// Outcome of hiding or showing a skill in one agent's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SightOutcome {
    /// The link was removed; its record is kept.
    Hidden(PathBuf),
    /// The link was created again.
    Shown(PathBuf),
    /// The path was left unchanged, for this reason, so that the agent still reads it.
    Left(PathBuf, String),
}

/// Removes a skill's links from folders whose agents must not see it, and creates them again in the others. `is_seen`
/// decides for each folder. Copies and files of others are kept. A link that cannot be changed is reported as an
/// outcome.
pub fn follow_sight(
    library: &Library,
    skill: &SkillName,
    placed: &[PathBuf],
    is_seen: impl Fn(&Path) -> bool,
) -> Vec<SightOutcome> {
    let seen = |path: &Path| path.parent().is_some_and(&is_seen);
    placed.iter().filter_map(|path| follow_sight_at(library, skill, path, seen(path))).collect()
}

/// Updates a single link like [`follow_sight`]. Returns `None` if it is already in the right state.
#[must_use]
pub fn follow_sight_at(library: &Library, skill: &SkillName, path: &Path, is_seen: bool) -> Option<SightOutcome> {
    if is_seen && is_taken(skill, path) {
        return None;
    }
    let standing = look(library, skill, path);
    let dir = path.parent().map(AgentDir::open);
    let left = |why: &str| Some(SightOutcome::Left(path.to_owned(), why.to_owned()));
    let dir = match dir {
        Some(Ok(Some(dir))) => dir,
        Some(Err(error)) => return left(&error.to_string()),
        Some(Ok(None)) | None => return None,
    };
    match (is_seen, standing) {
        (true, Standing::Nothing) => match dir.place_link(skill, library.path()) {
            Ok(Placed::New(_)) => Some(SightOutcome::Shown(path.to_owned())),
            Ok(Placed::Already(_)) => None,
            Err(error) => left(&error.to_string()),
        },
        (false, Standing::Ours) => match dir.remove_link(skill, library.path()) {
            Ok(true) => Some(SightOutcome::Hidden(path.to_owned())),
            Ok(false) => left("it is a copy"),
            Err(error) => left(&error.to_string()),
        },
        (false, Standing::Other) => left("it has other files"),
        (false, Standing::Elsewhere(to)) => left(&format!("it leads to {}", to.display())),
        (false, Standing::Nothing | Standing::Dangling(_)) | (true, _) => None,
    }
}
