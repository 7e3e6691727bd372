//! [`FoundFolder`]: skill folders below the paths that a person names.

use std::path::{Path, PathBuf};

use library::folder;

use crate::{
    found::skill_md_of,
    unmanaged::{children, links},
};

/// A skill folder, as it was named and with links resolved.
pub(super) struct FoundFolder {
    pub place: PathBuf,
    pub real: PathBuf,
}

impl FoundFolder {
    /// The folder that a person names, which may be a link.
    fn named(path: &Path) -> Self {
        let real = library::resolve(path).unwrap_or_else(|_| path.to_owned());
        let place = path
            .parent()
            .zip(path.file_name())
            .and_then(|(parent, name)| Some(library::resolve(parent).ok()?.join(name)));
        Self { place: place.unwrap_or_else(|| real.clone()), real }
    }

    /// A folder below it. One that has become a link since leads elsewhere, and is refused when it is opened.
    fn below(path: PathBuf) -> Self {
        Self { place: path.clone(), real: path }
    }

    fn is_skill(&self) -> bool {
        folder::open_resolved(&self.real).is_ok_and(|dir| skill_md_of(&dir).is_ok_and(|found| found.is_some()))
    }
}

/// The folder itself when it is a skill, else its children that are. Of links among these only those to the library's
/// own skills count: others may have come with a clone.
pub(super) fn expand(path: &Path, library: &Path) -> Vec<FoundFolder> {
    let path = match path.file_name() {
        Some(_) => path.to_owned(),
        None => library::resolve(path).unwrap_or_else(|_| path.to_owned()),
    };
    let found = FoundFolder::named(&path);
    if found.is_skill() {
        return vec![found];
    }
    let below = children(&found.real).into_iter().map(|name| FoundFolder::below(found.real.join(name)));
    let ours = links(&found.real).into_iter().map(|name| FoundFolder::named(&found.real.join(name)));
    let ours = ours.filter(|link| link.real.parent() == Some(library));
    let skills: Vec<FoundFolder> = below.chain(ours).filter(FoundFolder::is_skill).collect();
    if skills.is_empty() { vec![found] } else { skills }
}
