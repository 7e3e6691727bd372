//! [`Catalogue`]: search for skills, with its queries and results.

use std::collections::HashMap;

use client::search::rank;
use registry_index::Entry;
use serde::{Deserialize, Serialize};
use skill::terms::Term;
use skill::{Owner, QualifiedName};
use utoipa::ToSchema;

use super::records::StoreError;

/// Maximum page size, in skills.
pub const PAGE: usize = 100;

/// Largest offset into a result.
pub const DEEPEST: usize = 10_000;

/// Largest number of matches that is counted.
pub const COUNTED: usize = 1_000;

/// Order of the results of a search or list.
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

/// Conditions on the newest release of a skill. Texts are compared without regard to the case of English letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Verdict of the release, such as `allow`; `None` for any.
    pub verdict: Option<String>,
    /// True to accept only signed releases.
    pub signed_only: bool,
    /// License of the release; `None` for any.
    pub license: Option<String>,
    /// One of its keywords; `None` for any.
    pub keyword: Option<String>,
}

impl Filter {
    /// Returns the conditions in lower case, as they are compared.
    #[must_use]
    pub fn folded(self) -> Self {
        let fold = |text: Option<String>| text.map(|text| text.to_ascii_lowercase());
        Self { verdict: fold(self.verdict), license: fold(self.license), keyword: fold(self.keyword), ..self }
    }
}

/// A search, or a list if it has no words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Search words; empty for a list of all skills.
    pub words: String,
    /// Owner whose skills are searched; `None` for all owners.
    pub owner: Option<Owner>,
    /// Order of the results; `None` for the best matches first, in a list the most recently published.
    pub order: Option<Order>,
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
    /// Relevance; higher is better. Comparable within one search only, and 0 in a list or another order.
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
    /// Number of skills on all pages; `None` above [`COUNTED`].
    pub total: Option<usize>,
}

impl Query {
    /// Returns the query within its limits.
    #[must_use]
    pub fn bounded(&self) -> Self {
        let (limit, offset) = (self.limit.clamp(1, PAGE), self.offset.min(DEEPEST));
        Self { limit, offset, filter: self.filter.clone().folded(), ..self.clone() }
    }

    /// Returns the page among the candidates for the best matches. `line` returns the index line of a candidate, and
    /// `hit` adds its counts. Candidates whose line cannot be read are left out.
    ///
    /// # Errors
    /// The error of `hit`.
    pub fn ranked<T, E>(
        &self,
        found: &[T],
        matches: usize,
        line: impl Fn(&T) -> &str,
        hit: impl Fn(&T, Entry, u32) -> Result<SearchHit, E>,
    ) -> Result<Page, E> {
        let (mut by_name, mut entries) = (HashMap::new(), Vec::with_capacity(found.len()));
        for found in found {
            let Ok(entry) = Entry::parse(line(found)) else { continue };
            by_name.insert(entry.name.to_string(), found);
            entries.push((String::new(), entry));
        }
        let ranked = rank(entries, &self.words, CANDIDATES);
        // Parsing the few results again is cheaper than copying all that were ranked.
        let hits = ranked.iter().skip(self.offset).take(self.limit).filter_map(|result| {
            let found: &T = by_name.get(&result.name)?;
            Some(hit(found, Entry::parse(line(found)).ok()?, result.score))
        });
        let skills = hits.collect::<Result<Vec<_>, E>>()?;
        let total = total(if matches <= CANDIDATES { ranked.len() } else { matches });
        Ok(Page { skills, has_more: ranked.len() > self.offset.saturating_add(self.limit), total })
    }
}

/// Matches of a search that are ranked in full.
pub const CANDIDATES: usize = 120;

/// The words that a skill needs to match a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matching {
    /// All terms, as beginnings of words.
    All,
    /// All terms, in any English form.
    AllForms,
    /// Some of the terms, in any form.
    SomeForms,
}

impl Matching {
    /// Chooses how a search with some terms matches, and returns the number of matches. `count` counts them, up to
    /// one more than [`COUNTED`]. Other forms of a word count only where they do not crowd out the word itself, and some
    /// of the terms are better than nothing.
    ///
    /// # Errors
    /// The error of `count`.
    pub fn choose<E>(terms: usize, count: impl Fn(Self) -> Result<usize, E>) -> Result<(Self, usize), E> {
        // No fewer skills match all forms than match the words as they are, so most searches are decided by this count.
        let of_forms = count(Self::AllForms)?;
        if of_forms == 0 && terms > 1 {
            return Ok((Self::SomeForms, count(Self::SomeForms)?));
        }
        if of_forms > CANDIDATES {
            let matches = count(Self::All)?;
            if matches > CANDIDATES {
                return Ok((Self::All, matches));
            }
        }
        Ok((Self::AllForms, of_forms))
    }

    /// Returns, for each term, the beginnings of which a word has to have one.
    #[must_use]
    pub fn prefixes(self, terms: &[Term]) -> Vec<Vec<String>> {
        let of = |term: &Term| match self {
            Self::All => vec![term.prefix().to_owned()],
            Self::AllForms | Self::SomeForms => term.stem_prefixes(),
        };
        terms.iter().map(of).collect()
    }
}

/// Returns a number of matches as it is reported: `None` above [`COUNTED`].
#[must_use]
pub fn total(matches: usize) -> Option<usize> {
    Some(matches).filter(|matches| *matches <= COUNTED)
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
