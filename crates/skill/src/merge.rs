//! [`Merge`]: two descendants of one skill made into one, or the places where that is for a person.
//!
//! [`merge`] takes the common ancestor (`base`), the side that stays where the two disagree (`ours`)
//! and the other (`theirs`). A result without conflicts holds every change of both sides, each once
//! and at its place, and is the same text whichever side is ours. Where there is doubt there is a
//! [`Conflict`], and the result keeps what ours has there, or what the [`Rules`] say.
//!
//! # Rules
//!
//! **Files.** What one side alone added, removed or changed is taken; the same on both sides is taken
//! once. Removed here and changed there, added on both sides with different contents, and binary
//! files changed on both sides are conflicts. The executable bit is merged on its own. A file of theirs
//! whose path would be one with a path of ours on some system is left out, as a conflict. A file that
//! moved was removed in one place and added in another, unless the [`Rules`] follow renames.
//!
//! **Frontmatter.** `SKILL.md` is merged key by key, with the comments above a key as part of it. Keys
//! changed on one side are taken, also on neighbouring lines; order, comments and quoting are those of
//! ours; new keys of theirs stand after the key that they follow there. A key changed differently on
//! both sides is a conflict, `allowed-tools` under any of its spellings always; of `description` words
//! are merged as in prose. A block that does not come apart into keys that can be read alone is merged
//! by lines.
//!
//! **Lines.** Both sides are compared with the base, and a change has a place only where every shortest
//! comparison agrees on it:
//! - *Landmarks* are lines that say something (a letter or digit) and stand exactly once in both texts,
//!   in the longest run that has the same order. Between two landmarks the changes of one side are one
//!   change; a blank line, a code fence or a bullet that stands twice marks no place.
//! - A line is *certain* if all shortest comparisons between its landmarks keep it, and as the same line.
//!   A change reaches over the uncertain lines beside it: a bullet added among equal ones could stand
//!   anywhere among them, so any change of the other side there is a conflict.
//! - Within a change a line is *in place* when it shares at least half of its words with one line of the
//!   base, a quarter where one line stands for one, and with no other line as many.
//! - Changes of the two sides with an unchanged line between them merge. Those that touch merge when
//!   each is a line in place or a deletion, or one is an insertion and the other a line in place; two
//!   insertions at one point do not. Equal changes are one.
//! - What is left in conflict is tried by words, in prose of Markdown and plain text, never in code
//!   blocks, indented lines or other files. Changes merge if at least [`WORDS_APART`] unchanged words
//!   stand between them, by the same rules of certainty.
//!
//! **Line ends.** Those of ours are kept, and lines of theirs take them; a side that changed nothing
//! else has not changed the file. The newline at the end of the file is merged on its own.
//!
//! These are the [`Rules::CAREFUL`] ones, for changes that waited while the skill moved on. Other rules
//! try a plain merge of the lines first, follow files that moved, or put both sides between markers.
//!
//! # Why a clean result is right
//!
//! A change of theirs is put between lines that ours is certain to have kept, and the other way round;
//! there is one way to do that. What both sides read alike is told apart by nothing and so is never
//! decided here. What was merged by key is read again, and refused if it does not say what it should.
//!
//! # Cost
//!
//! Work is bounded by sizes, never by a clock. Landmarks take `O(n log n)` for texts of `n` lines. A
//! stretch of `k` and `l` lines between landmarks takes `O(k * l)` steps and memory up to [`MAX_CELLS`],
//! and all stretches of a skill up to [`CELLS_PER_SKILL`] a side, for lines and words; beyond
//! that, all of the stretch is within reach of its change, which can only make a conflict. Looking for
//! lines in place is skipped in changes of more than [`PAIRED_LINES`] lines and linear in the text
//! otherwise; words are looked at in passages of up to [`PASSAGE_BYTES`].

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

/// What became of two descendants of one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// The merged files; where there are conflicts, those places as ours has them.
    pub bundle: Bundle,
    /// The places where the sides disagree, by path; empty when the merge is clean.
    pub conflicts: Vec<Conflict>,
}

impl Merge {
    /// Whether the bundle holds the changes of both sides in full.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.conflicts.is_empty()
    }
}

/// Merges the changes that lead from `base` to `theirs` into `ours`, by the rules of this module. A
/// side that does not have the skill is an empty bundle.
///
/// # Errors
/// [`BundleError`] when the merged files pass a limit, though each side alone does not.
pub fn merge(base: &Bundle, ours: &Bundle, theirs: &Bundle, limits: &Limits) -> Result<Merge, BundleError> {
    merge_by(&Rules::CAREFUL, [base, ours, theirs], limits)
}

/// The same of `[base, ours, theirs]` by other rules.
///
/// # Errors
/// [`BundleError`] when the merged files pass a limit, though each side alone does not.
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
