//! [`Cleared`]: the only skill that may be checked out, indexed or installed, and [`Captured`]: the only other value
//! that may be stored.

use std::collections::BTreeMap;

use skill::{Bundle, Digest, SkillPath};
use thiserror::Error;

use crate::{Finding, Report, Scanner, Verdict, Waivers, excerpt::has_gap};

/// Baseline that a candidate's findings are compared with.
#[derive(Debug, Clone, Copy)]
pub enum Baseline<'a> {
    /// No baseline: every finding is new.
    None,
    /// The skill before the change. The caller guarantees that it was cleared when it was committed.
    Cleared(&'a Bundle),
}

/// Source of scan reports, such as a cache of reports on files that were scanned before, by digest.
///
/// An implementation guarantees that cached reports were made by today's program with today's ruleset, and that nobody
/// else could have written them.
pub trait Reports {
    /// Returns the scanner that makes the reports, with its judge if it has one.
    fn scanner(&self) -> Scanner;

    /// Returns the report that [`Scanner::scan`] makes for exactly these files.
    fn report(&self, bundle: &Bundle) -> Report;
}

impl Reports for Scanner {
    fn scanner(&self) -> Scanner {
        *self
    }

    fn report(&self, bundle: &Bundle) -> Report {
        self.scan(bundle)
    }
}

/// Skill that passed the scan. Only [`clear`], [`clear_by`] and, for findings that a person accepted, [`waive`]
/// construct it.
#[derive(Debug, Clone)]
pub struct Cleared {
    bundle: Bundle,
    digest: Digest,
    report: Report,
    is_unjudged: bool,
}

/// Skill that is stored unchanged with its verdict although it was not cleared: a hand edit that a restore would
/// otherwise destroy. It is never served, restored, published or accepted.
#[derive(Debug, Clone)]
pub struct Captured {
    bundle: Bundle,
    digest: Digest,
    report: Report,
}

/// Candidate that the scan blocked, with its report. [`waive`] trusts that the report belongs to the bundle.
/// Therefore only [`clear`] can combine the two, and neither can be changed afterwards:
///
/// ```compile_fail,E0451
/// let bundle = skill::Bundle::default();
/// let report = scan::scan(&bundle);
/// let blocked = scan::Blocked { bundle, report, is_unjudged: false };
/// ```
#[derive(Debug, Clone, Error)]
#[error("{}", blocked_message(report))]
pub struct Blocked {
    bundle: Bundle,
    report: Report,
    is_unjudged: bool,
}

/// Scans a candidate with the built-in rules and returns it as cleared unless a new finding blocks.
///
/// A finding is old, and never blocks, if the base is a cleared one that has the same finding (rule, severity, path,
/// excerpt and message) at least as often. In a file that changed, it is old only if that file is a text and the
/// excerpt names no variable.
///
/// A [`Scanner`] with a judge asks it about each candidate that differs from its base. This includes blocked
/// candidates, since a person may waive the block.
///
/// # Errors
/// [`Blocked`] with the candidate and the report if a new finding is high or critical.
pub fn clear(candidate: Bundle, base: Baseline<'_>) -> Result<Cleared, Box<Blocked>> {
    clear_by(candidate, base, &Scanner::default())
}

/// Clears a candidate as [`clear`] does, with other rules or with cached reports on known files.
///
/// # Errors
/// [`Blocked`] with the candidate and the report if a new finding is high or critical.
pub fn clear_by(candidate: Bundle, base: Baseline<'_>, reports: &dyn Reports) -> Result<Cleared, Box<Blocked>> {
    let mut report = reports.report(&candidate);
    let mut is_known = false;
    if let Baseline::Cleared(base) = base {
        is_known = candidate == *base;
        mark_old(&mut report, &candidate, base, reports);
    }
    let is_unjudged = !is_known && reports.scanner().opine(&mut report, &candidate);
    if report.verdict() == Verdict::Block {
        return Err(Box::new(Blocked { bundle: candidate, report, is_unjudged }));
    }
    Ok(Cleared { digest: candidate.digest(), bundle: candidate, report, is_unjudged })
}

