//! [`Literals`]: multi-pattern search for all literals of all rules in one pass, with very low setup cost.
//!
//! The key of a literal consists of the low five bits of each of its last three bytes, which are equal for both cases
//! of a letter. A text is read once. Literals are compared only where the key of the last three bytes belongs to some
//! literal and the two bytes before pass a bit filter. An Aho-Corasick automaton of the same few thousand literals
//! takes eight milliseconds to build, several times as long as the scan of a skill, and is slower here.

use std::{cmp::Reverse, ops::Range};

/// Bits of each byte that go into a key.
const BITS: u32 = 5;

/// Bytes of a key. The last byte has the highest bits.
const BYTES: u32 = 3;

/// Bytes before the key that the filter checks as well.
const BEFORE: u32 = 2;

/// Bits of the key and filter bytes except for the last byte.
const BITS_BEFORE: u32 = BITS * (BYTES + BEFORE - 1);

/// Mask for the bits of one byte.
const LOW: usize = (1 << BITS) - 1;

/// Number of possible keys.
const KEYS: usize = 1 << (BITS * BYTES);

/// Number of keys per bucket.
const SHARED: usize = 8;

/// Indices of the first bucket for literals of two bytes and for those of one byte, and the number of buckets.
const PAIRS: usize = KEYS / SHARED;
const SINGLES: usize = PAIRS + (1 << (BITS * 2));
const BUCKETS: usize = SINGLES + (1 << BITS);

/// Compiled set of literals, identified by their index in the source list.
pub struct Literals {
    /// Filter per key, as bit sets of the low five bits of a byte: the lower half for the byte before the key, the
    /// upper half for the byte before that one.
    befores: Box<[u64; KEYS]>,
    /// Index of the first entry of each bucket, followed by the total.
    starts: Vec<u32>,
    /// Entries sorted by bucket, then by descending length.
    entries: Vec<Entry>,
    /// Last bytes of each entry's literal for a quick comparison. A list of their own, as most entries are not read
    /// otherwise.
    tails: Vec<Tail>,
    /// Number of bucket kinds to search: 1 if all literals have at least three bytes, else 3.
    kinds: usize,
}

/// Literal in its bucket.
struct Entry {
    literal: &'static str,
    /// Index in the source list.
    place: usize,
}

/// Up to eight bytes at the end of a text, normalised so that both cases of a letter are equal.
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

    /// Returns whether a text with the tail `text` may end with a literal of this tail.
    fn may_end(&self, text: &Self) -> bool {
        text.bytes & self.mask == self.bytes
    }
}

impl Literals {
    /// Compiles a set of literals.
    pub fn new(literals: impl IntoIterator<Item = &'static str>) -> Self {
        let all: Vec<&'static str> = literals.into_iter().collect();
        // Made as a vector: a boxed array would be built on the stack and copied, and most of it is never touched.
        let mut befores = vec![0; KEYS].try_into().unwrap_or_else(|_| Box::new([0; KEYS]));
        for literal in &all {
            let before = |bytes: u32| {
                let byte = literal.as_bytes().iter().rev().nth((BYTES + bytes) as usize);
                byte.map_or(u64::from(u32::MAX), |byte| 1 << low_bits(*byte))
            };
            let bits = before(0) | before(1) << 32;
            befores.get_mut(keys_of(literal)).into_iter().flatten().for_each(|before| *before |= bits);
        }
        let (starts, order) = by_bucket(&all);
        let entry = |place: usize| all.get(place).map(|literal| Entry { literal, place });
        let entries: Vec<Entry> = order.into_iter().filter_map(entry).collect();
        let tails = entries.iter().map(|entry| Tail::of(entry.literal.as_bytes())).collect();
        let kinds = if all.iter().any(|literal| literal.len() < BYTES as usize) { 3 } else { 1 };
        Self { befores, starts, entries, tails, kinds }
    }

    /// Calls `found` with the index and byte range of each match, ignoring ASCII case. Matches are ordered by their
    /// end, then by descending length.
    pub fn find(&self, text: &[u8], mut found: impl FnMut(usize, Range<usize>)) {
        let (eights, rest) = text.as_chunks::<8>();
        let mut last = 0;
        let mut end = 0;
        for eight in eights {
            let bytes = last | packed(*eight) << BITS_BEFORE;
            let mut ends = self.ends(bytes);
            while ends != 0 {
                let place = ends.trailing_zeros();
                ends &= ends - 1;
                let length = end + place as usize + 1;
                self.compare(key_at(bytes, place), text.get(..length).unwrap_or_default(), &mut found);
            }
            last = bytes >> (8 * BITS);
            end += eight.len();
        }
        for byte in rest {
            let bytes = last | (low_bits(*byte) as u64) << BITS_BEFORE;
            end += 1;
            if self.may_end(bytes, 0) {
                self.compare(key_at(bytes, 0), text.get(..end).unwrap_or_default(), &mut found);
            }
            last = bytes >> BITS;
        }
    }

    /// Returns a bit per byte of a chunk of eight that is set if a literal may end there. All eight are computed before
    /// any is tested, as in most texts none matches.
    #[inline]
    fn ends(&self, bytes: u64) -> u8 {
        (0..8).fold(0, |ends, place| ends | u8::from(self.may_end(bytes, place)) << place)
    }

