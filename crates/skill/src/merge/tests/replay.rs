//! Proposals on real skills, replayed on heads that have moved: how many merge, and that none of them
//! ends in a wrong place.
//!
//! Every change is a range of bytes of the base and what stands there instead, so that the right result
//! is known without any merge: all changes made to the base at once.

use std::{collections::BTreeMap, ops::Range, path::PathBuf};

use super::*;
use crate::frontmatter;

/// Set to a number, replays so many proposals instead of the few of an ordinary run.
const COUNT: &str = "SKILLHUB_MERGE_REPLAYS";

/// Skills that are long enough to be changed in many places, by path.
pub(super) fn skills() -> Vec<Bundle> {
    let read = |folder: PathBuf| {
        let files = testkit::files(&folder).into_iter();
        let files = files.map(|(name, bytes)| (path(&name), File { bytes: bytes.into(), executable: false }));
        Bundle::from_files(files, &Limits::default()).unwrap()
    };
    let long = |skill: &Bundle| {
        skill
            .skill_md()
            .is_some_and(|text| frontmatter::split(text).is_ok_and(|split| split.body.lines().count() >= 40))
    };
    testkit::skills().into_iter().map(read).filter(long).collect()
}

/// Numbers that look random and are the same in every run.
pub(super) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// A range of a file of the base and what stands there instead; of a new file all of it.
#[derive(Debug, Clone)]
pub(super) struct Change {
    at: SkillPath,
    range: Range<usize>,
    text: String,
}

impl Change {
    /// Draws a change of a kind that agents make, with a mark that stands nowhere else.
    pub fn draw(skill: &Bundle, random: &mut Random, mark: &str) -> Self {
        let texts: Vec<SkillPath> = skill
            .files()
            .filter(|(_, file)| file.text().is_some_and(|t| t.lines().count() > 3))
            .map(|(at, _)| at.clone())
            .collect();
        let at = if random.below(10) < 6 { SkillPath::skill_md() } else { random.pick(&texts) };
        let text = skill.get(&at).unwrap().text().unwrap();
        let start = if at.is_skill_md() { text.len() - frontmatter::split(text).unwrap().body.len() } else { 0 };
        let (range, text) = match random.below(20) {
            0 => return Self { at: path(&format!("references/{mark}.md")), range: 0..0, text: format!("{mark}\n") },
            1..4 => return Self::of_frontmatter(skill, random, mark),
            4..12 => words(text, start, random, mark),
            _ => lines(text, start, random, mark),
        };
        Self { at, range, text }
    }

    fn of_frontmatter(skill: &Bundle, random: &mut Random, mark: &str) -> Self {
        let at = SkillPath::skill_md();
        let text = skill.skill_md().unwrap();
        let start = text.find('\n').unwrap() + 1;
        let yaml = frontmatter::split(text).unwrap().yaml;
        let keys: Vec<usize> = spans(yaml)
            .into_iter()
            .filter(|span| yaml[span.clone()].starts_with(|c: char| c.is_ascii_alphabetic()))
            .map(|span| span.start)
            .collect();
        let description = yaml.find("description: ").map(|found| found + 13);
        match description.filter(|_| random.below(2) == 0) {
            Some(from) => {
                let line = &yaml[from..from + yaml[from..].find('\n').unwrap()];
                let place = random.pick(&line.match_indices(' ').map(|(at, _)| at).chain([0]).collect::<Vec<_>>());
                let place = if place == 0 { start + from + line.len().min(1) } else { start + from + place };
                Self { at, range: place..place, text: format!(" {mark}") }
            }
            None => {
                let place = random.pick(&keys) + start;
                Self { at, range: place..place, text: format!("{mark}: true\n") }
            }
        }
    }

    fn lines_of(&self, base: &Bundle) -> Range<usize> {
        let text = base.get(&self.at).and_then(File::text).unwrap_or("");
        let line = |at: usize| text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        let end = if self.range.is_empty() { self.range.start } else { self.range.end - 1 };
        line(self.range.start)..line(end) + usize::from(!(self.range.is_empty() && self.text.ends_with('\n')))
    }
}

fn spans(text: &str) -> Vec<Range<usize>> {
    text.split_inclusive('\n')
        .scan(0, |at, line| {
            let start = std::mem::replace(at, *at + line.len());
            Some(start..*at)
        })
        .collect()
}

/// Replaces or adds a few words of one line.
fn words(text: &str, start: usize, random: &mut Random, mark: &str) -> (Range<usize>, String) {
    let spans: Vec<_> = spans(text)
        .into_iter()
        .filter(|span| span.start >= start && text[span.clone()].split_whitespace().count() > 1)
        .collect();
    let Some(span) = (!spans.is_empty()).then(|| random.pick(&spans)) else {
        return (start..start, format!("{mark}\n"));
    };
    let line = &text[span.clone()];
    let words: Vec<_> = line
        .split_whitespace()
        .map(|word| word.as_ptr() as usize - line.as_ptr() as usize)
        .map(|at| at..at + line[at..].find(char::is_whitespace).unwrap_or(line.len() - at))
        .collect();
    let first = random.below(words.len());
    let last = (first + random.below(5)).min(words.len() - 1);
    let range = span.start + words[first].start..span.start + words[last].end;
    match random.below(3) {
        0 => (range.start..range.start, format!("{mark} more words ")),
        1 => (range, mark.to_owned()),
        _ => (range, format!("{mark} other words")),
    }
}

