//! Full-text search for skills in registries and other sources: [`rank`] and the results.

pub(crate) mod result;

use std::collections::BTreeSet;

use registry_index::{Entry, ReadError};
use skill::failure::{Fails, Failure, FailureKind};
use skill::{
    Owner, QualifiedName, SkillName,
    terms::{Stem, Term, folded, terms, words},
};
use strsim::levenshtein;
use thiserror::Error;

use crate::{
    config::SourceKind,
    registry::{Registries, Registry, RegistryError, SearchedRegistry},
};

pub use result::{SearchResult, SearchedSource, SourceState};

/// Default number of results.
pub const DEFAULT_RESULTS: usize = 50;

/// Maximum number of similar names that an error suggests.
const SUGGESTIONS: usize = 3;

/// Scores of the different kinds of matches, in points.
const EXACT_NAME: u32 = 1000;
const NAME_PREFIX: u32 = 400;
const NAME_WORD: u32 = 300;
const NAME_PART: u32 = 200;
const OWNER: u32 = 150;
const TITLE: u32 = 250;
const KEYWORD: u32 = 100;
const DESCRIPTION_WORD: u32 = 40;
const DESCRIPTION_PART: u32 = 20;

/// Reasons why a search failed.
#[derive(Debug, Error)]
pub enum SearchError {
    /// A registry cannot be used.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A registry's index cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Fails for SearchError {
    fn failure(&self) -> Failure {
        match self {
            Self::Registry(error) => error.failure(),
            Self::Read(error) => error.failure(),
        }
    }
}

/// Results of a search.
#[derive(Debug, Default)]
pub struct SearchResults {
    /// Matching skills, best first.
    pub results: Vec<SearchResult>,
    /// Skills of registries that could not be searched, one sentence each.
    pub skipped: Vec<String>,
    /// Parts of other sources that were ignored, one sentence each.
    pub ignored: Vec<String>,
    /// Sources that were searched or could not be reached.
    pub sources: Vec<SearchedSource>,
}

/// Matches in the registries, before they are ranked.
#[derive(Default)]
struct Matches {
    entries: Vec<(String, Entry)>,
    on_servers: Vec<SearchResult>,
    skipped: Vec<String>,
}

/// Searches the registries, and ranks their skills together with the `offers` of other sources. Returns at most
/// `limit` results, best first, and the first error of a registry that could not be searched.
///
/// All terms must match. If no skill matches all of them, skills that match some are returned. An empty query matches
/// everything. A skill with damaged index entries is left out, and listed in [`SearchResults::skipped`].
///
/// # Errors
/// [`SearchError`] if a registry cannot be trusted.
pub(crate) fn search(
    registries: &Registries,
    offers: Vec<SearchResult>,
    query: &str,
    limit: usize,
) -> Result<(SearchResults, Option<SearchError>), SearchError> {
    let (mut found, mut sources, mut first_error) = (Matches::default(), Vec::new(), None);
    for SearchedRegistry { name, location, is_source, registry } in registries.searched() {
        let searched = registry.map_err(SearchError::from).and_then(|registry| {
            found.add(&registry, query, limit, |owner| is_source || registries.is_asked_for(&registry, owner))
        });
        let reason = searched.as_ref().err().map(ToString::to_string);
        let state = if reason.is_none() { SourceState::Searched } else { SourceState::Unreachable };
        let kind = SourceKind::Registry.to_string();
        sources.push(SearchedSource { name, kind, location, state, read_at: None, reason });
        match searched {
            Err(error) if is_distrusted(&error) => return Err(error),
            Err(error) => first_error = first_error.or(Some(error)),
            Ok(()) => {}
        }
    }
    let Matches { entries, on_servers, skipped } = found;
    let entries = entries.into_iter().map(|(registry, entry)| (result_of(&entry, registry), Text::of(&entry)));
    let offers = offers.into_iter().map(|offer| {
        let text = Text::of_offer(&offer);
        (offer, text)
    });
    let mut results = rank_all(entries.chain(offers), query, limit);
    if !on_servers.is_empty() {
        results.extend(on_servers);
        results.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.name.cmp(&b.name)));
        results.truncate(limit);
    }
    results.iter_mut().filter(|result| result.install.is_empty()).for_each(|result| {
        result.install = registries.install_arguments(&result.name, &result.registry);
    });
    Ok((SearchResults { results, skipped, ignored: Vec::new(), sources }, first_error))
}

