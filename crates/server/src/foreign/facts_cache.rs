//! [`FactsCache`]: what clients of others ask of a skill's files again and again.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use client::plugin_marketplace::plugin_files;
use registry_index::Entry;
use skill::{Digest, archive};

use super::{fingerprint::fingerprint, rendered::Rendered};
use crate::{
    api::{Shared, run},
    contents,
    error::ApiError,
};

/// Maximum number of skills with cached facts.
const KEPT_FACTS: usize = 2000;

/// Facts about releases.
#[derive(Debug, Default)]
pub struct FactsCache {
    facts: Mutex<HashMap<Digest, Arc<Facts>>>,
    /// Cache of rendered indexes.
    pub rendered: Rendered,
}

/// Frequently requested facts about the files of a skill.
#[derive(Debug)]
pub struct Facts {
    /// Paths of all files.
    pub paths: Vec<String>,
    /// Fingerprint by which `clawhub` identifies the files.
    pub fingerprint: String,
    /// Hash of the archive with the skill as a plugin; `None` if its paths are too long for one.
    pub plugin: Option<Digest>,
}

impl FactsCache {
    /// Returns the facts about a release's files, from the cache or computed from its archive.
    ///
    /// # Errors
    /// Errors of [`contents::files`].
    pub async fn facts(&self, hub: &Shared, entry: &Entry) -> Result<Arc<Facts>, ApiError> {
        if let Some(facts) = self.facts.lock().unwrap_or_else(PoisonError::into_inner).get(&entry.digest) {
            return Ok(Arc::clone(facts));
        }
        let (bundle, name) = (contents::files(hub, entry).await?, entry.name.name.clone());
        let facts = run(hub, move |_| {
            let paths = bundle.paths().map(ToString::to_string).collect();
            let plugin = plugin_files(&name, &bundle).ok().map(|plugin| archive::pack(&plugin).hash());
            Ok(Arc::new(Facts { paths, fingerprint: fingerprint(&bundle), plugin }))
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
