//! [`TemporaryKind`]: what stands in a library under a temporary name of ours.
//!
//! A process that dies before its journal record leaves a staged folder that nobody needs. One that
//! dies after it leaves the record pending, and recovery sees to its folders; so whatever is there
//! once nothing is pending may go, but for what is kept.

use std::{io, time::Duration};

use cap_std::fs::Dir;

use super::{LOCK_WAIT, Library, LibraryError, Recovery};
use crate::{
    checkout::{KEPT, Maker, TEMPORARY},
    folder,
    lock::LibraryLock,
};

/// The age from which on a temporary folder belongs to nobody at work, whatever the number of its
/// process says, which is not known in another container. Between staging and its end an operation
/// waits for nothing but the lock, for seconds.
const OLD: Duration = Duration::from_secs(600);

/// What stands under a temporary name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemporaryKind {
    /// A process at work made it.
    InUse,
    /// A process that was stopped left it.
    Leftover,
    /// Files that no revision has, kept for a person to look at.
    Kept,
    /// Nothing that we make.
    Foreign,
}

impl Library {
    /// The temporary names of ours in the library, sorted.
    ///
    /// # Errors
    /// The system refused.
    pub fn temporary_names(&self) -> Result<Vec<String>, LibraryError> {
        let io = |source| LibraryError::Io { path: self.path.clone(), source };
        let Some(root) = self.root()? else { return Ok(Vec::new()) };
        temporary_in(&root).map_err(io)
    }

    /// What stands under one of [`Library::temporary_names`]; `None` when it is gone meanwhile.
    ///
    /// # Errors
    /// The system refused.
    pub fn temporary_kind(&self, name: &str) -> Result<Option<TemporaryKind>, LibraryError> {
        Ok(self.root()?.and_then(|root| kind(&root, name)))
    }

    /// Removes a [`TemporaryKind::Leftover`], after what is pending was applied. Says whether it is
    /// gone.
    ///
    /// # Errors
    /// The lock was not to be had, or the system refused.
    pub fn remove_leftover(&mut self, name: &str) -> Result<bool, LibraryError> {
        let own = self.ensure_own()?;
        let _lock = LibraryLock::acquire(&own, LOCK_WAIT)?;
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

    /// Removes what processes left long ago, as far as it goes; the caller holds the lock. `ours` are
    /// names that the caller uses.
    pub(super) fn remove_old_leftovers(&self, root: &Dir, recovered: &Recovery, ours: &[&str]) {
        for name in temporary_in(root).unwrap_or_default() {
            let is_ours = ours.contains(&name.as_str()) || recovered.folders.contains(&name);
            if !is_ours && is_old(root, &name) && kind(root, &name) == Some(TemporaryKind::Leftover) {
                let _next_time = root.remove_dir_all(&name);
            }
        }
    }
}

/// The temporary names of ours in a folder that was opened for this, sorted.
fn temporary_in(root: &Dir) -> io::Result<Vec<String>> {
    let mut names = folder::names_in(root)?;
    names.retain(|name| name.starts_with(TEMPORARY));
    names.sort();
    Ok(names)
}

/// A folder is nobody's once its maker is known to be dead, or when it is old: a process of another
/// container may be at work in one whose maker is not known here.
pub(super) fn kind(root: &Dir, name: &str) -> Option<TemporaryKind> {
    let metadata = root.symlink_metadata(name).ok()?;
    let maker = Maker::of(name).filter(|_| metadata.is_dir());
    Some(match maker {
        _ if name.starts_with(KEPT) => TemporaryKind::Kept,
        None => TemporaryKind::Foreign,
        Some(maker) if maker.is_known_dead() || is_old(root, name) => TemporaryKind::Leftover,
        Some(_) => TemporaryKind::InUse,
    })
}

/// Whether nothing was written to a file for long.
pub(super) fn is_old_file(entry: &cap_std::fs::DirEntry) -> std::io::Result<bool> {
    Ok(entry.metadata()?.modified()?.into_std().elapsed().is_ok_and(|age| age >= OLD))
}

/// Whether nothing was put into a folder for long.
fn is_old(root: &Dir, name: &str) -> bool {
    let made = root.symlink_metadata(name).and_then(|metadata| metadata.modified());
    made.is_ok_and(|made| made.into_std().elapsed().is_ok_and(|age| age >= OLD))
}
