//! [`StoredBlobs`]: the archives of releases, of which the database says whether they may be read.

use std::sync::Arc;

use server::store::{Blobs, Bytes, StoreError, archive_cache::ArchiveCache};
use skill::Digest;

use crate::{
    database::{Database, DatabaseError, row},
    objects::Objects,
};

/// Archives in an object store, with a cache in memory. The database is asked on each read, so an archive that one
/// replica withdrew is gone from all in the next request.
pub struct StoredBlobs {
    database: Arc<Database>,
    objects: Arc<Objects>,
    cache: ArchiveCache,
}

impl StoredBlobs {
    /// Creates the store.
    pub fn new(database: Arc<Database>, objects: Arc<Objects>) -> Self {
        Self { database, objects, cache: ArchiveCache::default() }
    }

    /// Returns the hash of an archive that belongs to a release.
    fn archive_of(&self, digest: &Digest) -> Result<Option<Digest>, DatabaseError> {
        let digest = digest.to_string();
        let sql = "select sha256 from archives a where digest = $1 and state = 'stored'
                   and exists (select 1 from releases r where r.digest = a.digest and not r.is_withdrawn)";
        self.database.read(async |client| {
            let Some(found) = row(client, sql, &[&digest]).await? else { return Ok(None) };
            let sha256: String = found.try_get(0)?;
            let parsed = sha256.parse().map_err(|_| DatabaseError::Failed(format!("{sha256:?} is not a hash")))?;
            Ok(Some(parsed))
        })
    }
}

impl Blobs for StoredBlobs {
    /// Returns nothing: the database has to be asked first.
    fn cached(&self, _: &Digest) -> Option<Bytes> {
        None
    }

    fn get(&self, digest: &Digest) -> Result<Option<Bytes>, StoreError> {
        let Some(archive) = self.archive_of(digest)? else {
            self.cache.remove(digest);
            return Ok(None);
        };
        if let Some(cached) = self.cache.get(digest) {
            return Ok(Some(cached));
        }
        let bytes = self.objects.get(digest, &archive)?;
        self.cache.add(*digest, bytes.clone());
        Ok(Some(bytes))
    }
}
