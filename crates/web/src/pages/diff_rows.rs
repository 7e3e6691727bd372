//! A unified diff of one file as side-by-side rows, with changed words marked ([`Hunk`]).

use std::cell::Cell;

use maud::{Markup, PreEscaped};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::visible::push;

/// Longest line, in bytes, in which words are compared.
const WORDS_BYTES: usize = 2000;

/// Length in bytes beyond which a row counts as several.
const ROW_BYTES: usize = 200;

/// Budget of word comparisons for one page, in pairs of words.
pub const PAIRS: usize = 30_000_000;

/// A contiguous changed part of a file, with its context.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// Rows in the order of the file.
    pub rows: Vec<Row<'a>>,
}

/// A line with its number, counted from 1.
pub type Numbered<'a> = (usize, &'a str);

/// Two lines that are shown side by side.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Row<'a> {
    /// An unchanged line, with its number on each side.
    Same(usize, Numbered<'a>),
    /// A line that was removed, added or replaced.
    Changed(Option<Numbered<'a>>, Option<Numbered<'a>>),
}

impl Row<'_> {
    /// Returns the length of the row in rows of usual length, at least 1.
    pub fn weight(&self) -> usize {
        let bytes = match self {
            Self::Same(_, (_, text)) => text.len(),
            Self::Changed(old, new) => old.iter().chain(new).map(|(_, text)| text.len()).sum(),
        };
        1 + bytes / ROW_BYTES
    }
}

/// Parses the unified diff of one file.
pub fn hunks(text: &str) -> Vec<Hunk<'_>> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    let (mut old, mut new) = (0, 0);
    let mut block = Block::default();
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if let Some((first_old, first_new)) = line.strip_prefix("@@ ").and_then(starts) {
            block.end(&mut hunks);
            hunks.push(Hunk::default());
            (old, new) = (first_old, first_new);
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        let (sign, rest) = line.split_at(usize::from(!line.is_empty()));
        match sign {
            "-" => {
                if !block.new.is_empty() {
                    block.end(&mut hunks);
                }
                block.old.push((old, rest));
                old += 1;
            }
            "+" => {
                block.new.push((new, rest));
                new += 1;
            }
            " " => {
                let row = Row::Same(old, (new, rest));
                if block.is_empty() {
                    hunk.rows.push(row);
                } else {
                    block.end(&mut hunks);
                    hunks.last_mut().into_iter().for_each(|hunk| hunk.rows.push(row));
                }
                (old, new) = (old + 1, new + 1);
            }
            // The marker "\ No newline at end of file".
            _ => {}
        }
    }
    block.end(&mut hunks);
    hunks
}

/// A run of removed lines and the added lines that replace them.
#[derive(Default)]
struct Block<'a> {
    old: Vec<Numbered<'a>>,
    new: Vec<Numbered<'a>>,
}

impl<'a> Block<'a> {
    fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }

    fn end(&mut self, hunks: &mut [Hunk<'a>]) {
        let (old, new) = (std::mem::take(&mut self.old), std::mem::take(&mut self.new));
        let Some(hunk) = hunks.last_mut() else { return };
        let rows = (0..old.len().max(new.len())).map(|at| Row::Changed(old.get(at).copied(), new.get(at).copied()));
        hunk.rows.extend(rows);
    }
}

/// Parses the line numbers at which a hunk begins, from its header.
fn starts(head: &str) -> Option<(usize, usize)> {
    let mut parts = head.split(' ');
    let mut number = |sign| {
        let range = parts.next()?.strip_prefix(sign)?;
        range.split(',').next()?.parse().ok()
    };
    Some((number('-')?, number('+')?))
}

