//! [`copy`]: a file with the indirections in its scripts resolved.

use flow::detours::{self, Copy, Part, TooMuch};

use crate::{local::touches, source::Source};

/// Returns a copy of the file with indirections such as names and concatenated strings written out, or `None` if it has
/// none. In a text, only code blocks are read.
pub(crate) fn copy(source: &Source<'_>) -> Result<Option<Copy>, TooMuch> {
    if source.is_binary() {
        return Ok(None);
    }
    let text = source.text.as_ref();
    if !source.kind().reads {
        return detours::copy(text, [Part { word: word_of(source), start: 0, text }], touches);
    }
    let part = |(word, first, text)| Part { word, start: source.line_start(first), text };
    detours::copy(text, source.blocks().map(part), touches)
}

/// Returns the language hint of a file: its extension, or the interpreter named in its first line.
fn word_of<'s>(source: &'s Source<'_>) -> &'s str {
    let name = source.path.rsplit('/').next().unwrap_or(source.path);
    if let Some((_, extension)) = name.rsplit_once('.') {
        return extension;
    }
    let first = source.line(0).strip_prefix("#!").unwrap_or("");
    let program = first.split_whitespace().find(|word| !word.ends_with("/env") && !word.starts_with('-')).unwrap_or("");
    program.rsplit('/').next().unwrap_or(program).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}
