//! Bounded reads of external input.

use std::{
    fs::File,
    io::{self, BufRead, Read, Write},
    path::Path,
};

/// Maximum length, in bytes, of a line that is typed or piped in: an answer, or a token.
const LINE_BYTES: u64 = 64 << 10;

/// Reads a text file of at most `limit` bytes.
///
/// # Errors
/// The file cannot be read, is larger, or is not UTF-8.
pub fn text_at(path: &Path, limit: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads a line of standard input. Returns an empty string at its end.
///
/// # Errors
/// The line cannot be read or is not UTF-8.
pub fn read_line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().take(LINE_BYTES).read_line(&mut line)?;
    Ok(line)
}

/// Asks on standard error and returns the answer, without surrounding spaces. `None` if it cannot be read.
pub fn read_answer(question: &str) -> Option<String> {
    let mut err = io::stderr().lock();
    let _closed = write!(err, "{question}").and_then(|()| err.flush());
    Some(read_line().ok()?.trim().to_owned())
}
