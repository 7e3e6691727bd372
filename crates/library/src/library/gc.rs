//! Garbage collection of a library's data ([`Library::collect_garbage`]) and its result ([`Collected`]).

use cap_std::fs::Dir;

use super::{HISTORY, LOCK_WAIT, Library, LibraryError, TemporaryKind, temporary};
use crate::{disk::open_dir, events, lock::LockedDir, originals, proposal_id::ProposalId};

/// Size of a library's folder in the home, in bytes, by kind of data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Revisions, which are in `history.git`.
    pub history: u64,
    /// Operations that are not checkpointed yet.
    pub journal: u64,
    /// Event log, active and rotated.
    pub events: u64,
    /// Everything else, such as logs and caches.
    pub other: u64,
}

impl Sizes {
    /// Returns the sum of all kinds.
    pub fn total(&self) -> u64 {
        self.history + self.journal + self.events + self.other
    }

    fn of(own: &Dir) -> std::io::Result<Self> {
        let mut sizes = Self::default();
        for entry in own.entries()? {
            let name = entry?.file_name();
            let bytes = size(own, &name)?;
            match name.to_string_lossy() {
                name if name == HISTORY => sizes.history += bytes,
                name if name == "journal" => sizes.journal += bytes,
                name if name.starts_with("events.") => sizes.events += bytes,
                _ => sizes.other += bytes,
            }
        }
        Ok(sizes)
    }
}

fn size(dir: &Dir, name: &std::ffi::OsStr) -> std::io::Result<u64> {
    let metadata = match dir.symlink_metadata(name) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        metadata => metadata?,
    };
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    let dir = dir.open_dir(name)?;
    let mut bytes = 0;
    for entry in dir.entries()? {
        bytes += size(&dir, &entry?.file_name())?;
    }
    Ok(bytes)
}

/// Result of [`Library::collect_garbage`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// Sizes before the collection.
    pub before: Sizes,
    /// Sizes after the collection.
    pub after: Sizes,
    /// Temporary folders that were removed from the library.
    pub folders: Vec<String>,
    /// Decided proposals that were dropped as the oldest. The log keeps their events.
    pub proposals: Vec<ProposalId>,
    /// Number of operations whose originals were removed after 90 days.
    pub originals: usize,
    /// True if operations are still to be applied, so that the journal was kept.
    pub pending: bool,
}

impl Library {
    /// Reduces the size of the library's data without losing information: checkpoints the journal, packs the history
    /// and the older events, removes leftovers, and drops the oldest decided proposals.
    ///
    /// # Errors
    /// The lock cannot be taken, the history is damaged, or an I/O error. Nothing is lost then.
    pub fn collect_garbage(&mut self) -> Result<Collected, LibraryError> {
        let Some(own) = open_dir(&self.own)? else { return Ok(Collected::default()) };
        let own = LockedDir::acquire(own, LOCK_WAIT)?;
        let before = Sizes::of(&own).map_err(self.own_io())?;
        let recovered = self.recover(&own)?;
        let pending = !recovered.is_settled();
        if !pending && before.journal > 0 {
            self.checkpoint(&own)?;
        }
        if let Some(storage) = self.storage()? {
            storage.compact()?;
        }
        let mut proposals = Vec::new();
        if !pending {
            events::rotate(&own).map_err(self.own_io())?;
            proposals = self.drop_decided(&own).map_err(self.own_io())?;
        }
        let originals = originals::remove_old(&own).map_err(self.own_io())?;
        remove_leftover_files(&own).map_err(self.own_io())?;
        let mut folders = Vec::new();
        if let Some(root) = self.root()? {
            for name in self.temporary_names()? {
                let is_left = temporary::kind(&root, &name) == Some(TemporaryKind::Leftover);
                if is_left && !recovered.folders.contains(&name) && root.remove_dir_all(&name).is_ok() {
                    folders.push(name);
                }
            }
        }
        let after = Sizes::of(&own).map_err(self.own_io())?;
        Ok(Collected { before, after, folders, proposals, originals, pending })
    }
}

/// Removes temporary files of atomic writes that dead processes did not complete.
fn remove_leftover_files(own: &Dir) -> std::io::Result<()> {
    for folder in [".", super::revision_numbers::FOLDER, super::history_cache::FOLDER, "proposals", "proposals/decided"]
    {
        let Ok(dir) = own.open_dir(folder) else { continue };
        for entry in dir.entries()? {
            let entry = entry?;
            let file = entry.file_name();
            let file = file.to_string_lossy();
            if file.ends_with(".tmp") && entry.metadata()?.is_file() && temporary::is_old_file(&entry)? {
                dir.remove_file(&*file)?;
            }
        }
    }
    Ok(())
}
