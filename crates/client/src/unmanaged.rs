//! [`unmanaged`]: finds existing skills that skillhub could adopt.

use std::path::{Path, PathBuf};

use cap_std::{
    ambient_authority,
    fs::{Dir, FileType},
};
use library::{Library, LibraryError, folder};
use skill::{Limits, SkillName, SkillPath, validate};

use crate::{agent_folders::AgentFolders, discovery::skill_md_of};

/// A skill without a history in the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmanaged {
    /// Ids of the agents that read the folder in which it was found.
    pub agents: Vec<&'static str>,
    /// Path of the skill's folder.
    pub path: PathBuf,
    /// Name of the folder.
    pub name: String,
    /// Description in its frontmatter; empty if it was not read.
    pub description: String,
    /// Reason why it cannot be adopted: its `SKILL.md` is too large.
    pub fault: Option<String>,
}

/// Finds the unmanaged skills in agents' folders, sorted by path. Links, copies written by skillhub, and the library
/// itself are excluded.
///
/// # Errors
/// The library's state cannot be read. Unreadable agents' folders are skipped.
pub fn unmanaged(library: &Library, folders: &AgentFolders) -> Result<Vec<Unmanaged>, LibraryError> {
    let mut found = Vec::new();
    let state = library.state()?;
    let is_noted = |path: &Path, name: &SkillName| state.of(name).placed.iter().any(|placed| placed == path);
    // A deleted skill's path may still be recorded, although somebody has since created a folder there.
    let exists = |name: &SkillName| library.head(name).is_ok_and(|head| head.is_some_and(|head| !head.tombstone));
    let is_ours =
        |path: &Path, name: &str| SkillName::parse(name).is_ok_and(|name| is_noted(path, &name) && exists(&name));
    for folder in folders.all_read().iter().filter(|folder| folder.path != library.path()) {
        for name in children(&folder.path) {
            let path = folder.path.join(&name);
            if !is_ours(&path, &name) {
                found.extend(look_at(&path, &folder.ids));
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Lists the names of a folder's subfolders, without hidden ones and links.
pub(crate) fn children(path: &Path) -> Vec<String> {
    names(path, |kind| kind.is_dir())
}

/// Lists the names of the links in a folder, without hidden ones.
pub(crate) fn links(path: &Path) -> Vec<String> {
    names(path, |kind| kind.is_symlink())
}

fn names(path: &Path, is_wanted: impl Fn(&FileType) -> bool) -> Vec<String> {
    let entries = Dir::open_ambient_dir(path, ambient_authority()).and_then(|dir| dir.entries());
    let found = entries.into_iter().flatten().flatten();
    let found = found.filter(|entry| entry.file_type().is_ok_and(|kind| is_wanted(&kind)));
    let mut names: Vec<String> = found.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

/// Loads the skill in a folder, if there is a valid one. A skill whose text is too large is returned with its
/// fault.
fn look_at(path: &Path, agents: &[&'static str]) -> Option<Unmanaged> {
    let parent = Dir::open_ambient_dir(path.parent()?, ambient_authority()).ok()?;
    let name = path.file_name()?.to_str()?;
    let dir = folder::open(&parent, name).ok()?;
    let found = dir.symlink_metadata(SkillPath::SKILL_MD).ok()?;
    let (size, limits) = (found.len(), Limits::default());
    let is_too_large = found.is_file() && size > limits.text_file_bytes;
    let description = match is_too_large {
        true => String::new(),
        false => validate::load(&skill_md_of(&dir).ok()??, name, &limits).ok()?.description,
    };
    let fault =
        is_too_large.then(|| format!("its SKILL.md has {size} bytes, but the limit is {}", limits.text_file_bytes));
    Some(Unmanaged { agents: agents.to_vec(), path: path.to_owned(), name: name.to_owned(), description, fault })
}
