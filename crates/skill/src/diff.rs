//! [`BundleDiff`]: what differs between two states of a skill, by file and as a unified diff.
//!
//! The text is what `git diff` prints, without renames and `index` lines, and `git apply` takes it;
//! of binary files it says only that they differ.
//!
//! The time is bounded: lines are compared by number, and the search of `similar` gives up the
//! shortest answer for a good one when texts are large and unlike. What passes [`MAX_LINES`] is compared
//! by the lines that stand once in both texts.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
};

use serde::Serialize;
use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices, group_diff_ops, udiff::UnifiedHunkHeader};

use crate::{
    Bundle, File, SkillPath,
    merge::{Alignment, numbered},
};

/// Unchanged lines shown around each change, as git does.
const CONTEXT_LINES: usize = 3;

/// Lines of both states of a skill, over all files and without what each two texts share at their start
/// and end, that are searched for the shortest answer.
///
/// Measured: the worst texts take three seconds for a million lines.
pub const MAX_LINES: usize = 250_000;
/// How large the product of the line counts may be of two stretches that are compared line by line beyond
/// that.
const CELLS: usize = 1 << 18;

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Only the second state has it.
    Added,
    /// Both have it, with other content or another executable bit.
    Modified,
    /// Only the first state has it.
    Removed,
}

/// One file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Its path inside the skill.
    #[serde(serialize_with = "path_as_text")]
    pub path: SkillPath,
    /// What became of it.
    pub change: Change,
    /// Lines that only the second state has; 0 for a binary file.
    pub added: usize,
    /// Lines that only the first state has; 0 for a binary file.
    pub removed: usize,
}

fn path_as_text<S: serde::Serializer>(path: &SkillPath, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(path)
}

/// What differs between two states of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BundleDiff {
    /// The files that differ, sorted by the bytes of their paths.
    pub files: Vec<FileChange>,
    /// All of them as one unified diff; empty when nothing differs.
    pub text: String,
}

/// Compares two states of a skill; an empty bundle is a skill that does not exist.
#[must_use]
pub fn diff(from: &Bundle, to: &Bundle) -> BundleDiff {
    let mut diff = BundleDiff::default();
    for (change, text) in diff_files(from, to) {
        diff.files.push(change);
        diff.text.push_str(&text);
    }
    diff
}

/// Compares two states of a skill file by file; files that are the same are left out.
pub fn diff_files<'a>(from: &'a Bundle, to: &'a Bundle) -> impl Iterator<Item = (FileChange, String)> + 'a {
    let paths: BTreeSet<&SkillPath> = from.paths().chain(to.paths()).collect();
    let mut left = MAX_LINES;
    paths.into_iter().filter_map(move |path| diff_file(path, from.get(path), to.get(path), &mut left))
}

/// The stretches of lines that two texts share, first to last: place in the old one, place in the new one, number of
/// lines. `left` are the lines that may still be searched for the shortest answer; see [`MAX_LINES`].
pub fn shared_lines<'a>(old: Vec<&'a str>, new: Vec<&'a str>, left: &mut usize) -> Vec<(usize, usize, usize)> {
    let equal = |op| match op {
        DiffOp::Equal { old_index, new_index, len } => Some((old_index, new_index, len)),
        _ => None,
    };
    Lines::new(old, new).ops(left).into_iter().filter_map(equal).collect()
}

/// Compares one file of two states; `None` when both are the same or neither is there. `left` are the lines that
/// may still be searched.
fn diff_file(
    path: &SkillPath,
    from: Option<&File>,
    to: Option<&File>,
    left: &mut usize,
) -> Option<(FileChange, String)> {
    let change = match (from, to) {
        (None, None) => return None,
        (Some(old), Some(new)) if old == new => return None,
        (None, Some(_)) => Change::Added,
        (Some(_), None) => Change::Removed,
        (Some(_), Some(_)) => Change::Modified,
    };
    let mut text = header(path, from, to);
    let (old, new) = (content(from), content(to));
    let (added, removed) = match (old, new) {
        (Some(old), Some(new)) => {
            let [old, new] = [old, new].map(|text| text.split_inclusive('\n').collect());
            push_lines(&mut text, path, change, &Lines::new(old, new), left)
        }
        _ => push_binary(&mut text, path, change, from, to),
    };
    Some((FileChange { path: path.clone(), change, added, removed }, text))
}

/// The text of a file, of one that is not there the empty text; `None` of a binary one.
fn content(file: Option<&File>) -> Option<&str> {
    file.map_or(Some(""), File::text)
}

/// The lines of git before the hunks.
fn header(path: &SkillPath, from: Option<&File>, to: Option<&File>) -> String {
    let mode = |file: &File| if file.executable { "100755" } else { "100644" };
    let mut text = format!("diff --git a/{path} b/{path}\n");
    let modes = match (from, to) {
        (None, Some(new)) => format!("new file mode {}\n", mode(new)),
        (Some(old), None) => format!("deleted file mode {}\n", mode(old)),
        (Some(old), Some(new)) if old.executable != new.executable => {
            format!("old mode {}\nnew mode {}\n", mode(old), mode(new))
        }
        _ => String::new(),
    };
    text.push_str(&modes);
    text
}

