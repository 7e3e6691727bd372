//! Text extraction from JSON and notebooks ([`read`]): strings, and comments where the dialect has them.

use super::{Page, code};

/// Adds the strings of a file. Consecutive strings that end with a newline, such as the lines of a notebook cell, form
/// one text. Code cells contribute only their comments.
pub(super) fn read(text: &str, page: &mut Page) {
    let (mut at, mut is_code, mut key) = (0, false, String::new());
    while let Some(found) = next(text, at) {
        let start = found + 1;
        if !text.get(found..).is_some_and(|rest| rest.starts_with('"')) {
            page.end();
            at = code::comment(text, found, page);
            continue;
        }
        let end = end_of(text, start);
        let raw = text.get(start..end).unwrap_or("");
        at = end + 1;
        let is_key = text.get(at..).is_some_and(|rest| rest.trim_start().starts_with(':'));
        if is_key {
            page.end();
            key = raw.to_owned();
            page.take(raw, start);
            continue;
        }
        is_code = if key == "cell_type" { raw == "code" } else { is_code };
        if !(is_code && key == "source") {
            add(raw, start, page);
        } else if raw.trim_start().starts_with('#') {
            add(raw.trim_start().trim_start_matches('#'), start, page);
        }
        if !raw.ends_with("\\n") {
            page.end();
        }
    }
}

/// Returns the offset of the next string or comment.
fn next(text: &str, from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let begins = |at: &usize| matches!(rest.as_bytes().get(*at..), Some([b'"', ..] | [b'/', b'/' | b'*', ..]));
    memchr::memchr2_iter(b'"', b'/', rest.as_bytes()).find(begins).map(|at| from + at)
}

/// Returns the end of the string whose contents begin at a byte offset.
fn end_of(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes().get(start..).unwrap_or_default();
    let mut skip = 0;
    for at in memchr::memchr2_iter(b'"', b'\\', bytes) {
        match bytes.get(at) {
            _ if at < skip => {}
            Some(b'\\') => skip = at + 2,
            _ => return start + at,
        }
    }
    text.len()
}

/// Adds a string with its escapes decoded, line by line.
fn add(raw: &str, start: usize, page: &mut Page) {
    if !raw.contains('\\') {
        return page.add_lines(raw, start);
    }
    let (mut line, mut from, mut rest) = (String::new(), start, raw);
    while let Some(at) = rest.find('\\') {
        line.push_str(rest.get(..at).unwrap_or(""));
        let escape = rest.get(at + 1..).unwrap_or("");
        let (meant, length) = meant(escape);
        rest = escape.get(length..).unwrap_or("");
        match meant {
            Some('\n') => {
                page.add(&line, from);
                (line, from) = (String::new(), start + raw.len() - rest.len());
            }
            meant => line.extend(meant),
        }
    }
    line.push_str(rest);
    page.add(&line, from);
}

/// Decodes the escape after a backslash. Returns its character and its length in bytes.
fn meant(escape: &str) -> (Option<char>, usize) {
    let hex = || u32::from_str_radix(escape.get(1..5)?, 16).ok();
    match escape.as_bytes().first() {
        Some(b'n' | b'r') => (Some('\n'), 1),
        Some(b't' | b'b' | b'f') => (Some(' '), 1),
        Some(b'u') => (hex().and_then(char::from_u32), 5),
        _ => (escape.chars().next(), escape.chars().next().map_or(0, char::len_utf8)),
    }
}
