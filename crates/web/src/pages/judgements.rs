//! [`Judgements`]: what the scanner says of skills, kept for those looked at last.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use axum::body::Bytes;
use scan::{Capabilities, Report, Scanner};
use skill::{Bundle, Digest};

/// Judgements that are kept.
const KEPT: usize = 256;

/// Findings of all of them, each about a kilobyte with its document.
const KEPT_FINDINGS: usize = 20_000;

/// What the scanner says of some content.
#[derive(Debug)]
pub struct Judgement {
    /// What it found.
    pub report: Report,
    /// What it would touch.
    pub capabilities: Capabilities,
    /// Both as the API answers with them, made when first asked for.
    pub document: OnceLock<Bytes>,
}

/// Judgements by digest: the rules of a running program do not change, and the content of a digest never does.
#[derive(Debug, Default)]
pub struct Judgements {
    scanner: Scanner,
    kept: Mutex<HashMap<Digest, Arc<Judgement>>>,
}

impl Judgements {
    /// None yet, and what makes them.
    pub fn by(scanner: Scanner) -> Self {
        Self { scanner, ..Self::default() }
    }

    /// The one of files with this digest. It only tells; whether something comes in or goes out is never asked here.
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
            // Any will do: what is looked at often is back at once.
            let Some(one) = kept.keys().find(|one| **one != digest).copied() else { break };
            kept.remove(&one);
        }
        made
    }

    /// The one of this digest, if it is kept.
    pub fn kept(&self, digest: &Digest) -> Option<Arc<Judgement>> {
        self.lock().get(digest).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, Arc<Judgement>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
