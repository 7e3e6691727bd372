//! [`Engine`]: finds where text rules match, by one automaton over all literals and expressions that
//! run only near its hits.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{LazyLock, OnceLock},
};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::bytes::{Regex, RegexBuilder};

use crate::{Rule, rules};

/// Bytes on each side of a literal in which a rule's whole match lies: the longest sum of bounded
/// gaps of any pattern, with room to spare.
const REACH: usize = 512;

/// Regions end at a multiple of this many bytes, so that dense hits merge cheaply.
const GRAIN: usize = 256;

/// Bytes of text that the expressions of one scan may read together. The busiest of several hundred
/// real skills uses an eighth of it.
const STEPS: u64 = 24 << 20;

/// What `␣` stands for in a pattern.
const WORD_GAP: &str = r"[\s>*_#/,]{1,8}";

/// Steps that each match costs on top of the bytes, for what is done with it.
const HIT: usize = 256;

/// What is left of the work that one scan may do.
pub(crate) struct Steps {
    left: u64,
}

/// The work is used up.
#[derive(Debug)]
pub(crate) struct Exhausted;

/// Where a rule matched, in bytes of the searched text.
#[derive(Debug)]
pub(crate) struct Hit {
    pub rule: &'static Rule,
    pub range: Range<usize>,
}

/// The automaton over the literals of all text rules, and their expressions.
pub(crate) struct Engine {
    automaton: AhoCorasick,
    /// For each literal, the rules that it makes worth a look.
    owners: Vec<Vec<usize>>,
    texts: Vec<TextRule>,
}

struct TextRule {
    rule: &'static Rule,
    /// Literals one of which must be in the file.
    also: Vec<usize>,
    regex: OnceLock<Result<Regex, String>>,
}

impl Steps {
    pub fn new() -> Self {
        Self { left: STEPS }
    }

    pub fn take(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.left = self.left.checked_sub(bytes as u64).ok_or(Exhausted)?;
        Ok(())
    }

    pub fn used(&self) -> u64 {
        STEPS - self.left
    }
}

/// Why a search could not be finished.
#[derive(Debug)]
pub(crate) enum SearchError {
    /// The step budget is used up.
    Exhausted,
    /// An expression of our own does not compile.
    Broken(&'static str, String),
}

impl From<Exhausted> for SearchError {
    fn from(_: Exhausted) -> Self {
        Self::Exhausted
    }
}

/// The engine over all rules, built on first use.
pub(crate) fn engine() -> Result<&'static Engine, String> {
    static ENGINE: LazyLock<Result<Engine, String>> = LazyLock::new(|| Engine::new(rules()));
    ENGINE.as_ref().map_err(Clone::clone)
}

impl Engine {
    fn new(rules: &'static [Rule]) -> Result<Self, String> {
        let mut literals: BTreeMap<String, usize> = BTreeMap::new();
        let mut owners: Vec<Vec<usize>> = Vec::new();
        let mut id_of = |literal: &str, owners: &mut Vec<Vec<usize>>| {
            let next = literals.len();
            *literals.entry(literal.to_ascii_lowercase()).or_insert_with(|| {
                owners.push(Vec::new());
                next
            })
        };
        let mut texts = Vec::new();
        for rule in rules.iter().filter(|rule| !rule.pattern.is_empty()) {
            for literal in rule.literals {
                let id = id_of(literal, &mut owners);
                if let Some(owners) = owners.get_mut(id) {
                    owners.push(texts.len());
                }
            }
            let also = rule.also.iter().map(|literal| id_of(literal, &mut owners)).collect();
            texts.push(TextRule { rule, also, regex: OnceLock::new() });
        }
        let automaton = build(&literals)?;
        Ok(Self { automaton, owners, texts })
    }

    /// All matches of all text rules in a text.
    pub fn search(&self, text: &str, steps: &mut Steps) -> Result<Vec<Hit>, SearchError> {
        let (regions, seen) = self.regions(text);
        let mut hits = Vec::new();
        for (text_rule, regions) in self.texts.iter().zip(regions) {
            let wanted = text_rule.also.is_empty() || text_rule.also.iter().any(|id| seen.get(*id) == Some(&true));
            if wanted {
                text_rule.matches(text, &regions, steps, &mut hits)?;
            }
        }
        Ok(hits)
    }

