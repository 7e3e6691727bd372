//! Verdict of the current rules about skills that earlier rules let pass ([`Anew`]).
//!
//! When the rules change, an unchanged skill stays visible. Only hard evidence hides it. Any other blocking finding
//! waits for a person.

use std::collections::BTreeSet;

use scan::Report;
use skill::{Bundle, SkillName, SkillPath};

use super::{
    Library, LibraryError, Standing,
    remembered::MUCH_NEWS,
    sight::{Found, Looked},
    threads::in_threads,
};
use crate::revision::Revision;

/// A head that passed earlier rules, judged by the current ones.
pub(super) struct Anew {
    /// True if nothing blocks, even without waivers.
    is_free: bool,
    /// Report of the current rules, with the findings that a person waived.
    report: Report,
}

impl Anew {
    /// Returns the weight of the new cache entry. Blocking results are never cached.
    pub fn news(&self) -> usize {
        if self.is_free { MUCH_NEWS } else { 0 }
    }

    /// Merges the verdict into the summary of a skill. Returns the status of a skill that becomes hidden.
    pub fn settle(self, found: &mut Found) -> Option<Standing> {
        if self.is_free {
            found.known.ruleset = Some(self.report.ruleset.clone());
        }
        if found.standing != Standing::Clean {
            return None;
        }
        found.undecided = self.report.undecided().count();
        let hard = self.report.blocking().find(|finding| finding.is_hard())?;
        Some(Standing::Lapsed(format!("the current rules block it: {}", hard.summary())))
    }
}

impl Library {
    /// Scans the newest revision of a skill with the current rules, if it has these files and passed earlier rules.
    /// Returns `None` without scanning if the current rules already let it pass.
    ///
    /// # Errors
    /// The library or its history cannot be read.
    pub fn judged_anew(&self, skill: &SkillName, files: &Bundle) -> Result<Option<Report>, LibraryError> {
        let is_meant = |head: &Revision| head.was_let_pass_earlier(self.scanner()) && head.digest == files.digest();
        if !self.head(skill)?.as_ref().is_some_and(is_meant) {
            return Ok(None);
        }
        let mut report = self.scanner().scan(files);
        report.waive(files, &self.waivers(skill)?);
        Ok(Some(report))
    }

    /// Returns the files of a head in which the current rules find hard evidence that nobody waived.
    pub(super) fn condemned_files(
        &self,
        skill: &SkillName,
        files: &Bundle,
    ) -> Result<BTreeSet<SkillPath>, LibraryError> {
        let report = self.judged_anew(skill, files)?;
        let hard = report.iter().flat_map(Report::blocking).filter(|finding| finding.is_hard());
        Ok(hard.filter_map(|finding| SkillPath::parse(&finding.path).ok()).collect())
    }

    /// Scans those heads among some skills that passed earlier rules, on several threads. Their files are all in
    /// memory.
    pub(super) fn judge_anew(&self, part: &[Looked]) -> Result<Vec<Option<Anew>>, LibraryError> {
        let awaiting = |((_, known), _): &Looked| {
            let head = known.head.as_ref().filter(|_| known.awaits_rules(self.scanner()))?;
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
            judged.push(Some(Anew { is_free, report }));
        }
        Ok(judged)
    }
}
