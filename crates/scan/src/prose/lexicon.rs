//! [`Lexicon`]: the ways in which a concept is said, in English and Chinese, and where a passage
//! says them.
//!
//! The index is made from `data/lexicon.txt` when the program is built, so that a process that scans
//! one skill reads none of it.

use super::{stem::Stem, words::Word};

/// Words that `..` may stand for.
const GAP: usize = 4;

/// Characters of Chinese that it may stand for.
const GAP_WIDE: usize = 9;

/// Work that it is to compare words with a way of saying, beside a look at whether it can begin there.
const WAY: usize = 8;

/// Words over which a negation reaches.
const NEGATED: usize = 7;

/// A concept by its place in the lexicon.
pub(super) type Concept = u32;

/// Concepts as bits.
pub(super) type Set = u128;

/// A place that says something.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term {
    pub concept: Concept,
    /// A verb that is negated.
    pub negated: bool,
    pub sentence: u32,
    /// The byte at which it begins.
    pub at: usize,
}

/// The index, in tables that name one another by their places.
mod index {
    use super::{Entry, Piece, Set, Stem};

    include!(concat!(env!("OUT_DIR"), "/lexicon.rs"));
}

/// A word with which a way begins.
struct Entry {
    stem: Stem,
    /// The lowest bits of the words that can come next; 0 when none has to.
    next: u64,
    /// Other words may stand before that.
    gap: bool,
    /// The word says the whole way.
    whole: bool,
    concept: Concept,
    way: u32,
}

/// A part of a way: one of some words or runs of words, the choices from `start` to `end`.
struct Piece {
    /// Other words may stand before it.
    gap: bool,
    /// The lowest bits of the first words.
    first: u64,
    start: u32,
    end: u32,
}

/// The concept of a name.
pub(super) fn concept(name: &str) -> Option<Concept> {
    let place = index::NAMES.binary_search_by_key(&name, |(name, _)| name).ok()?;
    index::NAMES.get(place).map(|(_, concept)| *concept)
}

/// The name of a concept.
pub(super) fn name(concept: Concept) -> &'static str {
    index::NAMES.iter().find(|(_, other)| *other == concept).map_or("", |(name, _)| name)
}

/// The concepts of a set, in their order.
pub(super) fn each_of(mut set: Set) -> impl Iterator<Item = Concept> {
    std::iter::from_fn(move || {
        let concept = (set != 0).then(|| set.trailing_zeros())?;
        set &= set - 1;
        Some(concept)
    })
}

/// Where words say a concept, in their order, and how much work it was to find that. What is quoted in text that is
/// spoken is no deed.
pub(super) fn find(words: &[Word], spoken: bool, terms: &mut Vec<Term>) -> usize {
    terms.clear();
    let mut work = 0;
    // The last negation: where it ends, in which clause.
    let mut negation: Option<(usize, u32)> = None;
    for (place, word) in words.iter().enumerate().filter(|(_, word)| is_known(word.stem)) {
        let rest = words.get(place..).unwrap_or_default();
        let mut ends = None;
        work += each(rest, word, |concept, length| {
            if concept == index::NOT {
                ends = Some(place + length);
            }
            let verb = index::DEEDS >> concept & 1 == 1;
            if verb && word.quoted && spoken {
                return;
            }
            let near =
                negation.is_some_and(|(end, clause)| clause == word.clause && place < end + NEGATED && place >= end);
            terms.push(Term { concept, negated: verb && near, sentence: word.sentence, at: word.at });
        });
        if let Some(end) = ends {
            negation = Some((end, word.clause));
        }
    }
    work
}

/// Whether a way may begin with a stem.
fn is_known(stem: Stem) -> bool {
    let bit = stem.known();
    index::KNOWN.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
}

/// The concepts that words say from the first one on, with how many words each way takes; the work of finding them.
fn each(words: &[Word], first: &Word, mut found: impl FnMut(Concept, usize)) -> usize {
    let bucket = first.stem.bucket();
    let Some([start, end]) = index::STARTS.get(bucket..bucket + 2) else { return 0 };
    let (mut after, mut work) = (None, 0);
    for entry in slice(&index::ENTRIES, *start, *end).iter().filter(|entry| entry.stem == first.stem) {
        let mut follows = || {
            let (near, far) = *after.get_or_insert_with(|| following(words));
            entry.next & if entry.gap { far } else { near } != 0
        };
        work += 1;
        if entry.next == 0 || follows() {
            work += WAY;
            let length = if entry.whole { Some(1) } else { fits(pieces_of(entry), words, first.sentence) };
            length.into_iter().for_each(|length| found(entry.concept, length));
        }
    }
    work
}

