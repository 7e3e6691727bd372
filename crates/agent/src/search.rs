//! [`search()`]: full-text search over the names, titles, descriptions and paths of skills.

use skill::terms::{Stem, folded, indexed, terms, words};

use crate::listed_skill::ListedSkill;

/// Skill that was found.
#[derive(Debug, Clone, Copy)]
pub struct Hit<'a> {
    /// Entry of the skill.
    pub listed: &'a ListedSkill,
    /// Relevance score, comparable only within one search.
    pub score: f64,
}

/// Largest number of query words. It is more than most descriptions have; agents send queries of any length.
const WORDS: usize = 500;

/// Weights of a match in the name, the title, the description and the path.
const FIELDS: [f64; 4] = [4.0, 4.0, 1.0, 0.5];

/// Factor for another English form of a query word.
const FORM: f64 = 0.8;

/// Factor for a word of which the query has only a part.
const PART: f64 = 0.6;

/// Bonus for a skill whose name equals the query.
const SAME_NAME: f64 = 100.0;

/// Returns the skills whose name, title, description or path contain words of the query, best first. An empty query finds
/// nothing. Rare words count more than common ones.
///
/// The words are those of a search in registries, but an agent asks in sentences: one matching word is enough.
/// Each text is scanned once per search. There is no index that could become stale.
pub fn search<'a>(skills: &[&'a ListedSkill], query: &str, limit: usize) -> Vec<Hit<'a>> {
    let wanted = ParsedQuery::of(query);
    let asked = folded(query.trim());
    let mut having = vec![0_usize; wanted.words.len()];
    let mut found: Vec<(&'a ListedSkill, Vec<Match>)> = Vec::new();
    for listed in skills {
        let matches = wanted.matches(listed);
        for word in found_words(&matches) {
            having[word] += 1;
        }
        if !matches.is_empty() || !asked.is_empty() && listed.name.as_str() == asked {
            found.push((listed, matches));
        }
    }
    let weights: Vec<f64> = having.into_iter().map(|having| weight(skills.len(), having)).collect();
    let mut hits: Vec<Hit<'a>> = found
        .into_iter()
        .map(|(listed, matches)| {
            let words: f64 = matches.iter().map(|at| at.share * FIELDS[at.field] * weights[at.word]).sum();
            let is_its_name = !asked.is_empty() && listed.name.as_str() == asked;
            Hit { listed, score: words + if is_its_name { SAME_NAME } else { 0.0 } }
        })
        .collect();
    let order = |a: &Hit<'a>, b: &Hit<'a>| b.score.total_cmp(&a.score).then_with(|| a.listed.name.cmp(&b.listed.name));
    if limit < hits.len() {
        // Only the best hits have to be sorted.
        hits.select_nth_unstable_by(limit, order);
        hits.truncate(limit);
    }
    hits.sort_by(order);
    hits
}

/// Returns the weight of a word by its rarity among all skills, at least 1.
fn weight(skills: usize, having: usize) -> f64 {
    1.0 + (skills as f64 / (having as f64 + 1.0)).max(1.0).ln()
}

/// Match of a query word in a field of a skill.
struct Match {
    word: usize,
    field: usize,
    /// 1 for the exact word, [`FORM`] for another form of it, [`PART`] for a longer word.
    share: f64,
}

/// Returns the query words that occur in a skill, in any form, without duplicates.
fn found_words(matches: &[Match]) -> impl Iterator<Item = usize> {
    let mut words: Vec<usize> = matches.iter().filter(|at| at.share > PART).map(|at| at.word).collect();
    words.sort_unstable();
    words.dedup();
    words.into_iter()
}

/// Parsed query: its words, and two indexes of them.
struct ParsedQuery {
    words: Vec<Word>,
    /// Words by their first byte.
    by_first: Vec<Vec<usize>>,
    /// True for two bytes with which a query word starts, in either case. A text has far fewer such places than words.
    starts: Box<[bool; PAIRS]>,
}

/// Word of a query.
struct Word {
    text: String,
    /// Number of its bytes with which all of its forms begin.
    stem_bytes: usize,
}

/// Number of pairs of bytes.
const PAIRS: usize = 1 << 16;

