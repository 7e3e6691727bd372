//! [`Quote`]: the words of a text by which a finding was made, for its message and its excerpt.

use super::{lexicon::Term, sayings::GUARDS, sense::Sense, words::Word};
use crate::{characters::is_wide, excerpt::visible, source::Source};

/// Maximum number of phrases that a message quotes.
const QUOTED: usize = 5;

/// Maximum number of runs of words quoted of a passage that was found by its weights.
const RUNS: usize = 3;

/// Maximum length of a passage that is quoted in whole, in bytes.
const PASSAGE: usize = 200;

/// Maximum length of a quoted phrase, in words and in characters.
const PHRASE: usize = 6;
const PHRASE_CHARS: usize = 60;

/// Words by which a passage was found.
#[derive(Debug)]
pub(super) struct Quote {
    /// The words in quotation marks as they stand in the text, for a message.
    pub words: String,
    /// Byte offsets of the first and the last one.
    pub from: usize,
    pub last: usize,
}

impl Quote {
    /// Quotes the phrases of a passage by which a sense is met. `at` is the place of a passage without such phrases.
    /// `unseen` is [`Passage::unseen`].
    pub fn of(sense: &Sense, all: &[Term], at: usize, source: &Source<'_>, unseen: &str) -> Self {
        let terms = sense.terms_of(all);
        let quoted = phrases_of(&terms, source);
        let is_hidden =
            terms.iter().fold(sense.concepts(), |left, term| left & !(1 << term.concept)) & GUARDS.hidden != 0;
        let hidden = if is_hidden { format!(", in {unseen}") } else { String::new() };
        let words = [listed(&quoted), hidden].concat();
        let from = terms.first().map_or(at, |term| term.at);
        let last = terms.iter().map(|term| term.last).max().unwrap_or(from);
        Self { words, from, last }
    }

    /// Quotes the words of a passage that was found by its weights: the terms of the concepts that weigh most, or else
    /// the heaviest runs of words. A run is given by the byte offsets of its first and last word. The range is that of a
    /// short passage, or of the sentence around the first run and the quoted terms.
    pub fn around(words: &[Word], heaviest: &[(usize, usize)], terms: &[&Term], source: &Source<'_>) -> Self {
        let at = heaviest.first().map_or(0, |run| run.0);
        let sentence = words.iter().find(|word| word.at == at).map(|word| word.sentence);
        let length = words.first().zip(words.last()).map_or(0, |(first, last)| last.at.saturating_sub(first.at));
        let counts = |word: &&Word| length <= PASSAGE || Some(word.sentence) == sentence;
        let from = words.iter().find(counts).map_or(at, |word| word.at);
        let last = words.iter().rfind(counts).map_or(at, |word| word.at);
        let is_within = |run: &&(usize, usize)| (from..=last).contains(&run.0);
        let mut quoted = phrases_of(terms, source);
        if quoted.is_empty() {
            let runs = heaviest.iter().filter(is_within).take(RUNS);
            quoted.extend(runs.map(|(from, last)| quoted_phrase(&phrase(source, *from, *last))));
        }
        let from = terms.iter().map(|term| term.at).chain([from]).min().unwrap_or(from);
        let last = terms.iter().map(|term| term.last).chain([last]).max().unwrap_or(last);
        Self { words: listed(&quoted), from, last }
    }
}

/// Returns the first phrases of terms in quotation marks, without those that are part of another one.
fn phrases_of(terms: &[&Term], source: &Source<'_>) -> Vec<String> {
    let holds = |whole: &str, part: &str| format!(" {whole} ").contains(&format!(" {part} "));
    let mut phrases: Vec<String> = Vec::new();
    for term in terms {
        let phrase = phrase(source, term.at, term.last);
        match phrases.iter_mut().find(|known| holds(known, &phrase) || holds(&phrase, known)) {
            Some(known) if known.len() < phrase.len() => *known = phrase,
            Some(_) => {}
            None => phrases.push(phrase),
        }
    }
    phrases.iter().take(QUOTED).map(|phrase| quoted_phrase(phrase)).collect()
}

fn quoted_phrase(phrase: &str) -> String {
    format!("“{phrase}”")
}

/// Joins phrases as in a sentence.
fn listed(phrases: &[String]) -> String {
    match phrases.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Returns the words between two byte offsets as they stand in the text, in visible characters.
fn phrase(source: &Source<'_>, at: usize, last: usize) -> String {
    let text = source.text.get(at..end_of_word(source, last)).unwrap_or("");
    let words: Vec<&str> = text.split_whitespace().take(PHRASE).collect();
    let whole: String = words.join(" ").chars().take(PHRASE_CHARS).collect();
    visible(whole.trim_end_matches(['.', ':', ','])).replace(['“', '”'], "\"")
}

/// Returns the end of the word at a byte offset, or of the address or path that it belongs to.
pub(super) fn end_of_word(source: &Source<'_>, at: usize) -> usize {
    let end = at + word_at(source, at).len();
    let rest = source.text.get(end..).unwrap_or("");
    let is_joint = |c: char| "._/:@~%?=&#+-".contains(c);
    let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && !is_joint(c)).unwrap_or(rest.len());
    end + rest.get(..length).unwrap_or("").trim_end_matches(is_joint).len()
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
