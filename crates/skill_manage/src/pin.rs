//! [`pin`] and [`unpin`]: whether agents are kept from changing a skill.

use jiff::Timestamp;
use library::{Library, LibraryError, Stamp};
use skill::SkillName;

use crate::reviewer::Reviewer;

/// Keeps all but people from changing a skill. Anybody may do so.
///
/// # Errors
/// The state cannot be read or written.
pub fn pin(library: &Library, skill: &SkillName, stamp: &Stamp) -> Result<(), LibraryError> {
    library.set_state(skill, stamp, "pin", |state| state.pinned = true)
}

/// Lets agents change a skill again, as far as the policy goes.
///
/// # Errors
/// The state cannot be read or written.
pub fn unpin(library: &Library, skill: &SkillName, reviewer: &Reviewer, now: Timestamp) -> Result<(), LibraryError> {
    let stamp = Stamp::new(reviewer.actor().clone(), now);
    library.set_state(skill, &stamp, "unpin", |state| state.pinned = false)
}
