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

/// Branches that are enough to look at two bytes before at each of them.
const MANY: usize = 6;

/// A pattern as instructions, each of which names the next; they are made from the last one on.
pub(crate) struct Sketch {
    steps: Vec<Step>,
    /// For each instruction the bytes with which it can go on.
    firsts: Vec<Class>,
    entry: usize,
    /// What a match can begin with.
    pairs: Pairs,
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
        /// For many branches, what they can begin with.
        pairs: Option<Box<Pairs>>,
    },
}

/// Pairs of bytes with which something can begin: for the lowest bits of the first those of the
/// second.
#[derive(Default)]
struct Pairs([u32; 32]);

impl Pairs {
    /// Adds all pairs of bytes of two classes.
    fn add(&mut self, first: &Class, second: &Class) {
        let (mut firsts, seconds) = (first.low_bits(), second.low_bits());
        while firsts != 0 {
            let at = firsts.trailing_zeros() as usize;
            self.0.iter_mut().skip(at).take(1).for_each(|pair| *pair |= seconds);
            firsts &= firsts - 1;
        }
    }

    /// Whether two bytes can be among them.
    fn has(&self, first: u8, second: u8) -> bool {
        self.0.get(usize::from(first & 31)).is_some_and(|seconds| seconds >> (second & 31) & 1 == 1)
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
        let mut sketch = Self {
            steps: vec![Step::Done],
            firsts: vec![Class::ALL],
            entry: 0,
            pairs: Pairs::default(),
            at_boundary: false,
            runs: 0,
            longest: node.longest(),
        };
        sketch.entry = sketch.emit(&node, 0)?;
        let mut pairs = Pairs::default();
        sketch.add_pairs(sketch.entry, &mut pairs);
        sketch.pairs = pairs;
        sketch.at_boundary = sketch.needs_boundary(sketch.entry);
        Some(sketch)
    }

    /// The bytes of the longest match.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Whether the expression may match in a window.
    pub fn may_match(&self, window: &[u8]) -> bool {
        let left = STEPS + window.len() * STEPS_PER_BYTE;
        let mut search = Search { sketch: self, window, left, failed: vec![0..0; self.runs] };
        let is_known = |pair: &[u8]| matches!(pair, [a, b] if self.pairs.has(*a, *b));
        let pairs = window.windows(2).enumerate().filter(|(_, pair)| is_known(pair)).map(|(at, _)| at);
        let last = window.len().saturating_sub(1)..=window.len();
        let can_begin = |at: &usize| !self.at_boundary || Look::Boundary.holds(window, *at);
        pairs.chain(last).filter(can_begin).any(|at| search.may_go_on(self.entry, at))
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
                let pairs = (branches.len() >= MANY).then(|| {
                    let mut pairs = Box::<Pairs>::default();
                    branches.iter().for_each(|branch| self.add_pairs(*branch, &mut pairs));
                    pairs
                });
                self.push(Step::AnyOf { branches, pairs })
            }
            Node::Repeat { node, least, most } => self.emit_copies(node, *least, *most, next),
        }
    }

    fn emit_copies(&mut self, node: &Node, least: usize, most: usize, next: usize) -> Option<usize> {
        let mut entry = next;
        for _ in least..most {
            let copy = self.emit(node, entry)?;
            entry = self.push(Step::AnyOf { branches: vec![copy, next], pairs: None })?;
        }
        (0..least).try_fold(entry, |entry, _| self.emit(node, entry))
    }

    fn push(&mut self, step: Step) -> Option<usize> {
        let firsts = match &step {
            Step::Done => Class::ALL,
            Step::Text { text, next } => text.bytes().next().map_or_else(|| self.first(*next), Class::of),
            Step::Run { run, .. } if run.least > 0 => run.class,
            Step::Run { run, next } => run.class.or(self.first(*next)),
            Step::Look { next, .. } => self.first(*next),
            Step::AnyOf { branches, .. } => branches.iter().fold(Class::NONE, |all, at| all.or(self.first(*at))),
        };
        self.firsts.push(firsts);
        self.steps.push(step);
        (self.steps.len() < INSTRUCTIONS).then(|| self.steps.len() - 1)
    }

    fn first(&self, step: usize) -> Class {
        self.firsts.get(step).copied().unwrap_or(Class::ALL)
    }

    fn needs_boundary(&self, step: usize) -> bool {
        match self.steps.get(step) {
            Some(Step::Look { look, .. }) => matches!(look, Look::Boundary),
            Some(Step::AnyOf { branches, .. }) => branches.iter().all(|branch| self.needs_boundary(*branch)),
            _ => false,
        }
    }

    /// Adds the pairs of bytes with which an instruction can go on.
    fn add_pairs(&self, step: usize, pairs: &mut Pairs) {
        match self.steps.get(step) {
            None | Some(Step::Done) => pairs.add(&Class::ALL, &Class::ALL),
            Some(Step::Text { text, next }) => match text.as_bytes() {
                [] => self.add_pairs(*next, pairs),
                [one] => pairs.add(&Class::of(*one), &self.first(*next)),
                [one, two, ..] => pairs.add(&Class::of(*one), &Class::of(*two)),
            },
            Some(Step::Run { run, next }) => {
                if run.most > 1 {
                    pairs.add(&run.class, &run.class);
                }
                if run.least <= 1 {
                    pairs.add(&run.class, &self.first(*next));
                }
                if run.least == 0 {
                    self.add_pairs(*next, pairs);
                }
            }
            Some(Step::Look { next, .. }) => self.add_pairs(*next, pairs),
            Some(Step::AnyOf { branches, .. }) => branches.iter().for_each(|branch| self.add_pairs(*branch, pairs)),
        }
    }
}

