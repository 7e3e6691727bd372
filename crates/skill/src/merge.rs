//! [`Merge`]: two descendants of one skill made into one, or the places where that is for a person.
//!
//! [`merge`] takes the common ancestor (`base`), the side that stays where the two disagree (`ours`)
//! and the other (`theirs`). A result without conflicts holds every change of both sides, each once
//! and at its place, and is the same text whichever side is ours. Where there is doubt there is a
//! [`Conflict`], and the result keeps what ours has there; no marker is ever written into a skill.
//!
//! # Rules
//!
//! **Files.** What one side alone added, removed or changed is taken; the same on both sides is taken
//! once. Removed here and changed there, added on both sides with different contents, and binary
//! files changed on both sides are conflicts. The executable bit is merged on its own. A file of theirs
//! whose path would be one with a path of ours on some system is left out, as a conflict. There are no
//! renames: a file that moved was removed in one place and added in another.
//!
//! **Frontmatter.** `SKILL.md` is merged key by key, with the comments above a key as part of it. Keys
//! changed on one side are taken, also on neighbouring lines; order, comments and quoting are those of
//! ours; new keys of theirs stand after the key that they follow there. A key changed differently on
//! both sides is a conflict, `allowed-tools` under any of its spellings always; of `description` words
//! are merged as in prose. A block that does not come apart into keys that can be read alone is merged
//! by lines.
//!
//! **Lines.** Each side is compared with the base by a patience diff. Then:
//! - Unchanged lines between two changes of one side hold them apart only if one of them says
//!   something and stands exactly once in both texts; otherwise both are one change. A blank line, a
//!   code fence or a bare bullet is no landmark.
//! - An inserted or deleted block that could stand a line higher or lower with the same result (a
//!   bullet like its neighbours) has no certain place: a change of the other side within or at the edge
//!   of where it could stand is a conflict.
//! - A changed line is *in place* when it shares at least half of its words with the line that it
//!   replaces, and stands in the same order as the others of its block.
//! - Changes that touch without an unchanged line between them merge when each is a line in place or a
//!   deletion, or one is an insertion and the other a line in place. Two insertions at one point are a
//!   conflict unless they are equal.
//! - What is left in conflict is tried by words, in prose of Markdown and plain text, never in code
//!   blocks, indented lines or other files. Changes merge if at least [`WORDS_APART`] unchanged
//!   words stand between them.
//!
//! **Line ends.** Those of ours are kept, and lines of theirs take them; a side that changed nothing
//! else has not changed the file. The newline at the end of the file is merged on its own.
//!
//! # Cost
//!
//! Work is bounded by sizes, never by a clock. Of texts with `n` and `m` lines between their common
//! start and end, the comparison takes `O((n + m) log(n + m))` where lines are unique and at worst about
//! `n * m` steps within the bounds of `similar`; over [`MAX_CELLS`] the whole middle counts as one
//! change. Everything after that is linear in lines, but for pairing lines within a change, which is
//! skipped over [`PAIRED_LINES`] lines a side.

mod clash;
mod files;
mod hunks;
mod keys;
mod lines;
mod pairs;
#[cfg(test)]
mod tests;
mod weave;
mod words;

pub use clash::{Conflict, ConflictKind};
pub use hunks::MAX_CELLS;
pub use pairs::PAIRED_LINES;
pub use words::WORDS_APART;

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
    let files::Merged { files, mut conflicts } = files::merge(base, ours, theirs);
    conflicts.sort_by(|a, b| (&a.path, &a.lines).cmp(&(&b.path, &b.lines)));
    Ok(Merge { bundle: Bundle::from_files(files, limits)?, conflicts })
}