/// The names of the two sides. Git ends a name that has a space with a tab, so that `patch` knows
/// where it ends.
fn sides(path: &SkillPath, change: Change, tab: &str) -> (String, String) {
    let tab = if path.as_str().contains(' ') { tab } else { "" };
    let name = |side: char, there: bool| if there { format!("{side}/{path}{tab}") } else { "/dev/null".to_owned() };
    (name('a', change != Change::Added), name('b', change != Change::Removed))
}

fn push_binary(
    text: &mut String,
    path: &SkillPath,
    change: Change,
    from: Option<&File>,
    to: Option<&File>,
) -> (usize, usize) {
    if from.map(|file| &file.bytes) != to.map(|file| &file.bytes) {
        let (old, new) = sides(path, change, "");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "Binary files {old} and {new} differ");
    }
    (0, 0)
}

/// Two texts by lines, each line a number that stands for its content.
struct Lines<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    old_ids: Vec<u32>,
    new_ids: Vec<u32>,
}

impl<'a> Lines<'a> {
    fn new(old: Vec<&'a str>, new: Vec<&'a str>) -> Self {
        let mut ids = HashMap::new();
        let (old_ids, new_ids) = (numbered(&old, &mut ids), numbered(&new, &mut ids));
        Self { old, new, old_ids, new_ids }
    }

    /// What leads from one text to the other; `left` are the lines that may still be searched.
    fn ops(&self, left: &mut usize) -> Vec<DiffOp> {
        let prefix = self.old_ids.iter().zip(&self.new_ids).take_while(|(a, b)| a == b).count();
        let (old, new) = (self.old_ids.get(prefix..), self.new_ids.get(prefix..));
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let suffix = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        match left.checked_sub(old.len() + new.len() - 2 * suffix) {
            Some(rest) => {
                *left = rest;
                capture_diff_slices(Algorithm::Myers, &self.old_ids, &self.new_ids)
            }
            None => self.ops_by_landmarks(),
        }
    }

    /// The same by the lines that stand once in both.
    fn ops_by_landmarks(&self) -> Vec<DiffOp> {
        let may_mark = vec![true; self.old.len()];
        let kept = Alignment::new(&self.old_ids, &self.new_ids, &may_mark, &mut { CELLS }).kept;
        let (mut ops, mut old_index, mut new_index) = (Vec::new(), 0, 0);
        while old_index < self.old.len() || new_index < self.new.len() {
            let rest = kept.get(old_index..).unwrap_or_default();
            let len = rest.iter().zip(new_index..).take_while(|(kept, at)| **kept == Some(*at)).count();
            if len > 0 {
                ops.push(DiffOp::Equal { old_index, new_index, len });
                (old_index, new_index) = (old_index + len, new_index + len);
                continue;
            }
            let old_len = rest.iter().take_while(|kept| kept.is_none()).count();
            let until = rest.get(old_len).copied().flatten().unwrap_or(self.new.len());
            ops.push(DiffOp::Replace { old_index, old_len, new_index, new_len: until - new_index });
            (old_index, new_index) = (old_index + old_len, until);
        }
        ops
    }

    /// The lines of one operation, each with what became of it; of a replacement the old ones first.
    fn changes(&self, op: &DiffOp) -> impl Iterator<Item = (ChangeTag, &'a str)> {
        let (old, new) = (op.old_range(), op.new_range());
        let (tag, new) = match op {
            DiffOp::Equal { .. } => (ChangeTag::Equal, 0..0),
            _ => (ChangeTag::Delete, new),
        };
        let old = self.old.get(old).unwrap_or_default().iter().map(move |line| (tag, *line));
        old.chain(self.new.get(new).unwrap_or_default().iter().map(|line| (ChangeTag::Insert, *line)))
    }
}

/// Adds the hunks of a text file and counts its lines as (added, removed).
fn push_lines(
    text: &mut String,
    path: &SkillPath,
    change: Change,
    lines: &Lines<'_>,
    left: &mut usize,
) -> (usize, usize) {
    let (mut added, mut removed) = (0, 0);
    let hunks = group_diff_ops(lines.ops(left), CONTEXT_LINES);
    if hunks.iter().any(|hunk| !hunk.is_empty()) {
        let (old, new) = sides(path, change, "\t");
        let _ = write!(text, "--- {old}\n+++ {new}\n");
    }
    for hunk in hunks.iter().filter(|hunk| !hunk.is_empty()) {
        let _ = writeln!(text, "{}", UnifiedHunkHeader::new(hunk));
        for (tag, line) in hunk.iter().flat_map(|op| lines.changes(op)) {
            added += usize::from(tag == ChangeTag::Insert);
            removed += usize::from(tag == ChangeTag::Delete);
            push_line(text, tag, line);
        }
    }
    (added, removed)
}

fn push_line(text: &mut String, tag: ChangeTag, line: &str) {
    text.push(match tag {
        ChangeTag::Equal => ' ',
        ChangeTag::Delete => '-',
        ChangeTag::Insert => '+',
    });
    text.push_str(line);
    if !line.ends_with('\n') {
        text.push_str("\n\\ No newline at end of file\n");
    }
}
