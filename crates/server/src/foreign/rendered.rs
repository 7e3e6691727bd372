//! A cache of indexes for foreign clients, which are rendered once for each commit ([`Rendered`]).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::body::Bytes;
use skill::Digest;

/// Maximum age of a document. Downloads and decisions of other processes change it without a commit.
const KEPT_TIME: Duration = Duration::from_secs(10);

/// Memory limit of the cache, in bytes.
const KEPT_BYTES: usize = 16 << 20;

/// A rendered index, with the state that it describes.
#[derive(Debug)]
pub struct Document {
    state: State,
    made: Instant,
    /// JSON text of the index.
    pub bytes: Bytes,
    /// Value of the `ETag` header, in quotes.
    pub etag: String,
}

/// Commit of the index, and the number of moderation decisions in this process. A document is valid for one state.
pub type State = (String, u64);

/// A cache of documents, keyed by a hash of the skills that they list.
#[derive(Debug, Default)]
pub struct Rendered(Mutex<HashMap<Digest, Arc<Document>>>);

impl Rendered {
    /// Returns the document that was rendered in this state, if it is recent enough.
    pub fn cached(&self, key: &Digest, state: &State, now: Instant) -> Option<Arc<Document>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current = |one: &&Arc<Document>| one.state == *state && now.duration_since(one.made) < KEPT_TIME;
        kept.get(key).filter(is_current).cloned()
    }

    /// Caches a document that was rendered in this state. If the cache becomes too large, it drops all others.
    pub fn keep(&self, key: Digest, state: State, now: Instant, text: String) -> Arc<Document> {
        let etag = format!("\"{}\"", Digest::of_bytes(text.as_bytes()).hex());
        let made = Arc::new(Document { state, made: now, bytes: Bytes::from(text), etag });
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(key, Arc::clone(&made));
        if kept.values().map(|one| one.bytes.len()).sum::<usize>() > KEPT_BYTES {
            kept.retain(|other, _| *other == key);
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_is_cached_for_its_state() {
        let (rendered, key, now) = (Rendered::default(), Digest::of_bytes(b"all"), Instant::now());
        let state = ("abc".to_owned(), 1);
        rendered.keep(key, state.clone(), now, "{}".to_owned());
        assert!(rendered.cached(&key, &state, now).is_some());
        assert!(rendered.cached(&Digest::of_bytes(b"other"), &state, now).is_none());
        assert!(rendered.cached(&key, &("def".to_owned(), 1), now).is_none(), "another commit");
        assert!(rendered.cached(&key, &("abc".to_owned(), 2), now).is_none(), "a decision");
        assert!(rendered.cached(&key, &state, now + KEPT_TIME).is_none(), "too old");
    }

    #[test]
    fn cache_stays_within_its_limit() {
        let (rendered, now, state) = (Rendered::default(), Instant::now(), ("abc".to_owned(), 1));
        for at in 0..40u8 {
            rendered.keep(Digest::of_bytes(&[at]), state.clone(), now, "x".repeat(KEPT_BYTES / 20));
            let bytes: usize = rendered.0.lock().unwrap().values().map(|one| one.bytes.len()).sum();
            assert!(bytes <= KEPT_BYTES, "{at}: {bytes}");
        }
    }
}
