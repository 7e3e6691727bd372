//! Parser for the phrases in the lexicon. [`Piece`] is one part of a phrase. Runs at build time only; the program
//! contains the resulting index.

use super::{stem::Stem, words::Reader};

/// A part of a phrase: alternatives of one or more words.
#[derive(Debug)]
pub(crate) struct Piece {
    /// Other words may precede it.
    pub gap: bool,
    /// Stems of each alternative. An empty alternative makes the piece optional.
    pub choices: Vec<Vec<Stem>>,
}

impl Piece {
    /// Returns the union of [`Stem::bit`] over the possible first words, or all bits if the piece is optional.
    pub fn first(&self) -> u64 {
        self.choices.iter().fold(0, |bits, choice| bits | choice.first().map_or(u64::MAX, |stem| stem.bit()))
    }
}

/// An index key of a phrase, with a filter for the next word.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub stem: Stem,
    /// Union of [`Stem::bit`] over the possible next words; 0 if nothing has to follow.
    pub next: u64,
    /// Other words may precede the next one.
    pub gap: bool,
    /// The phrase consists of this word alone.
    pub whole: bool,
}

/// A line of the lexicon.
#[derive(Debug)]
pub(crate) struct Line<'l> {
    pub is_deed: bool,
    /// Name of the concept; empty on a continuation line.
    pub name: &'l str,
    /// Description for findings; may be empty.
    pub meaning: &'l str,
    ways: &'l str,
}

impl<'l> Line<'l> {
    /// Parses a line. Returns `None` for comments and malformed lines.
    pub fn parse(text: &'l str) -> Option<Self> {
        let (head, ways) = (!text.starts_with('#')).then(|| text.split_once('='))??;
        let (kind, name) = head.trim().split_once(' ').unwrap_or(("", ""));
        let (name, meaning) = name.split_once(" (").unwrap_or((name, ""));
        Some(Self { is_deed: kind == "verb", name, meaning: meaning.trim_end_matches(')'), ways })
    }

    /// Returns the phrases of the line.
    pub fn ways(&self) -> impl Iterator<Item = &'l str> + use<'l> {
        self.ways.split(';').map(str::trim).filter(|way| !way.is_empty())
    }
}

/// Parses a phrase into its pieces.
pub(crate) fn pieces(way: &str) -> Vec<Piece> {
    let (mut pieces, mut gap) = (Vec::new(), false);
    for (gap_here, part) in parts(way) {
        gap |= gap_here;
        let choices: Vec<_> = part.split('|').map(stems).collect();
        if choices.iter().any(|choice| !choice.is_empty()) || part.contains('|') {
            pieces.push(Piece { gap, choices });
            gap = false;
        }
    }
    pieces
}

/// Returns the index keys of a phrase: one for each word that can begin it.
pub(crate) fn keys(pieces: &[Piece]) -> Vec<Key> {
    let mut keys = Vec::new();
    for (place, piece) in pieces.iter().enumerate() {
        let after = pieces.get(place + 1).filter(|next| next.first() != u64::MAX);
        let (next, gap) = after.map_or((0, false), |next| (next.first(), next.gap));
        keys.extend(piece.choices.iter().filter_map(|choice| match choice.as_slice() {
            [] => None,
            [stem] => Some(Key { stem: *stem, next, gap, whole: pieces.get(place + 1).is_none() }),
            [stem, second, ..] => Some(Key { stem: *stem, next: second.bit(), gap: false, whole: false }),
        }));
        if piece.choices.iter().all(|choice| !choice.is_empty()) {
            break;
        }
    }
    merged(keys)
}

/// Merges keys with equal stems into one whose filter accepts the next words of all.
fn merged(mut keys: Vec<Key>) -> Vec<Key> {
    keys.sort();
    keys.dedup_by(|key, kept| {
        let same = key.stem == kept.stem;
        if same {
            kept.next = if kept.next == 0 { 0 } else { kept.next | key.next };
            kept.gap |= key.gap;
            kept.whole = false;
        }
        same
    });
    keys
}

/// Splits a phrase into parts. Each has its alternatives in source form and a flag for a preceding gap (`..`).
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

/// Returns the end of an ungrouped part: the next group or gap.
fn end_of_part(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let ends = |at: &usize| bytes.get(*at) == Some(&b'(') || bytes.get(*at..*at + 2) == Some(b"..");
    (0..bytes.len()).find(ends).unwrap_or(bytes.len())
}

/// Parses the stems of an alternative.
fn stems(text: &str) -> Vec<Stem> {
    match text.trim() {
        "HOST" => vec![Stem::HOST],
        "MAIL" => vec![Stem::MAIL],
        text => {
            let mut words = Vec::new();
            Reader::new(&mut words).read(text, 0..text.len());
            words.iter().map(|word| word.stem).collect()
        }
    }
}
