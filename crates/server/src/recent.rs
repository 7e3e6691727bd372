//! [`Recent`]: the releases asked for last, unpacked, with what the scanner says of them.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use scan::Scanner;
use skill::{Bundle, Digest};
use web::pages::Judgements;

use crate::lanes::Lanes;

/// Bytes of unpacked skills that are kept in memory.
const KEPT_BYTES: u64 = 64 << 20;

/// A cache of the releases asked for last, and the permits for work on others.
#[derive(Debug)]
pub struct Recent {
    /// The permits.
    pub lanes: Lanes,
    /// By the hash of the archive, which was checked; the oldest first.
    bundles: Mutex<VecDeque<(Digest, Bundle)>>,
    /// What the scanner says of them.
    pub judgements: Judgements,
}

impl Recent {
    /// An empty cache, of what a scanner says of releases too.
    pub fn judged_by(scanner: Scanner) -> Self {
        Self { lanes: Lanes::default(), bundles: Mutex::default(), judgements: Judgements::by(scanner) }
    }

    /// Forgets the files of a release that is not handed out any more.
    pub fn forget(&self, archive: &Digest) {
        self.bundles().retain(|(known, _)| known != archive);
    }

    /// The files of a release, if they are kept.
    pub fn kept(&self, archive: &Digest) -> Option<Bundle> {
        let mut bundles = self.bundles();
        let at = bundles.iter().position(|(known, _)| known == archive)?;
        let found = bundles.remove(at)?;
        let bundle = found.1.clone();
        bundles.push_back(found);
        Some(bundle)
    }

    /// Keeps the files of a release.
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