/// Adds, removes or replaces whole lines; what is added may repeat lines of the text.
fn lines(text: &str, start: usize, random: &mut Random, mark: &str) -> (Range<usize>, String) {
    let all: Vec<_> = spans(text).into_iter().filter(|span| span.start >= start).collect();
    let first = random.below(all.len());
    let last = (first + random.below(3)).min(all.len() - 1);
    let place = all[first].start;
    let range = place..all[last].end;
    let copied = random.below(all.len());
    let copy: String = all[copied..]
        .iter()
        .take(1 + random.below(3))
        .map(|span| text[span.clone()].trim_end().to_owned() + "\n")
        .collect();
    match random.below(8) {
        0 => (place..place, format!("{mark} a new line\n")),
        1 => (place..place, format!("- {mark} a new bullet\n- another\n")),
        2 => (place..place, format!("\n```\n{mark}\n```\n\n")),
        3 => (place..place, copy),
        4 => (place..place, format!("## {mark}\n\n{copy}")),
        5 => (range, String::new()),
        6 => (range, format!("{mark} instead\n")),
        _ => (range, format!("{mark} instead\n\nand {mark} more\n")),
    }
}

/// Makes all changes to the base at once.
pub(super) fn apply(base: &Bundle, changes: &[&Change]) -> Bundle {
    let mut texts: BTreeMap<SkillPath, String> = BTreeMap::new();
    let mut changes = changes.to_vec();
    changes.sort_by_key(|change| (change.range.start, change.range.end));
    for change in changes.iter().rev() {
        let old = || base.get(&change.at).and_then(File::text).unwrap_or("").to_owned();
        texts.entry(change.at.clone()).or_insert_with(old).replace_range(change.range.clone(), &change.text);
    }
    let file = |text: String| File { bytes: text.into_bytes().into(), executable: false };
    texts
        .into_iter()
        .fold(base.clone(), |bundle, (at, text)| bundle.with_file(at, file(text), &Limits::default()).unwrap())
}

/// How near two changes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Near {
    /// In different files, or with an unchanged line between them.
    Apart,
    /// On neighbouring lines.
    Beside,
    /// On the same line, but not the same words.
    SameLine,
    /// Of the same words, or at the same point.
    Overlap,
}

impl Near {
    pub fn of(base: &Bundle, a: &Change, b: &Change) -> Self {
        if a.at != b.at {
            return Self::Apart;
        }
        let at_one_point = a.range == b.range && a.range.is_empty();
        if at_one_point || (a.range.start < b.range.end && b.range.start < a.range.end) {
            return Self::Overlap;
        }
        let [x, y] = [a, b].map(|change| change.lines_of(base));
        match () {
            () if x.end < y.start || y.end < x.start => Self::Apart,
            () if x.end == y.start || y.end == x.start => Self::Beside,
            () => Self::SameLine,
        }
    }
}

/// Draws changes of one side, none of which overlaps another.
pub(super) fn draw_side(skill: &Bundle, random: &mut Random, count: usize, mark: &str) -> Vec<Change> {
    let mut side: Vec<Change> = Vec::new();
    for number in 0..count {
        let change = Change::draw(skill, random, &format!("{mark}{number}"));
        if side.iter().all(|other| Near::of(skill, other, &change) != Near::Overlap) {
            side.push(change);
        }
    }
    side
}

#[test]
fn no_replayed_proposal_ends_in_a_wrong_place() {
    let skills = skills();
    let count = std::env::var(COUNT).map_or(200, |count| count.parse().unwrap());
    let mut random = Random(0x5eed);
    let mut tally: BTreeMap<Near, [usize; 2]> = BTreeMap::new();
    for number in 0..count {
        let base = random.pick(&skills);
        let moved = 1 + random.below(20);
        let others = draw_side(&base, &mut random, moved, "head");
        let proposal = Change::draw(&base, &mut random, "mine");
        let near = others.iter().map(|other| Near::of(&base, other, &proposal)).max().unwrap_or(Near::Apart);
        let [head, candidate] = [apply(&base, &others.iter().collect::<Vec<_>>()), apply(&base, &[&proposal])];
        let done = merge(&base, &head, &candidate, &Limits::default()).unwrap();
        tally.entry(near).or_default()[usize::from(!done.is_clean())] += 1;
        if done.is_clean() && near < Near::Overlap {
            let all: Vec<&Change> = others.iter().chain([&proposal]).collect();
            let wrong = crate::diff::diff(&apply(&base, &all), &done.bundle).text;
            assert!(
                wrong.is_empty(),
                "replay {number}: {proposal:?}\n{wrong}\n\n{}",
                crate::diff::diff(&base, &head).text
            );
        }
    }
    eprintln!("clean and in conflict by nearness of the nearest other change: {tally:?}");
    let [clean, conflicts] = tally[&Near::Apart];
    // At most two of a hundred; one more where the number is small.
    assert!(conflicts * 50 <= clean + 50, "{tally:?}");
}