/// Returns whether an error shows that a registry was changed, rather than that it is absent.
fn is_distrusted(error: &SearchError) -> bool {
    matches!(error.failure().kind, FailureKind::Integrity | FailureKind::Refused)
}

impl Matches {
    /// Adds the skills of a registry, of the owners for which it is asked.
    fn add(
        &mut self,
        registry: &Registry,
        query: &str,
        limit: usize,
        is_asked: impl Fn(&Owner) -> bool,
    ) -> Result<(), SearchError> {
        if let Some(results) = registry.search(query, limit)? {
            let owner = |result: &SearchResult| result.name.parse::<QualifiedName>().ok().map(|name| name.owner);
            self.on_servers
                .extend(results.into_iter().filter(|result| owner(result).is_some_and(|owner| is_asked(&owner))));
            return Ok(());
        }
        let readable = registry.with_all_lines()?.readable()?;
        let described = |error| format!("{}: {error}; see all faults with `skillhub index verify`", registry.name());
        self.skipped.extend(readable.damaged.iter().map(described));
        let asked = readable.entries.into_iter().filter(|entry| is_asked(&entry.name.owner));
        self.entries.extend(asked.map(|entry| (registry.name().to_owned(), entry)));
        Ok(())
    }
}

/// Ranks the newest releases of skills, each with the name of its registry, as a search of all sources does.
pub fn rank(entries: Vec<(String, Entry)>, query: &str, limit: usize) -> Vec<SearchResult> {
    let texts = entries.into_iter().map(|(registry, entry)| (result_of(&entry, registry), Text::of(&entry)));
    rank_all(texts, query, limit)
}

fn rank_all(found: impl Iterator<Item = (SearchResult, Text)>, query: &str, limit: usize) -> Vec<SearchResult> {
    let terms = terms(query);
    let whole = folded(query);
    let scored: Vec<(SearchResult, usize)> =
        found.map(|(result, text)| score(result, &text, whole.trim(), &terms)).collect();
    let has_all = scored.iter().any(|(_, matched)| *matched == terms.len());
    let wanted = |matched: usize| if has_all { matched == terms.len() } else { matched > 0 };
    let mut results: Vec<_> = scored.into_iter().filter(|(_, matched)| wanted(*matched)).collect();
    results.sort_by(|(a, hits_a), (b, hits_b)| {
        hits_b.cmp(hits_a).then(b.score.cmp(&a.score)).then_with(|| a.name.cmp(&b.name))
    });
    results.into_iter().map(|(result, _)| result).take(limit).collect()
}

/// Scores one skill and counts the matching terms. `whole` is the normalised query.
fn score(result: SearchResult, text: &Text, whole: &str, terms: &[Term]) -> (SearchResult, usize) {
    let scores: Vec<u32> = terms.iter().map(|term| text.score(term)).collect();
    let matched = scores.iter().filter(|score| **score > 0).count();
    let exact = whole == text.name || whole == format!("{}/{}", text.owner, text.name);
    let score = scores.iter().sum::<u32>() + if exact { EXACT_NAME } else { 0 };
    (SearchResult { score, ..result }, matched)
}

/// Creates the result of an entry, without its score.
fn result_of(entry: &Entry, registry: String) -> SearchResult {
    SearchResult {
        name: entry.name.to_string(),
        title: entry.title.clone(),
        version: entry.version.to_string(),
        description: entry.description.clone(),
        deprecated: entry.deprecated().map(|deprecated| deprecated.to_string()),
        score: 0,
        registry,
        kind: SourceKind::Registry.to_string(),
        install: String::new(),
    }
}

/// The searchable text of a skill, normalised.
struct Text {
    name: String,
    title: String,
    owner: String,
    keywords: Vec<String>,
    description: String,
    description_words: BTreeSet<String>,
}

impl Text {
    fn of(entry: &Entry) -> Self {
        let (name, owner) = (entry.name.name.to_string(), entry.name.owner.to_string());
        Self::new(&entry.description, entry.title.as_deref(), [name, owner], &entry.keywords)
    }