/// Returns the index of two bytes in [`ParsedQuery::starts`].
fn pair(first: u8, second: u8) -> usize {
    usize::from(u16::from_le_bytes([first, second]))
}

impl ParsedQuery {
    fn of(query: &str) -> Self {
        let words = words_of(query);
        let (mut by_first, mut starts) = (vec![Vec::new(); 256], Box::new([false; PAIRS]));
        for (at, word) in words.iter().enumerate() {
            let [first, second, ..] = *word.text.as_bytes() else { continue };
            by_first[usize::from(first)].push(at);
            let cases = |byte: u8| [byte, byte.to_ascii_uppercase()];
            for first in cases(first) {
                cases(second).into_iter().for_each(|second| starts[pair(first, second)] = true);
            }
        }
        Self { words, by_first, starts }
    }

    fn matches(&self, listed: &ListedSkill) -> Vec<Match> {
        let mut matches = Vec::new();
        if self.words.is_empty() {
            return matches;
        }
        let path = listed.path.as_ref().map(|path| path.to_string_lossy()).unwrap_or_default();
        let title = listed.title.as_deref().unwrap_or_default();
        for (field, text) in [listed.name.as_str(), title, &listed.description, &path].into_iter().enumerate() {
            self.matches_in(text, field, &mut matches);
        }
        matches
    }

    fn matches_in(&self, text: &str, field: usize, matches: &mut Vec<Match>) {
        let before = matches.len();
        let mut note = |word: usize, share: f64| match matches[before..].iter_mut().find(|at| at.word == word) {
            Some(known) => known.share = known.share.max(share),
            None => matches.push(Match { word, field, share }),
        };
        if text.is_ascii() {
            return self.compare_all(text.as_bytes(), &mut note);
        }
        for word in words(&indexed(text)) {
            match word.is_ascii() {
                true => self.compare_all(word.as_bytes(), &mut note),
                false => self.look_inside(word, &mut note),
            }
        }
    }

    /// Compares each word of a text with the query words that start with the same two bytes. A function of its own, so
    /// that its loop has few variables.
    #[inline(never)]
    fn compare_all(&self, text: &[u8], note: &mut impl FnMut(usize, f64)) {
        for (at, two) in text.windows(2).enumerate() {
            if self.starts[pair(two[0], two[1])] {
                self.compare(text, at, note);
            }
        }
    }

    /// Compares the word that starts at a place, if one does. Kept out of the loop over all bytes, which it would slow down.
    #[inline(never)]
    fn compare(&self, text: &[u8], start: usize, note: &mut impl FnMut(usize, f64)) {
        if start.checked_sub(1).is_some_and(|before| text[before].is_ascii_alphanumeric()) {
            return;
        }
        let text = &text[start..];
        for at in &self.by_first[usize::from(text[0].to_ascii_lowercase())] {
            if let Some(share) = self.words[*at].share(text) {
                note(*at, share);
            }
        }
    }

    /// Searches words of other scripts: pairs of adjacent characters, or single ones.
    fn look_inside(&self, word: &str, note: &mut impl FnMut(usize, f64)) {
        for (at, wanted) in self.words.iter().enumerate().filter(|(_, wanted)| !wanted.text.is_ascii()) {
            if word.contains(wanted.text.as_str()) {
                let is_pair = wanted.text.chars().nth(1).is_some();
                note(at, if is_pair || word == wanted.text { 1.0 } else { PART });
            }
        }
    }
}

/// Splits a query into distinct words. A name such as `pdf-forms` is several words, as in the texts. Words of other
/// scripts are split into pairs of adjacent characters, since their forms and borders are not known.
fn words_of(query: &str) -> Vec<Word> {
    let mut found = Vec::new();
    for term in terms(query) {
        for word in words(term.prefix()) {
            if found.len() >= WORDS {
                break;
            }
            if word.is_ascii() {
                found.extend((word.len() > 1).then(|| word.to_owned()));
                continue;
            }
            let letters: Vec<char> = word.chars().take(WORDS).collect();
            if let [letter] = letters.as_slice() {
                found.push(letter.to_string());
            }
            found.extend(letters.windows(2).map(String::from_iter));
        }
    }
    found.truncate(WORDS);
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|text| Word { stem_bytes: Stem::of(&text).start().len(), text }).collect()
}

