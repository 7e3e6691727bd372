//! [`Kept`]: what was read out of archives, so that a client that fetches file after file costs one unpacking.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use registry_index::Entry;
use skill::{Bundle, Digest};

use super::{fingerprint::fingerprint, uploads::Uploads};
use crate::{error::ApiError, hub::Hub};

/// Bytes of unpacked skills that are kept in memory.
const KEPT_BYTES: u64 = 64 << 20;

/// Skills of which facts are kept.
const KEPT_FACTS: usize = 2000;

/// What was read out of archives, and what waits to become a release.
#[derive(Debug, Default)]
pub struct Kept {
    bundles: Mutex<VecDeque<(Digest, Bundle)>>,
    facts: Mutex<HashMap<Digest, Arc<Facts>>>,
    /// Files that were sent for a release that is not there yet.
    pub uploads: Uploads,
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
    /// The files of a release.
    ///
    /// # Errors
    /// As [`Hub::bundle`].
    pub fn bundle(&self, hub: &Hub, entry: &Entry) -> Result<Bundle, ApiError> {
        let is_free = hub.is_free(entry);
        let found = self.bundles().iter().find(|(digest, _)| *digest == entry.digest).map(|(_, bundle)| bundle.clone());
        if let (true, Some(bundle)) = (is_free, found) {
            return Ok(bundle);
        }
        let bundle = hub.bundle(entry)?;
        let mut bundles = self.bundles();
        bundles.push_back((entry.digest, bundle.clone()));
        while bundles.len() > 1 && bundles.iter().map(|(_, bundle)| bundle.total_bytes()).sum::<u64>() > KEPT_BYTES {
            bundles.pop_front();
        }
        Ok(bundle)
    }

    /// What is asked of a release's files again and again.
    ///
    /// # Errors
    /// As [`Hub::bundle`].
    pub fn facts(&self, hub: &Hub, entry: &Entry) -> Result<Arc<Facts>, ApiError> {
        if let Some(facts) = self.facts.lock().unwrap_or_else(PoisonError::into_inner).get(&entry.digest) {
            return Ok(Arc::clone(facts));
        }
        let bundle = hub.bundle(entry)?;
        let paths = bundle.paths().map(ToString::to_string).collect();
        let facts = Arc::new(Facts { paths, fingerprint: fingerprint(&bundle) });
        let mut all = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KEPT_FACTS {
            all.clear();
        }
        all.insert(entry.digest, Arc::clone(&facts));
        Ok(facts)
    }

    fn bundles(&self) -> std::sync::MutexGuard<'_, VecDeque<(Digest, Bundle)>> {
        self.bundles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
