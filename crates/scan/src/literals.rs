//! [`Literals`]: finds all literals of all rules in a text, in one pass and after next to no
//! preparation.
//!
//! The last three bytes of a literal, five bits of each, are its key; the same bits for a letter in
//! either case. A text is read once, and only where the key of the last three bytes is one of some
//! literal's are literals compared. An automaton of the same few hundred literals takes two
//! milliseconds to build, more than to scan a skill, and is no faster here.

use std::{cmp::Reverse, ops::Range};

/// Bits of each byte that go into a key.
const BITS: u32 = 5;

/// Bytes that go into a key.
const BYTES: usize = 3;

/// All keys that there can be.
const KEYS: usize = 1 << (BITS * BYTES as u32);

/// Keys that share a bucket.
const SHARED: usize = 8;

/// Some literals, told apart by their places in the list that they were made of.
pub(crate) struct Literals {
    /// The keys that some literal has, as bits.
    keys: Box<[u64; KEYS / 64]>,
    /// Where the entries of each bucket begin, and after the last bucket where they end.
    starts: Vec<usize>,
    /// For each bucket the lowest bits of the bytes that stand before the tails of its literals.
    befores: Box<[u32; KEYS / SHARED]>,
    /// Sorted by key, then the longest first.
    entries: Vec<Entry>,
}

/// A literal under one of its keys.
struct Entry {
    key: usize,
    literal: &'static str,
    /// Its place in the list.
    place: usize,
    /// Its last bytes.
    tail: Tail,
}

/// Up to eight bytes at the end of a text, in a form that is the same for a letter in either case.
struct Tail {
    bytes: u64,
    mask: u64,
}

impl Tail {
    fn of(text: &[u8]) -> Self {
        const SMALL: u64 = 0x2020_2020_2020_2020;
        match text.last_chunk() {
            Some(last) => Self { bytes: u64::from_be_bytes(*last) | SMALL, mask: u64::MAX },
            None => {
                let bytes = text.iter().fold(0, |bytes, byte| bytes << 8 | u64::from(*byte));
                let mask = (1 << (8 * text.len())) - 1;
                Self { bytes: (bytes | SMALL) & mask, mask }
            }
        }
    }

    /// Whether a text with the tail `text` may end with one with this tail.
    fn may_end(&self, text: &Self) -> bool {
        text.bytes & self.mask == self.bytes
    }
}

impl Literals {
    /// Makes ready to find some literals.
    pub fn new(literals: impl IntoIterator<Item = &'static str>) -> Self {
        let placed = literals.into_iter().enumerate();
        let entry =
            |key, literal: &'static str, place| Entry { key, literal, place, tail: Tail::of(literal.as_bytes()) };
        let keyed = placed.flat_map(|(place, literal)| keys_of(literal).map(move |key| entry(key, literal, place)));
        let mut entries: Vec<_> = keyed.collect();
        entries.sort_unstable_by_key(|entry| (entry.key, Reverse(entry.literal.len()), entry.place));
        let mut keys = Box::new([0; KEYS / 64]);
        let mut starts = Vec::with_capacity(KEYS / SHARED + 1);
        let mut befores = Box::new([0; KEYS / SHARED]);
        for (at, Entry { key, literal, .. }) in entries.iter().enumerate() {
            starts.resize(starts.len().max(key / SHARED + 1), at);
            if let Some(word) = keys.get_mut(key / 64) {
                *word |= 1 << (key % 64);
            }
            if let Some(before) = befores.get_mut(key / SHARED) {
                let byte = literal.len().checked_sub(BYTES + 1).and_then(|at| literal.as_bytes().get(at));
                *before |= byte.map_or(u32::MAX, |byte| 1 << low_bits(*byte));
            }
        }
        starts.resize(KEYS / SHARED + 1, entries.len());
        Self { keys, starts, befores, entries }
    }

    /// Calls `found` with the place and the bytes of every literal in a text, in any ASCII case,
    /// sorted by their ends and the longest first.
    pub fn find(&self, text: &[u8], mut found: impl FnMut(usize, Range<usize>)) {
        let (mut key, mut end) = (0, 0);
        while let Some((length, there)) = self.next(key, text.get(end..).unwrap_or_default()) {
            (key, end) = (there, end + length);
            self.compare(key, text.get(..end).unwrap_or_default(), &mut found);
        }
    }

