//! [`Quote`]: the words of a text by which a finding was made, for its message and its excerpt.

use super::{lexicon::Term, sense::Sense, words::Word};
use crate::{characters::is_wide, source::Source};

/// Maximum number of phrases that a message quotes.
const QUOTED: usize = 4;

/// Maximum length of a passage that is quoted in whole, in bytes.
const PASSAGE: usize = 200;

/// Maximum number of words of a quoted phrase.
const PHRASE: usize = 6;

/// Words by which a passage was found.
#[derive(Debug)]
pub(super) struct Quote {
    /// The words in quotation marks, for a message; empty if only the range is known.
    pub words: String,
    /// Byte offsets of the first and the last one.
    pub from: usize,
    pub last: usize,
}

impl Quote {
    /// Quotes the phrases of a passage by which a sense is met. `at` is the place of a passage without such phrases.
    pub fn of(sense: &Sense, terms: &[Term], at: usize, source: &Source<'_>) -> Self {
        let terms = sense.terms_of(terms);
        let mut phrases: Vec<String> = Vec::new();
        for phrase in terms.iter().map(|term| phrase(source, term)) {
            if phrases.iter().all(|known| !known.contains(&phrase)) {
                phrases.retain(|known| !phrase.contains(known));
                phrases.push(phrase);
            }
        }
        let quoted: Vec<String> = phrases.iter().take(QUOTED).map(|phrase| format!("“{phrase}”")).collect();
        let from = terms.first().map_or(at, |term| term.at);
        let last = terms.iter().map(|term| term.last).max().unwrap_or(from);
        Self { words: quoted.join(", "), from, last }
    }

    /// Quotes no words, only the range of a short passage, or of the sentence around the word at a byte offset.
    pub fn around(words: &[Word], at: usize) -> Self {
        let sentence = words.iter().find(|word| word.at == at).map(|word| word.sentence);
        let length = words.first().zip(words.last()).map_or(0, |(first, last)| last.at.saturating_sub(first.at));
        let counts = |word: &&Word| length <= PASSAGE || Some(word.sentence) == sentence;
        let from = words.iter().find(counts).map_or(at, |word| word.at);
        let last = words.iter().rfind(counts).map_or(at, |word| word.at);
        Self { words: String::new(), from, last }
    }
}

/// Returns the words of a term, without the markup and control characters between them.
fn phrase(source: &Source<'_>, term: &Term) -> String {
    let end = term.last + word_at(source, term.last).len();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '-' | '.' | '_' | '/');
    let words = source.text.get(term.at..end).unwrap_or("").split(|c| !is_part(c)).filter(|word| !word.is_empty());
    words.take(PHRASE).collect::<Vec<_>>().join(" ")
}

/// Returns the word at a byte offset as written. In a script without spaces it is one character.
pub(super) fn word_at<'s>(source: &'s Source<'_>, at: usize) -> &'s str {
    let rest = source.text.get(at..).unwrap_or("");
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '\'' | '’');
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let end = rest.get(first..).and_then(|rest| rest.find(|c| !is_part(c))).map_or(rest.len(), |end| first + end);
    let is_wide = rest.chars().next().is_some_and(is_wide);
    rest.get(..if is_wide { first } else { end }).unwrap_or("")
}
