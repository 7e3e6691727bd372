//! [`Follower`]: the lines of a text through all its versions.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};

use similar::{Algorithm, DiffOp, capture_diff_slices};
use skill::File;

/// How large the product of the line counts of two texts may be, without what they share at both ends, before
/// they are not compared line by line any more.
const CELLS: usize = 1 << 30;

/// A text at one point of its history.
#[derive(Debug, Clone, Copy)]
pub(super) struct Version<'a> {
    /// The text; `None` where there is no such file, or it is no text.
    pub text: Option<&'a str>,
    /// Whether an older version was brought back.
    pub is_rollback: bool,
    /// The file as the release has it that came in here; `Some(None)` where that one has no such file.
    pub release: Option<Option<&'a str>>,
}

/// Where a line is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    /// The place of the version, from 0.
    pub version: usize,
    /// Whether the release of that version has it.
    pub is_released: bool,
}

/// Follows the lines of a text from its oldest version on. It holds one version, and of those that a later one brings
/// back where their lines are from.
#[derive(Default)]
pub(super) struct Follower {
    text: String,
    sources: Vec<Source>,
    known: HashMap<u64, Option<Vec<Source>>>,
    next: usize,
}

impl Follower {
    /// One that is to meet texts again, each named by its [`mark_of`].
    pub fn with_returning(marks: impl IntoIterator<Item = u64>) -> Self {
        Self { known: marks.into_iter().map(|mark| (mark, None)).collect(), ..Self::default() }
    }

    /// Goes on to the next version.
    pub fn follow(&mut self, version: &Version<'_>) {
        let place = self.next;
        self.next += 1;
        let Some(now) = version.text else {
            (self.text, self.sources) = (String::new(), Vec::new());
            return;
        };
        if now == self.text {
            return;
        }
        let mut known = self.known.get_mut(&mark_of(now.as_bytes()));
        let returned = known.as_ref().filter(|_| version.is_rollback).and_then(|known| (**known).clone());
        self.sources = returned.unwrap_or_else(|| carried((&self.text, &self.sources), now, place, version.release));
        now.clone_into(&mut self.text);
        if let Some(known) = &mut known {
            **known = Some(self.sources.clone());
        }
    }

    /// The lines of the last version, with where each is from.
    pub fn lines(&self) -> impl Iterator<Item = (&str, Source)> {
        self.text.lines().zip(self.sources.iter().copied())
    }
}

/// What tells a text from others of one history.
pub(super) fn mark_of(bytes: &[u8]) -> u64 {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEYS.hash_one(bytes)
}

/// Where the lines of a text are from that came after another one.
fn carried(
    (before, sources): (&str, &[Source]),
    now: &str,
    place: usize,
    release: Option<Option<&str>>,
) -> Vec<Source> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    let released: HashSet<&str> = release.flatten().into_iter().flat_map(str::lines).collect();
    let is_new = |line: &&str| Source { version: place, is_released: released.contains(line) };
    let mut found: Vec<Source> = new.iter().map(is_new).collect();
    for (from, to, len) in kept(&old, &new) {
        for step in 0..len {
            if let (Some(slot), Some(source)) = (found.get_mut(to + step), sources.get(from + step)) {
                *slot = *source;
            }
        }
    }
    found
}

/// The stretches that two texts share: place in the first, place in the second, number of lines.
fn kept(old: &[&str], new: &[&str]) -> Vec<(usize, usize, usize)> {
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (old.get(prefix..).unwrap_or_default(), new.get(prefix..).unwrap_or_default());
    let suffix = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_len, new_len) = (old.len() - suffix, new.len() - suffix);
    let mut kept = vec![(0, 0, prefix), (prefix + old_len, prefix + new_len, suffix)];
    if old_len.saturating_mul(new_len) <= CELLS {
        let (old, new) = (old.get(..old_len).unwrap_or_default(), new.get(..new_len).unwrap_or_default());
        kept.extend(capture_diff_slices(Algorithm::Myers, old, new).into_iter().filter_map(|op| match op {
            DiffOp::Equal { old_index, new_index, len } => Some((prefix + old_index, prefix + new_index, len)),
            _ => None,
        }));
    }
    kept
}

/// Of a hundred lines of the longer of two files, how many both have; a hundred for the same bytes.
pub(super) fn alike_percent(one: &File, other: &File) -> usize {
    if one.bytes == other.bytes {
        return 100;
    }
    let (Some(one), Some(other)) = (one.text(), other.text()) else { return 0 };
    let mut counts: HashMap<&str, usize> = HashMap::new();
    one.lines().for_each(|line| *counts.entry(line).or_default() += 1);
    let shared = other.lines().filter(|line| match counts.get_mut(line) {
        Some(count) if *count > 0 => {
            *count -= 1;
            !line.trim().is_empty()
        }
        _ => false,
    });
    let longer = one.lines().count().max(other.lines().count()).max(1);
    shared.count() * 100 / longer
}
