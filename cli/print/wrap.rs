//! Wrapping of a line to the width of a terminal.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

/// Wraps a line between words. A word longer than a whole line, often a path, stays intact so that it can be copied.
pub fn wrapped(line: &str, width: usize) -> Vec<String> {
    if line.width() <= width {
        return vec![line.to_owned()];
    }
    let mut lines: Vec<String> = vec![String::new()];
    for word in line.split(' ') {
        match lines.last_mut() {
            Some(last) if last.is_empty() => last.push_str(word),
            Some(last) if last.width() + 1 + word.width() <= width => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Breaks a message into lines like [`wrapped`]. A command at its end gets a line of its own, so that it can be pasted.
pub fn wrapped_message(message: &str, width: usize) -> Vec<String> {
    match message.rsplit_once(": skillhub ") {
        Some((before, command)) if message.width() > width => {
            let mut lines = wrapped(&format!("{before}:"), width);
            lines.push(format!("  skillhub {command}"));
            lines
        }
        _ => wrapped(message, width),
    }
}

/// Breaks a message into lines like [`wrapped_message`], with a style for the words that begin it.
pub fn styled_message(style: Style, head: &str, rest: &str, width: usize) -> Vec<String> {
    let mut lines = wrapped_message(&format!("{head}{rest}"), width);
    if let Some(first) = lines.first_mut() {
        *first = first.replacen(head, &format!("{style}{head}{style:#}"), 1);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_between_words_and_no_word_is_cut() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("see /a/very/long/path now", 8), ["see", "/a/very/long/path", "now"]);
        assert_eq!(wrapped("日本語 日本", 7), ["日本語", "日本"]);
        assert_eq!(wrapped("", 7), [""]);
    }

    #[test]
    fn commands_stay_whole() {
        assert_eq!(
            wrapped_message("skipped; run: skillhub adopt /a/b", 12),
            ["skipped;", "run:", "  skillhub adopt /a/b"]
        );
        assert_eq!(wrapped_message("run: skillhub list", 40), ["run: skillhub list"]);
        let bold = Style::new().bold();
        assert_eq!(
            styled_message(bold, "note", ": one two", 9),
            [format!("{bold}note{bold:#}: one"), "two".to_owned()]
        );
    }
}