    /// How far to read until the key is one of some literal, and that key; a loop of its own, so that
    /// it stays in registers.
    #[inline(never)]
    fn next(&self, mut key: usize, text: &[u8]) -> Option<(usize, usize)> {
        for (at, byte) in text.iter().enumerate() {
            let before = key >> (BITS * (BYTES as u32 - 1));
            key = followed_by(key, *byte);
            // Both are asked for at once: of few bytes one alone says no, and which is hard to foresee.
            let is_key = self.keys.get(key / 64).map_or(0, |word| word >> (key % 64));
            let is_before = self.befores.get(key / SHARED).map_or(0, |befores| befores >> before);
            if is_key & u64::from(is_before) & 1 == 1 {
                return Some((at + 1, key));
            }
        }
        None
    }

    /// The literals of a key with which a text ends.
    fn compare(&self, key: usize, text: &[u8], found: &mut impl FnMut(usize, Range<usize>)) {
        let [start, end] = [key / SHARED, key / SHARED + 1].map(|bucket| self.starts.get(bucket).copied().unwrap_or(0));
        let bucket = self.entries.get(start..end).unwrap_or_default();
        let tail = Tail::of(text);
        for Entry { literal, place, .. } in bucket.iter().filter(|entry| entry.key == key && entry.tail.may_end(&tail))
        {
            let Some(start) = text.len().checked_sub(literal.len()) else { continue };
            if text.get(start..).is_some_and(|there| there.eq_ignore_ascii_case(literal.as_bytes())) {
                found(*place, start..text.len());
            }
        }
    }
}

/// A key with one more byte at its end.
fn followed_by(key: usize, byte: u8) -> usize {
    (key << BITS | low_bits(byte)) % KEYS
}

/// The bits of a byte that go into a key.
fn low_bits(byte: u8) -> usize {
    usize::from(byte) % (1 << BITS)
}

/// The keys under which a literal is found: one, or for a short one all that may stand before it.
fn keys_of(literal: &str) -> impl Iterator<Item = usize> {
    let tail = literal.as_bytes().get(literal.len().saturating_sub(BYTES)..).unwrap_or_default();
    let free = BITS * (BYTES - tail.len()) as u32;
    (0..1 << free).map(move |before| tail.iter().fold(before, |key, byte| followed_by(key, *byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What [`Literals::find`] is, said plainly.
    fn plainly(literals: &[&'static str], text: &[u8]) -> Vec<(usize, Range<usize>)> {
        let mut all = Vec::new();
        for end in 0..=text.len() {
            let mut here: Vec<_> = literals
                .iter()
                .enumerate()
                .filter(|(_, literal)| {
                    text[..end].to_ascii_lowercase().ends_with(literal.to_ascii_lowercase().as_bytes())
                })
                .map(|(place, literal)| (place, end - literal.len()..end))
                .collect();
            here.sort_by_key(|(place, range)| (range.start, *place));
            all.extend(here);
        }
        all
    }

    fn found(literals: &[&'static str], text: &[u8]) -> Vec<(usize, Range<usize>)> {
        let mut all = Vec::new();
        Literals::new(literals.iter().copied()).find(text, |place, range| all.push((place, range)));
        all
    }

    #[test]
    fn literals_of_every_length_and_script_are_found_where_they_end() {
        let literals = ["!", "![", "abc", "xABc", "bc", "忽略", "ÄB"];
        for text in ["![xabc", "ABC!", "请忽略![", "äb Äb", "", "c", "\u{0}bc"] {
            assert_eq!(found(&literals, text.as_bytes()), plainly(&literals, text.as_bytes()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn finding_is_what_it_says(text in "[abAB\\[!\u{5ffd}é ]{0,60}") {
            let literals = ["a", "ab", "ba", "abab", "AAB", "b !", "![", "\u{5ffd}", "é", "aé"];
            prop_assert_eq!(found(&literals, text.as_bytes()), plainly(&literals, text.as_bytes()));
        }
    }
}
