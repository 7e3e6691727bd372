//! The lexicon: phrases that express a concept, in English and Chinese, and the search for them in a passage.
//!
//! The build script generates the index from `data/lexicon.txt`, so a process that scans one skill parses nothing at
//! startup.

use super::{
    stem::Stem,
    words::{Form, Word},
};

/// Maximum number of words that `..` matches.
const GAP: usize = 4;

/// Maximum number of Chinese characters that `..` matches.
const GAP_WIDE: usize = 9;

/// Cost of matching a phrase against words, relative to a lookup of its first word in the index.
const WAY: usize = 8;

/// Maximum distance of a negated verb from its negation, in words.
const NEGATED: usize = 7;

/// Number of words after a negated verb within which an `or` shows that they are a list of negated verbs.
const LIST: usize = 5;

/// Index of a concept in the lexicon.
pub(super) type Concept = u32;

/// Bit set of concepts.
pub(super) type Set = u128;

/// The concepts of a sentence, or of several together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Concepts {
    /// Asserted concepts.
    pub said: Set,
    /// Negated deeds.
    pub negated: Set,
}

impl Concepts {
    /// Returns the union of sentences.
    pub fn together(all: &[Self]) -> Self {
        let add = |sum: Self, one: &Self| Self { said: sum.said | one.said, negated: sum.negated | one.negated };
        all.iter().fold(Self::default(), add)
    }

    /// Returns the asserted concepts and the negated deeds as one set.
    pub fn all(self) -> Set {
        self.said | self.negated
    }

    /// Returns whether all concepts of another sentence are in this one.
    pub fn contains(self, other: Self) -> bool {
        other.said & !self.said == 0 && other.negated & !self.negated == 0
    }
}

/// An occurrence of a concept in a passage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term {
    pub concept: Concept,
    /// True for a verb that is negated.
    pub negated: bool,
    /// True for a verb with another subject than the reader, such as an attacker or a tool.
    pub described: bool,
    /// True for a verb in the imperative, addressed to the reader.
    pub ordered: bool,
    pub sentence: u32,
    /// Byte offsets of its first and its last word in the source.
    pub at: usize,
    pub last: usize,
}

/// The generated index, whose tables refer to one another by position.
mod index {
    use super::{Entry, Piece, Set, Stem};

    include!(concat!(env!("OUT_DIR"), "/lexicon.rs"));
}

/// An index entry: a word that can begin a phrase.
struct Entry {
    stem: Stem,
    /// Union of [`Stem::bit`] over the possible next words; 0 if nothing has to follow.
    next: u64,
    /// Other words may precede the next one.
    gap: bool,
    /// The phrase consists of this word alone.
    whole: bool,
    concept: Concept,
    way: u32,
}

/// A part of a phrase. Its alternatives are at `start..end` in the table of choices.
struct Piece {
    /// Other words may precede it.
    gap: bool,
    /// Union of [`Stem::bit`] over the first words of the alternatives.
    first: u64,
    start: u32,
    end: u32,
}

/// Looks up a concept by name.
pub(super) fn concept(name: &str) -> Option<Concept> {
    let place = index::NAMES.binary_search_by_key(&name, |(name, _)| name).ok()?;
    index::NAMES.get(place).map(|(_, concept)| *concept)
}

/// Returns the set of concepts that are deeds.
pub(super) fn deeds() -> Set {
    index::DEEDS
}

/// Returns a concept's name, or an empty string for an unknown concept.
pub(super) fn name(concept: Concept) -> &'static str {
    index::NAMES.iter().find(|(_, other)| *other == concept).map_or("", |(name, _)| name)
}

/// Returns what a finding calls a concept, or an empty string for a concept that no rule names.
pub(super) fn meaning(concept: Concept) -> &'static str {
    index::MEANINGS.get(concept as usize).copied().unwrap_or("")
}

/// Iterates over the concepts of a set in ascending order.
pub(super) fn each_of(mut set: Set) -> impl Iterator<Item = Concept> {
    std::iter::from_fn(move || {
        let concept = (set != 0).then(|| set.trailing_zeros())?;
        set &= set - 1;
        Some(concept)
    })
}

