//! Searches in the sources of a [`Workspace`].

use client::{Registries, SearchRequest, SearchResult, SearchResults, SearchedSource, Sources};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{refusal::Refusal, workspace::Workspace};

impl Workspace {
    /// Returns the sources of the user. `registries` are those of [`Workspace::registries`].
    pub fn sources<'a>(&'a self, registries: &'a Registries) -> Sources<'a> {
        let Self { home, config, user_home, cwd, now, .. } = self;
        Sources { home, config, registries, user_home, cwd, now: *now }
    }

    /// Returns the options of a search with at most `limit` results. A registry that the user names is searched alone,
    /// and public sources only if the user agreed.
    pub fn search_request(&self, limit: usize) -> SearchRequest {
        let public = self.config.search.public.unwrap_or_default();
        SearchRequest { limit, offline: false, only_registries: self.registry.is_some(), public }
    }

    /// Searches the registries and all other sources for skills.
    ///
    /// # Errors
    /// A registry cannot be trusted, or no source answered.
    pub fn search(&self, query: &str, request: &SearchRequest) -> Result<SearchResults, Refusal> {
        Ok(self.sources(&self.registries()).search(query, request)?)
    }
}

/// Answer of `skillhub search --json` and of the search tool.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchDocument<'a> {
    ok: bool,
    /// Skills that match, best first.
    results: &'a [SearchResult],
    /// Skills that could not be searched, one sentence each.
    skipped: Vec<&'a str>,
    /// Sources that were searched or could not be reached.
    sources: &'a [SearchedSource],
}

impl<'a> SearchDocument<'a> {
    /// Creates the answer of a search.
    pub fn of(found: &'a SearchResults) -> Self {
        let skipped = found.skipped.iter().chain(&found.ignored).map(String::as_str).collect();
        Self { ok: true, results: &found.results, skipped, sources: &found.sources }
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