/// Renders two lines with their changed words marked, unless nearly all words changed.
/// `left` is the remaining part of [`PAIRS`].
pub fn marked(old: &str, new: &str, left: &Cell<usize>) -> (Markup, Markup) {
    if old.len() > WORDS_BYTES || new.len() > WORDS_BYTES {
        return (plain(old), plain(new));
    }
    let (old_words, new_words) = (words(old), words(new));
    let Some(rest) = left.get().checked_sub(pairs(&old_words, &new_words)) else { return (plain(old), plain(new)) };
    left.set(rest);
    let ops = capture_diff_slices(Algorithm::Myers, &old_words, &new_words);
    let kept: usize = ops
        .iter()
        .filter_map(|op| match op {
            DiffOp::Equal { old_index, len, .. } => old_words
                .get(*old_index..old_index + len)
                .map(|words| words.iter().map(|word| word.trim().len()).sum::<usize>()),
            _ => None,
        })
        .sum();
    if kept * 4 < old.trim().len().max(new.trim().len()) {
        return (plain(old), plain(new));
    }
    let (mut before, mut after) = (String::new(), String::new());
    for op in &ops {
        let is_same = matches!(op, DiffOp::Equal { .. });
        part(&mut before, old_words.get(op.old_range()).unwrap_or_default(), "del", is_same);
        part(&mut after, new_words.get(op.new_range()).unwrap_or_default(), "ins", is_same);
    }
    (PreEscaped(before), PreEscaped(after))
}

/// Returns how many pairs of words are left to compare, without the common beginning and end of both lines.
fn pairs(old: &[&str], new: &[&str]) -> usize {
    let common = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let begin = common(&mut old.iter().zip(new));
    let (old, new) = (old.get(begin..).unwrap_or_default(), new.get(begin..).unwrap_or_default());
    let end = common(&mut old.iter().rev().zip(new.iter().rev()));
    (old.len() - end) * (new.len() - end)
}

fn part(out: &mut String, words: &[&str], element: &str, is_same: bool) {
    if words.is_empty() {
        return;
    }
    let text = words.concat();
    if is_same {
        return push(out, &text);
    }
    out.push_str(&format!("<{element}>"));
    push(out, &text);
    out.push_str(&format!("</{element}>"));
}

/// Renders a line without marked words.
pub fn plain(line: &str) -> Markup {
    super::visible::visible(line.strip_suffix('\r').unwrap_or(line))
}

/// Splits a line into words, runs of blanks, and single symbols.
fn words(line: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() && c < '\u{2E80}' || c == '_' => 1,
        ' ' | '\t' => 2,
        _ => 3,
    };
    let (mut words, mut start, mut before) = (Vec::new(), 0, 0);
    for (at, c) in line.char_indices() {
        let now = kind(c);
        if at > start && (now != before || now == 3) {
            words.push(line.get(start..at).unwrap_or_default());
            start = at;
        }
        before = now;
    }
    words.push(line.get(start..).unwrap_or_default());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_paired() {
        let text = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,4 +1,4 @@\n a\n-b\n-c\n+d\n e\n+--- x\n\\ No newline at end of file\n@@ -9 +10,0 @@\n-@@ -1 +1 @@\n";
        let found = hunks(text);
        use Row::{Changed, Same};
        assert_eq!(
            found[0].rows,
            [
                Same(1, (1, "a")),
                Changed(Some((2, "b")), Some((2, "d"))),
                Changed(Some((3, "c")), None),
                Same(4, (3, "e")),
                Changed(None, Some((4, "--- x")))
            ]
        );
        assert_eq!(found[1].rows, [Changed(Some((9, "@@ -1 +1 @@")), None)]);
        assert_eq!(hunks("Binary files a and b differ\n"), []);
    }

    #[test]
    fn changed_words_are_marked_and_escaped() {
        let left = Cell::new(1000);
        let (old, new) = marked("run the <b> test now", "run a <b> test now", &left);
        assert_eq!(old.0, "run <del>the</del> &lt;b&gt; test now");
        assert_eq!(new.0, "run <ins>a</ins> &lt;b&gt; test now");
        assert_eq!(left.get(), 999, "only what differs counts");
        assert_eq!(marked("abc", "xyz", &left).1.0, "xyz", "where nothing stays a mark tells nothing");
        assert_eq!(marked("a b", "a c", &Cell::new(0)).1.0, "a c", "nothing is compared when nothing is left");
        assert_eq!(words("a_b  c()图表"), ["a_b", "  ", "c", "(", ")", "图", "表"]);
    }
}
