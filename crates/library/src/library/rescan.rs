//! Verdict of the current rules about skills that earlier rules let pass ([`RescannedHead`]).
//!
//! When the rules change, an unchanged skill stays visible. Only hard evidence hides it. Any other blocking finding
//! waits for a person.

use std::collections::BTreeSet;

use scan::Report;
use skill::{Bundle, SkillName, SkillPath};

use super::{
    FolderStatus, Library, LibraryError,
    observed_folder::{ObservedSkill, SummaryDraft},
    summary_cache::MUCH_NEWS,
    threads::in_threads,
};
use crate::revision::Revision;

/// A head that passed earlier rules, judged by the current ones.
pub(super) struct RescannedHead {
    /// True if nothing blocks, even without waivers.
    is_free: bool,
    /// Report of the current rules, with the findings that a person waived.
    report: Report,
}

impl RescannedHead {
    /// Returns the weight of the new cache entry. Blocking results are never cached.
    pub fn news(&self) -> usize {
        if self.is_free { MUCH_NEWS } else { 0 }
    }

    /// Merges the verdict into the summary of a skill. Returns the status of a skill that becomes hidden.
    pub fn settle(self, found: &mut SummaryDraft) -> Option<FolderStatus> {
        if self.is_free {
            found.known.ruleset = Some(self.report.ruleset.clone());
        }
        if found.standing != FolderStatus::Clean {
            return None;
        }
        found.undecided = self.report.undecided().count();
        let hard = self.report.blocking().find(|finding| finding.is_hard())?;
        Some(FolderStatus::Lapsed(format!("the current rules block it: {}", hard.summary())))
    }
}

impl Library {
    /// Scans the newest revision of a skill with the current rules, if it has these files and passed earlier rules.
    /// Returns `None` without scanning if the current rules already let it pass.
    ///
    /// # Errors
    /// The library or its history cannot be read.
    pub fn rescan(&self, skill: &SkillName, files: &Bundle) -> Result<Option<Report>, LibraryError> {
        let is_meant = |head: &Revision| head.was_let_pass_earlier(self.scanner()) && head.digest == files.digest();
        if !self.head(skill)?.as_ref().is_some_and(is_meant) {
            return Ok(None);
        }
        let mut report = self.scanner().scan(files);
        report.waive(files, &self.waivers(skill)?);
        Ok(Some(report))
    }

    /// Returns the files of a head in which the current rules find hard evidence that nobody waived.
    pub(super) fn newly_blocked_files(
        &self,
        skill: &SkillName,
        files: &Bundle,
    ) -> Result<BTreeSet<SkillPath>, LibraryError> {
        let report = self.rescan(skill, files)?;
        let hard = report.iter().flat_map(Report::blocking).filter(|finding| finding.is_hard());
        Ok(hard.filter_map(|finding| SkillPath::parse(&finding.path).ok()).collect())
    }

    /// Scans those heads among some skills that passed earlier rules, on several threads. Their files are all in
    /// memory.
    pub(super) fn rescan_heads(&self, part: &[ObservedSkill]) -> Result<Vec<Option<RescannedHead>>, LibraryError> {
        let awaiting = |((_, known), _): &ObservedSkill| {
            let head = known.head.as_ref().filter(|_| known.needs_rescan(self.scanner()))?;
            self.bundle(&head.id).ok()
        };
        let files: Vec<Option<Bundle>> = part.iter().map(awaiting).collect();
        let mut judged = Vec::with_capacity(part.len());
        let scanner = self.scanner();
        let reports = in_threads(&files, |files| files.as_ref().map(|files| scanner.scan(files)));
        for ((((name, _), _), files), report) in part.iter().zip(&files).zip(reports) {
            let (Some(files), Some(mut report)) = (files, report) else {
                judged.push(None);
                continue;
            };
            let is_free = report.blocking().next().is_none();
            if !is_free {
                report.waive(files, &self.waivers(name)?);
            }
            judged.push(Some(RescannedHead { is_free, report }));
        }
        Ok(judged)
    }
}
