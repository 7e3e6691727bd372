//! [`Accept`]: a person accepts what blocks a skill, while the operation that brings it waits.
//!
//! What they accept becomes waivers, which are stored before the skill is committed: the commit, and every later look at
//! the skill, judge it by the same waivers. A commit that fails leaves waivers for content that is not there, which have
//! no effect.

use library::{Actor, Library, LibraryError, Stamp, StoredWaiver};
use scan::Blocked;
use skill::SkillName;

use crate::lock_file::LockedWaiver;

/// A skill that the scan blocks.
#[derive(Debug, Clone, Copy)]
pub struct BlockedSkill<'a> {
    /// Name under which it would be managed.
    pub name: &'a SkillName,
    /// The files and what was found in them.
    pub blocked: &'a Blocked,
    /// What the lock file says that somebody accepted; each home decides for itself.
    pub told: &'a [LockedWaiver],
}

/// Chooses the waivers under which blocked skills pass: a list for each, in their order. An empty or missing list
/// leaves its skill blocked. Called once for all skills of an operation.
pub type Accept<'a> = dyn Fn(&[BlockedSkill<'_>]) -> Vec<Vec<StoredWaiver>> + 'a;

/// An [`Accept`] for callers without a person: every blocked skill stays blocked.
#[must_use]
pub fn accept_nothing(_: &[BlockedSkill<'_>]) -> Vec<Vec<StoredWaiver>> {
    Vec::new()
}

/// Stores waivers of one skill, in place of earlier ones for the same findings, and logs them as part of the operation.
///
/// # Errors
/// The state is damaged or cannot be written.
pub fn store_waivers(
    library: &Library,
    skill: &SkillName,
    waivers: &[StoredWaiver],
    stamp: &Stamp,
) -> Result<(), LibraryError> {
    let Some(first) = waivers.first() else { return Ok(()) };
    let actor: Actor = first.by.parse().unwrap_or_else(|_| stamp.actor.clone());
    let findings: Vec<String> = waivers.iter().map(|waiver| format!("{} in {}", waiver.rule, waiver.path)).collect();
    let reason = format!("{} until {}: {}", findings.join(", "), first.until, first.reason);
    let stamp = Stamp { actor, reason: Some(reason), ..stamp.clone() };
    let kept = library.limits().waivers_per_skill;
    library.set_state(skill, &stamp, "waive", |state| state.add_waivers(waivers, stamp.time, kept))
}
