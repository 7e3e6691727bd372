//! [`MovedLink`]: repair of agents' links after the library's folder was moved.

use std::path::{Component, Path, PathBuf};

use cap_std::{ambient_authority, fs::Dir};
use library::{AgentDir, AgentLinkError, Library, LibraryError, Relocation, SkillState, Stamp};
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
    #[must_use]
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
    let state = library.state()?;
    let mut places = Vec::new();
    for (name, set) in state.skills() {
        let Ok(skill) = SkillName::parse(name) else { continue };
        let before = set.placed.clone();
        let found: Vec<MovedLink> = before.iter().map(|path| follow(library, moved, &skill, path)).collect();
        let mut now: Vec<PathBuf> = found.iter().map(|place| place.path.clone()).collect();
        now.sort();
        now.dedup();
        if now != before {
            library.set_state(&skill, stamp, "link", |state: &mut SkillState| state.placed = now)?;
        }
        places.extend(found);
    }
    Ok(places)
}

fn follow(library: &Library, moved: &Relocation, skill: &SkillName, noted: &Path) -> MovedLink {
    let along = carried_along(noted, &moved.from, &moved.to).filter(|path| path_exists(path));
    let path = along.unwrap_or_else(|| noted.to_owned());
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

/// Returns the new path of something that was moved together with the library. The old and new paths of the library end
/// in the same folders below their common parent that was moved.
fn carried_along(path: &Path, from: &Path, to: &Path) -> Option<PathBuf> {
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) = (from.components().collect(), to.components().collect());
    let shared = from.iter().rev().zip(to.iter().rev()).take_while(|(a, b)| a == b).count();
    let root = |all: &[Component<'_>]| all.iter().take(all.len() - shared).collect::<PathBuf>();
    path.strip_prefix(root(&from)).ok().map(|below| root(&to).join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_folders_follow_a_moved_project() {
        let along = |path: &str| {
            carried_along(Path::new(path), Path::new("/a/p/.agents/skills"), Path::new("/b/q/.agents/skills"))
        };
        assert_eq!(along("/a/p/.claude/skills/x"), Some(PathBuf::from("/b/q/.claude/skills/x")));
        assert_eq!(along("/home/.claude/skills/x"), None);
        let alone = carried_along(Path::new("/a/.claude/x"), Path::new("/a/one"), Path::new("/a/two"));
        assert_eq!(alone, None, "nothing but the library's own folder was moved");
    }
}
