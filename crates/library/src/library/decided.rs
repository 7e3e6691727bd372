//! [`Library`]: what people decided about a skill, where it bears on what others may do to it.

use jiff::Timestamp;
use scan::{Baseline, Blocked, Cleared, Waivers};
use skill::{Bundle, SkillName};

use super::{Library, LibraryError};
use crate::revision::{Actor, ActorKind};

impl Library {
    /// Scans a candidate of a skill and mints it as cleared unless a new finding blocks that no waiver
    /// in force covers.
    ///
    /// # Errors
    /// [`Blocked`] with the candidate, as the inner result; the state is damaged or cannot be read.
    pub fn clear(
        &self,
        skill: &SkillName,
        candidate: Bundle,
        base: Baseline<'_>,
    ) -> Result<Result<Cleared, Box<Blocked>>, LibraryError> {
        match scan::clear(candidate, base) {
            Ok(cleared) if cleared.report().findings.is_empty() => Ok(Ok(cleared)),
            judged => Ok(scan::waive(judged, &self.waivers(skill)?)),
        }
    }

    /// The waivers of a skill that are in force now.
    ///
    /// # Errors
    /// The state is damaged or cannot be read.
    pub fn waivers(&self, skill: &SkillName) -> Result<Waivers, LibraryError> {
        Ok(self.state()?.of(skill).waivers_at(Timestamp::now()))
    }

    /// Keeps all but people from changing a skill that is pinned. Its name stays pinned when the skill
    /// is gone.
    ///
    /// # Errors
    /// [`LibraryError::Pinned`]; the state is damaged or cannot be read.
    pub fn check_pinned(&self, skill: &SkillName, actor: &Actor) -> Result<(), LibraryError> {
        match actor.kind {
            ActorKind::Person => Ok(()),
            _ if self.state()?.of(skill).pinned => Err(LibraryError::Pinned(skill.clone())),
            _ => Ok(()),
        }
    }
}