/// Finds the concepts that occur in words and returns the work that it took. The terms come in source order. With
/// `spoken`, for text outside of code blocks, deeds inside quotation marks are skipped.
pub(super) fn find(words: &[Word], spoken: bool, terms: &mut Vec<Term>) -> usize {
    terms.clear();
    let mut work = 0;
    let (mut negation, mut subject): (Option<Negation>, Option<Subject>) = (None, None);
    // Clause that addresses the reader by name.
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
                let (sentence, at) = (word.sentence, word.at);
                let last = rest.get(length.saturating_sub(1)).map_or(at, |word| word.at);
                terms.push(Term { concept, negated, described, ordered, sentence, at, last });
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

/// Returns true if a verb at this position is an order: it begins its clause or follows a word such as `then` or
/// `must`. Chinese verbs are always taken for orders, since they have no imperative form.
fn is_order(words: &[Word], place: usize) -> bool {
    let Some(word) = words.get(place) else { return false };
    let before = place.checked_sub(1).and_then(|before| words.get(before)).filter(|one| one.clause == word.clause);
    let leads = |before: &Word| word.form.has(Form::COMMA) || before.form.has(Form::LEAD);
    word.wide || !is_inflected(word) && before.is_none_or(leads)
}

/// Returns true for a verb in the third person, in the past or with `-ing`.
fn is_inflected(word: &Word) -> bool {
    [Form::ING, Form::THIRD, Form::PAST].into_iter().any(|form| word.form.has(form))
}

/// A negation and the scope found for it so far.
struct Negation {
    /// Index of the first word after the negation.
    end: usize,
    clause: u32,
    /// True if it negates only forms such as `sending`, as `without` does.
    lest: bool,
    /// True if its scope may cross commas up to its verb, as in `never, whatever they say, send it`.
    never: bool,
    aside: bool,
    /// Index of the last negated verb, with true if that verb is one of asking or informing the user.
    last: Option<(usize, bool)>,
    /// Index of the first word that has not been examined.
    seen: usize,
    over: bool,
}

impl Negation {
    fn new(end: usize, clause: u32, concept: Concept) -> Self {
        let (lest, never) = (concept == index::LEST, concept == index::NEVER);
        Self { end, clause, lest, never, aside: false, last: None, seen: end, over: false }
    }

    /// Returns true if a verb at this index is in the scope of the negation.
    fn reaches(&mut self, words: &[Word], place: usize) -> bool {
        for at in self.seen..=place {
            self.pass(words, at);
        }
        self.seen = self.seen.max(place + 1);
        let from = self.last.map_or(self.end, |(last, _)| last + 1);
        let fits = |word: &Word| !self.lest || word.wide || word.form.has(Form::ING);
        !self.over && place >= self.end && place < from + NEGATED && words.get(place).is_some_and(fits)
    }

    /// Advances over a word, which may end the scope.
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

    /// Extends the scope by the deeds of a negated word.
    fn take(&mut self, place: usize, said: Set) {
        // `Do not forget to send it` is an order to send it, like `not only`.
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

/// The subject of a clause, if it is not the agent.
struct Subject {
    clause: u32,
    /// True once the clause contains `may`, `can` or a similar modal verb.
    may: bool,
}

impl Subject {
    fn does(&self, word: &Word) -> bool {
        self.clause == word.clause && (self.may || word.form.has(Form::THIRD))
    }
}

/// Returns true if a phrase may begin with a stem. False positives are possible.
fn is_known(stem: Stem) -> bool {
    let bit = stem.known();
    index::KNOWN.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
}

/// Reports the concepts whose phrases begin at the first word, with the length of each match in words. Returns the work
/// done.
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

/// Returns the pieces of an entry's phrase.
fn pieces_of(entry: &Entry) -> &'static [Piece] {
    let (start, end) = index::WAYS.get(entry.way as usize).copied().unwrap_or_default();
    slice(&index::PIECES, start, end)
}

/// Returns the bit of the second word, and the union of the bits of all words that a gap lets follow the first.
fn following(words: &[Word]) -> (u64, u64) {
    let next = words.get(1..).unwrap_or_default();
    let gap = next.first().map_or(0, gap_before);
    let near = next.first().map_or(0, |word| word.stem.bit());
    (near, next.iter().take(gap + 1).fold(0, |bits, word| bits | word.stem.bit()))
}

/// Returns the maximum length of a gap that begins with a word.
fn gap_before(word: &Word) -> usize {
    if word.wide { GAP_WIDE } else { GAP }
}

fn slice<T>(table: &[T], start: u32, end: u32) -> &[T] {
    table.get(start as usize..end as usize).unwrap_or_default()
}

/// Matches a phrase at the start of some words. Returns the number of words it takes.
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

/// Returns true if words of one sentence begin with a sequence of stems.
fn begins(words: &[Word], run: &[Stem], sentence: u32) -> bool {
    words.len() >= run.len()
        && run.iter().zip(words).all(|(stem, word)| word.stem == *stem && word.sentence == sentence)
}

/// Computes the FNV-1a hash of the lexicon and the weights, which is part of the ruleset's version.
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
            let Some(line) = ways::Line::parse(line) else {
                assert!(line.trim().is_empty(), "{line}");
                continue;
            };
            let known = concept(line.name);
            assert!(line.name.is_empty() || known.is_some_and(|concept| meaning(concept) == line.meaning), "{line:?}");
            assert!(!line.is_deed || known.is_some_and(|concept| deeds() >> concept & 1 == 1), "{line:?}");
            for way in line.ways() {
                let pieces = ways::pieces(way);
                let keys = ways::keys(&pieces);
                assert!(!keys.is_empty(), "{way} has no key");
                assert!(pieces.iter().filter(|piece| piece.gap).count() <= 3, "{way}");
                assert!(keys.iter().all(|key| is_known(key.stem)), "{way} is not in the index");
            }
        }
    }
}
