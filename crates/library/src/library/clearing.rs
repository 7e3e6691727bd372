//! Clearing of candidates with the waivers of a person in force ([`Library::clear`]).

use std::borrow::Cow;

use jiff::Timestamp;
use scan::{Baseline, Blocked, Cleared, Reports, Waivers};
use skill::{Bundle, SkillName};

use super::{Library, LibraryError};
use crate::state::StoredWaiver;

impl Library {
    /// Scans a candidate of a skill and returns it as cleared, unless a new finding blocks it that no active waiver
    /// covers. This may run the judge. For read-only purposes, clear with [`scan::Scanner::reading`].
    ///
    /// # Errors
    /// The inner error is [`Blocked`] with the candidate. The outer error means that the state is damaged or cannot
    /// be read.
    pub fn clear(
        &self,
        skill: &SkillName,
        candidate: Bundle,
        base: Baseline<'_>,
    ) -> Result<Result<Cleared, Box<Blocked>>, LibraryError> {
        self.clear_by(skill, candidate, base, &self.scanner)
    }

    /// Clears a candidate like [`Library::clear`], with cached reports of files that were scanned before.
    ///
    /// # Errors
    /// Fails like [`Library::clear`].
    pub fn clear_by(
        &self,
        skill: &SkillName,
        candidate: Bundle,
        base: Baseline<'_>,
        reports: &dyn Reports,
    ) -> Result<Result<Cleared, Box<Blocked>>, LibraryError> {
        let judged = match base {
            Baseline::None => scan::clear_by(candidate, base, reports),
            Baseline::Cleared(files) => {
                let files = self.without_lapsed(skill, files)?;
                scan::clear_by(candidate, Baseline::Cleared(&files), reports)
            }
        };
        self.waived(skill, judged)
    }

    /// Returns the files of a base that excuse their old findings. Files with an expired or revoked waiver are left
    /// out, as are those in which the current rules find hard evidence.
    fn without_lapsed<'b>(&self, skill: &SkillName, files: &'b Bundle) -> Result<Cow<'b, Bundle>, LibraryError> {
        let mut lapsed = self.state()?.of(skill).lapsed_files(files, Timestamp::now());
        lapsed.append(&mut self.newly_blocked_files(skill, files)?);
        if lapsed.is_empty() {
            return Ok(Cow::Borrowed(files));
        }
        let others = files.files().filter(|(path, _)| !lapsed.contains(*path));
        let others = others.map(|(path, file)| (path.clone(), file.clone()));
        // A subset of a bundle within the limits is within the limits.
        Ok(Cow::Owned(Bundle::from_files(others, self.limits()).unwrap_or_default()))
    }

    /// Returns the findings that block files of a skill because a waiver expired or was revoked, or because the rules
    /// changed. `None` if nothing blocks. Cheap for a skill to which neither applies.
    ///
    /// # Errors
    /// The state is damaged or cannot be read.
    pub fn lapsed(&self, skill: &SkillName, files: &Bundle) -> Result<Option<Box<Blocked>>, LibraryError> {
        let has_lapsed = !self.state()?.of(skill).lapsed_files(files, Timestamp::now()).is_empty();
        if !has_lapsed && self.newly_blocked_files(skill, files)?.is_empty() {
            return Ok(None);
        }
        Ok(self.clear_by(skill, files.clone(), Baseline::Cleared(files), &self.scanner.reading())?.err())
    }

    /// Applies the active waivers to a scan result of a skill.
    pub(super) fn waived(
        &self,
        skill: &SkillName,
        judged: Result<Cleared, Box<Blocked>>,
    ) -> Result<Result<Cleared, Box<Blocked>>, LibraryError> {
        match judged {
            Ok(cleared) if cleared.report().findings.is_empty() => Ok(Ok(cleared)),
            judged => Ok(scan::waive(judged, &self.waivers(skill)?)),
        }
    }

    /// Returns the waivers of a skill that are active now.
    ///
    /// # Errors
    /// The state is damaged or cannot be read.
    pub fn waivers(&self, skill: &SkillName) -> Result<Waivers, LibraryError> {
        Ok(self.state()?.of(skill).waivers_at(Timestamp::now()))
    }

    /// Returns the active waivers that cover files of a skill's newest revision in their current content.
    ///
    /// # Errors
    /// The state or the history is damaged or cannot be read.
    pub fn waivers_of_head(&self, skill: &SkillName) -> Result<Vec<StoredWaiver>, LibraryError> {
        let now = Timestamp::now();
        let mut waivers = self.state()?.of(skill).waivers;
        waivers.retain(|stored| stored.at(now).is_some());
        let Some(head) = self.head(skill)?.filter(|head| !head.tombstone && !waivers.is_empty()) else {
            return Ok(Vec::new());
        };
        let files = self.bundle(&head.id)?;
        waivers.retain(|stored| stored.at(now).is_some_and(|waiver| waiver.is_for(&files)));
        Ok(waivers)
    }
}
