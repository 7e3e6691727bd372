//! [`IndexBlobs`]: the archives in the tree of an index.

use std::sync::Arc;

use axum::body::Bytes;
use registry_index::{ArchiveLocation, OpenError, ReadError};
use skill::Digest;

use super::index_pool::IndexPool;
use crate::store::{Blobs, StoreError, archive_cache::ArchiveCache};

/// The archives in the tree of an index, with a cache in memory.
#[derive(Debug)]
pub struct IndexBlobs {
    indexes: Arc<IndexPool>,
    cache: ArchiveCache,
}

impl IndexBlobs {
    /// Creates the store on the repositories of a pool.
    #[must_use]
    pub fn new(indexes: Arc<IndexPool>) -> Self {
        Self { indexes, cache: ArchiveCache::default() }
    }
}

impl Blobs for IndexBlobs {
    fn cached(&self, digest: &Digest) -> Option<Bytes> {
        self.cache.get(digest)
    }

    fn get(&self, digest: &Digest) -> Result<Option<Bytes>, StoreError> {
        if let Some(kept) = self.cached(digest) {
            return Ok(Some(kept));
        }
        let found = self.indexes.with(|index| match index.config().archive_location(digest) {
            ArchiveLocation::Tree(path) => index.file(&path),
            ArchiveLocation::Url(_) => Ok(None),
        })??;
        let Some(file) = found else { return Ok(None) };
        let bytes = Bytes::from(file.bytes);
        self.cache.add(*digest, bytes.clone());
        Ok(Some(bytes))
    }
}

impl IndexBlobs {
    /// Evicts an archive from the cache, for one that was removed from the index.
    pub fn evict(&self, digest: &Digest) {
        self.cache.remove(digest);
    }
}

impl From<ReadError> for StoreError {
    fn from(error: ReadError) -> Self {
        Self(Box::new(error))
    }
}

impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        Self(Box::new(error))
    }
}
