//! Whether a patch was applied before, so that one which is sent again changes nothing.

use std::{collections::BTreeSet, ops::Range};

use super::Patch;

/// Whether every match stands inside the replacement, which stands in the text as often as the patch
/// says: what a patch that adds to its own text leaves behind.
pub(super) fn holds<'a>(
    patch: &Patch,
    text: &str,
    replacement: &str,
    matches: impl Iterator<Item = &'a Range<usize>>,
) -> bool {
    if replacement.len() <= patch.find.len() {
        return false;
    }
    let occurrences: Vec<usize> = text.match_indices(replacement).map(|(at, _)| at).collect();
    let mut rest = occurrences.iter().copied().peekable();
    let mut all_inside = true;
    for range in matches {
        while rest.next_if(|at| at + replacement.len() < range.end).is_some() {}
        all_inside = all_inside && rest.peek().is_some_and(|at| *at <= range.start);
    }
    all_inside && as_often_as_wanted(patch, occurrences.len())
}

/// Whether the replacement of a patch without any match stands in the text as often as it says, and
/// no line that it was to take away does.
///
/// A short replacement proves nothing, and a text to find that is there in part has not been
/// replaced but was written down wrongly.
pub(super) fn stands(patch: &Patch, text: &str) -> bool {
    tells_something(&patch.replace)
        && as_often_as_wanted(patch, occurrences(text, &patch.replace))
        && none_left(patch, text)
}

fn occurrences(text: &str, replacement: &str) -> usize {
    match text.matches(replacement).count() {
        0 if replacement.contains('\n') => text.matches(&replacement.replace('\n', "\r\n")).count(),
        count => count,
    }
}

fn as_often_as_wanted(patch: &Patch, found: usize) -> bool {
    match patch.expected_count {
        Some(expected) => found == expected,
        None => found == 1 || (found > 1 && patch.replace_all),
    }
}

/// At least four characters that are no blanks, among them a letter or digit.
fn tells_something(line: &str) -> bool {
    line.chars().filter(|c| !c.is_whitespace()).nth(3).is_some() && line.chars().any(char::is_alphanumeric)
}

fn none_left(patch: &Patch, text: &str) -> bool {
    let kept: BTreeSet<&str> = patch.replace.lines().map(str::trim).collect();
    let mut taken =
        patch.find.lines().map(str::trim).filter(|line| tells_something(line) && !kept.contains(line)).peekable();
    if taken.peek().is_none() {
        return true;
    }
    let lines: BTreeSet<&str> = text.lines().map(str::trim).collect();
    !taken.any(|line| lines.contains(line))
}
