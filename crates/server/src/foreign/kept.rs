//! [`Kept`]: what clients of others ask of a skill's files again and again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use registry_index::Entry;
use skill::Digest;

use super::{fingerprint::fingerprint, rendered::Rendered};
use crate::{
    api::{Shared, run},
    contents,
    error::ApiError,
};

/// Skills of which facts are kept.
const KEPT_FACTS: usize = 2000;

/// Facts about releases.
#[derive(Debug, Default)]
pub struct Kept {
    facts: Mutex<HashMap<Digest, Arc<Facts>>>,
    /// Rendered indexes.
    pub rendered: Rendered,
}

/// What is asked of a skill's files again and again.
#[derive(Debug)]
pub struct Facts {
    /// Their paths.
    pub paths: Vec<String>,
    /// What `clawhub` knows them by.
    pub fingerprint: String,
}

impl Kept {
    /// What is asked of a release's files again and again.
    ///
    /// # Errors
    /// As [`contents::files`].
    pub async fn facts(&self, hub: &Shared, entry: &Entry) -> Result<Arc<Facts>, ApiError> {
        if let Some(facts) = self.facts.lock().unwrap_or_else(PoisonError::into_inner).get(&entry.digest) {
            return Ok(Arc::clone(facts));
        }
        let bundle = contents::files(hub, entry).await?;
        let facts = run(hub, move |_| {
            let paths = bundle.paths().map(ToString::to_string).collect();
            Ok(Arc::new(Facts { paths, fingerprint: fingerprint(&bundle) }))
        });
        let facts = facts.await?;
        let mut all = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KEPT_FACTS {
            all.clear();
        }
        all.insert(entry.digest, Arc::clone(&facts));
        Ok(facts)
    }
}
