//! Entries of the past: [`former_entry`] from the log of a library, and [`was_here`] from its history.

use std::path::Path;

use library::{Action, Event, EventStatus, Library, Origin, StorageError};
use skill::SkillName;

use super::{LockFile, LockedSkill};

/// Returns whether the release of an entry was ever installed in this library.
pub(super) fn was_here(library: &Library, entry: &LockedSkill) -> Result<bool, StorageError> {
    let mut revisions = library.revisions(entry.bare_name(), usize::MAX)?.into_iter();
    Ok(revisions.any(|revision| revision.origin.is_some_and(|origin| origin.digest() == entry.origin.digest())))
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
