//! [`LockLines`] of a commit, kept in the library's folder of the home until they are in the lock file.

use std::{collections::HashSet, io};

use cap_std::fs::Dir;

use super::{LOCK_WAIT, Library, LibraryError};
use crate::{
    disk::{Durability, open_dir, read_bounded, write_atomically},
    links::LockLines,
    lock::LibraryLock,
};

const FILE: &str = "lock-lines.json";

impl Library {
    /// The lines of a lock file that a commit left to be written; none where an earlier one wrote them. Damaged
    /// lines are dropped: `doctor` compares the lock file with the history.
    ///
    /// # Errors
    /// The system refused.
    pub fn pending_lock_lines(&self) -> Result<Option<LockLines>, LibraryError> {
        let Some(own) = open_dir(&self.own)? else { return Ok(None) };
        if own.symlink_metadata(FILE).is_err() {
            return Ok(None);
        }
        let bytes = read_bounded(&own, FILE, self.limits.state_bytes).map_err(self.own_io())?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Keeps lines that belong to no commit until they are written.
    ///
    /// # Errors
    /// The system refused, or the lock was not to be had.
    pub fn keep_lock_lines(&self, lines: &LockLines) -> Result<(), LibraryError> {
        let own = self.ensure_own()?;
        let _lock = LibraryLock::acquire(&own, LOCK_WAIT)?;
        keep(&own, lines, self.limits.state_bytes).map_err(self.own_io())
    }

    /// Notes that the pending lines are in the lock file.
    ///
    /// # Errors
    /// The system refused.
    pub fn lock_lines_written(&self) -> Result<(), LibraryError> {
        match open_dir(&self.own)?.map(|own| own.remove_file(FILE)) {
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(self.own_io()(error)),
            _ => Ok(()),
        }
    }
}

/// Keeps lines beside those of earlier commits that are not written yet; the caller holds the lock. More than can be read
/// again are dropped, as damaged ones are.
pub(super) fn keep(own: &Dir, lines: &LockLines, limit: u64) -> io::Result<()> {
    let earlier = read_bounded(own, FILE, limit)?.and_then(|bytes| serde_json::from_slice::<LockLines>(&bytes).ok());
    let mut all = lines.clone();
    if let Some(earlier) = earlier.filter(|earlier| earlier.path == lines.path) {
        let newer: HashSet<&str> = lines.entries.iter().map(|line| line.name.as_str()).collect();
        all.entries.extend(earlier.entries.into_iter().filter(|line| !newer.contains(line.name.as_str())));
    }
    let text = serde_json::to_vec(&all)?;
    if text.len() as u64 > limit {
        return match own.remove_file(FILE) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    write_atomically(own, FILE, &text, Durability::Unsynced)
}
