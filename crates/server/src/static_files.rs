//! [`StaticFiles`]: the files of the index as clients fetch them, those asked for last in memory.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

use axum::body::Bytes;
use registry_index::{OpenError, ReadError};

use crate::{error::ApiError, index_pool::IndexPool};

/// Bytes of files that are kept in memory.
const KEPT_BYTES: usize = 64 << 20;

/// Bytes that each of them takes beside its path and its content.
const ENTRY_BYTES: usize = 200;

/// One file, and what tells it from an older one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticFile {
    /// The content.
    pub bytes: Bytes,
    /// An ETag, in quotes.
    pub etag: String,
}

/// The files of the newest commit.
#[derive(Debug)]
pub struct StaticFiles {
    indexes: Arc<IndexPool>,
    kept: RwLock<Kept>,
}

/// Files of one commit. What was looked for and is not there is kept as well.
#[derive(Debug, Default)]
struct Kept {
    revision: String,
    files: HashMap<String, Option<StaticFile>>,
    bytes: usize,
}

impl StaticFiles {
    /// Those of an index.
    #[must_use]
    pub fn new(indexes: Arc<IndexPool>) -> Self {
        Self { indexes, kept: RwLock::default() }
    }

    /// Forgets files that are different at this commit, and returns their paths.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn advance(&self, revision: &str) -> Result<Vec<String>, ApiError> {
        let before = self.revision();
        if before == revision {
            return Ok(Vec::new());
        }
        let changed = self.indexes.with(|index| index.changed_paths(&before, revision))??;
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        match &changed {
            Some(paths) if kept.revision == before => paths.iter().for_each(|path| kept.remove(path)),
            // Unknown, or another thread was first.
            _ => *kept = Kept::default(),
        }
        kept.revision = revision.to_owned();
        Ok(changed.unwrap_or_default())
    }

    /// The commit whose files are told.
    #[must_use]
    pub fn revision(&self) -> String {
        self.kept().revision.clone()
    }

    /// A file, if it is in memory: takes no time.
    #[must_use]
    pub fn at_hand(&self, path: &str) -> Option<Option<StaticFile>> {
        self.kept().files.get(path).cloned()
    }

    /// A file; may read the disk.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn get(&self, path: &str) -> Result<Option<StaticFile>, ApiError> {
        if let Some(kept) = self.at_hand(path) {
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

    fn kept(&self) -> RwLockReadGuard<'_, Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn add(&mut self, path: &str, file: Option<StaticFile>) {
        self.remove(path);
        let bytes = bytes_of(path, file.as_ref());
        if self.bytes + bytes > KEPT_BYTES {
            // What is asked for often is back at once.
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
        let mut kept = Kept::default();
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
