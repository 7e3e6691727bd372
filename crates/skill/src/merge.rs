//! Three-way merge of skills: [`Merge`] is the merged bundle with the conflicts that a person has to resolve.
//!
//! [`merge`] takes the common ancestor (`base`), the side that wins in a conflict (`ours`) and the other side
//! (`theirs`). A result without conflicts contains every change of both sides, each once and in its position, and is
//! the same text whichever side is ours. A doubtful case is a [`Conflict`], and the result keeps our version there, or
//! follows the [`Rules`].
//!
//! # Rules
//!
//! **Files.** A file that one side alone added, removed or changed is taken. Equal changes on both sides are taken
//! once. Conflicts are: removed on one side and changed on the other, added on both sides with different contents, and
//! binary files changed on both sides. The executable bit is merged separately. A file of theirs whose path collides
//! with a path of ours on some system is left out, as a conflict. A moved file counts as removed and added, unless the
//! [`Rules`] follow renames.
//!
//! **Frontmatter.** `SKILL.md` is merged key by key, with the comments above a key as part of it. Keys changed on one
//! side are taken, also on neighbouring lines. Order, comments and quoting are those of ours. New keys of theirs are
//! placed after the key that they follow there. A key changed differently on both sides is a conflict; for
//! `allowed-tools` this covers all spellings. A `description` is merged by words, like prose. A block that cannot be
//! split into independently readable keys is merged by lines.
//!
//! **Lines.** Both sides are compared with the base. A change has a position only if every shortest comparison agrees
//! on it:
//! - *Landmarks* are lines with a letter or digit that occur exactly once in both texts, in the longest run with the
//!   same order. The changes of one side between two landmarks are one change. A repeated blank line, code fence or
//!   bullet does not fix a position.
//! - A line is *certain* if all shortest comparisons between its landmarks keep it, and as the same line. A change
//!   extends over the uncertain lines beside it: a bullet added among equal ones could be anywhere among them, so any
//!   change of the other side there is a conflict.
//! - Within a change, a line is *in place* if it shares at least half of its words with one line of the base, and fewer
//!   with every other line. A quarter suffices if a single line replaces a single line.
//! - Changes of the two sides with an unchanged line between them merge. Adjacent changes merge if each is a line in
//!   place or a deletion, or one is an insertion and the other a line in place. Two insertions at one point are a
//!   conflict. Equal changes are one.
//! - Remaining conflicts are merged by words, in prose of Markdown and plain text, never in code blocks, indented lines
//!   or other files. Changes merge if at least [`WORDS_APART`] unchanged words separate them, by the same rules of
//!   certainty.
//!
//! **Line endings.** The line endings of ours are kept, and lines of theirs take them. A side that changed only line
//! endings has not changed the file. The newline at the end of the file is merged separately.
//!
//! These are the [`Rules::CAREFUL`] rules, for changes that were pending while the skill changed. Other rules try a
//! plain merge of the lines first, follow moved files, or put both sides between markers.
//!
//! # Why a clean result is correct
//!
//! A change of theirs is inserted between lines that ours is certain to have kept, and vice versa, so there is only one
//! way to do it. Repeated lines that cannot be distinguished never decide a position. A result merged by key is parsed
//! again and refused unless it has the expected fields.
//!
//! # Cost
//!
//! Work is bounded by sizes, never by a clock. Landmarks take `O(n log n)` for texts of `n` lines. A stretch of `k` and
//! `l` lines between landmarks takes `O(k * l)` steps and memory up to [`MAX_CELLS`], and all stretches of a skill up
//! to [`CELLS_PER_SKILL`] per side, for lines and words. Beyond that, the change extends over the whole stretch, which
//! can only cause a conflict. The search for lines in place is skipped in changes of more than [`PAIRED_LINES`] lines,
//! and otherwise linear in the text. The merge by words handles passages of up to [`PASSAGE_BYTES`].

mod align;
mod clash;
mod files;
mod hunks;
mod keys;
mod lines;
mod pairs;
mod renames;
mod rules;
#[cfg(test)]
mod tests;
mod weave;
mod words;

pub(crate) use align::Alignment;
pub use align::{CELLS_PER_SKILL, MAX_CELLS};
pub use clash::{Conflict, ConflictKind};
pub use pairs::PAIRED_LINES;
pub use rules::{Clashes, PlainMerge, Rules, marker_line};
pub(crate) use words::numbered;
pub use words::{PASSAGE_BYTES, WORDS_APART};

use crate::{Bundle, BundleError, Limits};

/// Result of merging two descendants of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// Merged files, with our version at each conflict.
    pub bundle: Bundle,
    /// Conflicts, by path. Empty if the merge is clean.
    pub conflicts: Vec<Conflict>,
}

impl Merge {
    /// Returns whether the bundle contains all changes of both sides.
    pub fn is_clean(&self) -> bool {
        self.conflicts.is_empty()
    }
}

/// Merges the changes from `base` to `theirs` into `ours`, by the rules of this module. An empty bundle represents a
/// side without the skill.
///
/// # Errors
/// [`BundleError`] if the merged files exceed a limit, although each side alone does not.
pub fn merge(base: &Bundle, ours: &Bundle, theirs: &Bundle, limits: &Limits) -> Result<Merge, BundleError> {
    merge_by(&Rules::CAREFUL, [base, ours, theirs], limits)
}

/// Merges `[base, ours, theirs]` by other rules.
///
/// # Errors
/// [`BundleError`] if the merged files exceed a limit, although each side alone does not.
pub fn merge_by(rules: &Rules<'_>, bundles: [&Bundle; 3], limits: &Limits) -> Result<Merge, BundleError> {
    if !rules.follows_renames {
        return merge_paths(rules, bundles, limits);
    }
    let (moved, both) = renames::follow(bundles, limits);
    let mut merged = merge_paths(rules, moved.each_ref(), limits)?;
    merged.conflicts.extend(both);
    Ok(merged)
}

fn merge_paths(rules: &Rules<'_>, [base, ours, theirs]: [&Bundle; 3], limits: &Limits) -> Result<Merge, BundleError> {
    let files::Merged { files, mut conflicts } = files::merge(base, ours, theirs, rules);
    conflicts.sort_by(|a, b| (&a.path, &a.lines).cmp(&(&b.path, &b.lines)));
    Ok(Merge { bundle: Bundle::from_files(files, limits)?, conflicts })
}
