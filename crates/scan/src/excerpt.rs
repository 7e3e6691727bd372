//! Excerpts: the text of a finding, short, visible, and without secrets.

use std::ops::Range;

use crate::{EXCERPT_CHARS, characters};

/// Characters of a secret that an excerpt shows.
const SECRET_CHARS: usize = 8;

/// The line around a match, cut to [`EXCERPT_CHARS`] with the match in view.
pub(crate) fn around(line: &str, matched: Range<usize>) -> String {
    let before = line.get(..matched.start).unwrap_or("");
    let rest = line.get(before.len()..).unwrap_or("");
    // What is no text in a binary is blank here; it would push the match out of view.
    let lead: Vec<char> = before.chars().rev().take(EXCERPT_CHARS / 4).take_while(|c| *c != '\0').collect();
    let lead: String = lead.into_iter().rev().collect();
    visible(&format!("{lead}{}", rest.chars().take(EXCERPT_CHARS).collect::<String>()))
}

/// The head of a secret, enough to find it by.
pub(crate) fn redacted(matched: &str) -> String {
    let head: String = matched.chars().take(SECRET_CHARS).collect();
    visible(&format!("{head}… ({} characters)", matched.chars().count()))
}

/// A text trimmed and cut to [`EXCERPT_CHARS`], with every control, format or invisible character
/// written as `\u{…}`.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::new();
    let mut chars = 0;
    for c in text.trim().chars() {
        let piece: String = match c {
            '\t' | '\n' | '\r' => " ".to_owned(),
            c if c.is_control() || characters::is_invisible(c) => c.escape_unicode().to_string(),
            c => c.to_string(),
        };
        chars += piece.chars().count();
        if chars > EXCERPT_CHARS {
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
        let shown = around(&line, 5000..5005);
        assert!(shown.contains("MATCH") && shown.chars().count() <= EXCERPT_CHARS, "{shown}");
        assert_eq!(visible(" a\u{202E}b\u{E0041}\x1b "), "a\\u{202e}b\\u{e0041}\\u{1b}");
    }

    #[test]
    fn a_secret_is_not_repeated() {
        assert_eq!(redacted("ghp_0123456789"), "ghp_0123… (14 characters)");
    }
}
