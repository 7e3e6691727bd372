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

    /// Forgets what belongs to another commit than this.
    pub fn advance(&self, revision: &str) {
        if self.kept().revision != revision {
            let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
            *kept = Kept { revision: revision.to_owned(), ..Kept::default() };
        }
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
        let bytes = path.len() + file.as_ref().map_or(0, |file| file.bytes.len());
        if kept.revision == revision && kept.bytes + bytes <= KEPT_BYTES {
            kept.bytes += bytes;
            kept.files.insert(path.to_owned(), file.clone());
        }
        Ok(file)
    }

    fn kept(&self) -> RwLockReadGuard<'_, Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }
}
