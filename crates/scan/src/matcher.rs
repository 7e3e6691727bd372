//! [`Matcher`]: a backtracking matcher for rule patterns that is built in microseconds.
//!
//! Compiling a regular expression takes one to two milliseconds, a multiple of the time to scan a skill, and most
//! processes scan only one. A matcher tries the branches that can begin with the next three bytes and backtracks on
//! failure. The continuation after a repeated class is tried once per byte, whatever the start of the repetition. A
//! matcher returns the same match as the regular expression, and reports when it runs out of steps. Patterns outside
//! the supported syntax have no matcher.

use std::ops::Range;

use crate::pattern::{Class, Count, Look, Node, parse};

/// Maximum number of instructions in a matcher.
const INSTRUCTIONS: usize = 1 << 14;

/// Base step budget of a search in one window.
const STEPS: usize = 1 << 12;

/// Additional steps per byte of the window.
const STEPS_PER_BYTE: usize = 8;

/// Initial capacity for instructions, enough for most matchers.
const ROOM: usize = 256;

/// Number of distinguishable initial branches. A branch beyond it shares the bit of an earlier one.
const BEGINNINGS: usize = 64;

/// Pattern compiled to linked instructions. They are generated from the last one to the first.
pub(crate) struct Matcher {
    steps: Vec<Step>,
    /// Possible next bytes of each instruction.
    firsts: Vec<Firsts>,
    entry: usize,
    begins: Begins,
    /// Initial branches of a match, each with the assertion that must hold at its start.
    beginnings: Vec<(Option<Look>, usize)>,
    /// True if every match begins at a word boundary.
    at_boundary: bool,
    /// Number of repeated classes in the pattern.
    runs: usize,
    /// Maximum length of a match in bytes.
    longest: usize,
}

enum Step {
    /// Accepting state: the whole pattern matched.
    Done,
    Text {
        text: &'static str,
        any_case: bool,
        next: usize,
    },
    Run {
        run: Run,
        next: usize,
    },
    Look {
        look: Look,
        next: usize,
    },
    AnyOf {
        branches: Vec<usize>,
    },
}

/// Filter for the next three bytes. It holds the exact set of first bytes, and for the other two a bit mask of their
/// lowest five bits.
#[derive(Clone, Copy)]
struct Firsts {
    first: Class,
    then: [u32; 2],
}

impl Firsts {
    const ALL: Self = Self { first: Class::ALL, then: [u32::MAX; 2] };
    const NONE: Self = Self { first: Class::NONE, then: [0; 2] };

    /// Returns the mask of lowest five bits that are possible at a position from 0 to 2.
    fn low_bits(&self, place: usize) -> u32 {
        match place {
            0 => self.first.low_bits(),
            _ => self.then.get(place - 1).copied().unwrap_or(u32::MAX),
        }
    }

    fn or(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.then, other.then);
        Self { first: self.first.or(other.first), then: [a | c, b | d] }
    }

    /// Computes the filter of a literal text followed by `next`.
    fn of_text(text: &str, next: &Self) -> Self {
        let low = |place| match text.as_bytes().get(place) {
            Some(byte) => 1u32 << (byte & 31),
            None => next.low_bits(place - text.len()),
        };
        Self { first: text.bytes().next().map_or(next.first, Class::of), then: [low(1), low(2)] }
    }

    /// Computes the filter of a repeated class followed by `next`.
    fn of_run(run: &Run, next: &Self) -> Self {
        let low = |place: usize| {
            let own = if place < run.count.most { run.class.low_bits() } else { 0 };
            (run.count.least..=run.count.most.min(place)).fold(own, |bits, length| bits | next.low_bits(place - length))
        };
        let first = if run.count.least > 0 { run.class } else { run.class.or(next.first) };
        Self { first, then: [low(1), low(2)] }
    }

    /// Returns whether three bytes pass the filter.
    fn have(&self, [a, b, c]: [u8; 3]) -> bool {
        let [second, third] = self.then;
        self.first.has(a) && second >> (b & 31) & third >> (c & 31) & 1 == 1
    }
}

/// Filter for the beginning of a match. It maps the lowest five bits of a byte to the branches, as bit masks, that
/// allow it as the first, the second and the third byte.
struct Begins([[u64; 3]; 32]);

