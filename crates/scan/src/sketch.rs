//! [`Sketch`]: a rule's pattern, made ready in microseconds, that tells where its expression cannot
//! match.
//!
//! Most literals of a text are plain words, and nearly all expressions that they ask for match
//! nothing. To compile one takes a millisecond or two, a multiple of what it takes to scan a skill;
//! so a process that scans one skill asks the sketch first and compiles only what may match.
//!
//! A sketch never says no where the expression matches: it reads all letters in either case, knows
//! nothing of greed, and says yes when its steps run out. A pattern that it cannot read has none.

use std::ops::Range;

use crate::pattern::{Class, Look, Node, parse};

/// Instructions of the largest sketch.
const INSTRUCTIONS: usize = 1 << 14;

/// Steps for a window, on top of some for each of its bytes.
const STEPS: usize = 1 << 12;

/// Steps for each byte of a window.
const STEPS_PER_BYTE: usize = 8;

/// Instructions made room for at once; most sketches have fewer.
const ROOM: usize = 256;

/// Branches with which a match begins that are told apart.
const BEGINNINGS: usize = 64;

/// A pattern as instructions, each of which names the next; they are made from the last one on.
pub(crate) struct Sketch {
    steps: Vec<Step>,
    /// For each instruction the bytes with which it can go on.
    firsts: Vec<Firsts>,
    entry: usize,
    begins: Begins,
    /// The branches with which a match can begin, each behind what has to hold there.
    beginnings: Vec<(Option<Look>, usize)>,
    /// Every match begins where a word does or ends.
    at_boundary: bool,
    /// How many repetitions there are of a class.
    runs: usize,
    /// The bytes of the longest match.
    longest: usize,
}

