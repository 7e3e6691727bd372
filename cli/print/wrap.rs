//! Wrapping of a line to the width of a terminal.

use anstream::adapter::strip_str;
use unicode_width::UnicodeWidthStr;

/// As [`hanging`], but a line with a command stays whole, so that it can be copied.
pub fn folded(line: &str, terminal: Option<usize>) -> String {
    hanging(line, terminal.filter(|_| !line.contains("skillhub "))).join("\n")
}

/// Counts the columns of a text, without its colours.
fn columns(text: &str) -> usize {
    strip_str(text).to_string().width()
}

/// Wraps a line between words. A word longer than a whole line, often a path, stays intact so that it can be copied.
pub fn wrapped(line: &str, width: usize) -> Vec<String> {
    if columns(line) <= width {
        return vec![line.to_owned()];
    }
    let mut lines: Vec<String> = vec![String::new()];
    for word in line.split(' ') {
        match lines.last_mut() {
            Some(last) if last.is_empty() => last.push_str(word),
            Some(last) if columns(last) + 1 + columns(word) <= width => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Columns by which the further lines of a wrapped line are indented.
const HANG: usize = 4;

/// Wraps a line, which may be indented, to the width of the terminal. Without a terminal it stays whole.
pub fn hanging(line: &str, terminal: Option<usize>) -> Vec<String> {
    let Some(width) = terminal.filter(|width| columns(line) > *width) else { return vec![line.to_owned()] };
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let parts = wrapped(text, width.saturating_sub(indent + HANG)).into_iter().enumerate();
    parts.map(|(at, part)| format!("{}{part}", " ".repeat(if at == 0 { indent } else { indent + HANG }))).collect()
}

/// Breaks a message into lines like [`wrapped`]. A command at its end gets a line of its own, so that it can be pasted.
pub fn wrapped_message(message: &str, width: usize) -> Vec<String> {
    match message.rsplit_once(": skillhub ") {
        Some((before, command)) if columns(message) > width => {
            let mut lines = wrapped(&format!("{before}:"), width);
            lines.push(format!("  skillhub {command}"));
            lines
        }
        _ => wrapped(message, width),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_lines_are_indented_and_commands_stay_whole() {
        assert_eq!(folded("  runs: curl, python3", Some(18)), "  runs: curl,\n      python3");
        assert_eq!(folded("  \x1b[33mlow\x1b[0m in x", Some(10)), "  \x1b[33mlow\x1b[0m in x", "colours have no width");
        for (line, width) in [("  runs: curl, python3", None), ("  undo it: skillhub undo --to 1", Some(14))] {
            assert_eq!(folded(line, width), line);
        }
    }

    #[test]
    fn lines_end_between_words_and_no_word_is_cut() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("see /a/very/long/path now", 8), ["see", "/a/very/long/path", "now"]);
        assert_eq!(wrapped("日本語 日本", 7), ["日本語", "日本"]);
        assert_eq!(wrapped("", 7), [""]);
    }

    #[test]
    fn further_lines_hang_below_the_first() {
        assert_eq!(hanging("  one two three", Some(14)), ["  one two", "      three"]);
        assert_eq!(hanging("  one two three", None), ["  one two three"]);
    }

    #[test]
    fn commands_stay_whole() {
        assert_eq!(
            wrapped_message("skipped; run: skillhub adopt /a/b", 12),
            ["skipped;", "run:", "  skillhub adopt /a/b"]
        );
        assert_eq!(wrapped_message("run: skillhub list", 40), ["run: skillhub list"]);
    }
}
