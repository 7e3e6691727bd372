//! [`Passage`]: the unit in which prose is scanned. Markdown is split into paragraphs, list items with their
//! introduction, tables and comments.

use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

use super::flag;
use crate::{
    characters::is_wide,
    source::{Source, is_item},
};

/// Maximum number of lines in a passage.
const LINES: usize = 40;

/// Approximate maximum size of a passage in bytes. A longer line is split into several passages.
const BYTES: usize = 1 << 18;

/// Maximum length in bytes of a picture's alternative text that still counts as a caption.
const ALT: usize = 80;

/// Maximum number of words in a string literal that is not treated as a sentence.
const WORDS_OF_STRING: usize = 6;

/// Maximum number of words in a line without code punctuation that is not treated as a sentence.
const WORDS_OF_LINE: usize = 5;

/// Counterpart of [`WORDS_OF_LINE`] in Chinese characters.
const WIDE_OF_LINE: usize = 8;

/// CSS declarations that hide text.
const UNSEEN: &[&str] = &["display:none", "display: none", "font-size:0"];

/// A contiguous part of a text that is scanned as a unit.
#[derive(Debug)]
pub(super) struct Passage {
    pub place: Place,
    /// Byte ranges in the source that belong to the passage, one per line.
    pub parts: Vec<Range<usize>>,
}

/// The kind of markup that a passage comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Heading,
    Paragraph,
    Item,
    Table,
    /// The prose in a code block: its comments and long strings.
    Code,
    /// An HTML comment or a picture's alternative text, invisible on the rendered page.
    Hidden,
}

/// Extensions of files in which attributes and comments are read as hidden text.
const MARKUP: &[&str] = &["html", "htm", "xhtml", "xml", "svg", "plist", "vue", "svelte"];

impl Passage {
    /// Returns the place in which people do not see this text, as words after "in". `is_disguised` is true if
    /// invisible characters split its words.
    pub fn unseen(&self, source: &Source<'_>, is_disguised: bool) -> &'static str {
        let start = self.parts.first().map_or(0, |part| part.start);
        let line = source.line(source.line_at(start)).trim_start_matches([' ', '\t', '>']);
        let extension = source.path.rsplit_once('.').map_or("", |(_, extension)| extension);
        match self.place {
            Place::Code => "a comment or a string of code, which users do not read",
            Place::Hidden if MARKUP.contains(&extension) => {
                "a comment, an attribute or hidden text, which the page does not show"
            }
            Place::Hidden if line.starts_with("\"_") => "a field that programs ignore (its name begins with “_”)",
            Place::Hidden if line.starts_with("[//]:") || line.starts_with("[comment]:") => {
                "a comment of Markdown, which the page does not show"
            }
            Place::Hidden if is_long_alt(line) => "the alternative text of a picture, which the page does not show",
            Place::Hidden if !line.contains("<!--") && UNSEEN.iter().any(|style| line.contains(style)) => {
                "text that its style hides"
            }
            Place::Hidden => "an HTML comment, which the page does not show",
            _ if is_disguised => "words that invisible characters split",
            _ => "text that is marked as hidden from people",
        }
    }
}

/// Calls `each` with the passages of a source, in source order. Stops at the first error.
pub(super) fn passages<E>(source: &Source<'_>, each: &mut dyn FnMut(Passage) -> Result<(), E>) -> Result<(), E> {
    let has = |mark: &[&str]| mark.iter().any(|mark| memmem::find(source.text.as_bytes(), mark.as_bytes()).is_some());
    let mut splitter = Splitter {
        text: &source.text,
        each,
        open: None,
        comment: false,
        code: source.kind().runs && !source.kind().reads,
        has_comments: has(&["<!--"]),
        has_styles: has(UNSEEN),
    };
    for (index, line) in source.lines() {
        splitter.line(line, source.line_start(index), source.is_fenced(index))?;
    }
    splitter.flush()
}

struct Splitter<'e, E> {
    text: &'e str,
    each: &'e mut dyn FnMut(Passage) -> Result<(), E>,
    open: Option<Passage>,
    /// True inside a comment that spans several lines.
    comment: bool,
    code: bool,
    has_comments: bool,
    has_styles: bool,
}

