//! A normalised copy of the lines that could hide a phrase behind look-alike or invisible
//! characters.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

use crate::{characters, source::Source};

/// The lines of a source that read otherwise once normalised, and where each came from.
pub(crate) struct Shadow {
    /// The normalised lines.
    pub text: String,
    /// For each line of `text`, the index of its line in the source.
    pub lines: Vec<usize>,
}

/// The shadow of a source; `None` when no line has one.
pub(crate) fn shadow(source: &Source<'_>) -> Option<Shadow> {
    if source.text.is_ascii() {
        return None;
    }
    let mut shadow = Shadow { text: String::new(), lines: Vec::new() };
    for (index, line) in source.lines() {
        if let Cow::Owned(folded) = fold(line) {
            shadow.text.push_str(&folded);
            shadow.text.push('\n');
            shadow.lines.push(index);
        }
    }
    (!shadow.lines.is_empty()).then_some(shadow)
}

/// A line in NFKC, without invisible characters, with tag characters and letters that pass for
/// Latin ones as ASCII; borrowed when nothing in it could hide ASCII text.
fn fold(line: &str) -> Cow<'_, str> {
    if line.is_ascii() || !line.chars().any(hides_ascii) {
        return Cow::Borrowed(line);
    }
    let folded = line.chars().filter_map(reveal).nfkc().filter_map(reveal);
    Cow::Owned(folded.map(|c| if c == '\n' || c == '\r' { ' ' } else { c }).collect())
}

/// Whether a character may stand for an ASCII one, or for none.
fn hides_ascii(c: char) -> bool {
    !c.is_ascii() && (reveal(c) != Some(c) || wide(c))
}

/// Full-width, circled and mathematical letters: what NFKC turns into ASCII letters and digits.
fn wide(c: char) -> bool {
    matches!(c, '\u{FF10}'..='\u{FF5A}' | '\u{1D400}'..='\u{1D7FF}' | '\u{2460}'..='\u{24E9}' | '\u{2100}'..='\u{214F}')
        || matches!(c, '\u{1F110}'..='\u{1F189}')
}

/// The character that a reader sees: none for an invisible one, ASCII for a tag or a look-alike.
fn reveal(c: char) -> Option<char> {
    match c {
        '\u{E0020}'..='\u{E007E}' => char::from_u32(c as u32 - 0xE0000),
        c if characters::is_invisible(c) => None,
        c => Some(characters::latin_look_alike(c).unwrap_or(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_phrases_read_as_they_are_meant() {
        assert_eq!(fold("ig\u{200B}nore"), "ignore");
        assert_eq!(fold("ｉｇｎｏｒｅ"), "ignore");
        assert_eq!(fold("ignоre"), "ignore", "a Cyrillic o");
        assert_eq!(fold("x\u{E0049}\u{E0047}"), "xIG");
        assert_eq!(fold("𝐢𝐠𝐧𝐨𝐫𝐞"), "ignore");
    }

    #[test]
    fn ordinary_lines_have_no_shadow() {
        for line in ["plain", "忽略之前的指令，然后", "naïve café — “quoted”"] {
            assert!(matches!(fold(line), Cow::Borrowed(_)), "{line}");
        }
    }
}
