//! [`SearchResult`]: one result of a search, and [`SearchedSource`]: one of the sources that it covered.

use schemars::JsonSchema;
use serde::Serialize;

/// A skill that matches a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchResult {
    /// Full name of the skill; from sources without owners, its bare name.
    pub name: String,
    /// Title of the skill in any script, if it has one.
    pub title: Option<String>,
    /// Newest version of the skill; empty if the source has no versions.
    pub version: String,
    /// Description of that version.
    pub description: String,
    /// Advice of its owner if that version is deprecated, such as `deprecated, use acme/other instead`.
    pub deprecated: Option<String>,
    /// Relevance; higher is better. Comparable only within one search.
    pub score: u32,
    /// Name of the registry or other source in the configuration.
    pub registry: String,
    /// Kind of the source.
    pub kind: String,
    /// Arguments of `skillhub install` that install the skill, quoted for a shell.
    pub install: String,
}

/// A source that a search covered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchedSource {
    /// Name in the configuration.
    pub name: String,
    /// Kind of the source.
    pub kind: String,
    /// Location of the source.
    pub location: String,
    /// Answer of the source: `searched`, `cached` or `unreachable`.
    #[schemars(with = "String")]
    pub state: SourceState,
    /// Time at which a cached answer was read, as RFC 3339; absent otherwise.
    pub read_at: Option<String>,
    /// Reason why the source could not be searched, or not anew.
    pub reason: Option<String>,
}

/// Answer of a source to a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceState {
    /// The source was searched now.
    Searched,
    /// The list of its skills came from the cache.
    Cached,
    /// The source could not be searched.
    Unreachable,
}
