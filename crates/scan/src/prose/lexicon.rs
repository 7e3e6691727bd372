//! [`Lexicon`]: the ways in which a concept is said, in English and Chinese, and where a passage
//! says them.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, OnceLock},
};

use super::words::{HOST, MAIL, Reader, Word};

/// The lexicon as text; its head says how it is written.
pub(crate) const TEXT: &str = include_str!("../../data/lexicon.txt");

/// Words that `..` may stand for.
const GAP: usize = 4;

/// Characters of Chinese that it may stand for.
const GAP_WIDE: usize = 9;

/// Words over which a negation reaches.
const NEGATED: usize = 7;

/// Buckets of the index.
const BUCKETS: usize = 4096;

/// Bits that tell most of the words that begin no entry.
const KNOWN: usize = 1 << 16;

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

/// Concepts and how they are said.
pub(super) struct Lexicon {
    names: BTreeMap<&'static str, Concept>,
    /// For each concept whether it is a deed, which can be negated and quoted.
    verbs: Vec<bool>,
    ways: Vec<Way>,
    /// The keys with which ways begin and their places, sorted by bucket.
    entries: Vec<(u64, u32)>,
    starts: Vec<u32>,
    /// The keys of the entries, as bits by their hash.
    known: Vec<u64>,
    not: Concept,
}

/// A way of saying a concept. Most are never asked for by a text, so that a way is taken to pieces only
/// when a text has a word with which it begins.
struct Way {
    concept: Concept,
    text: &'static str,
    pieces: OnceLock<Vec<Piece>>,
}

/// A part of a way: one of some words or runs of words.
struct Piece {
    /// Other words may stand before it.
    gap: bool,
    choices: Vec<Vec<u64>>,
    /// The lowest bits of the first words.
    first: u64,
}

/// The lexicon, read on first use.
pub(super) fn lexicon() -> &'static Lexicon {
    static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::new(TEXT));
    &LEXICON
}

