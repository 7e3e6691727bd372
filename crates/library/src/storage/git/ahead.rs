//! Writing the files of a large change as a separate, durable pack before the lock is taken
//! ([`GitStorage::pack_files`]).
//!
//! The commit then only writes trees and commits, so that the lock is not held while many bytes are written. If the
//! commit never happens, the blobs of the pack are unreferenced and harmless.

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
    /// Writes the files that are missing in the repository as one durable pack. More than fits in a pack is left to
    /// the commit.
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