    fn of_offer(offer: &SearchResult) -> Self {
        Self::new(&offer.description, offer.title.as_deref(), [offer.name.clone(), offer.registry.clone()], &[])
    }

    fn new(description: &str, title: Option<&str>, [name, owner]: [String; 2], keywords: &[String]) -> Self {
        let description = folded(description);
        Self {
            name: folded(&name),
            title: title.map(folded).unwrap_or_default(),
            owner,
            keywords: keywords.iter().map(|word| folded(word)).collect(),
            description_words: words(&description).map(str::to_owned).collect(),
            description,
        }
    }

    fn score(&self, term: &Term) -> u32 {
        match term {
            Term::Word(word) => self.score_word(word),
            Term::Gram(gram) => self.score_gram(gram),
        }
    }

    fn score_word(&self, word: &str) -> u32 {
        let in_name = if self.name == word {
            NAME_PREFIX + NAME_WORD
        } else if self.name.split('-').any(|part| part == word) {
            NAME_WORD + u32::from(self.name.starts_with(word)) * (NAME_PREFIX - NAME_WORD)
        } else if self.name.starts_with(word) {
            NAME_PREFIX - 1
        } else if self.name.contains(word) || self.name.split('-').any(|part| has_stem(part, word)) {
            NAME_PART
        } else {
            0
        };
        let in_owner = if self.owner == word || format!("{}/{}", self.owner, self.name) == word { OWNER } else { 0 };
        let in_keywords = if self.keywords.iter().any(|keyword| keyword == word) {
            KEYWORD
        } else if self.keywords.iter().any(|keyword| keyword.contains(word) || has_stem(keyword, word)) {
            KEYWORD / 2
        } else {
            0
        };
        let in_description = if self.description_words.contains(word) {
            DESCRIPTION_WORD
        } else if self.description_words.iter().any(|other| is_part(other, word)) {
            DESCRIPTION_PART
        } else {
            0
        };
        let in_title = if words(&self.title).any(|part| is_part(part, word)) { TITLE } else { 0 };
        in_name.max(in_owner) + in_title + in_keywords + in_description
    }

    fn score_gram(&self, gram: &str) -> u32 {
        let points = |text: &str, points: u32| if text.contains(gram) { points } else { 0 };
        let in_keywords = self.keywords.iter().map(|keyword| points(keyword, KEYWORD)).max().unwrap_or(0);
        points(&self.name, NAME_PART)
            + points(&self.title, TITLE)
            + in_keywords
            + points(&self.description, DESCRIPTION_WORD)
    }
}

/// Returns whether a word of the description is a longer form of the search term, or another form of it.
fn is_part(other: &str, word: &str) -> bool {
    other.starts_with(word) || (word.chars().count() > 3 && other.contains(word)) || has_stem(other, word)
}

/// Returns whether two words are forms of the same English word.
fn has_stem(one: &str, other: &str) -> bool {
    Stem::of(one) == Stem::of(other)
}

/// Returns full names in a registry that a mistyped name may have meant, nearest first. In a git or server registry,
/// only locally available names with the same beginning are compared.
pub(crate) fn similar(registry: &Registry, name: &SkillName) -> Result<Vec<String>, ReadError> {
    let index = registry.index();
    let others = if registry.is_local() { index.names()? } else { index.names_beside(name)? };
    Ok(nearest(others, name, SUGGESTIONS))
}

/// Returns the full names of skills that have a title, which people may type in place of a name. A registry that cannot
/// be searched has none.
pub(crate) fn titled(registries: &Registries, title: &str) -> Vec<String> {
    let found = search(registries, Vec::new(), title, DEFAULT_RESULTS);
    let results = found.map(|(found, _)| found.results).unwrap_or_default();
    let titled = results.into_iter().filter(|result| result.title.as_deref().map(str::trim) == Some(title));
    titled.map(|result| result.name).take(SUGGESTIONS).collect()
}

