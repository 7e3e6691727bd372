//! Searches in the registries of a [`Workspace`].

use client::{SearchResult, SearchResults};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{refusal::Refusal, workspace::Workspace};

impl Workspace {
    /// Searches the registries for skills.
    ///
    /// # Errors
    /// A registry cannot be read.
    pub fn search(&self, query: &str, limit: usize) -> Result<SearchResults, Refusal> {
        Ok(client::search(&self.registries(), query, limit)?)
    }
}

/// Answer of `skillhub search --json` and of the search tool.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchDocument<'a> {
    ok: bool,
    /// Skills that match, best first.
    results: &'a [SearchResult],
    /// Skills that could not be searched, one sentence each.
    skipped: &'a [String],
}

impl<'a> SearchDocument<'a> {
    /// Creates the answer of a search.
    #[must_use]
    pub fn of(found: &'a SearchResults) -> Self {
        Self { ok: true, results: &found.results, skipped: &found.skipped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_has_the_published_schema() {
        testkit::assert_published::<SearchDocument<'_>>("search");
    }
}