impl Begins {
    fn add(&mut self, branch: usize, firsts: &Firsts) {
        for (low, places) in self.0.iter_mut().enumerate() {
            for (place, branches) in places.iter_mut().enumerate() {
                *branches |= u64::from(firsts.low_bits(place) >> low & 1) << (branch % BEGINNINGS);
            }
        }
    }

    /// Returns the first position from `from` on at which the next three bytes pass the filter of some branch, with the
    /// mask of these branches.
    fn next(&self, window: &[u8], from: usize) -> Option<(usize, u64)> {
        let (mut one, mut two, mut all) = (0, 0, 0);
        let is_third = |byte: &u8| {
            let [first, second, third] = self.0.get(usize::from(byte % 32)).copied().unwrap_or_default();
            all = two & third;
            (one, two) = (first, one & second);
            all != 0
        };
        let third = window.get(from..)?.iter().position(is_third)?;
        Some((from + third.saturating_sub(2), all))
    }
}

/// Class of bytes with a repetition count.
#[derive(Clone, Copy)]
struct Run {
    class: Class,
    count: Count,
    /// Index among the runs of the matcher, which selects its entry in `Search::failed`.
    place: usize,
}

impl Matcher {
    /// Builds the matcher of a pattern. Returns `None` if the syntax is not supported or the matcher would be too
    /// large.
    pub fn new(pattern: &'static str) -> Option<Self> {
        let node = parse(pattern)?;
        let (mut steps, mut firsts) = (Vec::with_capacity(ROOM), Vec::with_capacity(ROOM));
        steps.push(Step::Done);
        firsts.push(Firsts::ALL);
        let (begins, longest) = (Begins([[0; 3]; 32]), node.longest());
        let (entry, beginnings) = (0, Vec::new());
        let mut matcher = Self { steps, firsts, entry, begins, beginnings, at_boundary: false, runs: 0, longest };
        matcher.entry = matcher.emit(&node, 0)?;
        let mut beginnings = Vec::new();
        matcher.add_beginnings(None, matcher.entry, &mut beginnings);
        for (branch, (_, step)) in beginnings.iter().enumerate() {
            matcher.begins.add(branch, &matcher.first(*step));
        }
        matcher.beginnings = beginnings;
        matcher.at_boundary = matcher.needs_boundary(matcher.entry);
        Some(matcher)
    }

    /// Returns the maximum length of a match in bytes.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Starts a search in a window, with a step budget that depends on its length.
    pub fn search<'a>(&'a self, window: &'a [u8]) -> Search<'a> {
        let left = STEPS + window.len() * STEPS_PER_BYTE;
        Search { matcher: self, window, left, failed: vec![0..0; self.runs] }
    }

    /// Emits the instructions of a node in front of the instruction `next`. Returns the first of them, or `None` if the
    /// matcher is too large.
    fn emit(&mut self, node: &Node, next: usize) -> Option<usize> {
        match node {
            Node::Text { text, any_case } => self.push(Step::Text { text, any_case: *any_case, next }),
            Node::Run { class, count } => {
                self.runs += 1;
                let run = Run { class: *class, count: *count, place: self.runs - 1 };
                self.push(Step::Run { run, next })
            }
            Node::Look(look) => self.push(Step::Look { look: *look, next }),
            Node::All(nodes) => nodes.iter().rev().try_fold(next, |next, node| self.emit(node, next)),
            Node::AnyOf(nodes) => {
                let mut branches = Vec::with_capacity(nodes.len());
                for node in nodes {
                    branches.push(self.emit(node, next)?);
                }
                self.push(Step::AnyOf { branches })
            }
            Node::Repeat { node, count } => self.emit_copies(node, *count, next),
        }
    }

    fn emit_copies(&mut self, node: &Node, count: Count, next: usize) -> Option<usize> {
        let mut entry = next;
        for _ in count.least..count.most {
            let copy = self.emit(node, entry)?;
            let branches = if count.lazy { vec![next, copy] } else { vec![copy, next] };
            entry = self.push(Step::AnyOf { branches })?;
        }
        (0..count.least).try_fold(entry, |entry, _| self.emit(node, entry))
    }