    /// For each rule the merged surroundings of its literals, and for each literal whether it is there.
    fn regions(&self, text: &str) -> (Vec<Vec<Range<usize>>>, Vec<bool>) {
        let mut regions: Vec<Vec<Range<usize>>> = vec![Vec::new(); self.texts.len()];
        let mut seen = vec![false; self.owners.len()];
        for found in self.automaton.find_overlapping_iter(text) {
            let literal = found.pattern().as_usize();
            if let Some(seen) = seen.get_mut(literal) {
                *seen = true;
            }
            for owner in self.owners.get(literal).into_iter().flatten() {
                if let Some(regions) = regions.get_mut(*owner) {
                    widen(regions, found.start(), found.end(), text.len());
                }
            }
        }
        (regions, seen)
    }
}

fn build(literals: &BTreeMap<String, usize>) -> Result<AhoCorasick, String> {
    let mut ordered: Vec<(&usize, &String)> = literals.iter().map(|(text, id)| (id, text)).collect();
    ordered.sort();
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .build(ordered.into_iter().map(|(_, text)| text))
        .map_err(|error| error.to_string())
}

/// Adds the surroundings of one literal; hits come sorted by their end.
fn widen(regions: &mut Vec<Range<usize>>, start: usize, end: usize, len: usize) {
    let start = start.saturating_sub(REACH);
    let end = (end + REACH).next_multiple_of(GRAIN).min(len);
    match regions.last_mut() {
        Some(last) if start <= last.end => {
            last.end = last.end.max(end);
            last.start = last.start.min(start);
        }
        _ => regions.push(start..end),
    }
}

impl TextRule {
    fn matches(
        &self,
        text: &str,
        regions: &[Range<usize>],
        steps: &mut Steps,
        hits: &mut Vec<Hit>,
    ) -> Result<(), SearchError> {
        for region in regions {
            let regex = self.regex()?;
            steps.take(region.len())?;
            let window = text.as_bytes().get(region.clone()).unwrap_or_default();
            for found in regex.find_iter(window) {
                steps.take(HIT)?;
                let matched = String::from_utf8_lossy(found.as_bytes());
                if self.rule.accept.is_none_or(|accept| accept(&matched)) {
                    let range = region.start + found.start()..region.start + found.end();
                    hits.push(Hit { rule: self.rule, range });
                }
            }
        }
        Ok(())
    }

    fn regex(&self) -> Result<&Regex, SearchError> {
        let compiled = self.regex.get_or_init(|| compile(self.rule.pattern));
        compiled.as_ref().map_err(|error| SearchError::Broken(self.rule.id, error.clone()))
    }
}

/// Compiles a rule's pattern: over bytes, case ignored, classes of ASCII only. `␣` stands for what
/// parts two words: white space, line ends, and the marks of lists, quotations and comments.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(&pattern.replace('␣', WORD_GAP))
        .case_insensitive(true)
        .unicode(false)
        .size_limit(4 << 20)
        .build()
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_hits_become_one_region() {
        let mut regions = Vec::new();
        for at in 0..1000 {
            widen(&mut regions, at * 10, at * 10 + 4, 20_000);
        }
        assert_eq!(regions.len(), 1);
        widen(&mut regions, 15_000, 15_004, 20_000);
        assert_eq!(regions.len(), 2);
        assert!(regions.iter().all(|region| region.end <= 20_000));
    }

    #[test]
    fn every_pattern_compiles_and_bounds_its_gaps() {
        for rule in rules().iter().filter(|rule| !rule.pattern.is_empty()) {
            compile(rule.pattern).unwrap_or_else(|error| panic!("{}: {error}", rule.id));
            let gaps = rule.pattern.replace("\\*", "").replace("\\+", "").replace("\\.", "");
            for gap in [".*", ".+", "]*", "]+", ",}"] {
                assert!(!gaps.contains(gap), "{} has the unbounded gap {gap}", rule.id);
            }
            assert!(!rule.literals.is_empty(), "{} has no literal", rule.id);
        }
    }

    #[test]
    fn every_match_holds_a_literal_of_its_rule() {
        let examples =
            || rules().iter().flat_map(|rule| rule.harmful.iter().chain(rule.harmless)).map(|(_, text)| *text);
        for rule in rules().iter().filter(|rule| !rule.pattern.is_empty()) {
            let regex = compile(rule.pattern).unwrap();
            for found in examples().flat_map(|text| regex.find_iter(text.as_bytes())) {
                let matched = String::from_utf8_lossy(found.as_bytes()).to_lowercase();
                let held = rule.literals.iter().any(|literal| matched.contains(&literal.to_lowercase()));
                assert!(held, "{} matches {matched:?}", rule.id);
            }
        }
    }
}
