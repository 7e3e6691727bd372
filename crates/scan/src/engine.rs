//! [`Engine`]: finds where text rules match, by one pass for all literals, and matchers that run only
//! near what it finds.
//!
//! Most processes scan one skill and end, so that what is made ready counts for more than how fast
//! it then is. To compile the expressions of the rules whose literals stand in a large skill took ten times as
//! long as all the rest; a [`Matcher`] does the same work, and an expression only where that takes many steps.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{LazyLock, OnceLock},
};

use flow::{Literals, detours::TooMuch};
use regex_automata::{
    Input,
    meta::{Config, Regex},
    nfa::thompson::WhichCaptures,
    util::syntax,
};

use crate::{Rule, matcher::Matcher, pattern::WORD_GAP, rules};

/// Bytes on each side of a literal that are searched for a pattern whose matches have no bound. A user may write one;
/// the others are searched as far as they can match.
const UNBOUNDED: usize = 512;

/// Bytes around a match that tell whether a word begins or ends there.
const BESIDE: usize = 1;

/// Regions end at a multiple of this many bytes, so that dense hits merge cheaply.
const GRAIN: usize = 64;

/// Bytes of text that the expressions of one scan may read together. The busiest of several hundred
/// real skills uses a twelfth of it.
const STEPS: u64 = 24 << 20;

/// Bytes of the largest expression.
const NFA_BYTES: usize = 4 << 20;

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

/// The literals of all text rules, and their expressions.
pub(crate) struct Engine {
    literals: Literals,
    /// For each literal what follows from it.
    owners: Vec<Owner>,
    texts: Vec<TextRule>,
}

/// A text rule, by its place, for which a literal counts.
struct Owner {
    text: usize,
    /// It is one of [`Rule::also`].
    also: bool,
}

struct TextRule {
    rule: &'static Rule,
    matcher: OnceLock<Option<Matcher>>,
    /// Bytes on each side of a literal in which a whole match lies.
    reach: OnceLock<usize>,
    regex: OnceLock<Result<Regex, String>>,
}

/// Where to look for a text rule in one text.
#[derive(Default)]
struct Place {
    /// The merged surroundings of its literals.
    regions: Vec<Range<usize>>,
    /// Whether one of [`Rule::also`] is there.
    also: bool,
}

impl Steps {
    pub fn new() -> Self {
        Self { left: STEPS }
    }

    pub fn take(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.left = self.left.checked_sub(bytes as u64).ok_or(Exhausted)?;
        Ok(())
    }

    /// Takes steps that were counted elsewhere, if so many are left.
    pub fn take_all(&mut self, steps: u64) -> bool {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(self.left);
        left.is_some()
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

impl From<TooMuch> for SearchError {
    fn from(_: TooMuch) -> Self {
        Self::Exhausted
    }
}

impl From<Exhausted> for SearchError {
    fn from(_: Exhausted) -> Self {
        Self::Exhausted
    }
}

/// The engine over our rules, built on first use.
pub(crate) fn engine() -> &'static Engine {
    static ENGINE: LazyLock<Engine> = LazyLock::new(|| Engine::new(rules()));
    &ENGINE
}

impl Engine {
    pub fn new(rules: &'static [Rule]) -> Self {
        let number = rules.iter().map(|rule| rule.literals.len() + rule.also.len()).sum();
        let (mut literals, mut owners) = (Vec::with_capacity(number), Vec::with_capacity(number));
        let mut texts = Vec::with_capacity(rules.len());
        for rule in rules.iter().filter(|rule| !rule.pattern.is_empty()) {
            for (all, also) in [(rule.literals, false), (rule.also, true)] {
                literals.extend(all);
                owners.extend(all.iter().map(|_| Owner { text: texts.len(), also }));
            }
            let (matcher, reach, regex) = Default::default();
            texts.push(TextRule { rule, matcher, reach, regex });
        }
        Self { literals: Literals::new(literals), owners, texts }
    }

    /// All matches of all text rules in a text that have a literal within a part of it.
    pub fn search(&self, text: &str, within: Range<usize>, steps: &mut Steps) -> Result<Vec<Hit>, SearchError> {
        let mut hits = Vec::new();
        for (rule, place) in self.places(text, within) {
            let text_rule = self.texts.get(rule).filter(|of| place.also || of.rule.also.is_empty());
            text_rule.map_or(Ok(()), |of| of.matches(text, &place.regions, steps, &mut hits))?;
        }
        Ok(hits)
    }

    /// Whether a text holds a literal.
    pub fn touches(&self, text: &str) -> bool {
        let mut any = false;
        self.literals.find(text.as_bytes(), |_, _| any = true);
        any
    }

