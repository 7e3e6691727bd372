//! [`Judgements`]: what the scanner says of skills, kept for those looked at last.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use scan::{Capabilities, Report};
use skill::{Bundle, Digest};

/// Judgements that are kept.
const KEPT: usize = 256;

/// What the scanner says of some content.
#[derive(Debug)]
pub struct Judgement {
    /// What it found.
    pub report: Report,
    /// What it would touch.
    pub capabilities: Capabilities,
}

/// Judgements by digest: the rules of a running program do not change, and the content of a digest never does.
#[derive(Debug, Default)]
pub struct Judgements {
    kept: Mutex<HashMap<Digest, Arc<Judgement>>>,
}

impl Judgements {
    /// The one of files with this digest. It only tells; whether something comes in or goes out is never asked here.
    pub fn of(&self, digest: Digest, bundle: &Bundle) -> Arc<Judgement> {
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = lock().get(&digest) {
            return Arc::clone(kept);
        }
        let made = Arc::new(Judgement { report: scan::scan(bundle), capabilities: scan::capabilities(bundle) });
        let mut kept = lock();
        if kept.len() >= KEPT {
            // Any will do: what is looked at often is back at once.
            let Some(one) = kept.keys().next().copied() else { return made };
            kept.remove(&one);
        }
        kept.insert(digest, Arc::clone(&made));
        made
    }
}
