//! [`Report`]: findings of one scan of a skill, as a list of [`Finding`]s.

use serde::{Deserialize, Serialize};
use skill::Bundle;

use crate::{Acceptance, Finding, Severity, Verdict, Waivers, can_be_waived};

/// Result of scanning one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Version of the rules. See [`crate::Scanner::ruleset`].
    pub ruleset: String,
    /// Findings, sorted by descending severity, then by path and line. Those that go by the wording of a text come after
    /// the others of their severity.
    pub findings: Vec<Finding>,
}

impl Report {
    pub(crate) fn new(mut findings: Vec<Finding>) -> Self {
        findings.sort_by(|a, b| {
            let key = |f: &Finding| (std::cmp::Reverse(f.severity), f.rule.starts_with("prose-"));
            (key(a), &a.path, a.line, &a.rule, &a.excerpt).cmp(&(key(b), &b.path, b.line, &b.rule, &b.excerpt))
        });
        findings.dedup_by(|again, first| first.absorb(again));
        Self { ruleset: crate::ruleset().to_owned(), findings }
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    }

    /// Waives the findings that a person accepted. Those accepted by a configuration or its judge stay waived.
    pub fn waive(&mut self, bundle: &Bundle, waivers: &Waivers) {
        for finding in &mut self.findings {
            let waiver = waivers.cover(finding, bundle).map(|waiver| waiver.acceptance.clone());
            finding.waiver = waiver.or(finding.waiver.take().filter(Acceptance::is_of_configuration));
            finding.waived = finding.waiver.is_some();
        }
    }

    /// Returns the verdict on the skill without waived findings. A new high or critical finding blocks. A new medium
    /// finding, or an old one of at least medium severity, warns.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let old = self.worst_where(false).map_or(Verdict::Allow, Severity::verdict);
        self.new_verdict().max(old.min(Verdict::Warn))
    }

    /// Returns the verdict on new findings alone, which policies use to judge a change.
    #[must_use]
    pub fn new_verdict(&self) -> Verdict {
        self.worst_where(true).map_or(Verdict::Allow, Severity::verdict)
    }

    /// Returns the highest severity, old and waived findings included, or `None` without findings.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Returns the first new finding of the highest severity that is not waived, for use in a message about a block.
    pub fn worst_new(&self) -> Option<&Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.new && !finding.waived)
            .min_by_key(|finding| std::cmp::Reverse(finding.severity))
    }

    /// Returns the findings that cause a block: new, not waived, and high or critical.
    pub fn blocking(&self) -> impl Iterator<Item = &Finding> {
        let blocks = |finding: &&Finding| finding.severity.verdict() == Verdict::Block;
        self.findings.iter().filter(|finding| finding.new && !finding.waived).filter(blocks)
    }

    /// Returns the blocking findings that a person can accept.
    pub fn undecided(&self) -> impl Iterator<Item = &Finding> {
        self.blocking().filter(|finding| can_be_waived(&finding.rule))
    }

    fn worst_where(&self, new: bool) -> Option<Severity> {
        self.findings
            .iter()
            .filter(|finding| finding.new == new && !finding.waived)
            .map(|finding| finding.severity)
            .max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Evidence;

    fn finding(severity: Severity, new: bool) -> Finding {
        Finding {
            rule: "r".into(),
            severity,
            category: "c".into(),
            path: "SKILL.md".into(),
            line: 1,
            column: 1,
            matched: None,
            related: Vec::new(),
            excerpt: severity.to_string(),
            message: "m".into(),
            risk: None,
            remedy: "r".into(),
            why: None,
            new,
            waived: false,
            waiver: None,
        }
    }

    fn verdicts(findings: &[(Severity, bool)]) -> (Verdict, Verdict) {
        let report = Report::new(findings.iter().map(|(s, n)| finding(*s, *n)).collect());
        (report.verdict(), report.new_verdict())
    }

    #[test]
    fn old_findings_warn_and_never_block() {
        use Severity::*;
        assert_eq!(verdicts(&[]), (Verdict::Allow, Verdict::Allow));
        assert_eq!(verdicts(&[(Critical, false)]), (Verdict::Warn, Verdict::Allow));
        assert_eq!(verdicts(&[(Medium, false)]), (Verdict::Warn, Verdict::Allow));
        assert_eq!(verdicts(&[(Low, false), (Low, true)]), (Verdict::Allow, Verdict::Allow));
        assert_eq!(verdicts(&[(Critical, false), (Medium, true)]), (Verdict::Warn, Verdict::Warn));
        assert_eq!(verdicts(&[(Medium, false), (High, true)]), (Verdict::Block, Verdict::Block));
    }

    #[test]
    fn two_strong_signs_are_no_hard_evidence() {
        use Severity::*;
        let of = |rule: &'static str, severity| Finding { rule: rule.into(), ..finding(severity, true) };
        let with = |evidence| crate::rules().iter().find(|rule| rule.evidence == evidence).unwrap().id;
        assert!(of(with(Evidence::Conclusive), Critical).is_hard());
        assert!(of(with(Evidence::Hard), High).is_hard());
        assert!(!of(with(Evidence::Hard), Medium).is_hard(), "in a lesson");
        assert!(!of(with(Evidence::Strong), High).is_hard());
        assert!(!of("scan-budget", High).is_hard(), "the scan did not see everything");
    }

    #[test]
    fn the_parts_of_an_excerpt_are_told_apart() {
        let of = |matched| Finding { matched, excerpt: "é curl |".into(), ..finding(Severity::Low, true) };
        assert_eq!(of(Some((2, 6))).excerpt_parts(), ["é ", "curl", " |"]);
        assert_eq!(of(None).excerpt_parts(), ["é curl |", "", ""]);
        assert_eq!(of(Some((6, 900))).excerpt_parts(), ["é curl", " |", ""]);
        assert_eq!(of(Some((7, 2))).excerpt_parts(), ["é curl ", "", "|"], "a damaged store");
    }

    #[test]
    fn findings_are_sorted_gravest_first() {
        use Severity::*;
        let report = Report::new(vec![finding(Low, true), finding(Critical, false), finding(High, true)]);
        let order: Vec<_> = report.findings.iter().map(|f| f.severity).collect();
        assert_eq!(order, [Critical, High, Low]);
        assert_eq!(report.worst(), Some(Critical));
        assert_eq!(report.worst_new().map(|f| f.severity), Some(High));
    }

    #[test]
    fn wording_comes_after_what_is_certain() {
        let of = |rule: &str, path: &str, severity| Finding {
            rule: rule.to_owned().into(),
            path: path.into(),
            ..finding(severity, true)
        };
        let report = Report::new(vec![
            of("prose-weight", "SKILL.md", Severity::High),
            of("flow-secret-sent", "scripts/a.sh", Severity::High),
            of("host-not-told", "scripts/a.sh", Severity::Medium),
        ]);
        let order: Vec<_> = report.findings.iter().map(|one| one.rule.as_ref()).collect();
        assert_eq!(order, ["flow-secret-sent", "prose-weight", "host-not-told"]);
    }

    #[test]
    fn the_fields_of_a_finding_are_the_documented_ones() {
        let keys = [
            "rule", "severity", "category", "path", "line", "column", "excerpt", "message", "risk", "remedy", "new",
            "waived",
        ];
        let report = Report::new(vec![finding(Severity::Low, true)]);
        let text = format!("{:?}", report.findings[0]);
        assert!(keys.iter().all(|key| text.contains(&format!("{key}:"))), "{text}");
    }
}