    /// Returns whether a literal may end at one of the packed bytes.
    #[inline]
    fn may_end(&self, bytes: u64, place: u32) -> bool {
        let before = (bytes >> (BITS * place)) as u32;
        let bits = self.befores.get(key_at(bytes, place)).copied().unwrap_or(0);
        (bits as u32).wrapping_shr(before >> BITS) & ((bits >> 32) as u32).wrapping_shr(before) & 1 == 1
    }

    /// Reports the literals with this key that end at the end of `text`.
    fn compare(&self, key: usize, text: &[u8], found: &mut impl FnMut(usize, Range<usize>)) {
        let tail = Tail::of(text);
        for bucket in [key / SHARED, PAIRS + (key >> BITS), SINGLES + (key >> (2 * BITS))].into_iter().take(self.kinds)
        {
            let Some([start, end]) = self.starts.get(bucket..bucket + 2) else { continue };
            let bounds = *start as usize..*end as usize;
            let tails = self.tails.get(bounds.clone()).unwrap_or_default().iter().zip(bounds);
            for (_, at) in tails.filter(|(own, _)| own.may_end(&tail)) {
                let Some(entry) = self.entries.get(at) else { continue };
                let Some(start) = text.len().checked_sub(entry.literal.len()) else { continue };
                if text.get(start..).is_some_and(|there| there.eq_ignore_ascii_case(entry.literal.as_bytes())) {
                    found(entry.place, start..text.len());
                }
            }
        }
    }
}

/// Sorts the literals by bucket, then by descending length. Returns the start of each bucket and the order of indices.
///
/// A counting sort takes a tenth of the time of a comparison sort.
fn by_bucket(all: &[&str]) -> (Vec<u32>, Vec<usize>) {
    let mut starts = vec![0_u32; BUCKETS + 1];
    for literal in all {
        starts.get_mut(bucket_of(literal)).into_iter().for_each(|count| *count += 1);
    }
    let mut sum = 0;
    for count in &mut starts {
        sum += *count;
        *count = sum;
    }
    let mut order = vec![0; all.len()];
    for (place, literal) in all.iter().enumerate().rev() {
        let Some(start) = starts.get_mut(bucket_of(literal)) else { continue };
        *start -= 1;
        order.get_mut(*start as usize).into_iter().for_each(|slot| *slot = place);
    }
    for bounds in starts.windows(2) {
        if let [start, end] = bounds
            && end - start > 1
        {
            let length = |place: &usize| Reverse(all.get(*place).map_or(0, |literal| literal.len()));
            order.get_mut(*start as usize..*end as usize).into_iter().for_each(|bucket| bucket.sort_by_key(length));
        }
    }
    (starts, order)
}

/// Packs the low five bits of eight bytes; the last byte has the highest bits.
fn packed(eight: [u8; 8]) -> u64 {
    let bytes = u64::from_le_bytes(eight);
    let twos = bytes & 0x001f_001f_001f_001f | bytes >> 3 & 0x03e0_03e0_03e0_03e0;
    let fours = twos & 0x0000_03ff_0000_03ff | twos >> 6 & 0x000f_fc00_000f_fc00;
    fours & 0x000f_ffff | fours >> 12 & 0x00ff_fff0_0000
}

/// Returns the key that ends at one of the packed bytes.
fn key_at(bytes: u64, place: u32) -> usize {
    (bytes >> (BITS * (place + BEFORE))) as usize & (KEYS - 1)
}

/// Returns a key with one more byte appended.
fn followed_by(key: usize, byte: u8) -> usize {
    key >> BITS | low_bits(byte) << (BITS * (BYTES - 1))
}

/// Returns the bits of a byte that go into a key.
fn low_bits(byte: u8) -> usize {
    usize::from(byte) & LOW
}

/// Returns the keys under which a literal is found: one, or for a short literal all that may precede it.
fn keys_of(literal: &str) -> Range<usize> {
    let tail = literal.as_bytes().get(literal.len().saturating_sub(BYTES as usize)..).unwrap_or_default();
    let first = tail.iter().fold(0, |key, byte| followed_by(key, *byte));
    first..first + (1 << (BITS * (BYTES - tail.len() as u32)))
}

/// Returns the bucket of a literal, by its length and first key.
fn bucket_of(literal: &str) -> usize {
    let key = keys_of(literal).start;
    match literal.len() {
        0 | 1 => SINGLES + (key >> (2 * BITS)),
        2 => PAIRS + (key >> BITS),
        _ => key / SHARED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference implementation of [`Literals::find`].
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

    /// Length and script of the literals make no difference.
    #[test]
    fn literals_are_found_where_they_end() {
        let literals = ["!", "![", "abc", "xABc", "bc", "忽略", "ÄB"];
        for text in ["![xabc", "ABC!", "请忽略![", "äb Äb", "", "c", "\u{0}bc"] {
            assert_eq!(found(&literals, text.as_bytes()), plainly(&literals, text.as_bytes()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn literals_match_plain_search(text in "[abAB\\[!\u{5ffd}é ]{0,60}") {
            let literals = ["a", "ab", "ba", "abab", "AAB", "b !", "![", "\u{5ffd}", "é", "aé"];
            prop_assert_eq!(found(&literals, text.as_bytes()), plainly(&literals, text.as_bytes()));
        }
    }
}