/// One look at a window.
struct Search<'a> {
    sketch: &'a Sketch,
    window: &'a [u8],
    left: usize,
    /// For each run, bytes from which what follows it is known to fail.
    failed: Vec<Range<usize>>,
}

impl Search<'_> {
    /// Whether an instruction may lead to a match from a byte on. At the end of the window, where
    /// there is no byte to go by, all may.
    fn may_go_on(&mut self, step: usize, at: usize) -> bool {
        let dead = match (self.window.get(at), self.sketch.firsts.get(step)) {
            (Some(byte), Some(firsts)) => !firsts.has(*byte),
            _ => false,
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
                Some(Step::AnyOf { branches, pairs }) => {
                    let dead = match (pairs, self.window.get(at..at + 2)) {
                        (Some(pairs), Some([a, b])) => !pairs.has(*a, *b),
                        _ => false,
                    };
                    return !dead && branches.iter().any(|branch| self.may_go_on(*branch, at));
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
        let mut untried = (ends.start..known.start.min(ends.end)).chain(known.end.max(ends.start)..ends.end);
        if untried.any(|end| self.may_go_on(next, end)) {
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
                    if regex.is_match(&text) {
                        matched += 1;
                        assert!(sketch.may_match(&text), "{}: {:?}", rule.id, String::from_utf8_lossy(&text));
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
                match (regex.is_match(text.as_bytes()), sketch.may_match(text.as_bytes())) {
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
        assert!(sketch.may_match("a".repeat(400).as_bytes()));
        assert!(!sketch.may_match(b"aaaa") && sketch.may_match(b"aaaab"));
    }

    #[test]
    fn what_fails_after_one_length_of_a_run_is_tried_after_the_others() {
        let sketch = Sketch::new(r"x[^\n]{0,3}[\s\S]{0,3}(?:y|z{2})").unwrap();
        for text in ["xy", "x123456y", "x x 12345zz", "x\n12y", "xxxx\n12zz"] {
            assert!(sketch.may_match(text.as_bytes()), "{text}");
        }
        for text in ["x1234567y", "x\n123z", "x1\n2\n34zz", "y"] {
            assert!(!sketch.may_match(text.as_bytes()), "{text}");
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
