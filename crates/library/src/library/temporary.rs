//! Kinds of files under a temporary name in a library ([`TemporaryKind`]).
//!
//! A process that dies before its journal record leaves a staged folder that is not needed. One that dies after it
//! leaves the record pending, and recovery settles its folders. So once nothing is pending, all temporary folders may
//! be removed except those that are kept for a person.

use std::{io, time::Duration};

use cap_std::fs::Dir;

use super::{Library, LibraryError, Recovery};
use crate::{
    checkout::{KEPT, TEMPORARY, TemporaryOwner},
    folder,
};

/// Age from which a temporary folder is unused regardless of its process, whose id may be unknown in this container.
/// An operation keeps a staged folder only for seconds, while it waits for the lock.
const OLD: Duration = Duration::from_secs(600);

/// Kind of a file under a temporary name. The crate's documentation lists the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemporaryKind {
    /// Created by a running process.
    InUse,
    /// Left by a process that died.
    Leftover,
    /// Files that are in no revision, kept for a person to inspect.
    Kept,
    /// Not created by skillhub.
    Foreign,
}

impl Library {
    /// Returns the temporary names in the library, sorted.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn temporary_names(&self) -> Result<Vec<String>, LibraryError> {
        let io = |source| LibraryError::Io { path: self.path.clone(), source };
        let Some(root) = self.root()? else { return Ok(Vec::new()) };
        temporary_in(&root).map_err(io)
    }

    /// Returns the kind of one of [`Library::temporary_names`]; `None` if it no longer exists.
    ///
    /// # Errors
    /// The library's folder cannot be opened.
    pub fn temporary_kind(&self, name: &str) -> Result<Option<TemporaryKind>, LibraryError> {
        Ok(self.root()?.and_then(|root| kind(&root, name)))
    }

    /// Removes a [`TemporaryKind::Leftover`], after applying pending operations. Returns whether it is gone.
    ///
    /// # Errors
    /// The lock cannot be taken, or an I/O error.
    pub fn remove_leftover(&mut self, name: &str) -> Result<bool, LibraryError> {
        let own = self.locked()?;
        let recovered = self.recover(&own)?;
        let Some(root) = self.root()? else { return Ok(true) };
        match kind(&root, name) {
            None => Ok(true),
            Some(TemporaryKind::Leftover) if !recovered.folders.iter().any(|left| left == name) => {
                let io = |source| LibraryError::Io { path: self.path.join(name), source };
                root.remove_dir_all(name).map(|()| true).map_err(io)
            }
            Some(_) => Ok(false),
        }
    }

    /// Removes old leftovers and ignores failures. The caller holds the lock. `ours` are names that the caller uses.
    pub(super) fn remove_old_leftovers(&self, root: &Dir, recovered: &Recovery, ours: &[&str]) {
        for name in temporary_in(root).unwrap_or_default() {
            let is_ours = ours.contains(&name.as_str()) || recovered.folders.contains(&name);
            if !is_ours && is_old(root, &name) && kind(root, &name) == Some(TemporaryKind::Leftover) {
                let _next_time = root.remove_dir_all(&name);
            }
        }
    }
}

/// Returns the temporary names in a folder that was opened for listing, sorted.
fn temporary_in(root: &Dir) -> io::Result<Vec<String>> {
    let mut names = folder::names_in(root)?;
    names.retain(|name| name.starts_with(TEMPORARY));
    names.sort();
    Ok(names)
}

/// Returns the kind of a temporary name. A folder is a leftover if its maker is known to be dead, or if it is old.
/// Until then, a process in another container may still be using it.
pub(super) fn kind(root: &Dir, name: &str) -> Option<TemporaryKind> {
    let metadata = root.symlink_metadata(name).ok()?;
    let maker = TemporaryOwner::of(name).filter(|_| metadata.is_dir());
    Some(match maker {
        _ if name.starts_with(KEPT) => TemporaryKind::Kept,
        None => TemporaryKind::Foreign,
        Some(maker) if maker.is_known_dead() || is_old(root, name) => TemporaryKind::Leftover,
        Some(_) => TemporaryKind::InUse,
    })
}

/// Returns whether a file was not written to for a long time.
pub(super) fn is_old_file(entry: &cap_std::fs::DirEntry) -> std::io::Result<bool> {
    Ok(entry.metadata()?.modified()?.into_std().elapsed().is_ok_and(|age| age >= OLD))
}

/// Returns whether no entry was added to a folder for a long time.
fn is_old(root: &Dir, name: &str) -> bool {
    let made = root.symlink_metadata(name).and_then(|metadata| metadata.modified());
    made.is_ok_and(|made| made.into_std().elapsed().is_ok_and(|age| age >= OLD))
}
