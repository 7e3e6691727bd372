//! [`Follower`]: tracks the lines of a text through all its versions.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};

use skill::{File, diff::shared_lines};

/// Lines over all pairs of versions that are searched for the shortest difference. Later pairs are compared by the
/// lines that occur exactly once in both.
const SEARCHED_LINES: usize = 1_000_000;
/// Number of lines of older versions for which the source is remembered in case a rollback restores them. Beyond it, a
/// rollback is treated as any other change.
const KNOWN_LINES: usize = 4_000_000;

/// Text at one point of its history.
#[derive(Debug, Clone, Copy)]
pub(super) struct Version<'a> {
    /// Text of the version. `None` if the file does not exist or is not text.
    pub text: Option<&'a str>,
    /// True if this version restored an older one.
    pub is_rollback: bool,
    /// File in the release that was merged here. `Some(None)` if the release does not have the file.
    pub release: Option<Option<&'a str>>,
}

/// Source of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Source {
    /// Index of the version, from 0.
    pub version: usize,
    /// True if the release merged in that version has the line.
    pub is_released: bool,
}

/// Tracks the lines of a text from its oldest version on. It stores one version, and the line sources of those that a
/// later version restores.
pub(super) struct Follower {
    text: String,
    sources: Vec<Source>,
    known: HashMap<u64, Option<Vec<Source>>>,
    next: usize,
    /// Remaining lines that may be searched.
    pub left: usize,
    /// Remaining lines whose source may be remembered.
    pub left_known: usize,
}

impl Follower {
    /// Creates a follower that remembers the texts with these hashes ([`mark_of`]), since they will recur.
    pub fn with_returning(marks: impl IntoIterator<Item = u64>) -> Self {
        let known = marks.into_iter().map(|mark| (mark, None)).collect();
        let (text, sources) = (String::new(), Vec::new());
        Self { text, sources, known, next: 0, left: SEARCHED_LINES, left_known: KNOWN_LINES }
    }

    /// Advances to the next version.
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
        let known = self.known.get_mut(&mark_of(now.as_bytes()));
        let returned = known.as_ref().filter(|_| version.is_rollback).and_then(|known| (**known).clone());
        let carry = || carried(&self.text, &self.sources, now, place, version.release, &mut self.left);
        self.sources = returned.unwrap_or_else(carry);
        now.clone_into(&mut self.text);
        if let Some(known) = known {
            self.left_known += known.take().map_or(0, |sources| sources.len());
            if let Some(left) = self.left_known.checked_sub(self.sources.len()) {
                (*known, self.left_known) = (Some(self.sources.clone()), left);
            }
        }
    }

    /// Returns the last version and the source of each line.
    pub fn into_lines(self) -> (String, Vec<Source>) {
        (self.text, self.sources)
    }
}

/// Hashes a text, to distinguish it from others of one history.
pub(super) fn mark_of(bytes: &[u8]) -> u64 {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEYS.hash_one(bytes)
}

/// Returns the sources of the lines of a text that follows another one.
fn carried(
    before: &str,
    sources: &[Source],
    now: &str,
    place: usize,
    release: Option<Option<&str>>,
    left: &mut usize,
) -> Vec<Source> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    let released: HashSet<&str> = release.flatten().into_iter().flat_map(str::lines).collect();
    let is_new = |line: &&str| Source { version: place, is_released: released.contains(line) };
    let mut found: Vec<Source> = new.iter().map(is_new).collect();
    for (from, to, len) in shared_lines(old, new, left) {
        for step in 0..len {
            if let (Some(slot), Some(source)) = (found.get_mut(to + step), sources.get(from + step)) {
                *slot = *source;
            }
        }
    }
    found
}

/// Returns the percentage of lines of the longer file that both have. 100 for identical bytes.
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
