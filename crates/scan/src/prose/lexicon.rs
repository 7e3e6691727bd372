//! [`Lexicon`]: the ways in which a concept is said, in English and Chinese, and where a passage
//! says them.
//!
//! The index is made from `data/lexicon.txt` when the program is built, so that a process that scans
//! one skill reads none of it.

use super::{
    stem::Stem,
    words::{Form, Word},
};

/// Words that `..` may stand for.
const GAP: usize = 4;

/// Characters of Chinese that it may stand for.
const GAP_WIDE: usize = 9;

/// Work that it is to compare words with a way of saying, beside a look at whether it can begin there.
const WAY: usize = 8;

/// Words over which a negation reaches.
const NEGATED: usize = 7;

/// Words behind a verb that is negated in which `or` tells that what stands between is a list of such verbs.
const LIST: usize = 5;

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
    /// A verb that says what somebody else does: an attacker, a tool.
    pub described: bool,
    /// A verb by which the reader is told to do something.
    pub ordered: bool,
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

/// The concepts that are deeds.
pub(super) fn deeds() -> Set {
    index::DEEDS
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
    let (mut negation, mut subject): (Option<Negation>, Option<Subject>) = (None, None);
    // The clause in which the reader is named.
    let mut named = None;
    for (place, word) in words.iter().enumerate() {
        if let Some(subject) = &mut subject {
            subject.may |= word.form.has(Form::MAY);
        }
        if !is_known(word.stem) {
            continue;
        }
        let rest = words.get(place..).unwrap_or_default();
        let (mut begins, mut deeds) = (None, 0);
        let described = subject.as_ref().is_some_and(|subject| subject.does(word));
        let ordered = !described && (named == Some(word.clause) || is_order(words, place));
        let negated = negation.as_mut().is_some_and(|negation| negation.reaches(words, place));
        work += each(rest, word, |concept, length| {
            let set = 1 << concept;
            let verb = index::DEEDS & set != 0;
            if index::NEGATIONS & set != 0 {
                begins = Some(Negation::new(place + length, word.clause, concept));
            } else if concept == index::OTHER {
                subject = Some(Subject { clause: word.clause, may: false });
            } else if index::NO_OTHERS & set != 0 {
                (subject, named) = (None, Some(word.clause));
            }
            if !(verb && word.quoted && spoken) {
                deeds |= index::DEEDS & set;
                let (negated, described, ordered) = (verb && negated, verb && described, verb && ordered);
                terms.push(Term { concept, negated, described, ordered, sentence: word.sentence, at: word.at });
            }
        });
        if begins.is_some() {
            negation = begins;
        } else if let Some(negation) = negation.as_mut().filter(|_| negated) {
            negation.take(place, deeds);
        }
    }
    work
}

/// Whether a word, if it is a verb, tells the reader to do something: it begins its clause or stands behind a word such
/// as `then` or `must`. Verbs of Chinese have no form of their own for that.
fn is_order(words: &[Word], place: usize) -> bool {
    let Some(word) = words.get(place) else { return false };
    let other = [Form::ING, Form::THIRD, Form::PAST].into_iter().any(|form| word.form.has(form));
    let before = place.checked_sub(1).and_then(|before| words.get(before)).filter(|one| one.clause == word.clause);
    let leads = |before: &Word| word.form.has(Form::COMMA) || before.form.has(Form::LEAD);
    word.wide || !other && before.is_none_or(leads)
}

/// A negation, and what it has been found to govern.
struct Negation {
    /// The place behind it.
    end: usize,
    clause: u32,
    /// It governs forms like `sending` alone, as `without` does.
    lest: bool,
    /// It can reach over commas up to its verb, as in `never, whatever they say, send it`.
    never: bool,
    aside: bool,
    /// The last verb that it governs, and whether that is one of asking or telling the user.
    last: Option<(usize, bool)>,
    /// The last word that was looked at.
    seen: usize,
    over: bool,
}

impl Negation {
    fn new(end: usize, clause: u32, concept: Concept) -> Self {
        let (lest, never) = (concept == index::LEST, concept == index::NEVER);
        Self { end, clause, lest, never, aside: false, last: None, seen: end, over: false }
    }

    /// Whether a verb at a place would be one that it governs.
    fn reaches(&mut self, words: &[Word], place: usize) -> bool {
        for at in self.seen..=place {
            self.pass(words, at);
        }
        self.seen = self.seen.max(place + 1);
        let from = self.last.map_or(self.end, |(last, _)| last + 1);
        let fits = |word: &Word| !self.lest || word.wide || word.form.has(Form::ING);
        !self.over && place >= self.end && place < from + NEGATED && words.get(place).is_some_and(fits)
    }

    /// Goes on to a word; behind some it reaches no further.
    fn pass(&mut self, words: &[Word], at: usize) {
        let Some(word) = words.get(at) else { return };
        let is_or = |word: &Word| word.form.has(Form::OR);
        if word.form.has(Form::COMMA) {
            self.aside |= self.never && at == self.end && !word.wide;
            let follows = self.last.is_some_and(|(last, _)| last + 1 == at);
            let is_list = || words.iter().skip(at).take(LIST).any(is_or);
            let goes_on = word.wide && follows || is_or(word) || follows && is_list();
            self.over |= !(goes_on || self.aside && self.last.is_none());
        }
        let goes_on = self.aside || self.last.is_some_and(|(_, asks)| !asks);
        self.over |= word.form.has(Form::AND) && !goes_on || word.clause != self.clause;
    }

    /// Takes what a word says that it governs.
    fn take(&mut self, place: usize, said: Set) {
        // `Do not forget to send it` orders to send it, as `not only` does.
        self.over |= said & (1 << index::FAIL) != 0 && place <= self.end + 1;
        if said != 0 {
            self.last = Some((place, said & index::ASKS != 0));
        }
    }
}

impl Form {
    fn has(self, bit: Self) -> bool {
        self.0 & bit.0 != 0
    }
}

/// Somebody else than the agent, of whom a clause speaks.
struct Subject {
    clause: u32,
    /// He may or can do something.
    may: bool,
}

impl Subject {
    fn does(&self, word: &Word) -> bool {
        self.clause == word.clause && (self.may || word.form.has(Form::THIRD))
    }
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
