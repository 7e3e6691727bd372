//! Words of texts and of search queries, in any script: [`terms`], [`folded`], [`Stem`].

mod stem;

use unicode_normalization::UnicodeNormalization;

pub use self::stem::Stem;

/// Maximum number of terms in a query. Registries accept queries of 500 characters, which cannot have more.
const TERMS: usize = 500;

/// A normalised term of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Term {
    /// A word of a script with spaces.
    Word(String),
    /// One or two characters of a script without spaces.
    Gram(String),
}

impl Term {
    /// Returns the beginning of all words that match the term itself.
    pub fn prefix(&self) -> &str {
        match self {
            Self::Word(text) | Self::Gram(text) => text,
        }
    }

    /// Returns the beginnings of all words that match the term in any English form, also those of [`Term::prefix`].
    pub fn stem_prefixes(&self) -> Vec<String> {
        match self {
            Self::Word(word) => Stem::of(word).prefixes(),
            Self::Gram(gram) => vec![gram.clone()],
        }
    }
}

/// Normalises text with NFKC and lower case, so that full and half width, and upper and lower case, are equal.
pub fn folded(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.nfkc().flat_map(char::to_lowercase).nfkc().collect() }
}

/// Normalises a text for an index of words: case-folded, and scripts without spaces cut into overlapping pairs of
/// characters.
pub fn indexed(text: &str) -> String {
    let folded = folded(text);
    let chars: Vec<char> = folded.chars().collect();
    let mut out = String::with_capacity(folded.len());
    for (at, c) in chars.iter().enumerate() {
        if is_unspaced(*c) {
            out.push(' ');
            out.push(*c);
            out.extend(chars.get(at + 1).filter(|next| is_unspaced(**next)));
            out.push(' ');
        } else {
            out.push(*c);
        }
    }
    out
}

/// Splits a normalised text into runs of letters and digits.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Splits a query into distinct terms, at most 500.
pub fn terms(query: &str) -> Vec<Term> {
    let query = folded(query);
    let separator = |c: char| !c.is_alphanumeric() && !matches!(c, '-' | '/' | '_' | '.' | '+' | '#');
    let mut terms = Vec::new();
    for word in query.split(separator).filter(|word| word.contains(char::is_alphanumeric)) {
        for term in split_scripts(word) {
            if terms.len() == TERMS {
                return terms;
            }
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
    }
    terms
}

/// Splits a word by script. Runs of Chinese, Japanese and Korean are split into overlapping pairs of characters.
fn split_scripts(word: &str) -> Vec<Term> {
    let mut terms = Vec::new();
    let chars: Vec<char> = word.chars().collect();
    for run in chars.chunk_by(|a, b| is_unspaced(*a) == is_unspaced(*b)) {
        if run.first().is_none_or(|c| !is_unspaced(*c)) {
            let text: String = run.iter().collect();
            let text = text.trim_matches(|c: char| !c.is_alphanumeric());
            if !text.is_empty() {
                terms.push(Term::Word(text.to_owned()));
            }
        } else if run.len() == 1 {
            terms.push(Term::Gram(run.iter().collect()));
        } else {
            terms.extend(run.windows(2).map(|pair| Term::Gram(pair.iter().collect())));
        }
    }
    terms
}

/// Returns whether a character belongs to a script without spaces or, for Korean, one that attaches particles to words.
pub fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}')
        || matches!(c, '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_queries_are_truncated() {
        let query: String = (0..200_000).map(|at| format!("w{at} ")).collect();
        assert_eq!(terms(&query).len(), TERMS);
    }
}
