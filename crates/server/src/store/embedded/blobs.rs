//! [`IndexBlobs`]: the archives in the tree of an index.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::body::Bytes;
use registry_index::{ArchiveLocation, OpenError, ReadError};
use skill::Digest;

use super::index_pool::IndexPool;
use crate::store::{Blobs, StoreError};

/// Most bytes of archives cached in memory.
const KEPT_BYTES: usize = 64 << 20;

/// The archives in the tree of an index, with a cache in memory.
#[derive(Debug)]
pub struct IndexBlobs {
    indexes: Arc<IndexPool>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    archives: HashMap<Digest, Bytes>,
    bytes: usize,
}

impl IndexBlobs {
    /// Creates the store on the repositories of a pool.
    #[must_use]
    pub fn new(indexes: Arc<IndexPool>) -> Self {
        Self { indexes, kept: Mutex::default() }
    }
}

impl Blobs for IndexBlobs {
    fn cached(&self, digest: &Digest) -> Option<Bytes> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).archives.get(digest).cloned()
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
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).add(*digest, bytes.clone());
        Ok(Some(bytes))
    }
}

impl IndexBlobs {
    /// Evicts an archive from the cache, for one that was removed from the index.
    pub fn evict(&self, digest: &Digest) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).remove(digest);
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

impl Kept {
    fn add(&mut self, digest: Digest, bytes: Bytes) {
        self.bytes += bytes.len();
        self.archives.insert(digest, bytes);
        while self.bytes > KEPT_BYTES {
            // Eviction order does not matter: a popular archive is soon cached again.
            let Some(one) = self.archives.keys().find(|one| **one != digest).copied() else { return };
            self.remove(&one);
        }
    }

    fn remove(&mut self, digest: &Digest) {
        if let Some(bytes) = self.archives.remove(digest) {
            self.bytes -= bytes.len();
        }
    }
}
