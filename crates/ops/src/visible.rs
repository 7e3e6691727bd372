//! Escaping of hidden characters in untrusted text.

use std::fmt::Write;

/// Escapes control characters, separators of lines and invisible characters in a line, except tabs.
pub fn visible(line: &str) -> String {
    let breaks = |c: char| (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}');
    let hidden = |c: char| breaks(c) || scan::characters::is_invisible(c);
    let mut shown = String::with_capacity(line.len());
    line.chars().for_each(|c| push_shown(&mut shown, c, hidden(c)));
    shown
}

/// Appends a character, escaped as its code point if `by_number` is set.
pub fn push_shown(shown: &mut String, c: char, by_number: bool) {
    if by_number {
        let _infallible = write!(shown, "\\u{{{:x}}}", u32::from(c));
    } else {
        shown.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_become_visible() {
        assert_eq!(visible("a\u{202e}b\tc\u{1b}\u{2028}d"), "a\\u{202e}b\tc\\u{1b}\\u{2028}d");
    }
}
