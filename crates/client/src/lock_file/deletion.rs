//! Changes of `skillhub.lock` by a deletion of an installed skill ([`deleted_entry`]) and by its return
//! ([`returned_entry`]). They are committed with the revision, like those of an install.

use std::path::Path;

use library::{Action, EntryChange, Event, EventStatus, Library, LockLine, LockLines, Origin, StateBefore};
use skill::SkillName;

use super::{LockFile, LockedSkill, line_of};
use crate::requires;

/// Plans the removal of a skill's entry. Returns `None` if the lock file cannot be read or has no entry for this origin;
/// `doctor` reports what remains.
pub fn deleted_entry(path: &Path, skill: &SkillName, origin: &Origin) -> Option<EntryChange> {
    let file = LockFile::read(path).ok()?;
    let entry = file.get(&origin.name_in(skill))?;
    let required_by = requires::requirers(&file, &entry.name(), &[entry.name()].into());
    let before = StateBefore { lock: Some(LockFile::text_of(entry)), ..StateBefore::default() };
    Some(EntryChange { lines: lines(path, LockLine { name: entry.name(), text: None })?, before, required_by })
}

/// Plans the entry of a skill that returns after a deletion or `uninstall`, as it was before. Returns `None` if there was
/// none, if the lock file has an entry of this name, or if it cannot take one.
pub fn returned_entry(path: &Path, library: &Library, skill: &SkillName, origin: &Origin) -> Option<EntryChange> {
    let (events, _) = library.events().ok()?;
    let former = former_entry(path, &events, skill, origin)?;
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

/// Returns the entry that a skill from this source had when it was last deleted, from the events of its library.
pub(super) fn former_entry(path: &Path, events: &[Event], skill: &SkillName, origin: &Origin) -> Option<LockedSkill> {
    let origin = LockedSkill::origin_in_file(origin.clone());
    let is_of_source = |entry: &LockedSkill| {
        let (kind, location) = (entry.origin.kind(), entry.origin.location());
        (entry.name(), kind, location) == (origin.name_in(skill), origin.kind(), origin.location())
    };
    let deletions = events.iter().rev().filter(|event| is_deletion(event, skill));
    let texts = deletions.filter_map(|event| event.before.as_ref()?.lock.as_deref());
    let mut files = texts.filter_map(|text| LockFile::parse(text, path).ok());
    files.find_map(|file| file.skills().find(|entry| is_of_source(entry)).cloned())
}

fn is_deletion(event: &Event, skill: &SkillName) -> bool {
    let deletes = [Action::Delete, Action::Uninstall].iter().any(|action| action.as_str() == event.action);
    event.skill == skill.as_str() && event.status == EventStatus::Applied && deletes
}
