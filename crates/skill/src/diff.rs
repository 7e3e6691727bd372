//! [`BundleDiff`]: the differences between two states of a skill, by file and as a unified diff.
//!
//! The text has the form of `git diff` without renames and `index` lines, and `git apply` accepts it. For binary files
//! it only states that they differ.
//!
//! Running time is bounded. Lines are compared as interned numbers, and `similar` trades the shortest diff for a good
//! one on large, dissimilar texts. Beyond [`MAX_LINES`], texts are aligned by the lines that occur exactly once in
//! both.

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

/// Unchanged lines of context around each change, as in git.
const CONTEXT_LINES: usize = 3;

/// Budget of lines to search for the shortest diff. It covers both states over all files, excluding the common prefix
/// and suffix of each pair of texts.
///
/// Measured: the worst texts take three seconds for a million lines.
pub const MAX_LINES: usize = 250_000;
/// Largest product of line counts for which two stretches are compared line by line once the budget is spent.
const CELLS: usize = 1 << 18;

/// Kind of change to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Only the second state has the file.
    Added,
    /// Both states have the file, with different content or executable bit.
    Modified,
    /// Only the first state has the file.
    Removed,
}

/// Change to one file, with its line counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Path of the file in the skill.
    #[serde(serialize_with = "path_as_text")]
    pub path: SkillPath,
    /// Kind of change, by presence in each state.
    pub change: Change,
    /// Lines present only in the second state. 0 for a binary file.
    pub added: usize,
    /// Lines present only in the first state. 0 for a binary file.
    pub removed: usize,
}

fn path_as_text<S: serde::Serializer>(path: &SkillPath, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(path)
}

/// Differences between two states of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BundleDiff {
    /// Changed files, sorted by the bytes of their paths.
    pub files: Vec<FileChange>,
    /// Unified diff of all changed files. Empty if nothing differs.
    pub text: String,
}

/// Compares two states of a skill. An empty bundle represents a skill that does not exist.
pub fn diff(from: &Bundle, to: &Bundle) -> BundleDiff {
    let mut diff = BundleDiff::default();
    for (change, text) in diff_files(from, to) {
        diff.files.push(change);
        diff.text.push_str(&text);
    }
    diff
}

/// Compares two states of a skill file by file and skips unchanged files.
pub fn diff_files<'a>(from: &'a Bundle, to: &'a Bundle) -> impl Iterator<Item = (FileChange, String)> + 'a {
    let paths: BTreeSet<&SkillPath> = from.paths().chain(to.paths()).collect();
    let mut left = MAX_LINES;
    paths.into_iter().filter_map(move |path| diff_file(path, from.get(path), to.get(path), &mut left))
}

/// Returns the common stretches of two texts in order, as (index in the old text, index in the new text, number of
/// lines). `left` is the remaining budget of lines to search for the shortest diff; see [`MAX_LINES`].
pub fn shared_lines<'a>(old: Vec<&'a str>, new: Vec<&'a str>, left: &mut usize) -> Vec<(usize, usize, usize)> {
    let equal = |op| match op {
        DiffOp::Equal { old_index, new_index, len } => Some((old_index, new_index, len)),
        _ => None,
    };
    Lines::new(old, new).ops(left).into_iter().filter_map(equal).collect()
}

/// Compares one file of two states. Returns `None` if it is unchanged or absent from both. `left` is the remaining
/// search budget.
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

/// Returns the text of a file: empty for a missing file, `None` for a binary one.
fn content(file: Option<&File>) -> Option<&str> {
    file.map_or(Some(""), File::text)
}

/// Formats the lines that git prints before the hunks.
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

/// Returns the names of the two sides. Like git, it terminates a name that contains a space with a tab, so that `patch`
/// can find its end.
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

/// Two texts split into lines, with each line interned as a number.
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

    /// Returns the operations that turn the old text into the new one. `left` is the remaining search budget.
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

    /// Returns the operations found by aligning the lines that occur exactly once in both texts.
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

    /// Yields the lines of one operation with their tags. For a replacement, the old lines come first.
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

/// Appends the hunks of a text file and returns its line counts as (added, removed).
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