/// Applies waivers to the result of [`clear`] and decides again. Waived findings stay in the report, marked as waived.
///
/// # Errors
/// [`Blocked`] if a new finding that nobody accepted is high or critical.
pub fn waive(judged: Result<Cleared, Box<Blocked>>, waivers: &Waivers) -> Result<Cleared, Box<Blocked>> {
    match judged {
        Ok(mut cleared) => {
            cleared.report.waive(&cleared.bundle, waivers);
            Ok(cleared)
        }
        Err(mut blocked) => {
            let Blocked { bundle, report, .. } = blocked.as_mut();
            report.waive(bundle, waivers);
            if report.verdict() == Verdict::Block {
                return Err(blocked);
            }
            let Blocked { bundle, report, is_unjudged } = *blocked;
            Ok(Cleared { digest: bundle.digest(), bundle, report, is_unjudged })
        }
    }
}

/// Scans a bundle and keeps it whatever the verdict. See [`Captured`].
#[must_use]
pub fn capture(bundle: Bundle, reports: &dyn Reports) -> Captured {
    Captured { report: reports.report(&bundle), digest: bundle.digest(), bundle }
}

impl Cleared {
    /// Returns the files that were scanned.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Returns the digest of the files.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the report, whose verdict is never a block.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns the verdict, `allow` or `warn`.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.report.verdict()
    }

    /// Returns true if a judge is configured but was not asked, because the scanner is for viewing only. Such a skill
    /// must not be written.
    pub fn is_unjudged(&self) -> bool {
        self.is_unjudged
    }

    /// Splits the value into the files, their digest and the report.
    #[must_use]
    pub fn into_parts(self) -> (Bundle, Digest, Report) {
        (self.bundle, self.digest, self.report)
    }
}

impl Blocked {
    /// Returns the candidate as it was given.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Returns the report, whose verdict is a block.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns the report and drops the candidate.
    #[must_use]
    pub fn into_report(self) -> Report {
        self.report
    }
}

impl Captured {
    /// Returns the files, stored as they were found.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Returns the digest of the files.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the report, which may contain blocking findings.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns the verdict, which may be a block.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.report.verdict()
    }
}

/// Marks findings as old if the cleared base had them. See [`clear`] for the conditions.
fn mark_old(report: &mut Report, candidate: &Bundle, base: &Bundle, reports: &dyn Reports) {
    if candidate == base {
        report.findings.iter_mut().for_each(|finding| finding.new = false);
        return;
    }
    let of_base = |finding: &Finding| SkillPath::parse(&finding.path).ok().and_then(|path| base.get(&path));
    if report.findings.iter().all(|finding| of_base(finding).is_none()) {
        return;
    }
    let before = reports.report(base).findings;
    let mut before = Multiset::of(before.iter().map(identity));
    for finding in &mut report.findings {
        let file = of_base(finding);
        let is_unchanged = SkillPath::parse(&finding.path).is_ok_and(|path| file == candidate.get(&path));
        let is_old = file.is_some() && (is_unchanged || stands_alone(finding)) && before.take(&identity(finding));
        finding.new = !is_old;
    }
}

/// Returns whether a finding means the same however the rest of its file changes. This holds if the file is a text and
/// the excerpt names no variable.
fn stands_alone(finding: &Finding) -> bool {
    let is_text = [".md", ".mdx", ".txt"].iter().any(|end| finding.path.to_ascii_lowercase().ends_with(end));
    is_text && !finding.excerpt.contains(['$', '%', '{']) && !has_gap(&finding.excerpt)
}

/// Returns the key by which findings are compared: rule, severity, path, excerpt and message.
fn identity(finding: &Finding) -> String {
    let Finding { rule, severity, path, excerpt, message, .. } = finding;
    [rule, severity.as_str(), path, excerpt, message].join("\0")
}

/// Multiset of strings, with the number of copies left of each.
struct Multiset(BTreeMap<String, usize>);

impl Multiset {
    fn of(values: impl Iterator<Item = String>) -> Self {
        let mut counts = BTreeMap::new();
        values.for_each(|value| *counts.entry(value).or_default() += 1);
        Self(counts)
    }

    fn take(&mut self, value: &str) -> bool {
        let left = self.0.get_mut(value).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_some()
    }
}

fn blocked_message(report: &Report) -> String {
    let Some(worst) = report.worst_new() else {
        return "blocked by the scan".to_owned();
    };
    let mut text = worst.summary();
    let others = report.blocking().count().saturating_sub(1);
    if others > 0 {
        text.push_str(&format!(" (and {others} more)"));
    }
    text
}
