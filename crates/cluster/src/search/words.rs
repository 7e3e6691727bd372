//! [`SearchWords`]: the searchable words of a release as values of PostgreSQL's text search, and queries for them.
//!
//! Texts are split here, as the client and the embedded catalogue split them, and not by a configuration of the engine:
//! scripts without spaces become overlapping pairs of characters, and no dictionary changes a word.

use std::{fmt::Write as _, iter::once};

use client::search::{Term, folded, is_unspaced};
use registry_index::Entry;

/// Most words of a text that count. The engine knows no later positions.
const WORDS: usize = 16_000;

/// Longest word, in bytes. The engine accepts 2,046.
const WORD_BYTES: usize = 200;

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
    #[must_use]
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

/// Returns the `tsquery` for skills with all terms, or with some of them. Each term matches as the beginning of a word.
#[must_use]
pub fn query(terms: &[Term], joined_by: &str) -> String {
    terms.iter().map(of_term).filter(|term| !term.is_empty()).collect::<Vec<_>>().join(joined_by)
}

/// Returns the query for one term. Of a term such as `pdf-forms`, all words have to be there.
fn of_term(term: &Term) -> String {
    let text = match term {
        Term::Word(text) | Term::Gram(text) => text,
    };
    let words = split(text);
    let Some((last, others)) = words.split_last() else { return String::new() };
    let whole = others.iter().map(|word| format!("'{word}'"));
    let all = whole.chain(once(format!("'{last}':*"))).collect::<Vec<_>>().join(" & ");
    format!("({all})")
}

/// Splits a text into words, and runs of a script without spaces into each character with its successor. Words are
/// alphanumeric, so they need no quoting.
fn split(text: &str) -> Vec<String> {
    let chars: Vec<char> = folded(text).chars().collect();
    let (mut words, mut word) = (Vec::new(), String::new());
    for (at, c) in chars.iter().enumerate() {
        if c.is_alphanumeric() && !is_unspaced(*c) {
            word.push(*c);
            continue;
        }
        words.push(std::mem::take(&mut word));
        if is_unspaced(*c) {
            words.push(once(*c).chain(chars.get(at + 1).copied().filter(|next| is_unspaced(*next))).collect());
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words.iter_mut().for_each(|word| word.truncate(word.floor_char_boundary(WORD_BYTES)));
    words
}

#[cfg(test)]
mod tests {
    use client::search::terms;

    use super::*;

    #[test]
    fn texts_split_as_queries_do() {
        assert_eq!(split("Fills in PDF-Forms, ＰＤＦ/A."), ["fills", "in", "pdf", "forms", "pdf", "a"]);
        assert_eq!(split("把表格 3D图"), ["把表", "表格", "格", "3d", "图"]);
        assert_eq!(split("' & | ! :* ( ) \\"), Vec::<String>::new());
        assert_eq!(vector(&[("pdf-forms", 'A'), ("图表", 'D')]), "'pdf':1A 'forms':2A '图表':3D '表':4D ");
        assert_eq!(query(&terms("pdf-forms 图表"), " & "), "('pdf' & 'forms':*) & ('图表':*)");
        assert_eq!(query(&terms("c++ 图"), " | "), "('c':*) | ('图':*)");
    }

    #[test]
    fn long_texts_stay_within_the_engines_limits() {
        let (long, many) = ("é".repeat(5_000), "w ".repeat(40_000));
        assert_eq!(split(&long)[0].len(), WORD_BYTES);
        assert!(vector(&[(&many, 'D')]).ends_with("'w':16000D "));
        assert!(query(&terms(&long), " & ").len() <= WORD_BYTES + 10);
    }
}
