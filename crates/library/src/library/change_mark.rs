//! Change detection for callers that cache data of a library ([`Library::mark`]).

use std::hash::{DefaultHasher, Hash, Hasher};

use super::Library;
use crate::{disk::open_dir, events, journal, state};

impl Library {
    /// Returns a number that changes with every commit or setting by any process; hand edits do not change it. Costs
    /// a few `stat` calls. Only comparable within this program.
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
