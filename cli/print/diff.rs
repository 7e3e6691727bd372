//! Colours for a unified diff.

use anstyle::{AnsiColor, Style};

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const HUNK: Style = AnsiColor::Cyan.on_default();
const HEAD: Style = Style::new().bold();

/// The diff with escape codes for colours, which the output drops again where there is no terminal.
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

/// A line of a skill with control characters made visible, so that it cannot steer the terminal.
pub fn visible(line: &str) -> String {
    let hidden = |c: char| (c.is_control() && c != '\t') || scan::hidden::is_invisible(c);
    if !line.chars().any(hidden) {
        return line.to_owned();
    }
    line.chars().map(|c| if hidden(c) { format!("\\u{{{:x}}}", u32::from(c)) } else { c.to_string() }).collect()
}