/// Returns the names that a mistyped name may have meant, nearest first, at most `limit`.
pub fn nearest(others: Vec<QualifiedName>, name: &SkillName, limit: usize) -> Vec<String> {
    let mut near: Vec<(usize, String)> = Vec::new();
    for other in others {
        let distance = levenshtein(name.as_str(), other.name.as_str());
        if distance <= name.as_str().chars().count() / 3 {
            near.push((distance, other.to_string()));
        }
    }
    near.sort();
    near.into_iter().map(|(_, name)| name).take(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, description: &str, keywords: &[&str]) -> (String, Entry) {
        let hash = format!("sha256:{}", "1".repeat(64));
        let line = serde_json::json!({
            "v": 1, "name": name, "version": "1.0.0", "digest": hash, "archive": hash, "size": 1, "files": 1,
            "description": description, "keywords": keywords, "verdict": "allow", "publisher": "p",
            "published_at": "2026-01-01T00:00:00Z"
        });
        ("local".to_owned(), Entry::parse(&line.to_string()).unwrap())
    }

    fn names(query: &str) -> Vec<String> {
        let entries = vec![
            entry("acme/pdf", "Reads and fills documents.", &[]),
            entry("acme/pdf-forms", "Fills in forms.", &["documents"]),
            entry("zoe/my-pdf-tool", "Handles files.", &[]),
            entry("zoe/epdfx", "Something else.", &[]),
            entry("zoe/scanner", "Scans things.", &["pdf"]),
            entry("zoe/notes", "Takes notes, exports PDF too.", &[]),
            entry("mei/chart", "把表格数据画成图表，支持折线图。", &["图表"]),
            entry("mei/nihongo", "日本語の文書を要約します。", &[]),
        ];
        rank(entries, query, 50).into_iter().map(|result| result.name).collect()
    }

    #[test]
    fn name_outranks_keywords_and_description() {
        let found = names("pdf");
        assert_eq!(found, ["acme/pdf", "acme/pdf-forms", "zoe/my-pdf-tool", "zoe/epdfx", "zoe/scanner", "zoe/notes"]);
        assert_eq!(names("PDF"), found);
        assert_eq!(names("ｐｄｆ"), found, "full width letters are the same");
        assert_eq!(names("acme/pdf")[0], "acme/pdf");
    }

    #[test]
    fn results_match_all_words_if_possible() {
        assert_eq!(names("pdf forms"), ["acme/pdf-forms"]);
        let some = names("forms zebra");
        assert_eq!(some, ["acme/pdf-forms"], "one of two words is better than nothing");
        assert!(names("zebra").is_empty());
        assert_eq!(names("").len(), 8, "an empty query lists everything");
    }

    #[test]
    fn unspaced_scripts_match_by_bigrams() {
        assert_eq!(names("折线图"), ["mei/chart"]);
        assert_eq!(names("画图表"), ["mei/chart"], "not all pairs are there, some are");
        assert_eq!(names("图"), ["mei/chart"]);
        assert_eq!(names("文書 要約"), ["mei/nihongo"]);
        assert!(names("猫").is_empty());
    }

    #[test]
    fn plurals_and_prefixes_match() {
        assert_eq!(names("scanners"), ["zoe/scanner"]);
        assert!(names("export").contains(&"zoe/notes".to_owned()));
    }

    #[test]
    fn english_forms_match_each_other() {
        let entries =
            || vec![entry("acme/one", "Runs a test.", &["query"]), entry("acme/two", "Merges branches.", &[])];
        let found = |query: &str| -> Vec<_> { rank(entries(), query, 9).into_iter().map(|one| one.name).collect() };
        for query in ["test", "tests", "testing", "tested", "running tests", "queries"] {
            assert_eq!(found(query), ["acme/one"], "{query}");
        }
        for query in ["merge", "merging", "branch", "merged branch"] {
            assert_eq!(found(query), ["acme/two"], "{query}");
        }
        for query in ["tester", "text", "bus", "querying-x"] {
            assert!(found(query).is_empty(), "{query}");
        }
    }

    #[test]
    fn long_queries_are_truncated() {
        let query: String = (0..200_000).map(|at| format!("w{at} ")).collect();
        assert_eq!(names(&format!("pdf {query}"))[0], "acme/pdf");
    }

    #[test]
    fn distances_are_counted_in_characters() {
        assert_eq!(levenshtein("pdf", "pfd"), 2);
        assert_eq!(levenshtein("", "abc"), 3);
        assert_eq!(levenshtein("图表", "图标"), 1);
        assert_eq!(levenshtein("kitten", "sitting"), 3);
    }
}
