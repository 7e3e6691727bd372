//! [`Woven`]: a merge of three texts by lines, and by words where prose conflicts.

use std::{collections::HashMap, ops::Range};

use super::{
    Conflict, ConflictKind,
    align::{Alignment, Cells},
    hunks::{self, Hunk},
    pairs,
    rules::{Clashes, Rules},
    weave::{From, Nearness, Piece, weave},
    words,
};
use crate::SkillPath;

/// Merged text with its conflicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Woven {
    pub text: String,
    pub clashes: Vec<Clash>,
}

/// Lines on which the sides disagree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clash {
    /// Line range in ours, counted from 0.
    pub lines: Range<usize>,
    pub base: String,
    pub ours: String,
    pub theirs: String,
}

impl Clash {
    /// Converts this into a conflict of a file, for a text that starts on the line `first_line`.
    pub fn conflict(self, path: &SkillPath, first_line: usize) -> Conflict {
        let lines = Some((self.lines.start + first_line, self.lines.end + first_line - 1));
        let conflict = Conflict { lines, ..Conflict::of_file(path, ConflictKind::Text) };
        conflict.with_texts(Some(&self.base), Some(&self.ours), Some(&self.theirs))
    }
}

/// Kind of text, as far as it matters to a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Prose, with code in fences or indented.
    Markdown,
    /// Any text that is not prose throughout.
    Code,
}

/// Returns the line ending of most lines of a text. A single line takes the line ending of the other text.
pub(super) fn line_end(text: &str, other: &str) -> &'static str {
    let count = |text: &str| (text.matches("\r\n").count(), text.matches('\n').count());
    let (pairs, all) = Some(count(text)).filter(|(_, all)| *all > 0).unwrap_or_else(|| count(other));
    if pairs * 2 > all { "\r\n" } else { "\n" }
}

impl Rules<'_> {
    /// Merges texts by lines. Lines of theirs and merged lines end in `line_end`.
    pub(super) fn merge_lines(&self, texts: [&str; 3], line_end: &str, kind: Kind, cells: &mut Cells) -> Woven {
        match self.plainly(texts, line_end) {
            Some(text) => Woven { text, clashes: Vec::new() },
            None => merge(texts, line_end, kind, self, cells),
        }
    }
}

/// Merges three texts. Lines of theirs and merged lines end in `line_end`.
pub(super) fn merge(
    [base, ours, theirs]: [&str; 3],
    line_end: &str,
    kind: Kind,
    rules: &Rules<'_>,
    cells: &mut Cells,
) -> Woven {
    let texts = [Text::new(base, kind), Text::new(ours, kind), Text::new(theirs, kind)];
    let mut numbers = HashMap::new();
    let [base, ours, theirs] = texts.each_ref().map(|text| words::numbered(&text.lines, &mut numbers));
    let may_mark: Vec<bool> = texts[0].lines.iter().map(|line| line.contains(char::is_alphanumeric)).collect();
    let changes = |ids: &[u32], side: &Text, left: &mut usize| {
        let found = Alignment::new(&base, ids, &may_mark, left);
        let joined = hunks::changes(&found, ids.len(), |mut range| range.any(|at| found.is_landmark[at]));
        hunks::reaching(&found, pairs::split(joined, &found, &texts[0].lines, &side.lines))
    };
    let [own, other] = cells;
    let (here, there) = (changes(&ours, &texts[1], own), changes(&theirs, &texts[2], other));
    let pieces = weave([base.len(), ours.len(), theirs.len()], &here, &there, &Beside);
    let mut writer =
        Writer { texts: &texts, line_end, rules, cells, text: String::new(), end_bytes: 0, clashes: Vec::new() };
    pieces.into_iter().for_each(|piece| writer.push(piece));
    writer.finish()
}

/// Text split into lines, with the properties of each line.
struct Text<'a> {
    /// Lines without their line endings.
    lines: Vec<&'a str>,
    /// For each line, true if it ends in `\r\n`.
    is_pair: Vec<bool>,
    /// For each line, true if it may be merged by words.
    is_prose: Vec<bool>,
    ends_in_newline: bool,
}

impl<'a> Text<'a> {
    fn new(text: &'a str, kind: Kind) -> Self {
        let lines: Vec<&str> = text.split_inclusive('\n').map(without_end).collect();
        let is_pair = text.split_inclusive('\n').map(|line| line.ends_with("\r\n")).collect();
        let is_prose = match kind {
            Kind::Markdown => prose(&lines),
            Kind::Code => vec![false; lines.len()],
        };
        Self { lines, is_pair, is_prose, ends_in_newline: text.is_empty() || text.ends_with('\n') }
    }
}

/// Returns whether the merge of three texts ends in a newline, by whether each of them does.
pub(super) fn ends_in_newline([base, ours, theirs]: [bool; 3]) -> bool {
    if ours == base { theirs } else { ours }
}

