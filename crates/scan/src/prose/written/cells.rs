//! Text extraction from CSV and TSV files ([`read`]).

use super::Page;

/// Adds every cell of a table as a separate text. `between` is the delimiter.
pub(super) fn read(text: &str, between: u8, page: &mut Page) {
    let mut at = 0;
    while at < text.len() {
        let rest = text.get(at..).unwrap_or("");
        let (start, length) = match rest.strip_prefix('"') {
            Some(quoted) => (1, end_of_quotation(quoted)),
            None => (0, rest.bytes().position(|byte| byte == between || byte == b'\n').unwrap_or(rest.len())),
        };
        let cell = rest.get(start..start + length).unwrap_or("");
        page.take(&cell.replace("\"\"", " \""), at + start);
        at += (start + length + 1).max(1);
        if start == 1 {
            at += rest.get(start + length + 1..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        }
    }
}

/// Returns the end of a quoted cell. Doubled quotation marks are escapes.
fn end_of_quotation(text: &str) -> usize {
    let (bytes, mut at) = (text.as_bytes(), 0);
    while let Some(mark) = bytes.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
        if bytes.get(at + mark + 1) != Some(&b'"') {
            return at + mark;
        }
        at += mark + 2;
    }
    text.len()
}
