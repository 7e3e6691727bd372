//! [`Cleared`]: the only skill that may be checked out, indexed or installed, and [`Captured`]: the
//! only other value that may be stored.

use std::collections::BTreeSet;

use skill::{Bundle, Digest, SkillPath};
use thiserror::Error;

use crate::{Finding, Report, Verdict, Waivers, scan};

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
    /// What [`scan()`] says of these very files.
    fn report(&self, bundle: &Bundle) -> Report;
}

/// Nothing is kept: each time is a scan.
struct Fresh;

impl Reports for Fresh {
    fn report(&self, bundle: &Bundle) -> Report {
        scan(bundle)
    }
}

/// A skill that passed the scan; [`clear`] and [`clear_by`] are the only ways to one, and [`waive`] for what a person
/// accepted.
#[derive(Debug, Clone)]
pub struct Cleared {
    bundle: Bundle,
    digest: Digest,
    report: Report,
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
/// let blocked = scan::Blocked { bundle, report };
/// ```
#[derive(Debug, Clone, Error)]
#[error("{}", blocked_message(report))]
pub struct Blocked {
    bundle: Bundle,
    report: Report,
}

/// Scans a candidate and mints it as cleared unless a new finding blocks.
///
/// A finding is old, and never blocks, when the base is a cleared one, the file is byte-identical
/// in both, and the same finding (rule, path, excerpt) is there.
///
/// # Errors
/// [`Blocked`] with the candidate and the report when a new finding is high or critical.
pub fn clear(candidate: Bundle, base: Baseline<'_>) -> Result<Cleared, Box<Blocked>> {
    clear_by(candidate, base, &Fresh)
}

/// As [`clear`], with what is known of files that were scanned before.
///
/// # Errors
/// [`Blocked`] with the candidate and the report when a new finding is high or critical.
pub fn clear_by(candidate: Bundle, base: Baseline<'_>, reports: &dyn Reports) -> Result<Cleared, Box<Blocked>> {
    let mut report = reports.report(&candidate);
    if let Baseline::Cleared(base) = base {
        mark_old(&mut report, &candidate, base, reports);
    }
    if report.verdict() == Verdict::Block {
        return Err(Box::new(Blocked { bundle: candidate, report }));
    }
    Ok(Cleared { digest: candidate.digest(), bundle: candidate, report })
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
            let Blocked { bundle, report } = blocked.as_mut();
            report.waive(bundle, waivers);
            if report.verdict() == Verdict::Block {
                return Err(blocked);
            }
            let Blocked { bundle, report } = *blocked;
            Ok(Cleared { digest: bundle.digest(), bundle, report })
        }
    }
}

/// Scans a bundle and keeps it whatever the verdict; see [`Captured`].
#[must_use]
pub fn capture(bundle: Bundle) -> Captured {
    Captured { report: scan(&bundle), digest: bundle.digest(), bundle }
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

/// Marks as old what a cleared base had in the same, unchanged file.
fn mark_old(report: &mut Report, candidate: &Bundle, base: &Bundle, reports: &dyn Reports) {
    if candidate == base {
        report.findings.iter_mut().for_each(|finding| finding.new = false);
        return;
    }

    let unchanged = |finding: &Finding| {
        SkillPath::parse(&finding.path)
            .is_ok_and(|path| base.get(&path).is_some_and(|file| candidate.get(&path) == Some(file)))
    };
    if !report.findings.iter().any(unchanged) {
        return;
    }
    let before = reports.report(base).findings;
    let before: BTreeSet<_> = before.iter().map(identity).collect();
    for finding in &mut report.findings {
        finding.new = !(unchanged(finding) && before.contains(&identity(finding)));
    }
}

fn identity(finding: &Finding) -> (&str, &str, &str) {
    (&finding.rule, &finding.path, &finding.excerpt)
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
