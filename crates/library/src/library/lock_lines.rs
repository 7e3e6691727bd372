//! Lines of `skillhub.lock` that a commit leaves in the home until they are written there ([`LockLines`]).
//!
//! Every commit that changes lines writes them to `lock-lines.json` from its journal record. They are deleted as soon
//! as `skillhub.lock` has them, so the file outlives only a process that died in between.

use std::{collections::HashSet, io};

use cap_std::fs::Dir;

use super::{Library, LibraryError};
use crate::{
    disk::{Durability, open_dir, read_bounded, remove_if_present, write_atomically},
    links::LockLines,
    lock::{LibraryLock, LockedDir},
};

const FILE: &str = "lock-lines.json";

impl Library {
    /// Returns whether a commit left lines to be written to a lock file, damaged ones included.
    ///
    /// # Errors
    /// The library's folder in the home cannot be opened.
    pub fn has_pending_lock_lines(&self) -> Result<bool, LibraryError> {
        Ok(open_dir(&self.own)?.is_some_and(|own| are_pending(&own)))
    }

    /// Returns the lines that a commit left to be written to a lock file. `None` if nothing is pending, or if the lines
    /// are damaged: `doctor` then finds the difference between the lock file and the history.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn pending_lock_lines(&self) -> Result<Option<LockLines>, LibraryError> {
        let Some(own) = open_dir(&self.own)? else { return Ok(None) };
        let bytes = read_bounded(&own, FILE, self.limits.state_bytes).map_err(self.own_io())?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Stores lines that belong to no commit until they are written.
    ///
    /// # Errors
    /// The lock cannot be taken, or an I/O error.
    pub fn keep_lock_lines(&self, lines: &LockLines) -> Result<(), LibraryError> {
        let own = self.locked()?;
        keep(&own, lines, self.limits.state_bytes).map_err(self.own_io())
    }

    /// Deletes the pending lines, which are in the lock file now or damaged. The caller took the library's lock before it
    /// read them, as another commit could add lines in between.
    ///
    /// # Errors
    /// The file with the pending lines cannot be removed.
    pub fn lock_lines_written(&self, _lock: &LibraryLock) -> Result<(), LibraryError> {
        let Some(own) = open_dir(&self.own)? else { return Ok(()) };
        remove_if_present(&own, FILE).map_err(self.own_io())
    }
}

/// Returns whether lines are pending, damaged ones included.
pub(super) fn are_pending(own: &Dir) -> bool {
    own.symlink_metadata(FILE).is_ok()
}

/// Stores lines together with those of earlier commits that are not written yet. If the result exceeds `limit` bytes
/// and so could not be read again, all lines are dropped, like damaged ones.
pub(super) fn keep(own: &LockedDir, lines: &LockLines, limit: u64) -> io::Result<()> {
    let earlier = read_bounded(own, FILE, limit)?.and_then(|bytes| serde_json::from_slice::<LockLines>(&bytes).ok());
    let mut all = lines.clone();
    if let Some(earlier) = earlier.filter(|earlier| earlier.path == lines.path) {
        let newer: HashSet<&str> = lines.entries.iter().map(|line| line.name.as_str()).collect();
        all.entries.extend(earlier.entries.into_iter().filter(|line| !newer.contains(line.name.as_str())));
    }
    let text = serde_json::to_vec(&all)?;
    if text.len() as u64 > limit {
        return remove_if_present(own, FILE);
    }
    write_atomically(own, FILE, &text, Durability::Unsynced)
}
