//! Entries of the past: [`former_entry`] from the log of a library, and [`was_here`] from its history.

use std::path::Path;

use library::{Action, Event, EventStatus, Library, Origin, StorageError};
use skill::SkillName;

use super::{LockFile, LockedSkill};

/// Returns whether an entry is of the release in an origin.
pub(super) fn is_of(entry: &LockedSkill, origin: &Origin) -> bool {
    let locked = &entry.origin;
    locked.name() == origin.name()
        && locked.digest() == origin.digest()
        && locked.version() == origin.version()
        && locked.commit() == origin.commit()
}

/// Returns whether the release of an entry was ever installed in this library.
pub(super) fn was_here(library: &Library, entry: &LockedSkill) -> Result<bool, StorageError> {
    let mut revisions = library.revisions(entry.bare_name(), usize::MAX)?.into_iter();
    Ok(revisions.any(|revision| revision.origin.is_some_and(|origin| is_of(entry, &origin))))
}

/// Returns the entry that a skill from this source had when it was last deleted, from the events of its library. Returns
/// `None` if it was installed from this source since.
pub(super) fn former_entry(
    path: &Path,
    library: &Library,
    events: &[Event],
    skill: &SkillName,
    origin: &Origin,
) -> Option<LockedSkill> {
    let is_of_source = |other: &Origin| {
        let source = |of: &Origin| (of.name_in(skill), of.kind().to_owned(), of.location().to_owned());
        source(other) == source(&LockedSkill::origin_in_file(origin.clone()))
    };
    let is_of_skill = |event: &&Event| event.skill == skill.as_str() && event.status == EventStatus::Applied;
    for event in events.iter().rev().filter(is_of_skill) {
        if is_any(event, &[Action::Delete, Action::Uninstall]) {
            let entry = entry_before(event, path).filter(|entry| is_of_source(&entry.origin));
            if entry.is_some() {
                return entry;
            }
        } else if is_any(event, &[Action::Install, Action::Update]) {
            let revision = event.revision.as_ref().and_then(|id| library.revision(id).ok());
            if revision.and_then(|revision| revision.origin).is_some_and(|origin| is_of_source(&origin)) {
                return None;
            }
        }
    }
    None
}

fn is_any(event: &Event, actions: &[Action]) -> bool {
    actions.iter().any(|action| action.as_str() == event.action)
}

fn entry_before(event: &Event, path: &Path) -> Option<LockedSkill> {
    let text = event.before.as_ref()?.lock.as_deref()?;
    LockFile::parse(text, path).ok()?.skills().next().cloned()
}
