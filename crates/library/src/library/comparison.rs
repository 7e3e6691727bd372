//! A skill's folder compared with its head, before the difference is judged ([`Comparison`]).

use std::{
    thread,
    time::{Duration, Instant},
};

use skill::{Bundle, SkillName};

use super::{Library, LibraryError};
use crate::{
    disk::open_dir,
    folder::{self, FolderError, ToolFiles},
    journal,
    lock::LibraryLock,
    revision::Revision,
};

/// Time limit for re-reading a folder that differs from its head while a commit is running, and the pause between two
/// attempts. A commit takes a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(2);

/// A skill's head and the content of its folder.
pub(super) struct Comparison {
    pub base: Option<Revision>,
    pub committed: Bundle,
    pub found: FolderContent,
}

/// Content of a skill's folder.
pub(super) enum FolderContent {
    /// Absent, as expected.
    Absent,
    /// The committed files, except perhaps for line ends.
    Same,
    /// Absent, although the skill exists.
    Missing,
    /// Other files than committed.
    Different(Bundle),
    /// Content that cannot be read as a skill.
    Unreadable(FolderError),
}

impl Library {
    /// Compares at a moment when no commit is running. If the folder still differs at the timeout although nobody is
    /// committing, the last comparison is returned.
    pub(super) fn compare_settled(&self, skill: &SkillName) -> Result<Comparison, LibraryError> {
        let own = open_dir(self.own_path())?;
        let mark = || own.as_ref().map_or(Ok(journal::JournalMark::default()), journal::mark).map_err(self.own_io());
        let end = Instant::now() + PATIENCE;
        loop {
            let is_idle = !own.as_ref().is_some_and(LibraryLock::is_held);
            let before = mark()?;
            let now = self.compare(skill)?;
            let is_plain = matches!(now.found, FolderContent::Same | FolderContent::Absent);
            let was_still = (is_idle || before.is_settled()) && mark()? == before;
            if is_plain || was_still || Instant::now() >= end {
                return Ok(now);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Reads the head, its files and the content of the folder.
    pub(super) fn compare(&self, skill: &SkillName) -> Result<Comparison, LibraryError> {
        let base = self.head(skill)?;
        let committed = match &base {
            Some(head) if !head.tombstone => self.bundle(&head.id)?,
            _ => Bundle::default(),
        };
        let read = match self.root()? {
            Some(root) => folder::read(&root, skill.as_str(), ToolFiles::Skip, self.limits()),
            None => Err(FolderError::Missing(skill.to_string())),
        };
        let found = match read {
            Err(FolderError::Missing(_)) if committed.is_empty() => FolderContent::Absent,
            Err(FolderError::Missing(_)) => FolderContent::Missing,
            Err(fault) => FolderContent::Unreadable(fault),
            Ok(found) if found.is_empty() && committed.is_empty() => FolderContent::Absent,
            Ok(found) if folder::has_content(&found, &folder::without_tool_files(&committed)) => FolderContent::Same,
            Ok(found) => FolderContent::Different(folder::with_recorded_modes(found, &committed)),
        };
        Ok(Comparison { base, committed, found })
    }
}
