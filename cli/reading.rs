//! [`text_at`] and [`read_line`]: what comes from outside, up to a bound.

use std::{
    fs::File,
    io::{self, BufRead, Read},
    path::Path,
};

/// Bytes of a line that is typed or piped in: an answer, or a token.
const LINE_BYTES: u64 = 64 << 10;

/// Reads a text file of at most `limit` bytes.
///
/// # Errors
/// It cannot be read, is no text, or is larger.
pub fn text_at(path: &Path, limit: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {limit} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads a line of the standard input; an empty text at its end.
///
/// # Errors
/// It cannot be read, or is no text.
pub fn read_line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().take(LINE_BYTES).read_line(&mut line)?;
    Ok(line)
}
