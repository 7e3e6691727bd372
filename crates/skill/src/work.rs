//! [`watched`]: a count of costly work on each content, for tests that hold a path to doing it once. Builds without
//! debug assertions do not have it.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

/// Number of times that each kind of work was done on each content.
#[derive(Debug, Default)]
pub struct Tally(BTreeMap<(&'static str, u64), usize>);

impl Tally {
    /// Returns how often this kind of work was done on each content, in ascending order.
    pub fn counts(&self, kind: &str) -> Vec<usize> {
        let mut counts: Vec<usize> =
            self.0.iter().filter(|((of, _), _)| *of == kind).map(|(_, count)| *count).collect();
        counts.sort_unstable();
        counts
    }

    /// Returns how often this kind of work was done on a content.
    pub fn of(&self, kind: &'static str, content: &[u8]) -> usize {
        self.0.get(&(kind, key(content))).copied().unwrap_or_default()
    }
}

thread_local! {
    static TALLY: RefCell<Option<Tally>> = const { RefCell::new(None) };
}

/// Counts one piece of work, if this thread is watched.
pub fn note(kind: &'static str, content: &[u8]) {
    TALLY.with_borrow_mut(|tally| {
        if let Some(Tally(counts)) = tally {
            *counts.entry((kind, key(content))).or_default() += 1;
        }
    });
}

/// Runs `path`, and returns what was noted on this thread meanwhile.
pub fn watched<T>(path: impl FnOnce() -> T) -> (T, Tally) {
    TALLY.set(Some(Tally::default()));
    let result = path();
    (result, TALLY.take().unwrap_or_default())
}

fn key(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}
