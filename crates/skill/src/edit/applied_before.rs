//! Detection of patches that were applied before, from the [`Step`]s of a file's history, so that a repeated patch
//! changes nothing.
//!
//! The presence of the replacement in the file proves nothing: it may have another origin, and the answer "already
//! applied" would hide that the patch failed. The caller therefore first checks [`looks_applied`] and then looks for
//! evidence in the earlier texts of the file.

use std::collections::BTreeSet;

use super::{Patch, patch};
use crate::{Bundle, Limits};

/// Change of one file between two consecutive texts of its history.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Text before the change.
    pub before: &'a str,
    /// Text after the change.
    pub after: &'a str,
}

/// Returns whether a skill has the form that a patch would leave: the file contains the lines of the replacement, and
/// the searched text is absent or only inside the replacement. Only the file's history can prove that the patch was
/// applied.
pub fn looks_applied(patch: &Patch, bundle: &Bundle) -> bool {
    let Some(text) = bundle.get(&patch.path).and_then(|file| file.text()) else { return false };
    !patch.find.is_empty()
        && patch.replace.lines().all(|line| text.contains(line.trim()))
        && patch::stands_replaced(patch, text)
}

/// Returns whether a step of a file's history proves that a patch was applied. The patch must satisfy [`looks_applied`]
/// for the current text.
///
/// There are two proofs: the patch turns the older text into exactly the newer one, or the patch applies to the older
/// text and everything that it would insert is in the current text.
pub fn shows_applied(patch: &Patch, step: Step<'_>, now: &str, limits: &Limits) -> bool {
    let Ok(Some(plan)) = patch::find_plan(patch, step.before, limits) else { return false };
    let stands = |inserted: &str| now.contains(&plan.inserted) || with_plain_ends(now).contains(inserted);
    let [made, inserted, after, before, now] =
        [&plan.text, &plan.inserted, step.after, step.before, now].map(with_plain_ends);
    if before == made || before == now {
        return false;
    }
    if made == after {
        return stands(&inserted);
    }
    tells_something(&patch.replace)
        && !patch::stands_replaced(patch, step.before)
        && now.matches(&inserted).count() >= made.matches(&inserted).count()
        && none_left(patch, &now)
}

/// Returns whether several patches of one file, applied in order, turn the older text into exactly the newer one.
pub fn lead_to(patches: &[&Patch], step: Step<'_>, limits: &Limits) -> bool {
    let next = |text: String, patch: &&Patch| patch::find_plan(patch, &text, limits).ok()?.map(|plan| plan.text);
    let made = patches.iter().try_fold(step.before.to_owned(), next);
    made.is_some_and(|made| with_plain_ends(&made) == with_plain_ends(step.after))
}

fn with_plain_ends(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Returns whether a line is distinctive: at least four non-blank characters, among them a letter or digit.
fn tells_something(line: &str) -> bool {
    line.chars().filter(|c| !c.is_whitespace()).nth(3).is_some() && line.chars().any(char::is_alphanumeric)
}

/// Returns whether the text contains none of the lines that the patch removes. A partly present text has not been
/// replaced.
fn none_left(patch: &Patch, text: &str) -> bool {
    let kept: BTreeSet<&str> = patch.replace.lines().map(str::trim).collect();
    let mut taken =
        patch.find.lines().map(str::trim).filter(|line| tells_something(line) && !kept.contains(line)).peekable();
    if taken.peek().is_none() {
        return true;
    }
    let lines: BTreeSet<&str> = text.lines().map(str::trim).collect();
    !taken.any(|line| lines.contains(line))
}