impl Word {
    /// Compares it with the ASCII word at the beginning of a text.
    fn share(&self, text: &[u8]) -> Option<f64> {
        let wanted = self.text.as_bytes();
        if !text.get(..self.stem_bytes)?.eq_ignore_ascii_case(&wanted[..self.stem_bytes]) {
            return None;
        }
        let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(text.len());
        let word = &text[..end];
        if word.eq_ignore_ascii_case(wanted) {
            return Some(1.0);
        }
        let word = String::from_utf8(word.to_ascii_lowercase()).ok()?;
        if Stem::of(&word) == Stem::of(&self.text) {
            Some(FORM)
        } else {
            (wanted.len() > 2 && word.starts_with(&self.text)).then_some(PART)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_rare_words_rank_first() {
        let all = [
            ListedSkill::described("pdf-forms", "Fills in forms of a document."),
            ListedSkill::described("tables", "Reads tables of a PDF document."),
            ListedSkill::described("letters", "Writes a document that is sent by post."),
            ListedSkill::described("biaodan", "填写表单并提取表格 PDF，é-Mail"),
        ];
        let all: Vec<&ListedSkill> = all.iter().collect();
        let found = |query| search(&all, query, 9).iter().map(|hit| hit.listed.name.to_string()).collect::<Vec<_>>();
        assert_eq!(found("pdf"), ["pdf-forms", "biaodan", "tables"]);
        assert_eq!(found("document post"), ["letters", "pdf-forms", "tables"]);
        assert_eq!(found("form"), ["pdf-forms"]);
        assert_eq!(found("fo"), Vec::<String>::new(), "two letters are no beginning");
        assert_eq!(found("表格"), ["biaodan"]);
        assert_eq!(found("表"), ["biaodan"]);
        assert_eq!(found("格提"), Vec::<String>::new());
        assert_eq!(found("DOCUMENT Post"), found("document post"));
        assert_eq!(found("letters"), ["letters"]);
        assert!(found("").is_empty() && found("zzz").is_empty());
        assert_eq!(search(&all, "document", 1).len(), 1);
    }

    #[test]
    fn words_are_split_in_any_script() {
        let found: Vec<String> = words_of("Fill a PDF-form 填写表单").into_iter().map(|word| word.text).collect();
        assert_eq!(found, ["fill", "form", "pdf", "写表", "填写", "表单"]);
    }

    #[test]
    fn other_scripts_match_by_pairs() {
        for (text, query) in [
            ("Заполняет документы и формы PDF.", "документов"),
            ("Заполняет документы и формы PDF.", "заполнить форму"),
            ("แปลเอกสารเป็นภาษาไทย", "เอกสารภาษา"),
            ("Writes résumés.", "résumer"),
            ("Prüft und übersetzt Texte.", "prüfen"),
            ("Prüft und übersetzt Texte.", "Übersetzung"),
        ] {
            assert_eq!(search(&[&ListedSkill::described("a", text)], query, 9).len(), 1, "{query}");
        }
    }

    #[test]
    fn long_queries_are_truncated() {
        for between in [" ", "-", ".", ""] {
            let query: String = (0..20_000).map(|at| format!("w{at}ж{between}")).collect();
            assert!(words_of(&query).len() <= WORDS);
        }
    }

    #[test]
    fn repeated_word_counts_once_per_field() {
        let [once, often] =
            [ListedSkill::described("a", "Table."), ListedSkill::described("b", "Table, table, tables and a TABLE.")];
        let all = [&once, &often];
        let hits = search(&all, "table", 9);
        assert_eq!(hits[0].score, hits[1].score);
        let rare = search(&all, "tables", 9);
        let names: Vec<&str> = rare.iter().map(|hit| hit.listed.name.as_str()).collect();
        assert_eq!(names, ["b", "a"], "the exact form comes first");
    }

    #[test]
    fn english_forms_match_each_other() {
        let skill = ListedSkill::described("scanner", "Fills forms and answers queries; ｆｕｌｌ width.");
        for query in ["scanners", "filling", "form", "query", "full", "answered please"] {
            assert_eq!(search(&[&skill], query, 9).len(), 1, "{query}");
        }
        for query in ["fillet", "formal", "wide"] {
            assert!(search(&[&skill], query, 9).is_empty(), "{query}");
        }
    }
}
