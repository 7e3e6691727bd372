//! [`follow_sight`]: the links of a skill in agents' folders go when it is hidden, and come back.

use std::path::{Path, PathBuf};

use library::{AgentDir, Library, Placed};
use skill::SkillName;

use super::{Standing, is_taken, look};

/// What became of a place in an agent's folder when it was hidden or shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SightOutcome {
    /// The link was taken away; the place stays noted.
    Hidden(PathBuf),
    /// The link is there again.
    Shown(PathBuf),
    /// It was left as it is, and the agent goes on seeing what stands there: why.
    Left(PathBuf, String),
}

/// Takes the links that were placed for a skill away from folders whose agents are not to see it, and places
/// them again in the others; `is_seen` says so of a folder. Copies and what others put there stay. A place that cannot
/// be changed is an outcome.
pub fn follow_sight(
    library: &Library,
    skill: &SkillName,
    placed: &[PathBuf],
    is_seen: impl Fn(&Path) -> bool,
) -> Vec<SightOutcome> {
    let seen = |path: &Path| path.parent().is_some_and(&is_seen);
    placed.iter().filter_map(|path| follow_sight_at(library, skill, path, seen(path))).collect()
}

/// The same for one place; nothing where it is already as it should be.
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
        (false, Standing::Other) => left("it holds other files"),
        (false, Standing::Elsewhere(to)) => left(&format!("it leads to {}", to.display())),
        (false, Standing::Nothing | Standing::Dangling(_)) | (true, _) => None,
    }
}