impl Lexicon {
    fn new(text: &'static str) -> Self {
        let (mut names, mut verbs, mut ways): (BTreeMap<_, Concept>, Vec<bool>, Vec<Way>) = Default::default();
        let mut concept = 0;
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let Some((head, said)) = line.split_once('=') else { continue };
            let head = head.trim();
            if !head.is_empty() {
                let (kind, name) = head.split_once(' ').unwrap_or(("noun", head));
                concept = *names.entry(name).or_insert(verbs.len() as Concept);
                if concept as usize == verbs.len() {
                    verbs.push(kind == "verb");
                }
            }
            let said = said.split(';').map(str::trim).filter(|way| !way.is_empty());
            ways.extend(said.map(|text| Way { concept, text, pieces: OnceLock::new() }));
        }
        let (mut entries, mut words) = (Vec::with_capacity(ways.len() * 2), Vec::new());
        for (place, way) in ways.iter().enumerate() {
            each_key(way.text, &mut words, &mut |key| entries.push((key, place as u32)));
        }
        entries.sort_unstable_by_key(|(key, place)| (bucket(*key), *key, *place));
        entries.dedup();
        let mut starts = vec![0; BUCKETS + 1];
        for (key, _) in &entries {
            if let Some(start) = starts.get_mut(bucket(*key) + 1) {
                *start += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let not = names.get("not").copied().unwrap_or(0);
        let mut known = vec![0; KNOWN / 64];
        for (key, _) in &entries {
            let bit = bit(*key);
            if let Some(word) = known.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
        }
        Self { names, verbs, ways, entries, starts, known, not }
    }

    /// The concept of a name.
    pub fn concept(&self, name: &str) -> Option<Concept> {
        self.names.get(name).copied()
    }

    /// Where words say a concept, in their order.
    pub fn find(&self, words: &[Word], spoken: bool, terms: &mut Vec<Term>) {
        terms.clear();
        // The last negation: where it ends, in which clause.
        let mut negation: Option<(usize, u32)> = None;
        for (place, word) in words.iter().enumerate() {
            let rest = words.get(place..).unwrap_or_default();
            let mut ends = None;
            self.each(rest, |entry, length| {
                if entry.concept == self.not {
                    ends = Some(place + length);
                }
                let verb = self.verbs.get(entry.concept as usize) == Some(&true);
                if verb && word.quoted && spoken {
                    return;
                }
                let near = negation
                    .is_some_and(|(end, clause)| clause == word.clause && place < end + NEGATED && place >= end);
                terms.push(Term {
                    concept: entry.concept,
                    negated: verb && near,
                    sentence: word.sentence,
                    at: word.at,
                });
            });
            if let Some(end) = ends {
                negation = Some((end, word.clause));
            }
        }
    }

    /// The ways with which words begin.
    fn each(&self, words: &[Word], mut found: impl FnMut(&Way, usize)) {
        let Some(first) = words.first() else { return };
        self.keyed(first.stem, words, &mut found);
    }

    /// The ways of a key with which words begin.
    fn keyed(&self, key: u64, words: &[Word], found: &mut impl FnMut(&Way, usize)) {
        let bit = bit(key);
        if self.known.get(bit / 64).is_none_or(|word| word >> (bit % 64) & 1 == 0) {
            return;
        }
        let sentence = words.first().map_or(0, |first| first.sentence);
        let bucket = bucket(key);
        let [start, end] = [bucket, bucket + 1].map(|at| self.starts.get(at).copied().unwrap_or(0) as usize);
        let here = self.entries.get(start..end).unwrap_or_default().iter().filter(|(other, _)| *other == key);
        for way in here.filter_map(|(_, place)| self.ways.get(*place as usize)) {
            if let Some(length) = fits(way.pieces.get_or_init(|| pieces(way.text)), words, sentence) {
                found(way, length);
            }
        }
    }
}

fn bit(key: u64) -> usize {
    ((key ^ (key >> 17) ^ (key >> 41)) % KNOWN as u64) as usize
}

fn bucket(key: u64) -> usize {
    ((key ^ (key >> 29)) % BUCKETS as u64) as usize
}

/// How many words a way of saying takes at their head.
fn fits(pieces: &[Piece], words: &[Word], sentence: u32) -> Option<usize> {
    let Some((piece, rest)) = pieces.split_first() else { return Some(0) };
    let gap = match words.first() {
        Some(word) if piece.gap => {
            if word.wide {
                GAP_WIDE
            } else {
                GAP
            }
        }
        _ => 0,
    };
    for (skip, word) in words.iter().enumerate().take(gap + 1) {
        if word.sentence != sentence {
            return None;
        }
        if piece.first >> (word.stem % 64) & 1 == 0 {
            continue;
        }
        let there = words.get(skip..).unwrap_or_default();
        for choice in piece.choices.iter().filter(|choice| begins(there, choice, sentence)) {
            let others = there.get(choice.len()..).unwrap_or_default();
            if let Some(length) = fits(rest, others, sentence) {
                return Some(skip + choice.len() + length);
            }
        }
    }
    None
}

/// Whether words of one sentence begin with a run of stems.
fn begins(words: &[Word], run: &[u64], sentence: u32) -> bool {
    if let [stem] = run {
        return words.first().is_some_and(|word| word.stem == *stem);
    }
    words.len() >= run.len()
        && run.iter().zip(words).all(|(stem, word)| word.stem == *stem && word.sentence == sentence)
}

/// The parts of a way of saying, as it is written in the lexicon: whether other words may stand before it,
/// and its choices.
fn parts(way: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut rest = way;
    std::iter::from_fn(move || {
        let inner = rest.trim_start_matches("..");
        let gap = inner.len() < rest.len();
        let (part, after) = match inner.strip_prefix('(').and_then(|group| group.split_once(')')) {
            Some(group) => group,
            None => inner.split_at(end_of_part(inner)),
        };
        rest = after;
        (!inner.is_empty()).then_some((gap, part))
    })
}

/// Where a part that is no group ends: before a group or a gap.
fn end_of_part(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let ends = |at: &usize| bytes.get(*at) == Some(&b'(') || bytes.get(*at..*at + 2) == Some(b"..");
    (0..bytes.len()).find(ends).unwrap_or(bytes.len())
}

fn pieces(way: &str) -> Vec<Piece> {
    let (mut pieces, mut gap, mut words) = (Vec::new(), false, Vec::new());
    for (gap_here, part) in parts(way) {
        gap |= gap_here;
        let choices: Vec<Vec<u64>> = part.split('|').map(|choice| stems(choice, &mut words)).collect();
        if choices.iter().any(|choice| !choice.is_empty()) || part.contains('|') {
            let first =
                choices.iter().filter_map(|choice| choice.first()).fold(0, |bits, stem| bits | 1 << (stem % 64));
            let empty = choices.iter().any(Vec::is_empty);
            pieces.push(Piece { gap, choices, first: if empty { u64::MAX } else { first } });
            gap = false;
        }
    }
    pieces
}

/// The stems of a choice; `words` is room to read it in.
fn stems(text: &str, words: &mut Vec<Word>) -> Vec<u64> {
    read_choice(text, words);
    words.iter().map(|word| word.stem).collect()
}

/// Reads a choice into words.
fn read_choice(text: &str, words: &mut Vec<Word>) {
    let text = text.trim();
    let mut reader = Reader::new(words);
    match text {
        "HOST" => reader.take(HOST),
        "MAIL" => reader.take(MAIL),
        _ => reader.read(text, 0..text.len()),
    }
}

/// The keys under which a way is found: the words with which it may begin. A key may come twice.
fn each_key(way: &str, words: &mut Vec<Word>, found: &mut impl FnMut(u64)) {
    for (_, part) in parts(way) {
        let (mut any, mut optional) = (false, false);
        for choice in part.split('|') {
            read_choice(choice, words);
            match words.first() {
                Some(word) => {
                    any = true;
                    found(word.stem);
                }
                None => optional = true,
            }
        }
        if any && !optional {
            return;
        }
    }
}

/// A hash over the lexicon, for the version of the rules.
#[cfg(test)]
pub(crate) fn fingerprint() -> u64 {
    super::words::hash(TEXT.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_saying_can_be_found() {
        let lexicon = lexicon();
        assert!(lexicon.verbs.len() < Set::BITS as usize, "{} concepts", lexicon.verbs.len());
        for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
            let Some((_, ways)) = line.split_once('=') else {
                assert!(line.trim().is_empty(), "{line}");
                continue;
            };
            for way in ways.split(';').map(str::trim).filter(|way| !way.is_empty()) {
                let (pieces, mut keys) = (pieces(way), Vec::new());
                each_key(way, &mut Vec::new(), &mut |key| keys.push(key));
                assert!(!keys.is_empty(), "{way} has no key");
                assert!(pieces.iter().filter(|piece| piece.gap).count() <= 3, "{way}");
            }
        }
    }
}
