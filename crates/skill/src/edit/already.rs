//! [`Step`]: what a file's history says about a patch, so that one which is sent again changes nothing.
//!
//! That the replacement stands in a file proves nothing: it may stand there for other reasons, and an
//! answer "already applied" would hide that the patch failed. So the caller looks where
//! [`looks_applied`] says that it may have been, and asks the file's earlier texts whether it was.

use std::collections::BTreeSet;

use super::{Patch, patch};
use crate::{Bundle, Limits};

/// A change of one file between two texts of its history, the older and the newer one.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The text before.
    pub before: &'a str,
    /// The text that came next.
    pub after: &'a str,
}

/// Whether a skill is as a patch would leave it: the lines of its replacement stand in the file, and
/// its text nowhere, or only inside the replacement. Only the file's history can say whether the patch
/// was really applied.
#[must_use]
pub fn looks_applied(patch: &Patch, bundle: &Bundle) -> bool {
    let Some(text) = bundle.get(&patch.path).and_then(|file| file.text()) else { return false };
    !patch.find.is_empty()
        && patch.replace.lines().all(|line| text.contains(line.trim()))
        && patch::stands_replaced(patch, text)
}

/// Whether a step of a file's history shows that a patch, which [`looks_applied`] to the file as it is
/// now, was applied: it makes of the text before just the one after; or it can be applied to the text
/// before, and all that it would have made of that stands in the file now.
#[must_use]
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

/// Whether several patches of one file, one after the other, make of the text before just the one
/// after.
#[must_use]
pub fn lead_to(patches: &[&Patch], step: Step<'_>, limits: &Limits) -> bool {
    let next = |text: String, patch: &&Patch| patch::find_plan(patch, &text, limits).ok()?.map(|plan| plan.text);
    let made = patches.iter().try_fold(step.before.to_owned(), next);
    made.is_some_and(|made| with_plain_ends(&made) == with_plain_ends(step.after))
}

fn with_plain_ends(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// At least four characters that are no blanks, among them a letter or digit.
fn tells_something(line: &str) -> bool {
    line.chars().filter(|c| !c.is_whitespace()).nth(3).is_some() && line.chars().any(char::is_alphanumeric)
}

/// Whether no line that the patch was to take away stands in the text: one that is there in part has
/// not been replaced.
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
