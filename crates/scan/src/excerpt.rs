//! [`Excerpt`]: the text shown with a finding, which is short, escaped and free of secrets.

use std::ops::Range;

use crate::{EXCERPT_CHARS, characters};

/// Characters of a secret shown in an excerpt.
const SECRET_CHARS: usize = 8;

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

    /// Creates an excerpt of the line around a match, cut to [`EXCERPT_CHARS`] so that the match stays visible.
    pub fn around(line: &str, matched: Range<usize>) -> Self {
        let before = line.get(..matched.start).unwrap_or("");
        let rest = line.get(before.len()..).unwrap_or("");
        // Bytes of a binary outside its text runs are zeros. Shown, they would push the match out of view.
        let lead: Vec<char> = before.chars().rev().take(EXCERPT_CHARS / 4).take_while(|c| *c != '\0').collect();
        let lead: String = lead.into_iter().rev().collect();
        let start = chars(&escaped(lead.trim_start()));
        let hit = rest.get(..matched.len()).unwrap_or(rest).trim_end();
        let end = (start + chars(&escaped(hit))).min(EXCERPT_CHARS);
        Self {
            text: visible(&format!("{lead}{}", rest.chars().take(EXCERPT_CHARS).collect::<String>())),
            matched: (start < end).then_some((start, end)),
            column: chars(before) + 1,
        }
    }

    /// Creates an excerpt of a secret that shows only its first characters, enough to find it. `start` is a byte offset
    /// in the line.
    pub fn redacted(line: &str, start: usize, secret: &str) -> Self {
        let head: String = secret.chars().take(SECRET_CHARS).collect();
        let text = visible(&format!("{head}… ({} characters)", chars(secret)));
        Self { text, matched: None, column: chars(line.get(..start).unwrap_or("")) + 1 }
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Trims a text, cuts it to [`EXCERPT_CHARS`], and writes control, format and invisible characters as `\u{…}`.
pub(crate) fn visible(text: &str) -> String {
    escaped(text.trim())
}

fn escaped(text: &str) -> String {
    let mut shown = String::new();
    let mut count = 0;
    for c in text.chars() {
        let piece: String = match c {
            '\t' | '\n' | '\r' => " ".to_owned(),
            c if c.is_control() || characters::is_invisible(c) => c.escape_unicode().to_string(),
            c => c.to_string(),
        };
        count += chars(&piece);
        if count > EXCERPT_CHARS {
            break;
        }
        shown.push_str(&piece);
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
        assert_eq!((excerpt.matched, excerpt.column), (Some((40, 45)), 5001));
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
    }

    #[test]
    fn a_secret_is_not_repeated() {
        let excerpt = Excerpt::redacted("key = ghp_0123456789", 6, "ghp_0123456789");
        assert_eq!((excerpt.text.as_str(), excerpt.matched, excerpt.column), ("ghp_0123… (14 characters)", None, 7));
    }
}
