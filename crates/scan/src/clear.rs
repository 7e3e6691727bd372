//! [`Cleared`]: the only skill that may be checked out, indexed or installed, and [`Captured`]: the
//! only other value that may be stored.

use std::collections::BTreeMap;

use skill::{Bundle, Digest, SkillPath};
use thiserror::Error;

use crate::{Finding, Report, Scanner, Verdict, Waivers};

/// What a candidate is compared with.
#[derive(Debug, Clone, Copy)]
pub enum Baseline<'a> {
    /// Nothing: every finding is new.
    None,
    /// The skill before the change, which was cleared when it was committed. The caller vouches
    /// for that.
    Cleared(&'a Bundle),
}

/// Reports on files that were scanned before, by their digest. Who makes one vouches that it is asked for the ruleset
/// and the program of today alone, and that nobody else could have written it.
pub trait Reports {
    /// What scans, and with what judge.
    fn scanner(&self) -> Scanner;

    /// What [`Scanner::scan`] says of these very files.
    fn report(&self, bundle: &Bundle) -> Report;
}

/// A skill that passed the scan; [`clear`] and [`clear_by`] are the only ways to one, and [`waive`] for what a person
/// accepted.
#[derive(Debug, Clone)]
pub struct Cleared {
    bundle: Bundle,
    digest: Digest,
    report: Report,
    is_unjudged: bool,
}

/// A skill that is kept as it is, with its verdict, although nobody cleared it: a hand edit that a
/// restore would otherwise destroy. It is never served, restored, published or accepted.
#[derive(Debug, Clone)]
pub struct Captured {
    bundle: Bundle,
    digest: Digest,
    report: Report,
}

/// The scan blocks the candidate. [`waive`] trusts that the report is that of the bundle, so only
/// [`clear`] can put the two together, and nothing can change one of them:
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

/// Scans a candidate by our rules and mints it as cleared unless a new finding blocks.
///
/// A finding is old, and never blocks, when the base is a cleared one and has the same finding (rule, severity, path,
/// excerpt and message) as often. In a file that has changed it is old only if that file is a text and the excerpt names
/// no variable.
///
/// A [`Scanner`] with a judge asks it about each candidate that differs from its base, also about one that is blocked,
/// since a person may waive the block.
///
/// # Errors
/// [`Blocked`] with the candidate and the report when a new finding is high or critical.
pub fn clear(candidate: Bundle, base: Baseline<'_>) -> Result<Cleared, Box<Blocked>> {
    clear_by(candidate, base, &Scanner::default())
}

/// As [`clear`], by other rules, or with what is known of files that were scanned before.
///
/// # Errors
/// [`Blocked`] with the candidate and the report when a new finding is high or critical.
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

/// Judges what [`clear`] said again, without the findings that a person accepted. They stay in the
/// report, marked as waived.
///
/// # Errors
/// [`Blocked`] when a new finding that nobody accepted is high or critical.
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

/// Scans a bundle by our rules and keeps it whatever the verdict; see [`Captured`].
#[must_use]
pub fn capture(bundle: Bundle) -> Captured {
    capture_by(bundle, &Scanner::default())
}

/// As [`capture`], by other rules.
#[must_use]
pub fn capture_by(bundle: Bundle, reports: &dyn Reports) -> Captured {
    Captured { report: reports.report(&bundle), digest: bundle.digest(), bundle }
}

impl Cleared {
    /// The files.
    #[must_use]
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// The identity of the files.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// What the scan found; its verdict is not a block.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The verdict, `allow` or `warn`.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.report.verdict()
    }

    /// Whether there is a judge that was not asked, since this is only looked at: it must not be written.
    #[must_use]
    pub fn is_unjudged(&self) -> bool {
        self.is_unjudged
    }

    /// The files, their identity and the report.
    #[must_use]
    pub fn into_parts(self) -> (Bundle, Digest, Report) {
        (self.bundle, self.digest, self.report)
    }
}

impl Blocked {
    /// The skill as it was given.
    #[must_use]
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// What was found.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// What was found.
    #[must_use]
    pub fn into_report(self) -> Report {
        self.report
    }
}

impl Captured {
    /// The files.
    #[must_use]
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// The identity of the files.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// What the scan found.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The verdict, which may be a block.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.report.verdict()
    }
}

/// Marks as old what a cleared base had.
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

/// Whether a finding means the same whatever else changes in its file: it is in a text, and names no variable.
fn stands_alone(finding: &Finding) -> bool {
    let is_text = [".md", ".mdx", ".txt"].iter().any(|end| finding.path.to_ascii_lowercase().ends_with(end));
    is_text && !finding.excerpt.contains(['$', '%', '{', '…'])
}

/// What makes two findings the same: rule, severity, path, excerpt and message.
fn identity(finding: &Finding) -> String {
    let Finding { rule, severity, path, excerpt, message, .. } = finding;
    [rule, severity.as_str(), path, excerpt, message].join("\0")
}

/// Values that can be taken as often as they are there.
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