    /// Where to look for the rules whose literals are there.
    fn places(&self, text: &str, within: Range<usize>) -> BTreeMap<usize, Place> {
        let mut places: BTreeMap<usize, Place> = BTreeMap::new();
        let from = within.start;
        self.literals.find(text.as_bytes().get(within).unwrap_or_default(), |literal, range| {
            let Some(owner) = self.owners.get(literal) else { return };
            let place = places.entry(owner.text).or_default();
            if owner.also {
                place.also = true;
            } else {
                let reach = self.texts.get(owner.text).map_or(0, TextRule::reach);
                widen(&mut place.regions, from + range.start..from + range.end, reach, text.len());
            }
        });
        places
    }
}

/// Adds the surroundings of one literal; hits come sorted by their end.
fn widen(regions: &mut Vec<Range<usize>>, literal: Range<usize>, reach: usize, len: usize) {
    let start = literal.start.saturating_sub(reach);
    let end = (literal.end + reach).next_multiple_of(GRAIN).min(len);
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
            steps.take(region.len())?;
            let window = text.as_bytes().get(region.clone()).unwrap_or_default();
            self.find(window, |found| {
                steps.take(HIT)?;
                let matched = || String::from_utf8_lossy(window.get(found.clone()).unwrap_or_default());
                if self.rule.condition.is_none_or(|holds| holds(&matched())) {
                    let range = region.start + found.start..region.start + found.end;
                    hits.push(Hit { rule: self.rule, range });
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Calls `each` with the matches in a window, in their order. Where the matcher runs out of steps, the
    /// expression, whose time does not depend on the pattern, goes on.
    fn find(
        &self,
        window: &[u8],
        mut each: impl FnMut(Range<usize>) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        let mut from = 0;
        if let Some(matcher) = self.matcher() {
            let mut search = matcher.search(window);
            loop {
                let Some(found) = search.next(from) else { return Ok(()) };
                if search.is_exhausted() {
                    from = found.start;
                    break;
                }
                from = found.end.max(found.start + 1);
                each(found)?;
            }
        }
        let all = self.regex()?.find_iter(Input::new(window).range(from..));
        all.into_iter().try_for_each(|found| each(found.range()))
    }

    fn matcher(&self) -> Option<&Matcher> {
        self.matcher.get_or_init(|| Matcher::new(self.rule.pattern)).as_ref()
    }

    fn reach(&self) -> usize {
        *self.reach.get_or_init(|| {
            let longest = || syntax::parse_with(&plain(self.rule.pattern), &syntax()).ok()?.properties().maximum_len();
            self.matcher().map(Matcher::longest).or_else(longest).map_or(UNBOUNDED, |longest| longest + BESIDE)
        })
    }

    fn regex(&self) -> Result<&Regex, SearchError> {
        let compiled = self.regex.get_or_init(|| compile(self.rule.pattern));
        compiled.as_ref().map_err(|error| SearchError::Broken(self.rule.id, error.clone()))
    }
}

/// Compiles a rule's pattern: over bytes, case ignored, classes of ASCII only. `␣` stands for what
/// parts two words: white space, line ends, and the marks of lists, quotations and comments.
///
/// A matcher has looked for what a match can begin with, so that none of that is prepared again.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let config = Config::new()
        .utf8_empty(false)
        .nfa_size_limit(Some(NFA_BYTES))
        .which_captures(WhichCaptures::Implicit)
        .auto_prefilter(false)
        .onepass(false);
    Regex::builder().configure(config).syntax(syntax()).build(&plain(pattern)).map_err(|error| error.to_string())
}

/// How patterns are read.
fn syntax() -> syntax::Config {
    syntax::Config::new().case_insensitive(true).unicode(false).utf8(false)
}

/// A pattern without marks of our own.
fn plain(pattern: &str) -> String {
    pattern.replace('␣', WORD_GAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_hits_become_one_region() {
        let mut regions = Vec::new();
        for at in 0..1000 {
            widen(&mut regions, at * 10..at * 10 + 4, UNBOUNDED, 20_000);
        }
        assert_eq!(regions.len(), 1);
        widen(&mut regions, 15_000..15_004, UNBOUNDED, 20_000);
        assert_eq!(regions.len(), 2);
        assert!(regions.iter().all(|region| region.end <= 20_000));
    }

    /// The matches of one pattern that have a literal within a part of a text.
    fn found(pattern: &'static str, text: &str, within: Range<usize>) -> Vec<Range<usize>> {
        let rule = Rule { literals: &["BEGIN"], pattern, ..crate::rules::SCAN_BUDGET };
        let engine = Engine::new(Box::leak(Box::new([rule])));
        engine.search(text, within, &mut Steps::new()).unwrap().into_iter().map(|hit| hit.range).collect()
    }

    #[test]
    fn matches_are_found_up_to_their_bound() {
        let text = format!("{0}begin{1}end{0}begin{1}xend", "filler ".repeat(1_000), "x".repeat(9_000));
        let match_of = |length: usize| [Range { start: 7_000, end: 7_008 + length }];
        for pattern in [r"begin[^\n]{0,9000}end", r"begin[[:alpha:]]{0,9000}end"] {
            assert_eq!(found(pattern, &text, 0..text.len()), match_of(9_000), "{pattern}");
            assert_eq!(found(pattern, &text, 6_990..7_010), match_of(9_000), "{pattern}");
            assert!(found(pattern, &text, 7_010..text.len()).is_empty(), "{pattern}");
        }
        let unbounded = r"begin[^\n]*end";
        assert_eq!(found(unbounded, &text.replacen(&"x".repeat(8_600), "", 1), 6_000..8_000), match_of(400));
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
            for (text, found) in examples().flat_map(|text| regex.find_iter(text).map(move |found| (text, found))) {
                let matched = String::from_utf8_lossy(&text.as_bytes()[found.range()]).to_lowercase();
                let held = rule.literals.iter().any(|literal| matched.contains(&literal.to_lowercase()));
                assert!(held, "{} matches {matched:?}", rule.id);
            }
        }
    }
}
