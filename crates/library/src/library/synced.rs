//! [`Library::join`]: one revision for the histories of a skill on two machines.

use std::path::PathBuf;

use super::{Library, LibraryError};
use crate::{
    origin::Origin,
    revision::{Action, Content, NewRevision, Revision, Stamp, SyncedRevision},
};

impl Library {
    /// Returns the folder of the history, which is created if it is missing.
    ///
    /// # Errors
    /// The lock cannot be taken, or the history cannot be created.
    pub fn ensure_history(&self) -> Result<PathBuf, LibraryError> {
        if self.storage()?.is_none() {
            let _lock = self.lock()?;
            self.writable_storage()?;
        }
        Ok(self.history_path())
    }

    /// Stores a revision with two parents durably and returns it. It is not a head yet. The same arguments result in
    /// the same id on every machine with the same rules of the scanner. `content` is the result of the merge.
    ///
    /// # Errors
    /// The history cannot be read or written.
    pub fn join(
        &self,
        parents: [&Revision; 2],
        content: Content,
        origin: Option<Origin>,
        stamp: Stamp,
    ) -> Result<Revision, LibraryError> {
        let [first, second] = parents;
        let before = self.bundle(&first.id)?;
        let synced = Some(SyncedRevision::Parent(second.id.clone()));
        let new = NewRevision { synced, ..NewRevision::new(content, Action::Merge, stamp) }.with_origin(origin);
        let storage = self.writable_storage()?;
        let prepared = storage.prepare(Some((first, &before)), &new)?;
        storage.keep(&prepared.objects)?;
        Ok(prepared.revision)
    }
}
