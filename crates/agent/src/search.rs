//! [`search()`]: skills by what they say of themselves.

use std::collections::BTreeSet;

use crate::{catalogue::Listed, words::words};

/// A skill that was found.
#[derive(Debug, Clone, Copy)]
pub struct Hit<'a> {
    /// The skill.
    pub listed: &'a Listed,
    /// How well it fits; only to be compared with others of the same search.
    pub score: f64,
}

/// What a word found in each of these counts.
const NAME: f64 = 4.0;
const DESCRIPTION: f64 = 1.0;
const PATH: f64 = 0.5;

/// The part of a word's weight that counts where a longer word begins with it.
const PREFIX: f64 = 0.6;

/// What a skill gets that is called as the query says.
const SAME_NAME: f64 = 100.0;

/// The skills among `skills` of which name, description or path have words of the query, the best
/// first; an empty query finds nothing. A rare word counts more than a common one.
#[must_use]
pub fn search<'a>(skills: &[&'a Listed], query: &str, limit: usize) -> Vec<Hit<'a>> {
    let wanted = words(query);
    let texts: Vec<Texts<'a>> = skills.iter().map(|listed| Texts::of(listed)).collect();
    let weights: Vec<(&String, f64)> = wanted.iter().map(|word| (word, weight(word, &texts))).collect();
    let asked = query.trim().to_lowercase();
    let mut hits: Vec<Hit<'a>> = texts.iter().map(|texts| texts.hit(&weights, &asked)).collect();
    hits.retain(|hit| hit.score > 0.0);
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.listed.name.cmp(&b.listed.name)));
    hits.truncate(limit);
    hits
}

/// How rare a word is among all skills, from 1.
fn weight(word: &str, texts: &[Texts<'_>]) -> f64 {
    let having = texts.iter().filter(|texts| texts.fields().any(|(field, _)| field.contains(word))).count();
    1.0 + (texts.len() as f64 / (having as f64 + 1.0)).max(1.0).ln()
}

struct Texts<'a> {
    listed: &'a Listed,
    name: BTreeSet<String>,
    description: BTreeSet<String>,
    path: BTreeSet<String>,
}

impl<'a> Texts<'a> {
    fn of(listed: &'a Listed) -> Self {
        let path = listed.path.as_ref().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        let (name, description) = (words(listed.name.as_str()), words(&listed.description));
        Self { listed, name, description, path: words(&path) }
    }

    fn fields(&self) -> impl Iterator<Item = (&BTreeSet<String>, f64)> {
        [(&self.name, NAME), (&self.description, DESCRIPTION), (&self.path, PATH)].into_iter()
    }

    fn hit(&self, weights: &[(&String, f64)], asked: &str) -> Hit<'a> {
        let of_word = |(word, weight): &(&String, f64)| {
            let share = |field: &BTreeSet<String>| match field.contains(*word) {
                true => 1.0,
                false if begins(field, word) => PREFIX,
                false => 0.0,
            };
            self.fields().map(|(field, counts)| share(field) * counts * weight).sum::<f64>()
        };
        let found: f64 = weights.iter().map(of_word).sum();
        let is_its_name = !asked.is_empty() && self.listed.name.as_str() == asked;
        Hit { listed: self.listed, score: found + if is_its_name { SAME_NAME } else { 0.0 } }
    }
}

/// Whether one of the words begins with `word`, which is longer than a syllable.
fn begins(words: &BTreeSet<String>, word: &str) -> bool {
    word.len() > 2 && words.range(word.to_owned()..).next().is_some_and(|next| next.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_before_descriptions_and_rare_words_before_common_ones() {
        let all = [
            Listed::told("pdf-forms", "Fills in forms of a document."),
            Listed::told("tables", "Reads tables of a PDF document."),
            Listed::told("letters", "Writes a document that is sent by post."),
            Listed::told("biaodan", "填写表单并提取表格"),
        ];
        let all: Vec<&Listed> = all.iter().collect();
        let found = |query| search(&all, query, 9).iter().map(|hit| hit.listed.name.to_string()).collect::<Vec<_>>();
        assert_eq!(found("pdf"), ["pdf-forms", "tables"]);
        assert_eq!(found("document post"), ["letters", "pdf-forms", "tables"]);
        assert_eq!(found("form"), ["pdf-forms"]);
        assert_eq!(found("表格"), ["biaodan"]);
        assert_eq!(found("letters"), ["letters"]);
        assert!(found("").is_empty() && found("zzz").is_empty());
        assert_eq!(search(&all, "document", 1).len(), 1);
    }
}
