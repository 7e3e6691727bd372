//! [`sync_links`]: removes the links of a hidden skill from agents' folders, and restores them later.

use std::path::{Path, PathBuf};

use library::{AgentDir, AgentLink, Library};
use skill::SkillName;

use super::{LinkState, is_taken, look};

/// Outcome of hiding or showing a skill in one agent's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VisibilityOutcome {
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
pub fn sync_links(
    library: &Library,
    skill: &SkillName,
    placed: &[PathBuf],
    is_seen: impl Fn(&Path) -> bool,
) -> Vec<VisibilityOutcome> {
    let seen = |path: &Path| path.parent().is_some_and(&is_seen);
    placed.iter().filter_map(|path| sync_link(library, skill, path, seen(path))).collect()
}

/// Updates a single link like [`sync_links`]. Returns `None` if it is already in the right state.
#[must_use]
pub fn sync_link(library: &Library, skill: &SkillName, path: &Path, is_seen: bool) -> Option<VisibilityOutcome> {
    if is_seen && is_taken(skill, path) {
        return None;
    }
    let standing = look(library, skill, path);
    let dir = path.parent().map(AgentDir::open);
    let left = |why: &str| Some(VisibilityOutcome::Left(path.to_owned(), why.to_owned()));
    let dir = match dir {
        Some(Ok(Some(dir))) => dir,
        Some(Err(error)) => return left(&error.to_string()),
        Some(Ok(None)) | None => return None,
    };
    match (is_seen, standing) {
        (true, LinkState::Nothing) => match library.link_in(&dir, skill) {
            Ok(AgentLink::New(_)) => Some(VisibilityOutcome::Shown(path.to_owned())),
            Ok(AgentLink::Already(_)) => None,
            Err(error) => left(&error.to_string()),
        },
        (false, LinkState::Ours | LinkState::EndedTrial) => {
            match library.return_link(skill, path).and_then(|()| dir.remove_link(skill, library.path())) {
                Ok(true) => Some(VisibilityOutcome::Hidden(path.to_owned())),
                Ok(false) => left("it is a copy"),
                Err(error) => left(&error.to_string()),
            }
        }
        (false, LinkState::Other) => left("it has other files"),
        (false, LinkState::Elsewhere(to)) => left(&format!("it leads to {}", to.display())),
        (false, LinkState::Nothing | LinkState::Dangling(_)) | (true, _) => None,
    }
}
