//! [`Piece`]: the ways of saying a concept as the lexicon writes them, taken to pieces. Read when the
//! program is built; what it then holds is an index.

use super::{stem::Stem, words::Reader};

/// A part of a way: one of some words or runs of words.
#[derive(Debug)]
pub(crate) struct Piece {
    /// Other words may stand before it.
    pub gap: bool,
    /// The stems of each choice; an empty one lets the piece be left out.
    pub choices: Vec<Vec<Stem>>,
}

impl Piece {
    /// The lowest bits of the words with which it can begin; all when it can be left out.
    pub fn first(&self) -> u64 {
        self.choices.iter().fold(0, |bits, choice| bits | choice.first().map_or(u64::MAX, |stem| stem.bit()))
    }
}

/// A key under which a way is found, and what has to follow.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub stem: Stem,
    /// The lowest bits of what can come next; 0 when nothing has to.
    pub next: u64,
    /// Other words may stand before that.
    pub gap: bool,
    /// The word says the whole way.
    pub whole: bool,
}

/// A concept's line of the lexicon: whether it is a deed, its name, which is empty when the line goes on with
/// the last one, and the ways.
pub(crate) fn line(text: &str) -> Option<(bool, &str, impl Iterator<Item = &str>)> {
    let (head, ways) = (!text.starts_with('#')).then(|| text.split_once('='))??;
    let (kind, name) = head.trim().split_once(' ').unwrap_or(("", ""));
    Some((kind == "verb", name, ways.split(';').map(str::trim).filter(|way| !way.is_empty())))
}

/// A way of saying in pieces.
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

/// The keys under which a way is found: the words with which it may begin.
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

/// One key for each stem, with all that may follow it.
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

/// The stems of a choice.
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
