//! Changelogs of releases as lines of text.

use client::ReleaseNotes;

use super::{FAINT, visible};

/// Maximum number of lines of one changelog.
const LINES: usize = 8;

/// Formats changelogs, each with its version. Of a long one, the first lines are shown.
pub fn notes_lines(notes: &[ReleaseNotes]) -> Vec<String> {
    notes.iter().flat_map(of_release).collect()
}

fn of_release(notes: &ReleaseNotes) -> Vec<String> {
    let version = visible(&notes.version);
    let indent = " ".repeat(version.len() + 2);
    let all: Vec<&str> = notes.changelog.lines().collect();
    let mut lines: Vec<String> = all.iter().take(LINES).map(|line| format!("{indent}{}", visible(line))).collect();
    if let Some(first) = lines.first_mut() {
        *first = format!("{FAINT}{version}{FAINT:#}  {}", first.trim_start());
    }
    if all.len() > LINES {
        lines.push(format!("{indent}{FAINT}and {} more lines{FAINT:#}", all.len() - LINES));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changelog_is_indented_and_bounded() {
        let changelog = (1..=10).map(|at| format!("- change {at}\n")).collect();
        let lines = notes_lines(&[ReleaseNotes { version: "1.2.0".to_owned(), changelog }]);
        let plain = |line: &String| anstream::adapter::strip_str(line).to_string();
        assert_eq!(plain(&lines[0]), "1.2.0  - change 1");
        assert_eq!(plain(&lines[1]), "       - change 2");
        assert_eq!((plain(&lines[LINES]).as_str(), lines.len()), ("       and 2 more lines", LINES + 1));
        let hostile = ReleaseNotes { version: "1.0.0".to_owned(), changelog: "a\u{1b}[2Jb".to_owned() };
        assert!(!plain(&notes_lines(&[hostile])[0]).contains('\u{1b}'));
    }
}
