//! Changes of `skillhub.lock` by a deletion of an installed skill ([`deleted_entry`]) and by its return
//! ([`returned_entry`]). They are committed with the revision, like those of an install.

use std::path::Path;

use library::{EntryChange, Library, LockLine, LockLines, Origin, StateBefore};
use skill::SkillName;

use super::{
    LockFile, line_of,
    past::{former_entry, was_here},
};
use crate::requires;

/// Plans the removal of a skill's entry. Returns `None` if the lock file cannot be read or has no entry for this origin,
/// or if the entry's release was never in this library, as after `git pull`.
pub fn deleted_entry(path: &Path, library: &Library, skill: &SkillName, origin: &Origin) -> Option<EntryChange> {
    let file = LockFile::read(path).ok()?;
    let entry = file.get(&origin.name_in(skill))?;
    was_here(library, entry).ok()?.then_some(())?;
    let required_by = requires::requirers(&file, &entry.name(), &[entry.name()].into());
    let before = StateBefore { lock: Some(LockFile::text_of(entry)), ..StateBefore::default() };
    Some(EntryChange { lines: lines(path, LockLine { name: entry.name(), text: None })?, before, required_by })
}

/// Plans the entry of a skill that returns after a deletion or `uninstall`, as it was before. Returns `None` if there
/// was none, if the lock file has an entry of this name, or if it cannot take one.
pub fn returned_entry(path: &Path, library: &Library, skill: &SkillName, origin: &Origin) -> Option<EntryChange> {
    let (events, _) = library.events().ok()?;
    let former = former_entry(path, library, &events, skill, origin)?;
    let file = LockFile::read(path).ok()?;
    if file.find(skill).is_some() || file.get(&former.name()).is_some() {
        return None;
    }
    let lines = lines(path, line_of(&former))?;
    file.check_room(&lines).ok()?;
    Some(EntryChange { lines, before: StateBefore::default(), required_by: Vec::new() })
}

fn lines(path: &Path, line: LockLine) -> Option<LockLines> {
    // The journal stores paths as text.
    path.to_str()?;
    Some(LockLines { path: path.to_owned(), entries: vec![line] })
}
