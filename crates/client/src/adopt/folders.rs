//! [`FoundFolder`]: skill folders below the paths that a person names.

use std::path::{Path, PathBuf};

use library::folder;

use crate::{
    discovery::skill_md_of,
    unmanaged::{children, links},
};

/// A skill folder: the path as named (`place`) and the path with links resolved (`real`).
pub(super) struct FoundFolder {
    pub place: PathBuf,
    pub real: PathBuf,
}

impl FoundFolder {
    /// Creates the entry for a folder that a person names, which may be a link.
    fn named(path: &Path) -> Self {
        let real = library::resolve(path).unwrap_or_else(|_| path.to_owned());
        let place = path
            .parent()
            .zip(path.file_name())
            .and_then(|(parent, name)| Some(library::resolve(parent).ok()?.join(name)));
        Self { place: place.unwrap_or_else(|| real.clone()), real }
    }

    /// Creates the entry for a child folder. If it was replaced with a link in the meantime, opening it fails.
    fn below(path: PathBuf) -> Self {
        Self { place: path.clone(), real: path }
    }

    fn is_skill(&self) -> bool {
        folder::open_resolved(&self.real).is_ok_and(|dir| skill_md_of(&dir).is_ok_and(|found| found.is_some()))
    }
}

/// Skill folders below a path, and links to skills that were not followed.
#[derive(Default)]
pub(super) struct Expanded {
    pub skills: Vec<FoundFolder>,
    pub passed_over: Vec<PathBuf>,
}

/// Returns the folder itself if it is a skill, otherwise its children that are skills. If links are not followed, only
/// links to the library's own skills count: others may have come with a clone.
pub(super) fn expand(path: &Path, library: &Path, follows_links: bool) -> Expanded {
    let path = match path.file_name() {
        Some(_) => path.to_owned(),
        None => library::resolve(path).unwrap_or_else(|_| path.to_owned()),
    };
    let found = FoundFolder::named(&path);
    if found.is_skill() {
        return Expanded { skills: vec![found], ..Expanded::default() };
    }
    let below = children(&found.real).into_iter().map(|name| FoundFolder::below(found.real.join(name)));
    let links = links(&found.real).into_iter().map(|name| FoundFolder::named(&found.real.join(name)));
    let (followed, others): (Vec<_>, Vec<_>) =
        links.partition(|link| follows_links || link.real.parent() == Some(library));
    let skills: Vec<FoundFolder> = below.chain(followed).filter(FoundFolder::is_skill).collect();
    let passed_over: Vec<PathBuf> = others.into_iter().filter(FoundFolder::is_skill).map(|link| link.place).collect();
    let skills = if skills.is_empty() && passed_over.is_empty() { vec![found] } else { skills };
    Expanded { skills, passed_over }
}
