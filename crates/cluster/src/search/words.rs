//! [`SearchWords`]: the searchable words of a release as values of PostgreSQL's text search, and queries for them.
//!
//! Texts are split here, as the client and the embedded catalogue split them, and not by a configuration of the engine:
//! scripts without spaces become overlapping pairs of characters, and no dictionary changes a word.

use std::{fmt::Write as _, iter::once};

use registry_index::Entry;
use server::store::catalogue::Matching;
use skill::terms::{Term, indexed, is_unspaced};

/// Most words of a text that count. The engine knows no later positions.
const WORDS: usize = 16_000;

/// Longest word, in characters. The engine accepts 2,046 bytes.
const WORD_CHARS: usize = 200;

/// The words of a skill, as the text of a `tsvector`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchWords {
    /// All words: those of the name with weight A, of title and keywords B, of the owner C, of the description D.
    pub all: String,
    /// Words of the name alone.
    pub name: String,
}

impl SearchWords {
    /// Returns the words of the newest release of a skill.
    pub fn of(entry: &Entry) -> Self {
        let title = entry.title.iter().chain(&entry.keywords);
        let keywords = title.map(String::as_str).collect::<Vec<_>>().join(" ");
        let name = entry.name.name.as_str();
        let weighted = [(name, 'A'), (&keywords, 'B'), (entry.name.owner.as_str(), 'C'), (&entry.description, 'D')];
        Self { all: vector(&weighted), name: vector(&[(name, 'A')]) }
    }
}

/// Returns the `tsvector` of some texts with their weights.
fn vector(texts: &[(&str, char)]) -> String {
    let weighted = texts.iter().flat_map(|(text, weight)| split(text).into_iter().map(move |word| (word, *weight)));
    let mut out = String::new();
    for (at, (word, weight)) in weighted.take(WORDS).enumerate() {
        let _: Result<(), std::fmt::Error> = write!(out, "'{word}':{}{weight} ", at + 1);
    }
    out
}

/// Returns the `tsquery` for skills that match some terms.
pub fn query(terms: &[Term], matching: Matching) -> String {
    let any = |prefixes: Vec<String>| {
        let words: Vec<_> = prefixes.iter().map(|prefix| beginning(prefix)).filter(|words| !words.is_empty()).collect();
        words.join(" | ")
    };
    let joined_by = if matching == Matching::SomeForms { " | " } else { " & " };
    let terms = matching.prefixes(terms).into_iter().map(any).filter(|term| !term.is_empty());
    terms.map(|term| format!("({term})")).collect::<Vec<_>>().join(joined_by)
}

/// Returns the query for words that begin with a text. Of a text such as `pdf-forms`, all words have to be there.
fn beginning(text: &str) -> String {
    // A pair of characters is one word of the index.
    if text.chars().all(is_unspaced) {
        return format!("'{text}':*");
    }
    let words = split(text);
    let Some((last, others)) = words.split_last() else { return String::new() };
    let whole = others.iter().map(|word| format!("'{word}'"));
    whole.chain(once(format!("'{last}':*"))).collect::<Vec<_>>().join(" & ")
}

/// Splits a text into words, and runs of a script without spaces into each character with its successor. Words are
/// alphanumeric, so they need no quoting.
fn split(text: &str) -> Vec<String> {
    let indexed = indexed(text);
    let words = indexed.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word.chars().take(WORD_CHARS).collect()).collect()
}

#[cfg(test)]
mod tests {
    use skill::terms::terms;

    use super::*;

    #[test]
    fn texts_split_as_queries_do() {
        assert_eq!(split("Fills in PDF-Forms, ＰＤＦ/A."), ["fills", "in", "pdf", "forms", "pdf", "a"]);
        assert_eq!(split("把表格 3D图"), ["把表", "表格", "格", "3d", "图"]);
        assert_eq!(split("' & | ! :* ( ) \\"), Vec::<String>::new());
        assert_eq!(vector(&[("pdf-forms", 'A'), ("图表", 'D')]), "'pdf':1A 'forms':2A '图表':3D '表':4D ");
        let of = |words: &str, matching| query(&terms(words), matching);
        assert_eq!(of("pdf-forms 图表", Matching::All), "('pdf' & 'forms':*) & ('图表':*)");
        assert_eq!(of("queries c++", Matching::AllForms), "('query':* | 'queri':*) & ('c':*)");
        assert_eq!(of("c++ 图", Matching::SomeForms), "('c':*) | ('图':*)");
    }

    #[test]
    fn long_texts_stay_within_the_engines_limits() {
        let (long, many) = ("é".repeat(5_000), "w ".repeat(40_000));
        assert_eq!(split(&long)[0].chars().count(), WORD_CHARS);
        assert!(vector(&[(&many, 'D')]).ends_with("'w':16000D "));
        assert!(query(&terms(&long), Matching::All).len() <= 2 * WORD_CHARS + 10);
    }
}
