//! A cache of scan results ([`Judgements`]).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use axum::body::Bytes;
use scan::{Capabilities, Report, Scanner};
use skill::{Bundle, Digest};

/// Maximum number of cached results.
const KEPT: usize = 256;

/// Maximum number of findings in all cached results. One takes about a kilobyte, including its document.
const KEPT_FINDINGS: usize = 20_000;

/// The scan result for one content digest.
#[derive(Debug)]
pub struct Judgement {
    /// Findings, and the verdict that follows from them.
    pub report: Report,
    /// Capabilities that the content would need.
    pub capabilities: Capabilities,
    /// Both as the response of the API, serialised on first use.
    pub document: OnceLock<Bytes>,
}

/// Scan results by digest. They never expire: the rules of a running program and the content of a digest are constant.
#[derive(Debug, Default)]
pub struct Judgements {
    scanner: Scanner,
    kept: Mutex<HashMap<Digest, Arc<Judgement>>>,
}

impl Judgements {
    /// Creates an empty cache that fills itself with this scanner.
    pub fn by(scanner: Scanner) -> Self {
        Self { scanner, ..Self::default() }
    }

    /// Returns the result for files with this digest, scanning them if it is not cached.
    /// The result is for display only: no decision about publishing or installing uses it.
    pub fn of(&self, digest: Digest, bundle: &Bundle) -> Arc<Judgement> {
        if let Some(kept) = self.kept(&digest) {
            return kept;
        }
        let (report, capabilities) = (self.scanner.scan(bundle), scan::capabilities(bundle));
        let made = Arc::new(Judgement { report, capabilities, document: OnceLock::new() });
        let mut kept = self.lock();
        kept.insert(digest, Arc::clone(&made));
        let findings =
            |kept: &HashMap<Digest, Arc<Judgement>>| kept.values().map(|one| one.report.findings.len()).sum::<usize>();
        while kept.len() > KEPT || findings(&kept) > KEPT_FINDINGS {
            // Any entry can be evicted: popular ones are soon cached again.
            let Some(one) = kept.keys().find(|one| **one != digest).copied() else { break };
            kept.remove(&one);
        }
        made
    }

    /// Returns the cached result for a digest, without scanning.
    pub fn kept(&self, digest: &Digest) -> Option<Arc<Judgement>> {
        self.lock().get(digest).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, Arc<Judgement>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
