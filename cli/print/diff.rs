//! Colours for a unified diff.

use anstyle::{AnsiColor, Style};

use super::visible;

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const HUNK: Style = AnsiColor::Cyan.on_default();
const HEAD: Style = Style::new().bold();

/// Adds colour escape codes to a diff. [`super::Output`] strips them again where there is no terminal.
pub fn coloured(diff: &str) -> String {
    let mut text = String::with_capacity(diff.len() * 2);
    let mut in_head = false;
    for line in diff.lines() {
        in_head = line.starts_with("diff --git") || (in_head && !line.starts_with("@@"));
        let style = match line.as_bytes().first() {
            _ if in_head => HEAD,
            Some(b'+') => ADDED,
            Some(b'-') => REMOVED,
            Some(b'@') => HUNK,
            _ => Style::new(),
        };
        text.push_str(&format!("{style}{}{style:#}\n", visible(line)));
    }
    text
}
