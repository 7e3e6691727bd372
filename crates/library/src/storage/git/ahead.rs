//! [`GitStorage::pack_files`]: the files of a large change as a durable pack of their own, before the lock is taken.
//!
//! The commit then holds trees and commits only, so that nobody waits while many bytes are written. A pack whose
//! commit never comes holds blobs that nothing names, which harms nothing.

use std::collections::BTreeMap;

use git2::Oid;
use skill::Bundle;

use super::{
    GitStorage,
    concat::{Whole, pack_of},
    packs::{FOLDER, place},
};
use crate::storage::StorageError;

impl GitStorage {
    /// Writes the files that the repository lacks as one pack, durably. More than a pack can hold are left to the commit.
    pub(super) fn pack_files(&self, bundles: &[&Bundle]) -> Result<(), StorageError> {
        let mut blobs = BTreeMap::new();
        for (_, file) in bundles.iter().flat_map(|bundle| bundle.files()) {
            let blob = self.object_of(file)?;
            let id = Oid::from_str(&blob.id)?;
            if !self.with_odb(|odb| Ok(odb.exists(id)))? {
                blobs.insert(id, blob);
            }
        }
        let whole = blobs.iter().map(|(id, blob)| Whole::blob(*id, &blob.bytes)).collect::<Option<Vec<_>>>();
        let Some(pack) = whole.filter(|whole| !whole.is_empty()).and_then(pack_of) else { return Ok(()) };
        place(&self.dir.open_dir(FOLDER)?, &pack)?;
        self.with_odb(|odb| Ok(odb.refresh()?))
    }
}