fn without_end(line: &str) -> &str {
    line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line))
}

/// Marks the lines of a Markdown text that are neither in a fence nor indented as code.
fn prose<'a>(lines: &[&'a str]) -> Vec<bool> {
    let mut fence: Option<&'a str> = None;
    let is_prose = |line: &&'a str| {
        let trimmed = line.trim();
        let marks = trimmed.len() - trimmed.trim_start_matches(if trimmed.starts_with('~') { '~' } else { '`' }).len();
        match fence {
            Some(open) => {
                if trimmed.len() == marks && trimmed.starts_with(open) {
                    fence = None;
                }
                false
            }
            None if marks >= 3 && !trimmed[marks..].contains('`') => {
                fence = trimmed.get(..marks);
                false
            }
            None => !line.starts_with("    ") && !line.starts_with('\t'),
        }
    };
    lines.iter().map(is_prose).collect()
}

/// Joins lines, so that no lines and one blank line give different texts.
fn whole_lines(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// Rule for adjacent changes of lines.
struct Beside;

impl Nearness for Beside {
    fn too_near(&self, a: &Hunk, b: &Hunk) -> bool {
        if a.reach.start < b.reach.end && b.reach.start < a.reach.end {
            return true;
        }
        let touches = a.reach.end == b.reach.start || b.reach.end == a.reach.start;
        let stays = |hunk: &Hunk| hunk.in_place || hunk.is_deletion();
        let is_certain = match (a.is_insertion(), b.is_insertion()) {
            (true, true) => false,
            (true, false) => b.in_place,
            (false, true) => a.in_place,
            (false, false) => stays(a) && stays(b),
        };
        touches && !is_certain
    }

    fn apart(&self, end: usize, start: usize) -> bool {
        start > end
    }
}

struct Writer<'a> {
    texts: &'a [Text<'a>; 3],
    line_end: &'a str,
    rules: &'a Rules<'a>,
    cells: &'a mut Cells,
    text: String,
    /// Length of the last written line ending, in bytes.
    end_bytes: usize,
    clashes: Vec<Clash>,
}

impl Writer<'_> {
    fn push(&mut self, piece: Piece) {
        let [_, ours, theirs] = self.texts;
        match piece.from {
            From::Ours => self.push_ours(piece.ours),
            From::Theirs => theirs.lines[piece.theirs].iter().for_each(|line| self.push_line(line)),
            From::Clash if ours.lines[piece.ours.clone()] == theirs.lines[piece.theirs.clone()] => {
                self.push_ours(piece.ours);
            }
            From::Clash => self.push_clash(&piece),
        }
    }

    /// Merges a stretch that both sides changed by words where allowed. Otherwise records a conflict.
    fn push_clash(&mut self, piece: &Piece) {
        let [base, ours, theirs] = self.texts;
        let ranges = [(base, &piece.base), (ours, &piece.ours), (theirs, &piece.theirs)];
        let parts = ranges.map(|(text, range)| whole_lines(&text.lines[range.clone()]));
        let is_prose = ranges.iter().all(|(text, range)| text.is_prose[(*range).clone()].iter().all(|is| *is));
        let merged = match self.rules.words && is_prose {
            true => words::merge(parts.each_ref().map(String::as_str), self.cells),
            false => None,
        };
        if let Some(merged) = merged.filter(|text| text.is_empty() || text.ends_with('\n')) {
            merged.split_terminator('\n').for_each(|line| self.push_line(line));
            return;
        }
        let [before, here, there] = parts;
        self.clashes.push(Clash { lines: piece.ours.clone(), base: before, ours: here, theirs: there });
        match self.rules.clashes {
            Clashes::Ours => self.push_ours(piece.ours.clone()),
            other => {
                let lines = other.lines(&ours.lines[piece.ours.clone()], &theirs.lines[piece.theirs.clone()]);
                lines.iter().for_each(|line| self.push_line(line));
            }
        }
    }

    /// Appends lines of ours with their own line endings.
    fn push_ours(&mut self, range: Range<usize>) {
        let ours = &self.texts[1];
        for at in range {
            let end = match ours.is_pair[at] {
                _ if at + 1 == ours.lines.len() && !ours.ends_in_newline => self.line_end,
                true => "\r\n",
                false => "\n",
            };
            self.text.push_str(ours.lines[at]);
            self.text.push_str(end);
            self.end_bytes = end.len();
        }
    }

    fn push_line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push_str(self.line_end);
        self.end_bytes = self.line_end.len();
    }

    fn finish(mut self) -> Woven {
        if !ends_in_newline(self.texts.each_ref().map(|text| text.ends_in_newline)) {
            self.text.truncate(self.text.len() - self.end_bytes);
        }
        Woven { text: self.text, clashes: self.clashes }
    }
}
