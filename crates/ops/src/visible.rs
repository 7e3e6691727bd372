//! [`visible`]: a text of others with what is hidden in it shown.

use std::fmt::Write;

/// A line of a skill with control and invisible characters shown by their number.
#[must_use]
pub fn visible(line: &str) -> String {
    let hidden = |c: char| (c.is_control() && c != '\t') || scan::characters::is_invisible(c);
    let mut shown = String::with_capacity(line.len());
    line.chars().for_each(|c| push_shown(&mut shown, c, hidden(c)));
    shown
}

/// Adds a character as it is, or by its number.
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
    fn a_line_of_a_skill_shows_what_is_hidden_in_it() {
        assert_eq!(visible("a\u{202e}b\tc\u{1b}"), "a\\u{202e}b\tc\\u{1b}");
    }
}
