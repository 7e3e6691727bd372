//! [`SearchResult`]: one result of a search.

use schemars::JsonSchema;
use serde::Serialize;

/// A skill that matches a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchResult {
    /// Full name of the skill.
    pub name: String,
    /// Title of the skill in any script, if it has one.
    pub title: Option<String>,
    /// Newest version of the skill.
    pub version: String,
    /// Description of that version.
    pub description: String,
    /// Advice of its owner if that version is deprecated, such as `deprecated, use acme/other instead`.
    pub deprecated: Option<String>,
    /// Relevance; higher is better. Comparable only within one search.
    pub score: u32,
    /// Name of the registry in the configuration.
    pub registry: String,
}