impl<E> Splitter<'_, E> {
    fn flush(&mut self) -> Result<(), E> {
        self.open.take().map_or(Ok(()), |passage| (self.each)(passage))
    }

    fn add(&mut self, place: Place, part: Range<usize>, mut begins: bool) -> Result<(), E> {
        let mut start = part.start;
        while part.end - start > BYTES {
            let end = self.end_within(start);
            self.add_part(place, start..end, begins)?;
            (start, begins) = (end, true);
        }
        self.add_part(place, start..part.end, begins)
    }

    /// Returns the end of a part of at most [`BYTES`] bytes: before a space if there is one, otherwise at a character
    /// boundary.
    fn end_within(&self, start: usize) -> usize {
        let room = self.text.as_bytes().get(start..start + BYTES).unwrap_or_default();
        let space = memrchr(b' ', room).filter(|space| *space > 0).map(|space| start + space);
        let last = || (start..start + BYTES).rev().find(|at| self.text.is_char_boundary(*at));
        space.or_else(last).unwrap_or(start + BYTES)
    }

    fn add_part(&mut self, place: Place, part: Range<usize>, begins: bool) -> Result<(), E> {
        let is_long = |open: &Passage| open.parts.first().is_some_and(|first| part.end - first.start > BYTES);
        let full = self.open.as_ref().is_some_and(|open| open.parts.len() >= LINES || is_long(open));
        if begins || full || self.open.as_ref().is_some_and(|open| open.place != place) {
            self.flush()?;
        }
        self.open.get_or_insert_with(|| Passage { place, parts: Vec::new() }).parts.push(part);
        Ok(())
    }

    fn line(&mut self, line: &str, start: usize, fenced: bool) -> Result<(), E> {
        if self.comment {
            let end = line.find("-->");
            self.add(Place::Hidden, start..start + end.unwrap_or(line.len()), false)?;
            self.comment = end.is_none();
            return Ok(());
        }
        if flag::is_help(line) {
            return self.flush();
        }
        if fenced || self.code {
            return match words_of_code(line) {
                Some(words) => {
                    // Programs ignore keys that begin with an underscore.
                    let aside = line.trim_start().starts_with("\"_");
                    let place = if aside { Place::Hidden } else { Place::Code };
                    self.add(place, start + words.start..start + words.end, false)
                }
                None => Ok(()),
            };
        }
        if self.has_comments
            && let Some(at) = line.find("<!--")
            && !line.get(..at).is_some_and(|before| before.ends_with('`'))
        {
            return self.comment(line, start, at);
        }
        let bare = line.trim_start_matches([' ', '\t', '>']);
        let place = match bare.as_bytes() {
            [] => return self.flush(),
            [b'#', ..] => Place::Heading,
            [b'|', ..] => Place::Table,
            _ if bare.starts_with("[//]:") || bare.starts_with("[comment]:") => Place::Hidden,
            _ if is_long_alt(bare) => Place::Hidden,
            _ if self.has_styles && UNSEEN.iter().any(|style| bare.contains(style)) => Place::Hidden,
            _ => match &self.open {
                Some(open) if open.place == Place::Item && !is_item(bare) => Place::Item,
                _ if is_item(bare) => Place::Item,
                _ => Place::Paragraph,
            },
        };
        let begins = is_item(bare) || matches!(place, Place::Heading);
        self.add(place, start..start + line.len(), begins)
    }

    /// Splits a line in which a comment begins.
    fn comment(&mut self, line: &str, start: usize, at: usize) -> Result<(), E> {
        if !line.get(..at).unwrap_or("").trim().is_empty() {
            self.add(Place::Paragraph, start..start + at, false)?;
        }
        let end = line.get(at..).and_then(|rest| rest.find("-->")).map(|end| at + end);
        self.add(Place::Hidden, start + at..start + end.unwrap_or(line.len()), true)?;
        self.comment = end.is_none();
        match end {
            Some(end) if line.get(end + 3..).is_some_and(|rest| !rest.trim().is_empty()) => {
                self.add(Place::Paragraph, start + end + 3..start + line.len(), true)
            }
            _ => Ok(()),
        }
    }
}

/// Returns true for a picture whose alternative text is as long as a sentence.
fn is_long_alt(bare: &str) -> bool {
    bare.strip_prefix("![").and_then(|rest| rest.find("](")).is_some_and(|length| length > ALT)
}

/// Returns the range of a code line that addresses a reader: a comment, a string that forms a sentence, or a whole line
/// that contains no code.
fn words_of_code(line: &str) -> Option<Range<usize>> {
    let bare = line.trim_start();
    let start = line.len() - bare.len();
    let comment = match bare.as_bytes() {
        [b'#' | b'*' | b';', ..] | [b'/', b'/' | b'*', ..] | [b'-', b'-', ..] => true,
        _ => bare.starts_with("<!--") || bare.starts_with("REM "),
    };
    if comment {
        return Some(start..line.len());
    }
    let quoted = || bare.split_once(": \"").or_else(|| bare.split_once("= \""));
    let says = match memchr(b'"', bare.as_bytes()).and_then(|_| quoted()) {
        Some((_, string)) => string.split(' ').count() > WORDS_OF_STRING,
        None => !bare.bytes().any(is_of_code) && is_sentence(bare),
    };
    says.then_some(start..line.len())
}

/// Returns true for punctuation that occurs in code but not in sentences.
fn is_of_code(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'=' | b'$' | b'<' | b'>' | b'(' | b'[' | b'|' | b'_' | b'\\')
}

/// Returns true if a line without code is long enough to be a sentence.
fn is_sentence(bare: &str) -> bool {
    bare.split(' ').count() > WORDS_OF_LINE || bare.chars().filter(|c| is_wide(*c)).count() > WIDE_OF_LINE
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::source::Kind;

    #[test]
    fn long_line_is_read_without_gaps() {
        for piece in ["word ", "好", "a"] {
            let text = piece.repeat(3 * BYTES / piece.len() + 1);
            let source = Source::with_kind("SKILL.md", text.as_str().into(), Kind { runs: false, reads: true });
            let mut parts = Vec::new();
            let each = &mut |passage: Passage| -> Result<(), Infallible> {
                assert_eq!(passage.parts.len(), 1, "{piece}");
                parts.extend(passage.parts);
                Ok(())
            };
            passages(&source, each).unwrap();
            assert!(parts.len() >= 4 && parts.iter().all(|part| part.len() <= BYTES), "{piece}: {parts:?}");
            let whole: String = parts.into_iter().map(|part| text.get(part).unwrap()).collect();
            assert!(whole == text, "{piece}");
        }
    }
}
