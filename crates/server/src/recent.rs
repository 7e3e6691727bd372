//! [`Recent`]: a cache of recently requested releases, unpacked, and of their verdicts.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use scan::Scanner;
use skill::{Bundle, Digest};
use web::pages::Judgements;

use crate::work_limiter::WorkLimiter;

/// Most bytes of unpacked skills in the cache.
const KEPT_BYTES: u64 = 64 << 20;

/// A least-recently-used cache of releases, and the permits for work on others.
#[derive(Debug)]
pub struct Recent {
    /// Limits on the work for uncached releases.
    pub lanes: WorkLimiter,
    /// Files by the verified hash of the archive, least recently used first.
    bundles: Mutex<VecDeque<(Digest, Bundle)>>,
    /// Cache of verdicts.
    pub judgements: Judgements,
}

impl Recent {
    /// Creates an empty cache, with verdicts of this scanner.
    pub fn judged_by(scanner: Scanner) -> Self {
        Self { lanes: WorkLimiter::default(), bundles: Mutex::default(), judgements: Judgements::by(scanner) }
    }

    /// Evicts the files of a release that is no longer served.
    pub fn evict(&self, archive: &Digest) {
        self.bundles().retain(|(known, _)| known != archive);
    }

    /// Returns the files of a release if they are cached.
    pub fn kept(&self, archive: &Digest) -> Option<Bundle> {
        let mut bundles = self.bundles();
        let at = bundles.iter().position(|(known, _)| known == archive)?;
        let found = bundles.remove(at)?;
        let bundle = found.1.clone();
        bundles.push_back(found);
        Some(bundle)
    }

    /// Adds the files of a release to the cache.
    pub fn keep(&self, archive: Digest, bundle: &Bundle) {
        let mut bundles = self.bundles();
        bundles.push_back((archive, bundle.clone()));
        while bundles.len() > 1 && bundles.iter().map(|(_, bundle)| bundle.total_bytes()).sum::<u64>() > KEPT_BYTES {
            bundles.pop_front();
        }
    }

    fn bundles(&self) -> MutexGuard<'_, VecDeque<(Digest, Bundle)>> {
        self.bundles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
