//! Wrapping of a line to the width of a terminal.

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

/// Columns by which the further lines of a wrapped line are indented.
const HANG: usize = 4;

/// Wraps a line, which may be indented, to the width of the terminal. Without a terminal it stays whole.
pub fn hanging(line: &str, terminal: Option<usize>) -> Vec<String> {
    let Some(width) = terminal else { return vec![line.to_owned()] };
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let parts = wrapped(text, width.saturating_sub(indent + HANG)).into_iter().enumerate();
    parts.map(|(at, part)| format!("{}{part}", " ".repeat(if at == 0 { indent } else { indent + HANG }))).collect()
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
    fn further_lines_hang_below_the_first() {
        assert_eq!(hanging("  one two three", Some(13)), ["  one two", "      three"]);
        assert_eq!(hanging("  one two three", None), ["  one two three"]);
    }
}