    fn push(&mut self, step: Step) -> Option<usize> {
        let firsts = match &step {
            Step::Done => Firsts::ALL,
            Step::Text { text, next, .. } => Firsts::of_text(text, &self.first(*next)),
            Step::Run { run, next } => Firsts::of_run(run, &self.first(*next)),
            Step::Look { next, .. } => self.first(*next),
            Step::AnyOf { branches } => branches.iter().fold(Firsts::NONE, |all, at| all.or(self.first(*at))),
        };
        self.firsts.push(firsts);
        self.steps.push(step);
        (self.steps.len() < INSTRUCTIONS).then(|| self.steps.len() - 1)
    }

    fn first(&self, step: usize) -> Firsts {
        self.firsts.get(step).copied().unwrap_or(Firsts::ALL)
    }

    fn needs_boundary(&self, step: usize) -> bool {
        match self.steps.get(step) {
            Some(Step::Look { look, .. }) => matches!(look, Look::Boundary),
            Some(Step::AnyOf { branches }) => branches.iter().all(|branch| self.needs_boundary(*branch)),
            _ => false,
        }
    }

    /// Collects the initial branches of an instruction in order of preference, each with its leading assertion.
    fn add_beginnings(&self, look: Option<Look>, step: usize, beginnings: &mut Vec<(Option<Look>, usize)>) {
        match self.steps.get(step) {
            Some(Step::AnyOf { branches }) => {
                branches.iter().for_each(|branch| self.add_beginnings(look, *branch, beginnings));
            }
            Some(Step::Look { look: here, next }) if look.is_none() => {
                self.add_beginnings(Some(*here), *next, beginnings);
            }
            _ => beginnings.push((look, step)),
        }
    }
}

/// Search in one window, with the remaining steps.
pub(crate) struct Search<'a> {
    matcher: &'a Matcher,
    window: &'a [u8],
    left: usize,
    /// Positions, by run, at which the continuation of the run is known to fail.
    failed: Vec<Range<usize>>,
}

