//! [`check`]: what parsing a lock file would take, bounded before the parser gets it, and before it is written.

use std::path::Path;

use library::toml_dots;
use skill::Limits;

use super::LockFileError;

/// Bytes that a line or value of a lock file has at least on average; in memory each takes many times a few bytes.
const VALUE_BYTES: usize = 16;
/// Lines and values that may be shorter, as in a file that is nearly empty.
const SHORT_VALUES: usize = 10_000;

/// Says why a text is no lock file by the number of its parts, of which each takes many times its bytes of memory.
pub(super) fn check(text: &str) -> Result<(), String> {
    let values = text.bytes().filter(|byte| matches!(byte, b'\n' | b',')).count();
    let signs = text.lines().filter(|line| !is_text(line)).flat_map(str::bytes).filter(is_sign).count();
    let most = SHORT_VALUES + text.len() / VALUE_BYTES;
    // Each may begin a table, which takes as much as four other values.
    let dots = (toml_dots(text), most / 4, "dots beside its texts");
    let counts = [(values, most, "lines and values"), (signs, most, "signs beside its texts"), dots];
    match counts.into_iter().find(|(found, most, _)| found > most) {
        Some((found, _, what)) => Err(format!("it has {found} {what}, more than a lock file of its size can have")),
        None => Ok(()),
    }
}

/// A text that is to be written, unless it could not be read again.
pub(super) fn readable(text: String, path: &Path) -> Result<String, LockFileError> {
    let limit = Limits::default().lock_file_bytes;
    let checked = match text.len() as u64 > limit {
        true => Err(format!("it would have {} bytes, the limit is {limit}", text.len())),
        false => check(&text),
    };
    checked.map_err(|why| LockFileError::TooLarge { path: path.to_owned(), why })?;
    Ok(text)
}

/// Tells the lines of a key and a text, or of a text in a list, of which a parser makes as little however long they are.
fn is_text(line: &str) -> bool {
    let parts = match line.strip_prefix("  \"") {
        Some(text) => text.strip_suffix("\",").map(|text| ("", text)),
        None => line.split_once(" = \"").and_then(|(key, rest)| Some((key, rest.strip_suffix('"')?))),
    };
    parts.is_some_and(|(key, text)| !key.bytes().any(|byte| is_sign(&byte)) && !text.contains(['"', '\\']))
}

/// Tells the bytes at which a parser may begin something new.
fn is_sign(byte: &u8) -> bool {
    !byte.is_ascii_alphanumeric() && !b"_-:/".contains(byte)
}
