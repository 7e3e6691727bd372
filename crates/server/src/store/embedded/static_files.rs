//! [`StaticFiles`]: the files of the index as clients fetch them, with a cache in memory.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

use axum::body::Bytes;
use registry_index::{OpenError, ReadError};

use crate::{
    error::ApiError,
    store::{StaticFile, embedded::index_pool::IndexPool},
};

/// Most bytes of files in the cache.
const KEPT_BYTES: usize = 64 << 20;

/// Overhead of a cached file in bytes, besides its path and content.
const ENTRY_BYTES: usize = 200;

/// Files of the newest commit.
#[derive(Debug)]
pub struct StaticFiles {
    indexes: Arc<IndexPool>,
    kept: RwLock<FileCache>,
}

/// Cache of files of one commit. Missing files are cached too.
#[derive(Debug, Default)]
struct FileCache {
    revision: String,
    files: HashMap<String, Option<StaticFile>>,
    bytes: usize,
}

impl StaticFiles {
    /// Creates the cache for an index.
    #[must_use]
    pub fn new(indexes: Arc<IndexPool>) -> Self {
        Self { indexes, kept: RwLock::default() }
    }

    /// Moves to a commit and evicts the files that changed since another one; all when the changes are unknown.
    pub fn advance(&self, before: &str, revision: &str, changed: Option<&[String]>) {
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        match changed {
            Some(paths) if kept.revision == before => paths.iter().for_each(|path| kept.remove(path)),
            // The changes are unknown, or another thread advanced first.
            _ => *kept = FileCache::default(),
        }
        kept.revision = revision.to_owned();
    }

    /// The commit of the cached files.
    pub fn revision(&self) -> String {
        self.kept().revision.clone()
    }

    /// Returns a file if it is cached; never blocks on the disk. The inner `None` is a file known to be missing.
    #[must_use]
    pub fn cached(&self, path: &str) -> Option<Option<StaticFile>> {
        self.kept().files.get(path).cloned()
    }

    /// Returns a file, reading the disk if it is not cached.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn get(&self, path: &str) -> Result<Option<StaticFile>, ApiError> {
        if let Some(kept) = self.cached(path) {
            return Ok(kept);
        }
        let read = self.indexes.with(|index| -> Result<_, ReadError> { Ok((index.revision()?, index.file(path)?)) });
        let (revision, found) = read.map_err(|error: OpenError| ApiError::from(error))??;
        let file = found.map(|file| StaticFile { etag: format!("\"{}\"", file.id), bytes: Bytes::from(file.bytes) });
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.revision == revision {
            kept.add(path, file.clone());
        }
        Ok(file)
    }

    fn kept(&self) -> RwLockReadGuard<'_, FileCache> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileCache {
    fn add(&mut self, path: &str, file: Option<StaticFile>) {
        self.remove(path);
        let bytes = bytes_of(path, file.as_ref());
        if self.bytes + bytes > KEPT_BYTES {
            // Popular files are soon cached again.
            self.files.clear();
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.files.insert(path.to_owned(), file);
    }

    fn remove(&mut self, path: &str) {
        if let Some(file) = self.files.remove(path) {
            self.bytes -= bytes_of(path, file.as_ref());
        }
    }
}

fn bytes_of(path: &str, file: Option<&StaticFile>) -> usize {
    path.len() + ENTRY_BYTES + file.map_or(0, |file| file.bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::{account, hub, submission},
        publish::publish,
    };

    fn file(bytes: usize) -> Option<StaticFile> {
        Some(StaticFile { bytes: Bytes::from(vec![0; bytes]), etag: String::new() })
    }

    #[test]
    fn publish_forgets_its_own_files_only() {
        let folder = tempfile::tempdir().unwrap();
        let hub = hub(folder.path());
        let publish = |name: &str| publish(&hub, &account(&hub, name), &submission(&format!("{name}/notes"), "Notes."));
        publish("ann").unwrap();
        let path = |name: &str| format!("no/te/notes/{name}");
        let found = hub.stores.releases.file(&path("ann")).unwrap().unwrap();
        assert_eq!(hub.stores.releases.file(&path("bob")).unwrap(), None);
        publish("bob").unwrap();
        assert_eq!(hub.stores.releases.file_at_hand(&path("ann")), Some(Some(found)));
        assert_eq!(hub.stores.releases.file_at_hand(&path("bob")), None, "that it is not there is forgotten");
        assert!(hub.stores.releases.file(&path("bob")).unwrap().is_some());
    }

    #[test]
    fn kept_files_stay_within_their_bytes() {
        let mut kept = FileCache::default();
        for at in 0..40 {
            kept.add(&format!("absent-{at}"), None);
            kept.add(&format!("file-{}", at % 20), file(KEPT_BYTES / 15));
            let held: usize = kept.files.iter().map(|(path, file)| bytes_of(path, file.as_ref())).sum();
            assert!(held == kept.bytes && held <= KEPT_BYTES, "{at}: {held} of {}", kept.bytes);
        }
        kept.remove("file-19");
        assert!(!kept.files.contains_key("file-19") && kept.bytes < KEPT_BYTES);
    }
}
