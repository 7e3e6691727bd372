//! Foreign text as markup in which no character is hidden ([`visible`]).

use std::fmt::Write as _;

use maud::{Markup, PreEscaped};

/// Escapes a text, and shows invisible characters and direction marks as boxes with their code point.
pub fn visible(text: &str) -> Markup {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    push(&mut out, text);
    PreEscaped(out)
}

/// Appends a text to markup, escaped like [`visible`].
pub fn push(out: &mut String, text: &str) {
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            _ if is_of_emoji(c, before, chars.peek().copied()) => out.push(c),
            _ if c.is_control() || scan::characters::is_invisible(c) => {
                // Writing to a String cannot fail.
                let _never = write!(out, "<span class=\"unseen\">U+{:04X}</span>", u32::from(c));
            }
            _ => out.push(c),
        }
        before = c;
    }
}

/// Returns whether a character is part of an emoji: a variation selector or a joiner between two pictures.
fn is_of_emoji(c: char, before: char, next: Option<char>) -> bool {
    let is_picture =
        |c: char| matches!(c, '\u{200D}' | '\u{FE0F}' | '\u{203C}'..='\u{3299}' | '\u{1F000}'..='\u{1FAFF}');
    match c {
        '\u{FE0F}' => is_picture(before) && before != c || matches!(before, '#' | '*' | '0'..='9' | '©' | '®'),
        '\u{200D}' => is_picture(before) && before != c && next.is_some_and(is_picture) && next != Some(c),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_become_boxes() {
        assert_eq!(visible("a<b>&\"").0, "a&lt;b&gt;&amp;&quot;");
        assert_eq!(
            visible("a\u{202E}b\u{1b}").0,
            "a<span class=\"unseen\">U+202E</span>b<span class=\"unseen\">U+001B</span>"
        );
        for whole in ["❤\u{FE0F}", "👩\u{200D}💻", "1\u{FE0F}\u{20E3}", "图表", "line\n\ttab", "👩🏽\u{200D}🚀"]
        {
            assert_eq!(visible(whole).0, whole);
        }
        for hidden in ["a\u{200D}b", "👩\u{200D}", "a\u{FE0F}", "\u{E0041}", "👩\u{200D}\u{200D}💻"] {
            assert!(visible(hidden).0.contains("U+"), "{hidden:?}");
        }
        assert_eq!(visible("a\r\nb").0, "a\nb");
    }
}
