//! [`Report`]: what a scan of one skill found, as [`Finding`]s.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use skill::Bundle;

use crate::{Acceptance, Evidence, Severity, Verdict, Waivers, can_be_waived, rule};

/// Characters of the longest excerpt; longer lines are cut around the match.
pub const EXCERPT_CHARS: usize = 160;

/// One place where a rule fired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule's id, in `kebab-case`.
    pub rule: Cow<'static, str>,
    /// How much it weighs in this place.
    pub severity: Severity,
    /// The rule's category.
    pub category: Cow<'static, str>,
    /// The file, relative to the skill's folder.
    pub path: String,
    /// The line in that file, from 1.
    pub line: usize,
    /// The character of that line at which the match begins, from 1; 0 where the finding is about the whole line.
    #[serde(default)]
    pub column: usize,
    /// The text that matched, at most [`EXCERPT_CHARS`] characters, with invisible characters
    /// written as `\u{…}` and secrets shortened.
    pub excerpt: String,
    /// The characters of the excerpt that matched: from the first, from 0, to before the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<(usize, usize)>,
    /// What is wrong.
    pub message: Cow<'static, str>,
    /// What the author can do.
    pub remedy: Cow<'static, str>,
    /// The reason why it weighs more or less here than its rule says, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Cow<'static, str>>,
    /// Whether the finding was not there in the cleared base. Of a scan without a base all are new.
    pub new: bool,
    /// Whether a person accepted it, so that it does not count for the verdict.
    #[serde(default)]
    pub waived: bool,
    /// Who accepted it, why and until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiver: Option<Acceptance>,
}

impl Finding {
    /// The excerpt before, in and after what matched; all of it before where that is not known.
    #[must_use]
    pub fn excerpt_parts(&self) -> [&str; 3] {
        let byte = |chars: usize| self.excerpt.char_indices().nth(chars).map_or(self.excerpt.len(), |(at, _)| at);
        let (from, to) =
            self.matched.map_or((self.excerpt.len(), self.excerpt.len()), |(from, to)| (byte(from), byte(to)));
        let (before, rest) = self.excerpt.split_at(from);
        let (matched, after) = rest.split_at(to.max(from) - from);
        [before, matched, after]
    }

    /// It as a clause, with the remedy.
    #[must_use]
    pub fn summary(&self) -> String {
        let Self { rule, severity, path, line, message, remedy, .. } = self;
        format!("{severity} finding {rule} in {path}:{line}: {message}; {remedy}")
    }

    /// Tests for hard evidence of harm, which hides even a skill that earlier rules let pass: not for strong signs that
    /// meet in one file, and not for a scan that did not see everything.
    #[must_use]
    pub fn is_hard(&self) -> bool {
        let is_hard_alone = || rule(&self.rule).is_some_and(|rule| rule.evidence >= Evidence::Hard);
        can_be_waived(&self.rule)
            && (self.severity == Severity::Critical || self.severity == Severity::High && is_hard_alone())
    }
}

/// What a scan found in one skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The version of the rules, see [`crate::Scanner::ruleset`].
    pub ruleset: String,
    /// The findings, the gravest first, then by path and line.
    pub findings: Vec<Finding>,
}

impl Report {
    pub(crate) fn new(mut findings: Vec<Finding>) -> Self {
        findings.sort_by(|a, b| {
            let key = |f: &Finding| std::cmp::Reverse(f.severity);
            (key(a), &a.path, a.line, &a.rule, &a.excerpt).cmp(&(key(b), &b.path, b.line, &b.rule, &b.excerpt))
        });
        findings.dedup_by(|a, b| (&a.rule, &a.path, a.line, &a.excerpt) == (&b.rule, &b.path, b.line, &b.excerpt));
        Self { ruleset: crate::ruleset().to_owned(), findings }
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    }

    /// Marks the findings in a bundle that a person accepted; those that a configuration or its judge accepts stay marked.
    pub fn waive(&mut self, bundle: &Bundle, waivers: &Waivers) {
        for finding in &mut self.findings {
            let waiver = waivers.cover(finding, bundle).map(|waiver| waiver.acceptance.clone());
            finding.waiver = waiver.or(finding.waiver.take().filter(Acceptance::is_of_configuration));
            finding.waived = finding.waiver.is_some();
        }
    }

    /// The verdict on the skill, waived findings aside: a new high or critical finding blocks; a new medium one, or an old
    /// one of medium or more, warns.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let old = self.worst_where(false).map_or(Verdict::Allow, Severity::verdict);
        self.new_verdict().max(old.min(Verdict::Warn))
    }

    /// The verdict on new findings alone: what a policy judges a change by.
    #[must_use]
    pub fn new_verdict(&self) -> Verdict {
        self.worst_where(true).map_or(Verdict::Allow, Severity::verdict)
    }

    /// The gravest severity, old and waived findings included; `None` without findings.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// The first of the gravest new findings that nobody waived: what a message about a block names.
    #[must_use]
    pub fn worst_new(&self) -> Option<&Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.new && !finding.waived)
            .min_by_key(|finding| std::cmp::Reverse(finding.severity))
    }

    /// The findings that make the verdict a block: new, accepted by nobody, high or critical.
    pub fn blocking(&self) -> impl Iterator<Item = &Finding> {
        let blocks = |finding: &&Finding| finding.severity.verdict() == Verdict::Block;
        self.findings.iter().filter(|finding| finding.new && !finding.waived).filter(blocks)
    }

    /// Those of them that a person can accept.
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

    fn finding(severity: Severity, new: bool) -> Finding {
        Finding {
            rule: "r".into(),
            severity,
            category: "c".into(),
            path: "SKILL.md".into(),
            line: 1,
            column: 1,
            matched: None,
            excerpt: severity.to_string(),
            message: "m".into(),
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
    fn the_fields_of_a_finding_are_the_documented_ones() {
        let keys =
            ["rule", "severity", "category", "path", "line", "column", "excerpt", "message", "remedy", "new", "waived"];
        let report = Report::new(vec![finding(Severity::Low, true)]);
        let text = format!("{:?}", report.findings[0]);
        assert!(keys.iter().all(|key| text.contains(&format!("{key}:"))), "{text}");
    }
}
