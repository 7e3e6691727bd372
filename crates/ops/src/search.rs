//! Searches in the registries of a [`Workplace`].

use client::SearchFound;
use serde_json::{Value, json};

use crate::{refusal::Refusal, workplace::Workplace};

impl Workplace {
    /// Searches the registries for skills.
    ///
    /// # Errors
    /// A registry cannot be read.
    pub fn search(&self, query: &str, limit: usize) -> Result<SearchFound, Refusal> {
        Ok(client::search(&self.registries(), query, limit)?)
    }
}

/// Formats the results as JSON.
#[must_use]
pub fn search_document(found: &SearchFound) -> Value {
    json!({"ok": true, "results": found.results, "skipped": found.skipped})
}
