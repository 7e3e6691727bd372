//! [`check`]: limits for the memory that parsing a lock file needs, checked before parsing and before writing.

use std::path::Path;

use library::toml_dots;
use skill::Limits;

use super::LockFileError;

/// Minimum average size of a line or value of a lock file, in bytes. In memory, each takes many times its size.
const VALUE_BYTES: usize = 16;
/// Number of additional lines and values that may be shorter, as in a file that is almost empty.
const SHORT_VALUES: usize = 10_000;

/// Checks that a text does not have more lines, values and tables than a lock file of its size. In memory, each takes
/// many times its size.
pub(super) fn check(text: &str) -> Result<(), String> {
    let values = text.bytes().filter(|byte| matches!(byte, b'\n' | b',')).count();
    let signs = text.lines().filter(|line| !is_text(line)).flat_map(str::bytes).filter(is_sign).count();
    let most = SHORT_VALUES + text.len() / VALUE_BYTES;
    // Each dot may begin a table, which takes as much memory as four other values.
    let dots = (toml_dots(text), most / 4, "dots outside its strings");
    let counts =
        [(values, most, "lines and values"), (signs, most, "punctuation characters outside its strings"), dots];
    match counts.into_iter().find(|(found, most, _)| found > most) {
        Some((found, _, what)) => Err(format!("it has {found} {what}, too many for a lock file of its size")),
        None => Ok(()),
    }
}

/// Returns a text to be written, if it can be read again within the limits.
pub(super) fn readable(text: String, path: &Path) -> Result<String, LockFileError> {
    let limit = Limits::default().lock_file_bytes;
    let checked = match text.len() as u64 > limit {
        true => Err(format!("it would have {} bytes, but the limit is {limit}", text.len())),
        false => check(&text),
    };
    checked.map_err(|why| LockFileError::TooLarge { path: path.to_owned(), why })?;
    Ok(text)
}

/// Returns whether a line is a key with a text, or a text in a list. A parser creates a single value for it, whatever
/// its length.
fn is_text(line: &str) -> bool {
    let parts = match line.strip_prefix("  \"") {
        Some(text) => text.strip_suffix("\",").map(|text| ("", text)),
        None => line.split_once(" = \"").and_then(|(key, rest)| Some((key, rest.strip_suffix('"')?))),
    };
    parts.is_some_and(|(key, text)| !key.bytes().any(|byte| is_sign(&byte)) && !text.contains(['"', '\\']))
}

/// Returns whether a parser may begin a new value at this byte.
fn is_sign(byte: &u8) -> bool {
    !byte.is_ascii_alphanumeric() && !b"_-:/".contains(byte)
}