enum Step {
    /// The whole pattern matched.
    Done,
    Text {
        text: &'static str,
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

/// Three bytes with which something can go on: the first, and the lowest five bits of the others, as
/// bits of a word.
#[derive(Clone, Copy)]
struct Firsts {
    first: Class,
    then: [u32; 2],
}

impl Firsts {
    const ALL: Self = Self { first: Class::ALL, then: [u32::MAX; 2] };
    const NONE: Self = Self { first: Class::NONE, then: [0; 2] };

    /// The lowest bits of the byte at a place.
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

    /// Of a text and what follows it.
    fn of_text(text: &str, next: &Self) -> Self {
        let low = |place| match text.as_bytes().get(place) {
            Some(byte) => 1u32 << (byte & 31),
            None => next.low_bits(place - text.len()),
        };
        Self { first: text.bytes().next().map_or(next.first, Class::of), then: [low(1), low(2)] }
    }

    /// Of a run and what follows it.
    fn of_run(run: &Run, next: &Self) -> Self {
        let low = |place: usize| {
            let own = if place < run.most { run.class.low_bits() } else { 0 };
            (run.least..=run.most.min(place)).fold(own, |bits, length| bits | next.low_bits(place - length))
        };
        let first = if run.least > 0 { run.class } else { run.class.or(next.first) };
        Self { first, then: [low(1), low(2)] }
    }

    /// Whether three bytes can be those.
    fn have(&self, [a, b, c]: [u8; 3]) -> bool {
        let [second, third] = self.then;
        self.first.has(a) && second >> (b & 31) & third >> (c & 31) & 1 == 1
    }
}

/// What a match can begin with: by the lowest bits of a byte, the branches that can have it as the first,
/// the second and the third.
struct Begins([[u64; 3]; 32]);

impl Begins {
    fn add(&mut self, branch: usize, firsts: &Firsts) {
        for (low, places) in self.0.iter_mut().enumerate() {
            for (place, branches) in places.iter_mut().enumerate() {
                *branches |= u64::from(firsts.low_bits(place) >> low & 1) << (branch % BEGINNINGS);
            }
        }
    }

    /// The first byte from one on at which some branches can begin with three bytes, and these.
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

/// A class, several times.
#[derive(Clone, Copy)]
struct Run {
    class: Class,
    least: usize,
    most: usize,
    /// Its place among the runs of a sketch.
    place: usize,
}

impl Sketch {
    /// The sketch of a pattern; `None` when it says what no sketch can.
    pub fn new(pattern: &'static str) -> Option<Self> {
        let node = parse(pattern)?;
        let (mut steps, mut firsts) = (Vec::with_capacity(ROOM), Vec::with_capacity(ROOM));
        steps.push(Step::Done);
        firsts.push(Firsts::ALL);
        let (begins, longest) = (Begins([[0; 3]; 32]), node.longest());
        let (entry, beginnings) = (0, Vec::new());
        let mut sketch = Self { steps, firsts, entry, begins, beginnings, at_boundary: false, runs: 0, longest };
        sketch.entry = sketch.emit(&node, 0)?;
        let mut beginnings = Vec::new();
        sketch.add_beginnings(None, sketch.entry, &mut beginnings);
        for (branch, (_, step)) in beginnings.iter().enumerate() {
            sketch.begins.add(branch, &sketch.first(*step));
        }
        sketch.beginnings = beginnings;
        sketch.at_boundary = sketch.needs_boundary(sketch.entry);
        Some(sketch)
    }

    /// The bytes of the longest match.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Looks for where the expression may match in a window.
    pub fn search<'a>(&'a self, window: &'a [u8]) -> Search<'a> {
        let left = STEPS + window.len() * STEPS_PER_BYTE;
        Search { sketch: self, window, left, failed: vec![0..0; self.runs] }
    }

    /// Puts the instructions of a node before the instruction `next` and gives the first of them.
    fn emit(&mut self, node: &Node, next: usize) -> Option<usize> {
        match node {
            Node::Text(text) => self.push(Step::Text { text, next }),
            Node::Run { class, least, most } => {
                self.runs += 1;
                let run = Run { class: *class, least: *least, most: *most, place: self.runs - 1 };
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
            Node::Repeat { node, least, most } => self.emit_copies(node, *least, *most, next),
        }
    }

    fn emit_copies(&mut self, node: &Node, least: usize, most: usize, next: usize) -> Option<usize> {
        let mut entry = next;
        for _ in least..most {
            let copy = self.emit(node, entry)?;
            entry = self.push(Step::AnyOf { branches: vec![copy, next] })?;
        }
        (0..least).try_fold(entry, |entry, _| self.emit(node, entry))
    }

    fn push(&mut self, step: Step) -> Option<usize> {
        let firsts = match &step {
            Step::Done => Firsts::ALL,
            Step::Text { text, next } => Firsts::of_text(text, &self.first(*next)),
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

    /// Adds the branches with which an instruction can go on; of several conditions before one the last.
    fn add_beginnings(&self, look: Option<Look>, step: usize, beginnings: &mut Vec<(Option<Look>, usize)>) {
        match self.steps.get(step) {
            Some(Step::AnyOf { branches }) => {
                branches.iter().for_each(|branch| self.add_beginnings(look, *branch, beginnings));
            }
            Some(Step::Look { look, next }) => self.add_beginnings(Some(*look), *next, beginnings),
            _ => beginnings.push((look, step)),
        }
    }
}

/// One look at a window.
pub(crate) struct Search<'a> {
    sketch: &'a Sketch,
    window: &'a [u8],
    left: usize,
    /// For each run, bytes from which what follows it is known to fail.
    failed: Vec<Range<usize>>,
}

impl Search<'_> {
    /// The first byte from one on at which a match may begin.
    pub fn next(&mut self, from: usize) -> Option<usize> {
        let (sketch, window) = (self.sketch, self.window);
        let can_begin = |at: usize| !sketch.at_boundary || Look::Boundary.holds(window, at);
        let mut at = from;
        while let Some((there, branches)) = sketch.begins.next(window, at) {
            if can_begin(there) && self.may_begin(there, branches) {
                return Some(there);
            }
            at = there + 1;
        }
        let mut last = window.len().saturating_sub(2).max(from)..=window.len();
        last.find(|at| can_begin(*at) && self.may_go_on(sketch.entry, *at))
    }

    /// Whether its steps ran out, so that it says yes to all.
    pub fn is_exhausted(&self) -> bool {
        self.left == 0
    }

    /// Whether one of some branches may lead to a match from a byte on.
    fn may_begin(&mut self, at: usize, mut branches: u64) -> bool {
        let sketch = self.sketch;
        while branches != 0 {
            let same = sketch.beginnings.iter().skip(branches.trailing_zeros() as usize).step_by(BEGINNINGS);
            for (look, step) in same {
                if look.is_none_or(|look| look.holds(self.window, at)) && self.may_go_on(*step, at) {
                    return true;
                }
            }
            branches &= branches - 1;
        }
        false
    }

    /// Whether an instruction may lead to a match from one of some bytes on.
    fn may_go_on_from(&mut self, step: usize, from: Range<usize>) -> bool {
        let sketch = self.sketch;
        let Some(firsts) = sketch.firsts.get(step) else { return true };
        let threes = self.window.get(from.start..).unwrap_or_default().array_windows();
        let mut rest = from.start;
        for (at, there) in from.clone().zip(threes) {
            if firsts.have(*there) && self.go_on(step, at) {
                return true;
            }
            rest = at + 1;
        }
        (rest..from.end).any(|at| self.may_go_on(step, at))
    }

    /// Whether an instruction may lead to a match from a byte on. At the end of the window, where
    /// there is no byte to go by, all may.
    fn may_go_on(&mut self, step: usize, at: usize) -> bool {
        let Some(firsts) = self.sketch.firsts.get(step) else { return true };
        let dead = match self.window.get(at..).and_then(|rest| rest.first_chunk()) {
            Some(there) => !firsts.have(*there),
            None => self.window.get(at).is_some_and(|byte| !firsts.first.has(*byte)),
        };
        !dead && self.go_on(step, at)
    }

    fn go_on(&mut self, mut step: usize, mut at: usize) -> bool {
        loop {
            let Some(left) = self.left.checked_sub(1) else { return true };
            self.left = left;
            match self.sketch.steps.get(step) {
                None | Some(Step::Done) => return true,
                Some(Step::Text { text, next }) => {
                    let there = self.window.get(at..at + text.len());
                    if !there.is_some_and(|there| there.eq_ignore_ascii_case(text.as_bytes())) {
                        return false;
                    }
                    (step, at) = (*next, at + text.len());
                }
                Some(Step::Look { look, next }) => {
                    if !look.holds(self.window, at) {
                        return false;
                    }
                    step = *next;
                }
                Some(Step::Run { run, next }) => return self.run(run, *next, at),
                Some(Step::AnyOf { branches }) => {
                    return branches.iter().any(|branch| self.may_go_on(*branch, at));
                }
            }
        }
    }

    /// Whether what follows a run may match after any length of it. Where it failed once it fails
    /// again, however the run began.
    fn run(&mut self, run: &Run, next: usize, at: usize) -> bool {
        let rest = self.window.get(at..).unwrap_or_default();
        let length = if run.class.is_all() {
            rest.len().min(run.most)
        } else {
            rest.iter().take(run.most).take_while(|byte| run.class.has(**byte)).count()
        };
        if length < run.least {
            return false;
        }
        self.left = self.left.saturating_sub(length / 8);
        let ends = at + run.least..at + length + 1;
        let failed = self.failed.get(run.place).cloned().unwrap_or_default();
        let apart = failed.is_empty() || ends.start > failed.end || ends.end < failed.start;
        let (known, all) = if apart {
            (ends.start..ends.start, ends.clone())
        } else {
            (failed.clone(), failed.start.min(ends.start)..failed.end.max(ends.end))
        };
        let (before, after) = (ends.start..known.start.min(ends.end), known.end.max(ends.start)..ends.end);
        if self.may_go_on_from(next, before) || self.may_go_on_from(next, after) {
            return true;
        }
        if let Some(failed) = self.failed.get_mut(run.place) {
            *failed = all;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::{
        strategy::{Strategy as _, ValueTree as _},
        string::bytes_regex,
        test_runner::TestRunner,
    };

    use super::*;
    use crate::{Rule, engine, rules};

    fn text_rules() -> impl Iterator<Item = &'static Rule> {
        rules().iter().filter(|rule| !rule.pattern.is_empty())
    }

    fn may_match(sketch: &Sketch, window: &[u8]) -> bool {
        sketch.search(window).next(0).is_some()
    }

    /// A pattern without its assertions, of which no texts can be made.
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
        plain.replace('␣', engine::WORD_GAP)
    }

    #[test]
    fn a_sketch_says_yes_wherever_the_expression_matches() {
        let mut runner = TestRunner::deterministic();
        for rule in text_rules() {
            let sketch = Sketch::new(rule.pattern).unwrap_or_else(|| panic!("{} has no sketch", rule.id));
            let regex = engine::compile(rule.pattern).unwrap();
            let texts = bytes_regex(&format!("(?i-u:{})", without_looks(rule.pattern))).unwrap();
            let mut matched = 0;
            for _ in 0..60 {
                let text = texts.new_tree(&mut runner).unwrap().current();
                for (before, after) in [("", ""), ("a ", " b"), ("\n", "x"), ("x", "\n")] {
                    let text = [before.as_bytes(), &text, after.as_bytes()].concat();
                    if let Some(found) = regex.find(&text) {
                        matched += 1;
                        let first = sketch.search(&text).next(found.start());
                        assert_eq!(first, Some(found.start()), "{}: {}", rule.id, String::from_utf8_lossy(&text));
                    }
                }
            }
            assert!(matched > 20, "{}: too few texts match, {matched}", rule.id);
        }
    }

    #[test]
    fn a_sketch_says_no_nearly_wherever_the_expression_does_not_match() {
        let texts: Vec<&str> =
            rules().iter().flat_map(|rule| rule.harmful.iter().chain(rule.harmless)).map(|(_, text)| *text).collect();
        let (mut right, mut wrong) = (0, Vec::new());
        for rule in text_rules() {
            let sketch = Sketch::new(rule.pattern).unwrap();
            let regex = engine::compile(rule.pattern).unwrap();
            for text in &texts {
                match (regex.is_match(text.as_bytes()), may_match(&sketch, text.as_bytes())) {
                    (true, may) => assert!(may, "{}: {text}", rule.id),
                    (false, true) => wrong.push((rule.id, text)),
                    (false, false) => right += 1,
                }
            }
        }
        assert!(wrong.len() * 1000 < right, "{wrong:#?}");
    }

    #[test]
    fn a_search_that_takes_too_long_says_yes() {
        let sketch = Sketch::new("(?:a|aa){1,40}b").unwrap();
        assert!(may_match(&sketch, "a".repeat(400).as_bytes()));
        assert!(!may_match(&sketch, b"aaaa") && may_match(&sketch, b"aaaab"));
    }

    #[test]
    fn what_fails_after_one_length_of_a_run_is_tried_after_the_others() {
        let sketch = Sketch::new(r"x[^\n]{0,3}[\s\S]{0,3}(?:y|z{2})").unwrap();
        for text in ["xy", "x123456y", "x x 12345zz", "x\n12y", "xxxx\n12zz"] {
            assert!(may_match(&sketch, text.as_bytes()), "{text}");
        }
        for text in ["x1234567y", "x\n123z", "x1\n2\n34zz", "y"] {
            assert!(!may_match(&sketch, text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_pattern_that_says_more_has_no_sketch() {
        for pattern in [
            "a*",
            "a+",
            "a{2,}",
            "a{1,2}{3}",
            r"\Ba",
            r"\pL",
            r"\x{41}",
            r"\b{start}a",
            "[[:alpha:]]",
            "[a&&b]",
            "[é]",
            "(?m)^a",
            "(?P<n>a)",
            "(a",
            "a)",
        ] {
            assert!(Sketch::new(pattern).is_none(), "{pattern}");
        }
    }
}
