//! [`unmanaged`]: skills that are there already and that skillhub could take over.

use std::path::{Path, PathBuf};

use cap_std::{
    ambient_authority,
    fs::{Dir, FileType},
};
use library::{Library, LibraryError, folder};
use skill::{Limits, SkillName, validate};

use crate::{agent_folders::AgentFolders, found::skill_md_of};

/// A skill that has no history here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmanaged {
    /// The agents in whose folder it stands.
    pub agents: Vec<&'static str>,
    /// Its folder.
    pub path: PathBuf,
    /// Its folder's name.
    pub name: String,
    /// Its description.
    pub description: String,
}

/// The skills in agents' folders, sorted by path. Links, copies that skillhub placed, and the library
/// itself are none of them.
///
/// # Errors
/// The library's state cannot be read; an agent's folder that cannot be is passed over.
pub fn unmanaged(library: &Library, folders: &AgentFolders) -> Result<Vec<Unmanaged>, LibraryError> {
    let mut found = Vec::new();
    let state = library.state()?;
    let is_noted = |path: &Path, name: &SkillName| state.of(name).placed.iter().any(|placed| placed == path);
    // The place of a deleted skill may still be noted where a hand has put a folder since.
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

/// The names of a folder's own folders; hidden ones and links are left out.
pub(crate) fn children(path: &Path) -> Vec<String> {
    names(path, |kind| kind.is_dir())
}

/// The names of the links in a folder, without hidden ones.
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

/// The skill in a folder; `None` when there is none that loads.
fn look_at(path: &Path, agents: &[&'static str]) -> Option<Unmanaged> {
    let parent = Dir::open_ambient_dir(path.parent()?, ambient_authority()).ok()?;
    let name = path.file_name()?.to_str()?;
    let skill_md = skill_md_of(&folder::open(&parent, name).ok()?).ok()??;
    let loaded = validate::load(&skill_md, name, &Limits::default()).ok()?;
    Some(Unmanaged {
        agents: agents.to_vec(),
        path: path.to_owned(),
        name: name.to_owned(),
        description: loaded.description,
    })
}
