//! [`SearchResult`]: one skill that a search found.

use serde::Serialize;

/// One skill that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchResult {
    /// `owner/name`.
    pub name: String,
    /// Its newest version.
    pub version: String,
    /// The description of that version.
    pub description: String,
    /// How well it fits; higher is better, comparable within one search only.
    pub score: u32,
    /// The registry's name.
    pub registry: String,
}
