//! [`causes`]: groups findings by [`Cause`], so that each cause is reported once with all its locations.

use serde::{Serialize, Serializer};

use crate::{Acceptance, Finding, Severity};

/// Findings of one file that have the same cause.
#[derive(Debug, Clone)]
pub struct Cause<'f> {
    /// Representative of the group: the first finding of this cause in the given order.
    pub first: &'f Finding,
    /// Findings of the same rule with the same message and severity, on any line of the file.
    pub again: Vec<&'f Finding>,
    /// Findings of other rules on the line of `first`, of no higher severity.
    pub others: Vec<&'f Finding>,
}

/// Groups findings into causes, in the order of the first finding of each.
///
/// Findings that differ in their path, waiver state or novelty are never grouped.
#[must_use]
pub fn causes<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Vec<Cause<'f>> {
    let mut all: Vec<Cause<'f>> = Vec::new();
    for finding in findings {
        let is_alike = |other: &Finding| other.path == finding.path && decision(other) == decision(finding);
        let is_again = |cause: &&mut Cause<'_>| {
            let first = cause.first;
            is_alike(first)
                && (&first.rule, &first.message, first.severity) == (&finding.rule, &finding.message, finding.severity)
        };
        let is_there = |cause: &&mut Cause<'_>| {
            is_alike(cause.first) && cause.first.line == finding.line && cause.first.severity >= finding.severity
        };
        if let Some(cause) = all.iter_mut().find(is_again) {
            cause.again.push(finding);
        } else if let Some(cause) = all.iter_mut().find(is_there) {
            cause.others.push(finding);
        } else {
            all.push(Cause { first: finding, again: Vec::new(), others: Vec::new() });
        }
    }
    all
}

/// Returns the waiver state and novelty of a finding. Only findings that agree on both are grouped.
fn decision(finding: &Finding) -> (bool, bool, Option<&Acceptance>) {
    (finding.waived, finding.new, finding.waiver.as_ref())
}

impl<'f> Cause<'f> {
    /// Returns the other lines of the same cause, sorted and without duplicates.
    #[must_use]
    pub fn further_lines(&self) -> Vec<usize> {
        let mut lines: Vec<usize> = self.again.iter().map(|finding| finding.line).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.retain(|line| *line != self.first.line);
        lines
    }

    /// Returns the findings of other rules that tell a person something more. On a line that has to change for a graver
    /// reason, findings that are allowed do not.
    pub fn others_to_show(&self) -> impl Iterator<Item = &'f Finding> {
        let least = if self.first.severity > Severity::Low { Severity::Medium } else { Severity::Info };
        self.others.iter().copied().filter(move |other| other.severity >= least)
    }

    /// Returns the remedy of another rule's finding on the line, unless the line has to change for a graver one anyway.
    #[must_use]
    pub fn remedy_of<'o>(&self, other: &'o Finding) -> Option<&'o str> {
        (other.severity >= self.first.severity).then_some(other.remedy.as_ref())
    }
}

/// Serialised form of a cause in JSON documents.
#[derive(Serialize)]
struct Told<'f> {
    rule: &'f str,
    severity: Severity,
    message: &'f str,
    path: &'f str,
    locations: Vec<Location>,
    also: Vec<Also<'f>>,
    new: bool,
    waived: bool,
}

#[derive(Serialize)]
struct Location {
    line: usize,
    column: usize,
}

/// Serialised form of another rule's finding on the same line.
#[derive(Serialize)]
struct Also<'f> {
    rule: &'f str,
    severity: Severity,
    message: &'f str,
    line: usize,
}

impl<'f> Serialize for Cause<'f> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Finding { rule, severity, message, path, new, waived, .. } = self.first;
        let places = [self.first].into_iter().chain(self.again.iter().copied());
        let also = |other: &&'f Finding| {
            let Finding { rule, severity, message, line, .. } = *other;
            Also { rule, severity: *severity, message, line: *line }
        };
        Told {
            rule,
            severity: *severity,
            message,
            path,
            locations: places.map(|one| Location { line: one.line, column: one.column }).collect(),
            also: self.others.iter().map(also).collect(),
            new: *new,
            waived: *waived,
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &'static str, line: usize, severity: Severity) -> Finding {
        Finding {
            rule: rule.into(),
            severity,
            category: "c".into(),
            path: "SKILL.md".into(),
            line,
            column: 1,
            matched: None,
            related: Vec::new(),
            excerpt: "text".into(),
            message: "does so".into(),
            risk: None,
            remedy: "do not".into(),
            why: None,
            new: true,
            waived: false,
            waiver: None,
        }
    }

    #[test]
    fn one_cause_has_all_its_places() {
        let elsewhere = Finding { path: "a.sh".into(), ..finding("b", 3, Severity::High) };
        let waived = Finding { waived: true, ..finding("b", 12, Severity::High) };
        let all = [
            finding("b", 3, Severity::High),
            finding("b", 9, Severity::High),
            finding("b", 9, Severity::High),
            elsewhere,
            finding("c", 3, Severity::Medium),
            finding("d", 9, Severity::Medium),
            waived,
        ];
        let causes = causes(&all);
        let told: Vec<_> = causes.iter().map(|cause| (cause.first.path.as_str(), cause.first.line)).collect();
        assert_eq!(told, [("SKILL.md", 3), ("a.sh", 3), ("SKILL.md", 9), ("SKILL.md", 12)]);
        assert_eq!(causes[0].further_lines(), [9]);
        assert_eq!(causes[0].others.iter().map(|other| other.rule.as_ref()).collect::<Vec<_>>(), ["c"]);
        assert_eq!(causes[0].others_to_show().count(), 1);
        assert_eq!((causes[0].remedy_of(&all[4]), causes[2].remedy_of(&all[2])), (None, Some("do not")));
        let places: usize = causes.iter().map(|cause| 1 + cause.again.len() + cause.others.len()).sum();
        assert_eq!(places, all.len(), "nothing is lost");
    }

    #[test]
    fn graver_finding_is_hidden_by_none() {
        let all = [finding("a", 3, Severity::Medium), finding("b", 3, Severity::High)];
        assert_eq!(causes(&all).len(), 2);
    }
}
