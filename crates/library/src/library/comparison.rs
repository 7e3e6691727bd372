//! [`Comparison`]: what stands in a skill's folder against what the history says, before anybody judges it.

use std::{
    thread,
    time::{Duration, Instant},
};

use skill::{Bundle, SkillName};

use super::{Library, LibraryError};
use crate::{
    disk::open_dir,
    folder::{self, FolderError, Leftovers},
    journal,
    lock::LibraryLock,
    revision::Revision,
};

/// How long a folder that differs from its head is looked at while a commit is on its way, which takes
/// some milliseconds, and the pause in between.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(2);

/// A skill's head against its folder, before anybody judges the difference.
pub(super) struct Comparison {
    pub base: Option<Revision>,
    pub committed: Bundle,
    pub found: Found,
}

/// What stands in a skill's folder.
pub(super) enum Found {
    /// Nothing, where nothing should be.
    Absent,
    /// What was committed.
    Same,
    /// Nothing, where something should be.
    Missing,
    /// Other files.
    Different(Bundle),
    /// What cannot be read as a skill.
    Unreadable(FolderError),
}

impl Library {
    /// Compares at a moment in which no commit was on its way to the folder. Where nobody is at work and a
    /// folder has not followed all the same, the last moment has to do.
    pub(super) fn compare_settled(&self, skill: &SkillName) -> Result<Comparison, LibraryError> {
        let own = open_dir(self.own_path())?;
        let mark = || own.as_ref().map_or(Ok(journal::Mark::default()), journal::mark).map_err(self.own_io());
        let end = Instant::now() + PATIENCE;
        loop {
            let is_idle = !own.as_ref().is_some_and(LibraryLock::is_held);
            let before = mark()?;
            let now = self.compare(skill)?;
            let is_plain = matches!(now.found, Found::Same | Found::Absent);
            let was_still = (is_idle || before.is_settled()) && mark()? == before;
            if is_plain || was_still || Instant::now() >= end {
                return Ok(now);
            }
            thread::sleep(PAUSE);
        }
    }

    /// The head, its files and what stands in the folder.
    pub(super) fn compare(&self, skill: &SkillName) -> Result<Comparison, LibraryError> {
        let base = self.head(skill)?;
        let committed = match &base {
            Some(head) if !head.tombstone => self.bundle(&head.id)?,
            _ => Bundle::default(),
        };
        let read = match self.root()? {
            Some(root) => folder::read(&root, skill.as_str(), Leftovers::Skip, self.limits()),
            None => Err(FolderError::Missing(skill.to_string())),
        };
        let found = match read {
            Err(FolderError::Missing(_)) if committed.is_empty() => Found::Absent,
            Err(FolderError::Missing(_)) => Found::Missing,
            Err(fault) => Found::Unreadable(fault),
            Ok(found) if found.is_empty() && committed.is_empty() => Found::Absent,
            Ok(found) if found.same_but_line_ends(&folder::without_leftovers(&committed)) => Found::Same,
            Ok(found) => Found::Different(found),
        };
        Ok(Comparison { base, committed, found })
    }
}
