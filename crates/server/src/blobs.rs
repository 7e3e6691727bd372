//! [`Blobs`]: archives by the digest of what is in them, and [`IndexBlobs`], which has them in the index.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::body::Bytes;
use registry_index::{BundlePlace, ReadError};
use skill::Digest;
use thiserror::Error;

use crate::index_pool::IndexPool;

/// Bytes of archives that are kept in memory.
const KEPT_BYTES: usize = 64 << 20;

/// Why an archive could not be read.
#[derive(Debug, Error)]
pub enum BlobError {
    /// The index.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The index is gone.
    #[error(transparent)]
    Open(#[from] registry_index::OpenError),
}

/// A store of archives. What one digest names never changes; it can only go.
pub trait Blobs: Send + Sync {
    /// The archive, if it is in memory: takes no time.
    fn at_hand(&self, digest: &Digest) -> Option<Bytes>;

    /// The archive; may read the disk.
    ///
    /// # Errors
    /// [`BlobError`]
    fn get(&self, digest: &Digest) -> Result<Option<Bytes>, BlobError>;
}

/// The archives in the tree of an index, those asked for last in memory.
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
    /// Those of an index.
    #[must_use]
    pub fn new(indexes: Arc<IndexPool>) -> Self {
        Self { indexes, kept: Mutex::default() }
    }
}

impl Blobs for IndexBlobs {
    fn at_hand(&self, digest: &Digest) -> Option<Bytes> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).archives.get(digest).cloned()
    }

    fn get(&self, digest: &Digest) -> Result<Option<Bytes>, BlobError> {
        if let Some(kept) = self.at_hand(digest) {
            return Ok(Some(kept));
        }
        let found = self.indexes.with(|index| match index.config().place_of(digest) {
            BundlePlace::Tree(path) => index.file(&path),
            BundlePlace::Url(_) => Ok(None),
        })??;
        let Some(file) = found else { return Ok(None) };
        let bytes = Bytes::from(file.bytes);
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).add(*digest, bytes.clone());
        Ok(Some(bytes))
    }
}

impl IndexBlobs {
    /// Forgets what is in memory of one that was taken out.
    pub fn forget(&self, digest: &Digest) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).remove(digest);
    }
}

impl Kept {
    fn add(&mut self, digest: Digest, bytes: Bytes) {
        self.bytes += bytes.len();
        self.archives.insert(digest, bytes);
        while self.bytes > KEPT_BYTES {
            // Any will do: what is asked for often is back at once.
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
