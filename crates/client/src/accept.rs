//! [`Accept`]: a callback through which a person accepts the findings that block a skill, while the operation waits.
//!
//! The accepted findings become waivers, which are stored before the skill is committed, so that the commit and every
//! later scan use the same waivers. If the commit fails, the stored waivers refer to content that the library does not
//! have. Such waivers have no effect.

use library::{Actor, Library, LibraryError, Stamp, StoredWaiver};
use scan::Blocked;
use skill::SkillName;

use crate::lock_file::LockedWaiver;

/// A skill that the scan blocks.
#[derive(Debug, Clone, Copy)]
pub struct BlockedSkill<'a> {
    /// Name that the skill would have in the library.
    pub name: &'a SkillName,
    /// Scanned files and the findings in them.
    pub blocked: &'a Blocked,
    /// Waivers that the lock file lists because somebody accepted them. They are shown but not applied: each home
    /// decides for itself.
    pub told: &'a [LockedWaiver],
}

/// Chooses the waivers under which blocked skills pass: one list for each skill, in the same order. An empty or missing
/// list leaves its skill blocked. Called once for all skills of an operation.
pub type Accept<'a> = dyn Fn(&[BlockedSkill<'_>]) -> Vec<Vec<StoredWaiver>> + 'a;

/// An [`Accept`] for callers without a person: every blocked skill stays blocked.
pub fn accept_nothing(_: &[BlockedSkill<'_>]) -> Vec<Vec<StoredWaiver>> {
    Vec::new()
}

/// Stores waivers of one skill and logs them as part of the operation. A waiver replaces an earlier one for the same
/// finding.
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