impl Search<'_> {
    /// Returns the first match that begins at `from` or later.
    ///
    /// If the steps ran out, only the start of the range is meaningful: the real match, if any, begins there or later.
    pub fn next(&mut self, from: usize) -> Option<Range<usize>> {
        let (matcher, window) = (self.matcher, self.window);
        let can_begin = |at: usize| !matcher.at_boundary || Look::Boundary.holds(window, at);
        let mut at = from;
        while let Some((there, branches)) = matcher.begins.next(window, at) {
            if can_begin(there)
                && let Some(end) = self.end_of_one(there, branches)
            {
                return Some(there..end);
            }
            at = there + 1;
        }
        let last = window.len().saturating_sub(2).max(from)..=window.len();
        last.filter(|at| can_begin(*at)).find_map(|at| Some(at..self.end(matcher.entry, at)?))
    }

    /// Returns whether the step budget is used up. Every attempt succeeds from then on.
    pub fn is_exhausted(&self) -> bool {
        self.left == 0
    }

    /// Returns the end of a match that begins at a position with one of the branches in a bit mask.
    fn end_of_one(&mut self, at: usize, branches: u64) -> Option<usize> {
        for beginnings in self.matcher.beginnings.chunks(BEGINNINGS) {
            let mut rest = branches;
            while let Some((look, step)) = beginnings.get(rest.trailing_zeros() as usize) {
                let holds = look.is_none_or(|look| look.holds(self.window, at));
                let end = if holds { self.end(*step, at) } else { None };
                if end.is_some() {
                    return end;
                }
                rest &= rest - 1;
            }
        }
        None
    }

    /// Returns the end of a match that continues with an instruction at one of several positions. The first that
    /// succeeds is taken if `lazy`, otherwise the last.
    fn end_from(&mut self, step: usize, from: Range<usize>, lazy: bool) -> Option<usize> {
        let (matcher, window) = (self.matcher, self.window);
        let firsts = matcher.firsts.get(step)?;
        let last = from.end.min(window.len().saturating_sub(2)).max(from.start);
        let threes = window.get(from.start..).unwrap_or_default().array_windows();
        let mut starts = (from.start..last).zip(threes).filter(|(_, there)| firsts.have(**there)).map(|(at, _)| at);
        if lazy {
            let end = starts.find_map(|at| self.go_on(step, at));
            return end.or_else(|| (last..from.end).find_map(|at| self.end(step, at)));
        }
        let end = (last..from.end).rev().find_map(|at| self.end(step, at));
        end.or_else(|| starts.rev().find_map(|at| self.go_on(step, at)))
    }

    /// Returns the end of a match that continues with an instruction at a position.
    ///
    /// With fewer than three bytes left, only the first byte is filtered. With none left, the instruction is always
    /// tried.
    fn end(&mut self, step: usize, at: usize) -> Option<usize> {
        let firsts = self.matcher.firsts.get(step)?;
        let dead = match self.window.get(at..).and_then(|rest| rest.first_chunk()) {
            Some(there) => !firsts.have(*there),
            None => self.window.get(at).is_some_and(|byte| !firsts.first.has(*byte)),
        };
        if dead { None } else { self.go_on(step, at) }
    }

    fn go_on(&mut self, mut step: usize, mut at: usize) -> Option<usize> {
        loop {
            let Some(left) = self.left.checked_sub(1) else { return Some(at) };
            self.left = left;
            match self.matcher.steps.get(step)? {
                Step::Done => return Some(at),
                Step::Text { text, any_case, next } => {
                    let there = self.window.get(at..at + text.len())?;
                    let text = text.as_bytes();
                    if !(there == text || *any_case && there.eq_ignore_ascii_case(text)) {
                        return None;
                    }
                    (step, at) = (*next, at + text.len());
                }
                Step::Look { look, next } => {
                    if !look.holds(self.window, at) {
                        return None;
                    }
                    step = *next;
                }
                Step::Run { run, next } => return self.run(run, *next, at),
                Step::AnyOf { branches } => return branches.iter().find_map(|branch| self.end(*branch, at)),
            }
        }
    }

    /// Returns the end of a match that continues after some number of repetitions of a class.
    ///
    /// A position at which the continuation failed once is not tried again, whatever the start of the run.
    fn run(&mut self, run: &Run, next: usize, at: usize) -> Option<usize> {
        let Count { least, most, lazy } = run.count;
        let rest = self.window.get(at..).unwrap_or_default();
        let length = if run.class.is_all() {
            rest.len().min(most)
        } else {
            rest.iter().take(most).take_while(|byte| run.class.has(**byte)).count()
        };
        if length < least {
            return None;
        }
        self.left = self.left.saturating_sub(length / 8);
        let ends = at + least..at + length + 1;
        let failed = self.failed.get(run.place).cloned().unwrap_or_default();
        let apart = failed.is_empty() || ends.start > failed.end || ends.end < failed.start;
        let (known, all) = if apart {
            (ends.start..ends.start, ends.clone())
        } else {
            (failed.clone(), failed.start.min(ends.start)..failed.end.max(ends.end))
        };
        let (before, after) = (ends.start..known.start.min(ends.end), known.end.max(ends.start)..ends.end);
        let [first, second] = if lazy { [before, after] } else { [after, before] };
        let end = self.end_from(next, first, lazy).or_else(|| self.end_from(next, second, lazy));
        if end.is_none()
            && let Some(failed) = self.failed.get_mut(run.place)
        {
            *failed = all;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use proptest::{
        strategy::{Strategy as _, ValueTree as _},
        string::bytes_regex,
        test_runner::TestRunner,
    };
    use regex_automata::meta::Regex;

    use super::*;
    use crate::{Rule, engine, pattern::WORD_GAP, rules};

    fn text_rules() -> impl Iterator<Item = &'static Rule> {
        rules().iter().filter(|rule| !rule.pattern.is_empty())
    }

    fn found(pattern: &'static str, text: &str) -> Option<Range<usize>> {
        Matcher::new(pattern).unwrap().search(text.as_bytes()).next(0)
    }

    /// Returns a pattern without its assertions, since the text generator does not support them.
    fn without_looks(pattern: &str) -> String {
        let (mut plain, mut in_class, mut chars) = (String::new(), false, pattern.chars());
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('b') => {}
                    Some(escaped) => plain.extend(['\\', escaped]),
                    None => {}
                },
                '^' | '$' if !in_class => {}
                _ => {
                    in_class = (in_class || c == '[') && c != ']';
                    plain.push(c);
                }
            }
        }
        plain.replace('␣', WORD_GAP)
    }

    /// Returns whether a matcher finds the same match as the expression, or runs out of steps before it.
    fn agrees(matcher: &Matcher, regex: &Regex, text: &[u8]) -> bool {
        let mut search = matcher.search(text);
        let (found, wanted) = (search.next(0), regex.find(text).map(|found| found.range()));
        match search.is_exhausted() {
            true => found.is_some_and(|found| wanted.is_none_or(|wanted| found.start <= wanted.start)),
            false => found == wanted,
        }
    }

    #[test]
    fn a_matcher_finds_what_the_expression_does() {
        let mut runner = TestRunner::deterministic();
        for rule in text_rules() {
            let matcher = Matcher::new(rule.pattern).unwrap_or_else(|| panic!("{} has no matcher", rule.id));
            let regex = engine::compile(rule.pattern).unwrap();
            let texts = bytes_regex(&format!("(?i-u:{})", without_looks(rule.pattern))).unwrap();
            let mut matched = 0;
            for _ in 0..60 {
                let text = texts.new_tree(&mut runner).unwrap().current();
                for (before, after) in [("", ""), ("a ", " b"), ("\n", "x"), ("x", "\n")] {
                    let whole = [before.as_bytes(), &text, after.as_bytes()].concat();
                    let twice = [&text, before.as_bytes(), &text].concat();
                    let cut = [before.as_bytes(), &text[..text.len() / 2], after.as_bytes()].concat();
                    for text in [&whole, &twice, &cut] {
                        matched += usize::from(regex.is_match(text));
                        assert!(agrees(&matcher, &regex, text), "{}: {}", rule.id, String::from_utf8_lossy(text));
                    }
                }
            }
            assert!(matched > 40, "{}: too few texts match, {matched}", rule.id);
        }
    }

    #[test]
    fn matcher_agrees_with_expression_on_examples() {
        let texts: Vec<&str> =
            rules().iter().flat_map(|rule| rule.harmful.iter().chain(rule.harmless)).map(|(_, text)| *text).collect();
        for rule in text_rules() {
            let (matcher, regex) = (Matcher::new(rule.pattern).unwrap(), engine::compile(rule.pattern).unwrap());
            for text in &texts {
                assert!(agrees(&matcher, &regex, text.as_bytes()), "{}: {text}", rule.id);
            }
        }
    }

    #[test]
    fn a_search_that_takes_too_long_says_so() {
        let matcher = Matcher::new("(?:a|aa){1,40}b").unwrap();
        let long = "a".repeat(400);
        let mut search = matcher.search(long.as_bytes());
        assert!(search.next(0).is_some() && search.is_exhausted());
        assert_eq!(matcher.search(b"aaaa").next(0), None);
        assert_eq!(matcher.search(b"aaaab").next(0), Some(0..5));
    }

    #[test]
    fn repetition_is_greedy_or_lazy() {
        assert_eq!(found(r"x[^\n]{0,5}y", "xyyzyz"), Some(0..5));
        assert_eq!(found(r"x[^\n]{0,5}?y", "xyyzyz"), Some(0..2));
        assert_eq!(found(r"(?:ab){1,3}", "ababab"), Some(0..6));
        assert_eq!(found(r"(?:ab){1,3}?", "ababab"), Some(0..2));
        assert_eq!(found("a|ab|abc", "abc"), Some(0..1), "the first of several branches");
    }

    #[test]
    fn case_counts_where_a_pattern_says_so() {
        assert_eq!(found("a(?-i:b)c", "ABC aBc abC AbC"), Some(8..11));
        assert_eq!(found("(?-i)ab|[c]d", "AB CD cD cd"), Some(9..11));
        assert_eq!(found("x[^a]", "xA xb"), Some(3..5), "neither of a letter that is kept out");
    }

    #[test]
    fn failed_run_length_backtracks() {
        let pattern = r"x[^\n]{0,3}[\s\S]{0,3}(?:y|z{2})";
        for text in ["xy", "x123456y", "x x 12345zz", "x\n12y", "xxxx\n12zz"] {
            assert!(found(pattern, text).is_some(), "{text}");
        }
        for text in ["x1234567y", "x\n123z", "x1\n2\n34zz", "y"] {
            assert!(found(pattern, text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_pattern_that_says_more_has_no_matcher() {
        for pattern in [
            "a*", "a+", "a{2,}", "a{1,2}{3}", r"\Ba", r"\pL", r"\x{41}", r"\b{start}a", "[[:alpha:]]", "[a&&b]", "[é]",
            "(?m)^a", "(?P<n>a)", "(a", "a)",
        ] {
            assert!(Matcher::new(pattern).is_none(), "{pattern}");
        }
    }
}
