//! [`Catalogue`]: search for skills, with its queries and results.

use registry_index::Entry;
use serde::{Deserialize, Serialize};
use skill::{Owner, QualifiedName};
use utoipa::ToSchema;

use super::records::StoreError;

/// Maximum page size, in skills.
pub const PAGE: usize = 100;

/// Largest offset into a result.
pub const DEEPEST: usize = 10_000;

/// Order in which skills are listed when a query has no words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Most recently published first.
    #[default]
    Updated,
    /// Most downloaded first.
    Downloads,
    /// Alphabetical by name.
    Name,
}

/// Conditions on the newest release of a skill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter {
    /// True to accept only releases with the verdict `allow`.
    pub allowed_only: bool,
    /// True to accept only signed releases.
    pub signed_only: bool,
}

impl Filter {
    /// Returns whether a release meets the conditions.
    #[must_use]
    pub fn takes(self, entry: &Entry) -> bool {
        (!self.allowed_only || entry.verdict == "allow") && (!self.signed_only || entry.signature.is_some())
    }
}

/// A search, or a list if it has no words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Search words; empty for a list of all skills.
    pub words: String,
    /// Owner whose skills are searched; `None` for all owners.
    pub owner: Option<Owner>,
    /// Order of a list. Search results are always ordered by score.
    pub order: Order,
    /// Conditions on the newest release.
    pub filter: Filter,
    /// Skills to skip, at most [`DEEPEST`].
    pub offset: usize,
    /// Most skills to return, between 1 and [`PAGE`].
    pub limit: usize,
}

/// A skill of a result, represented by its newest release.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The release's line in the index.
    pub entry: Entry,
    /// Relevance; higher is better. Comparable within one search only, and 0 in a list.
    pub score: u32,
    /// Downloads of all its releases.
    pub downloads: u64,
    /// Number of accounts that starred it.
    pub stars: u64,
}

/// One page of a result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Skills in the order of the result.
    pub skills: Vec<SearchHit>,
    /// True if another page follows.
    pub has_more: bool,
}

/// A projection of the index for search.
pub trait Catalogue: Send + Sync {
    /// Returns one page of a search or list.
    ///
    /// # Errors
    /// [`StoreError`]
    fn find(&self, query: &Query) -> Result<Page, StoreError>;

    /// Returns the newest releases that require a skill or were forked from it.
    ///
    /// # Errors
    /// [`StoreError`]
    fn related(&self, name: &QualifiedName) -> Result<Vec<Entry>, StoreError>;

    /// Returns the number of skills.
    ///
    /// # Errors
    /// [`StoreError`]
    fn count(&self) -> Result<u64, StoreError>;
}
