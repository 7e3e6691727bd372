//! [`ArchiveCache`]: recently requested archives, in memory.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use axum::body::Bytes;
use skill::Digest;

/// Most bytes of archives in a cache.
const KEPT_BYTES: usize = 64 << 20;

/// A bounded cache of archives by the digest of their content.
#[derive(Debug, Default)]
pub struct ArchiveCache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    archives: HashMap<Digest, Bytes>,
    bytes: usize,
}

impl ArchiveCache {
    /// Returns an archive if it is in the cache.
    #[must_use]
    pub fn get(&self, digest: &Digest) -> Option<Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).archives.get(digest).cloned()
    }

    /// Adds an archive, and removes others when the cache is full.
    pub fn add(&self, digest: Digest, bytes: Bytes) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(digest, bytes);
    }

    /// Removes an archive.
    pub fn remove(&self, digest: &Digest) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(digest);
    }
}

impl Kept {
    fn add(&mut self, digest: Digest, bytes: Bytes) {
        self.remove(&digest);
        self.bytes += bytes.len();
        self.archives.insert(digest, bytes);
        while self.bytes > KEPT_BYTES {
            // The order does not matter: a popular archive is soon cached again.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_stays_within_its_bound() {
        let cache = ArchiveCache::default();
        let large = Bytes::from(vec![0; KEPT_BYTES / 3]);
        let digests: Vec<_> = (0..8_u8).map(|at| Digest::of_bytes(&[at])).collect();
        for digest in digests.iter().chain(&digests) {
            cache.add(*digest, large.clone());
            cache.add(*digest, large.clone());
            assert!(cache.get(digest).is_some());
        }
        let kept = cache.0.lock().unwrap();
        assert_eq!((kept.archives.len(), kept.bytes), (3, 3 * large.len()));
    }
}
