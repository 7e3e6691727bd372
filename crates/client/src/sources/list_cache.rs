//! [`ListCache`]: the cached list of a source's skills, below the home.

use std::path::PathBuf;

use jiff::Timestamp;
use library::{Durability, Home, ensure_dir, open_dir, read_bounded, write_atomically};
use serde::{Deserialize, Serialize};
use skill::Digest;

use super::{ListedSource, offer::Offer};
use crate::config::SourceKind;

/// Folder of the lists below the cache.
const FOLDER: &str = "lists";

/// Maximum size of a cached list in bytes.
const MOST_BYTES: u64 = 32 << 20;

/// Format of a cached list. Another one counts as absent.
const FORMAT: u32 = 1;

/// Age in seconds up to which a list is used without asking its source.
const FRESH_SECONDS: i64 = 600;

/// The list of one source.
pub(super) struct ListCache {
    home: Home,
    folder: PathBuf,
    file: String,
}

/// Skills of a source, and the time at which they were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CachedList {
    format: u32,
    /// Seconds since 1970 at which the skills were read.
    read_at_seconds: i64,
    pub offers: Vec<Offer>,
    pub warnings: Vec<String>,
    /// True if the source has a manifest that lists plugins.
    pub has_manifest: bool,
}

impl CachedList {
    /// Creates a list without skills.
    pub fn empty(read_at: Timestamp) -> Self {
        let read_at_seconds = read_at.as_second();
        Self { format: FORMAT, read_at_seconds, offers: Vec::new(), warnings: Vec::new(), has_manifest: false }
    }

    /// Returns the time at which the skills were read.
    pub fn read_at(&self) -> Timestamp {
        Timestamp::from_second(self.read_at_seconds).unwrap_or_default()
    }

    /// Returns whether the list is so new that its source need not be asked.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        (0..FRESH_SECONDS).contains(&now.as_second().saturating_sub(self.read_at_seconds))
    }
}

impl ListCache {
    /// Returns the cache of a source. ClawHub has a list for each query, because it searches by itself.
    pub fn of(home: &Home, source: &ListedSource, query: &str) -> Self {
        let query = if source.kind == SourceKind::ClawHub { query } else { "" };
        let key = format!("{}\n{}\n{query}", source.kind, source.location);
        let file = format!("{}.json", Digest::of_bytes(key.as_bytes()).hex());
        // Folders are on this machine and are always read.
        let file = if source.kind == SourceKind::Folder { String::new() } else { file };
        Self { home: home.clone(), folder: home.cache().join(FOLDER), file }
    }

    /// Reads the list. A missing or damaged one counts as absent.
    pub fn read(&self) -> Option<CachedList> {
        let dir = open_dir(&self.folder).ok()?.filter(|_| !self.file.is_empty())?;
        let bytes = read_bounded(&dir, &self.file, MOST_BYTES).ok()??;
        serde_json::from_slice(&bytes).ok().filter(|list: &CachedList| list.format == FORMAT)
    }

    /// Replaces the list. If that fails, the source is asked again next time.
    pub fn write(&self, list: &CachedList) {
        let dir = self.home.ensure().and_then(|_| ensure_dir(&self.folder));
        if let (Ok(dir), Ok(bytes), false) = (dir, serde_json::to_vec(list), self.file.is_empty()) {
            let _asked_again = write_atomically(&dir, &self.file, &bytes, Durability::Unsynced);
        }
    }
}
