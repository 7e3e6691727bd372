//! [`Engine`]: finds the matches of text rules with one pass for all literals, and matchers that run only near a
//! literal.
//!
//! Most processes scan one skill and exit, so setup time matters more than throughput. Compiling the regular
//! expressions of the rules whose literals occur in a large skill took ten times as long as the rest of the scan. A
//! [`Matcher`] does the same work. A regular expression is compiled only if the matcher takes too many steps.

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

/// Bytes searched on each side of a literal if the pattern's matches have no maximum length. Only a user's rule can
/// have such a pattern. All others are searched as far as they can match.
const UNBOUNDED: usize = 512;

/// Bytes next to a match that determine whether a word begins or ends there.
const BESIDE: usize = 1;

/// Alignment of region ends in bytes, so that dense hits merge cheaply.
const GRAIN: usize = 64;

/// Step budget of one scan: bytes of text that its expressions may read in total. The most expensive of several hundred
/// real skills uses a twelfth of it.
const STEPS: u64 = 24 << 20;

/// Maximum size of a compiled expression in bytes.
const NFA_BYTES: usize = 4 << 20;

/// Steps charged per match in addition to the bytes read, for processing it.
const HIT: usize = 256;

/// Maximum number of places of a rule's [`Rule::also`] that are kept for its findings.
const ALSO: usize = 1024;

/// Remaining step budget of one scan.
pub(crate) struct Steps {
    left: u64,
}

/// Error for a step budget that is used up.
#[derive(Debug)]
pub(crate) struct Exhausted;

/// Match of a rule, as a byte range of the searched text.
#[derive(Debug)]
pub(crate) struct Hit {
    pub rule: &'static Rule,
    pub range: Range<usize>,
    /// Byte offset of the literal from [`Rule::also`] that is nearest to the match.
    pub also: Option<usize>,
}

/// Literals of all text rules, with lazily built matchers and expressions.
pub(crate) struct Engine {
    literals: Literals,
    /// Owning rule of each literal, by the literal's index.
    owners: Vec<Owner>,
    texts: Vec<TextRule>,
}

/// Reference from a literal to its text rule.
struct Owner {
    text: usize,
    /// True if the literal is from [`Rule::also`].
    also: bool,
}

struct TextRule {
    rule: &'static Rule,
    matcher: OnceLock<Option<Matcher>>,
    /// Bytes on each side of a literal within which every match of the rule lies.
    reach: OnceLock<usize>,
    regex: OnceLock<Result<Regex, String>>,
}

/// Search regions for one text rule in one text.
#[derive(Default)]
struct Place {
    /// Merged ranges around the rule's literals, in ascending order.
    regions: Vec<Range<usize>>,
    /// Byte offsets of literals from [`Rule::also`], in ascending order.
    also: Vec<usize>,
}

impl Place {
    fn nearest_also(&self, offset: usize) -> Option<usize> {
        let next = self.also.partition_point(|at| *at < offset);
        let near = self.also.get(next.saturating_sub(1)..).unwrap_or_default().iter().take(2);
        near.copied().min_by_key(|at| at.abs_diff(offset))
    }
}

impl Steps {
    pub fn new() -> Self {
        Self { left: STEPS }
    }

    pub fn take(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.left = self.left.checked_sub(bytes as u64).ok_or(Exhausted)?;
        Ok(())
    }

    /// Takes steps that another budget counted. Takes nothing and returns false if too few are left.
    pub fn take_all(&mut self, steps: u64) -> bool {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    pub fn used(&self) -> u64 {
        STEPS - self.left
    }
}

/// Reason for which a search was not finished.
#[derive(Debug)]
pub(crate) enum SearchError {
    /// The scan used up its step budget.
    Exhausted,
    /// A rule's expression does not compile. Holds the rule's ID and the compiler's message.
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

/// Returns the engine for the built-in rules, which is built on first use.
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

    /// Returns all matches of text rules that have a literal within the given byte range.
    ///
    /// # Errors
    /// [`SearchError`] if the step budget is used up or an expression does not compile.
    pub fn search(&self, text: &str, within: Range<usize>, steps: &mut Steps) -> Result<Vec<Hit>, SearchError> {
        let mut hits = Vec::new();
        for (rule, place) in self.places(text, within) {
            let text_rule = self.texts.get(rule).filter(|of| !place.also.is_empty() || of.rule.also.is_empty());
            text_rule.map_or(Ok(()), |of| of.matches(text, &place, steps, &mut hits))?;
        }
        Ok(hits)
    }

    /// Returns whether a text contains any literal of any rule.
    pub fn touches(&self, text: &str) -> bool {
        let mut any = false;
        self.literals.find(text.as_bytes(), |_, _| any = true);
        any
    }

    /// Returns the search regions of each rule whose literals occur, by rule index.
    fn places(&self, text: &str, within: Range<usize>) -> BTreeMap<usize, Place> {
        let mut places: BTreeMap<usize, Place> = BTreeMap::new();
        let from = within.start;
        self.literals.find(text.as_bytes().get(within).unwrap_or_default(), |literal, range| {
            let Some(owner) = self.owners.get(literal) else { return };
            let place = places.entry(owner.text).or_default();
            if owner.also {
                if place.also.len() < ALSO {
                    place.also.push(from + range.start);
                }
            } else {
                let reach = self.texts.get(owner.text).map_or(0, TextRule::reach);
                widen(&mut place.regions, from + range.start..from + range.end, reach, text.len());
            }
        });
        places
    }
}

/// Adds the range around a literal to the regions. Literals must arrive sorted by their end.
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
    fn matches(&self, text: &str, place: &Place, steps: &mut Steps, hits: &mut Vec<Hit>) -> Result<(), SearchError> {
        for region in &place.regions {
            steps.take(region.len())?;
            let window = text.as_bytes().get(region.clone()).unwrap_or_default();
            self.find(window, |found| {
                steps.take(HIT)?;
                let matched = || String::from_utf8_lossy(window.get(found.clone()).unwrap_or_default());
                if self.rule.condition.is_none_or(|holds| holds(&matched())) {
                    let range = region.start + found.start..region.start + found.end;
                    let also = place.nearest_also(range.start);
                    hits.push(Hit { rule: self.rule, range, also });
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Calls `each` for the matches in a window, in order.
    ///
    /// If the matcher runs out of steps, the search continues with the regular expression, whose run time does not
    /// depend on the pattern.
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

/// Compiles a rule's pattern over bytes, case-insensitive and with ASCII classes only. `␣` matches a word separator:
/// white space, line ends, and the marks of lists, quotations and comments.
///
/// Prefilters are disabled: a matcher has already looked for the possible beginnings of a match.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let config = Config::new()
        .utf8_empty(false)
        .nfa_size_limit(Some(NFA_BYTES))
        .which_captures(WhichCaptures::Implicit)
        .auto_prefilter(false)
        .onepass(false);
    Regex::builder().configure(config).syntax(syntax()).build(&plain(pattern)).map_err(|error| error.to_string())
}

/// Returns the syntax options for patterns: case-insensitive, bytes instead of Unicode.
fn syntax() -> syntax::Config {
    syntax::Config::new().case_insensitive(true).unicode(false).utf8(false)
}

/// Replaces the `␣` of a pattern with standard regex syntax.
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

    /// Returns the matches of one pattern that have a literal within a part of a text.
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
