//! [`Normal`]: a text normalised for a [`Relaxation`], with a mapping back to the original bytes.

use std::{borrow::Cow, ops::Range};

use super::Relaxation;

/// Normalised copy of a text. It consists of pieces, each either copied or substituted, so that a match in the copy
/// maps to bytes of the original.
pub(super) struct Normal {
    /// Normalised text to search in.
    pub(super) text: String,
    pieces: Vec<Piece>,
    original_len: usize,
}

struct Piece {
    normal: Range<usize>,
    original: Range<usize>,
    copied: bool,
}

impl Normal {
    /// Normalises `original` for the given relaxation.
    pub(super) fn new(original: &str, relaxation: Relaxation) -> Self {
        let mut normal =
            Self { text: String::with_capacity(original.len()), pieces: Vec::new(), original_len: original.len() };
        let mut at = 0;
        for line in original.split_inclusive('\n') {
            normal.push_line(at, line, relaxation);
            at += line.len();
        }
        normal
    }

    fn push_line(&mut self, at: usize, line: &str, relaxation: Relaxation) {
        if line == "\n" {
            return self.push_copy(at, line);
        }
        let body = line.strip_suffix('\n').unwrap_or(line);
        let ended = body.len() < line.len();
        let body = if ended { body.strip_suffix('\r').unwrap_or(body) } else { body };
        let kept = trim_end(body, relaxation);
        let skipped = if relaxation == Relaxation::Indentation { indent_of(kept).len() } else { 0 };
        let words = kept.get(skipped..).unwrap_or_default();
        if relaxation >= Relaxation::Typography && !words.is_ascii() {
            self.push_typography(at + skipped, words);
        } else {
            self.push_copy(at + skipped, words);
        }
        if ended {
            let end = at + body.len()..at + line.len();
            if end.len() == 1 { self.push_copy(end.start, "\n") } else { self.push_instead(end, "\n") }
        }
    }

    fn push_typography(&mut self, at: usize, text: &str) {
        let mut copied = 0;
        for (offset, c) in text.char_indices().filter(|(_, c)| !c.is_ascii()) {
            if let Some(ascii) = ascii_form(c) {
                self.push_copy(at + copied, text.get(copied..offset).unwrap_or_default());
                copied = offset + c.len_utf8();
                self.push_instead(at + offset..at + copied, ascii);
            }
        }
        self.push_copy(at + copied, text.get(copied..).unwrap_or_default());
    }

    fn push_copy(&mut self, at: usize, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        let normal = start..self.text.len();
        let original = at..at + text.len();
        match self.pieces.last_mut() {
            Some(last) if last.copied && last.original.end == original.start => {
                last.original.end = original.end;
                last.normal.end = normal.end;
            }
            _ if text.is_empty() => {}
            _ => self.pieces.push(Piece { normal, original, copied: true }),
        }
    }

    fn push_instead(&mut self, original: Range<usize>, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.pieces.push(Piece { normal: start..self.text.len(), original, copied: false });
    }

    /// Maps a range of the copy to bytes of the original. Returns `None` if the range splits a substituted piece, such
    /// as one dot of an ellipsis.
    pub(super) fn original(&self, part: Range<usize>) -> Option<Range<usize>> {
        let first = self.pieces.get(self.pieces.partition_point(|piece| piece.normal.end <= part.start))?;
        let last = self.pieces.get(self.pieces.partition_point(|piece| piece.normal.end < part.end))?;
        let start = part.start - first.normal.start;
        let end = last.normal.end - part.end;
        if (!first.copied && start > 0) || (!last.copied && end > 0) {
            return None;
        }
        Some(first.original.start + start..last.original.end - end)
    }

    /// Returns whether a line starts at this offset of the copy.
    pub(super) fn starts_line(&self, at: usize) -> bool {
        at == 0 || self.text.as_bytes().get(at - 1) == Some(&b'\n')
    }

    /// Returns whether a line ends at this offset of the copy, before or after its line ending.
    pub(super) fn ends_line(&self, at: usize) -> bool {
        self.text.as_bytes().get(at).is_none_or(|byte| *byte == b'\n') || self.starts_line(at)
    }

    /// Returns whether blanks at the very end of the original were dropped.
    pub(super) fn lost_its_end(&self) -> bool {
        self.original_len > self.pieces.last().map_or(0, |piece| piece.original.end)
    }
}

fn trim_end(line: &str, relaxation: Relaxation) -> &str {
    match relaxation {
        Relaxation::LineEnds => line,
        Relaxation::TrailingSpace => line.trim_end_matches([' ', '\t']),
        Relaxation::Typography | Relaxation::Indentation => line.trim_end_matches(is_blank),
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t') || ascii_form(c) == Some(" ")
}

/// Returns the leading blanks of a line.
pub(super) fn indent_of(line: &str) -> &str {
    let words = line.trim_start_matches([' ', '\t']);
    line.get(..line.len() - words.len()).unwrap_or_default()
}

/// Returns the keyboard form of a character that editors and models tend to substitute for it.
fn ascii_form(c: char) -> Option<&'static str> {
    match c {
        '\u{2018}'..='\u{201B}' | '\u{2032}' => Some("'"),
        '\u{201C}'..='\u{201F}' | '\u{2033}' => Some("\""),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some("-"),
        '\u{00A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => Some(" "),
        '\u{2026}' => Some("..."),
        _ => None,
    }
}

/// Yields the relaxations that can matter for a pair of texts. It skips those that would normalise both texts like the
/// previous one.
pub(super) fn useful(text: &str, find: &str) -> impl Iterator<Item = Relaxation> {
    let returns = text.contains('\r') || find.contains('\r');
    let ascii = text.is_ascii() && find.is_ascii();
    Relaxation::ALL.into_iter().filter(move |relaxation| match relaxation {
        Relaxation::LineEnds => returns,
        Relaxation::Typography => !ascii,
        Relaxation::TrailingSpace => has_trailing_space(text) || has_trailing_space(find),
        Relaxation::Indentation => true,
    })
}

fn has_trailing_space(text: &str) -> bool {
    text.ends_with([' ', '\t']) || [" \n", "\t\n", " \r", "\t\r"].iter().any(|end| text.contains(end))
}

/// Returns the line ending of a text's first line, or `None` if the text has a single line.
pub(super) fn first_line_end(text: &str) -> Option<&'static str> {
    let at = text.find('\n')?;
    Some(if text.get(..at)?.ends_with('\r') { "\r\n" } else { "\n" })
}

/// Converts all line endings of a text to one kind.
pub(super) fn with_line_ends<'a>(text: &'a str, end: &str) -> Cow<'a, str> {
    if end == "\n" {
        return if text.contains("\r\n") { text.replace("\r\n", "\n").into() } else { text.into() };
    }
    if text.contains('\n') { text.replace("\r\n", "\n").replace('\n', end).into() } else { text.into() }
}