/// The pieces of the way that an entry begins.
fn pieces_of(entry: &Entry) -> &'static [Piece] {
    let (start, end) = index::WAYS.get(entry.way as usize).copied().unwrap_or_default();
    slice(&index::PIECES, start, end)
}

/// The bits of the word after the first, and of all that may follow it over a gap.
fn following(words: &[Word]) -> (u64, u64) {
    let next = words.get(1..).unwrap_or_default();
    let gap = next.first().map_or(0, gap_before);
    let near = next.first().map_or(0, |word| word.stem.bit());
    (near, next.iter().take(gap + 1).fold(0, |bits, word| bits | word.stem.bit()))
}

/// How many words a gap may hold that begins with a word.
fn gap_before(word: &Word) -> usize {
    if word.wide { GAP_WIDE } else { GAP }
}

fn slice<T>(table: &[T], start: u32, end: u32) -> &[T] {
    table.get(start as usize..end as usize).unwrap_or_default()
}

/// How many words a way of saying takes at their head.
fn fits(pieces: &[Piece], words: &[Word], sentence: u32) -> Option<usize> {
    let Some((piece, rest)) = pieces.split_first() else { return Some(0) };
    let gap = words.first().filter(|_| piece.gap).map_or(0, gap_before);
    for (skip, word) in words.iter().enumerate().take(gap + 1) {
        if word.sentence != sentence {
            return None;
        }
        if piece.first & word.stem.bit() == 0 {
            continue;
        }
        let there = words.get(skip..).unwrap_or_default();
        for (first, start, end) in slice(&index::CHOICES, piece.start, piece.end) {
            if first.is_none_or(|first| first == word.stem)
                && let run = slice(&index::STEMS, *start, *end)
                && begins(there, run, sentence)
                && let Some(length) = fits(rest, there.get(run.len()..).unwrap_or_default(), sentence)
            {
                return Some(skip + run.len() + length);
            }
        }
    }
    None
}

/// Whether words of one sentence begin with a run of stems.
fn begins(words: &[Word], run: &[Stem], sentence: u32) -> bool {
    words.len() >= run.len()
        && run.iter().zip(words).all(|(stem, word)| word.stem == *stem && word.sentence == sentence)
}

/// A hash over the lexicon and the weights, for the version of the rules: FNV-1a.
#[cfg(test)]
pub(crate) fn fingerprint() -> u64 {
    let seed = 0xcbf2_9ce4_8422_2325;
    let bytes = include_bytes!("../../data/lexicon.txt").iter().chain(include_bytes!("../../data/weights.bin"));
    bytes.fold(seed, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::{ways, words::Reader};

    #[test]
    fn concepts_are_found_by_name_and_by_word() {
        assert!(index::NAMES.len() < Set::BITS as usize, "{} concepts", index::NAMES.len());
        let (mut words, mut terms) = (Vec::new(), Vec::new());
        let text = "Do not tell the user.";
        Reader::new(&mut words).read(text, 0..text.len());
        find(&words, true, &mut terms);
        assert!(terms.iter().any(|term| Some(term.concept) == concept("not") && !term.negated), "{terms:?}");
        assert!(terms.iter().any(|term| Some(term.concept) == concept("user") && term.at == 16), "{terms:?}");
        assert_eq!(concept("no such concept"), None);
    }

    #[test]
    fn every_way_of_saying_can_be_found() {
        for line in include_str!("../../data/lexicon.txt").lines().filter(|line| !line.starts_with('#')) {
            let Some((_, _, all)) = ways::line(line) else {
                assert!(line.trim().is_empty(), "{line}");
                continue;
            };
            for way in all {
                let pieces = ways::pieces(way);
                let keys = ways::keys(&pieces);
                assert!(!keys.is_empty(), "{way} has no key");
                assert!(pieces.iter().filter(|piece| piece.gap).count() <= 3, "{way}");
                assert!(keys.iter().all(|key| is_known(key.stem)), "{way} is not in the index");
            }
        }
    }
}
