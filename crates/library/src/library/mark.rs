//! [`Library::mark`]: whether anything was committed or set since, for who keeps what it read.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::Library;
use crate::{disk::open_dir, events, journal, state};

impl Library {
    /// A number that changes with everything that a skillhub commits or sets here, from whichever process;
    /// hand edits do not change it. It costs a few `stat`s and means nothing to another program.
    #[must_use]
    pub fn mark(&self) -> u64 {
        let Ok(Some(own)) = open_dir(&self.own) else { return 0 };
        let mut hasher = DefaultHasher::new();
        for name in journal::FILES.into_iter().chain([events::FILE, state::FILE]) {
            let found = own.metadata(name).ok();
            found.map(|found| (found.len(), found.modified().ok().map(|time| time.into_std()))).hash(&mut hasher);
        }
        hasher.finish()
    }
}
