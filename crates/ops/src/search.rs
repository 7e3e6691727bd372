//! Searches in the registries of a [`Workplace`].

use client::SearchFound;
use serde_json::{Value, json};

use crate::{refusal::Refusal, workplace::Workplace};

impl Workplace {
    /// Looks for skills in the registries.
    ///
    /// # Errors
    /// One cannot be read.
    pub fn search(&self, query: &str, limit: usize) -> Result<SearchFound, Refusal> {
        Ok(client::search(&self.registries(), query, limit)?)
    }
}

/// The results as JSON.
#[must_use]
pub fn search_document(found: &SearchFound) -> Value {
    json!({"ok": true, "results": found.results, "skipped": found.skipped})
}
