//! Escaping of untrusted text, so that it cannot control the terminal.

use std::fmt::Write;

use ops::push_shown;

/// SGR codes of the styles that the program itself uses.
const STYLES: [&str; 7] = ["0", "1", "2", "31", "32", "33", "36"];

/// Escapes every control character except the program's own styles, line ends and tabs. This is the last filter before
/// a terminal: text that was not passed through [`ops::visible`] still cannot move the cursor, set the title or hide a
/// line.
pub fn escape_controls(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let kept = style_at(rest).or_else(|| rest.starts_with("\r\n").then_some("\r\n"));
        if let Some(kept) = kept {
            shown.push_str(kept);
        } else {
            push_shown(&mut shown, c, c.is_control() && !matches!(c, '\n' | '\t'));
        }
        rest = rest.get(kept.map_or(c.len_utf8(), str::len)..).unwrap_or_default();
    }
    shown
}

/// Escapes the control characters that JSON allows unescaped in strings: those of C1, and those that change the text
/// direction. The document is equivalent, and has nothing that a terminal interprets.
pub fn plain_json(document: &str) -> String {
    let steers = |c: char| c.is_control() && !c.is_ascii_control() || c == '\u{7f}' || turns_direction(c);
    let mut shown = String::with_capacity(document.len());
    for c in document.chars() {
        if steers(c) {
            let _infallible = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Returns whether a character changes the text direction: marks, embeddings, overrides and isolates.
fn turns_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the escape sequence of one of the program's styles at the start of a text.
pub(super) fn style_at(text: &str) -> Option<&str> {
    let (number, _) = text.strip_prefix("\u{1b}[")?.split_once('m')?;
    STYLES.contains(&number).then(|| text.get(..number.len() + 3)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::{BAD, FAINT, GOOD, STRONG, WARN, coloured_diff};

    #[test]
    fn nothing_but_our_own_styles_reaches_the_terminal() {
        let hostile = "a\u{1b}]0;title\u{7}b\u{1b}[2Jc\u{1b}[8md\re\u{9b}1A\u{8}";
        let shown = escape_controls(hostile);
        assert_eq!(shown, "a\\u{1b}]0;title\\u{7}b\\u{1b}[2Jc\\u{1b}[8md\\u{d}e\\u{9b}1A\\u{8}");
    }

    #[test]
    fn styles_line_ends_and_all_scripts_stay() {
        let diff = coloured_diff("diff --git a b\n@@ -1 +1 @@\n-a\n+b\n c\n");
        let text = format!("{STRONG}x{STRONG:#}{FAINT}{GOOD}{WARN}{BAD}y{BAD:#}\t技能 👩‍👩‍👧\r\n{diff}");
        assert_eq!(escape_controls(&text), text);
        assert_eq!(escape_controls("\u{1b}"), "\\u{1b}");
        assert_eq!(escape_controls("\u{1b}[31"), "\\u{1b}[31");
    }

    #[test]
    fn json_keeps_its_value_and_steers_nobody() {
        let text = "a\u{9b}2J\u{7f}\u{202e}b\u{2066}\u{200f}\u{61c} \u{1b}\n\t\"\\ \u{a0}技能 👩\u{200d}👧";
        let value = serde_json::json!({ text: [text, 1] });
        for written in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let plain = plain_json(&written);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&plain).unwrap(), value);
            let steers = |c: char| (c.is_control() && c != '\n') || turns_direction(c);
            assert!(!plain.contains(steers), "{plain:?}");
            assert!(plain.contains("技能 👩\u{200d}👧"), "scripts stay as they are");
        }
    }
}
