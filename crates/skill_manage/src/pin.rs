//! [`pin`] and [`unpin`]: protection of a skill against changes by agents.

use jiff::Timestamp;
use library::{Library, LibraryError, Stamp};
use skill::SkillName;

use crate::reviewer::Reviewer;

/// Pins a skill, so that only people can change it. Any actor may do so.
///
/// # Errors
/// The state cannot be read or written.
pub fn pin(library: &Library, skill: &SkillName, stamp: &Stamp) -> Result<(), LibraryError> {
    library.set_state(skill, stamp, "pin", |state| state.pinned = true)
}

/// Unpins a skill, so that agents can change it within the policy.
///
/// # Errors
/// The state cannot be read or written.
pub fn unpin(library: &Library, skill: &SkillName, reviewer: &Reviewer, now: Timestamp) -> Result<(), LibraryError> {
    let stamp = Stamp::new(reviewer.actor().clone(), now);
    library.set_state(skill, &stamp, "unpin", |state| state.pinned = false)
}
