//! [`Waivers`]: findings that a person accepted, bound to the exact content of the file.

use serde::{Deserialize, Serialize};
use skill::{Bundle, Digest, File, SkillPath};

use crate::{Finding, Severity, rules};

/// Decision of a person that the findings of one rule in one file are acceptable. It applies only to the same content
/// at the same path, and to findings of no higher severity than the person saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiver {
    /// ID of the waived rule.
    pub rule: String,
    /// Path of the file inside the skill.
    pub path: SkillPath,
    /// SHA-256 of the file's bytes.
    pub content: Digest,
    /// True if the file was executable at the time.
    pub executable: bool,
    /// Maximum severity that is accepted.
    pub severity: Severity,
    /// Author and reason, shown with the finding.
    pub acceptance: Acceptance,
}

/// Author, reason and end of an acceptance, shown with the finding. Its contents have no effect on the verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    /// ID of the waiver within its library. Empty if it is not a person's waiver.
    pub id: String,
    /// Author, as `person:id`, `configuration` or `judge`.
    pub by: String,
    /// Reason for which the finding is acceptable.
    pub reason: String,
    /// Time from which the finding counts again, RFC 3339 in UTC. Empty if there is no end.
    pub until: String,
}

impl Acceptance {
    /// Author of acceptances by the `[scan]` table of a configuration.
    const CONFIGURATION: &str = "configuration";

    /// Author of acceptances by the judge, if `[scan.judge]` allows them.
    const JUDGE: &str = "judge";

    /// Creates an acceptance by a configuration.
    pub(crate) fn of_configuration(reason: &str, until: Option<&str>) -> Self {
        let (by, until) = (Self::CONFIGURATION.to_owned(), until.unwrap_or_default().to_owned());
        Self { id: String::new(), by, reason: reason.to_owned(), until }
    }

    /// Creates an acceptance by the judge.
    pub(crate) fn of_judge(reason: &str) -> Self {
        Self { by: Self::JUDGE.to_owned(), reason: reason.to_owned(), ..Self::default() }
    }

    /// Returns true if a configuration or its judge accepted the finding, not a person.
    pub(crate) fn is_of_configuration(&self) -> bool {
        self.by == Self::CONFIGURATION || self.by == Self::JUDGE
    }
}

/// Waivers in force for one skill. The caller selects them by skill and end date, since nothing here reads a clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waivers(Vec<Waiver>);

impl Waivers {
    /// Collects waivers and drops those for rules that cannot be waived.
    #[must_use]
    pub fn new(waivers: impl IntoIterator<Item = Waiver>) -> Self {
        Self(waivers.into_iter().filter(|waiver| can_be_waived(&waiver.rule)).collect())
    }

    /// Returns whether the list of waivers is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the waiver that covers a finding in a bundle, if any.
    #[must_use]
    pub fn cover(&self, finding: &Finding, bundle: &Bundle) -> Option<&Waiver> {
        let mut of_place = self.0.iter().filter(|waiver| {
            waiver.rule == finding.rule && waiver.path.as_str() == finding.path && waiver.severity >= finding.severity
        });
        of_place.find(|waiver| waiver.is_for(bundle))
    }
}

impl Waiver {
    /// Returns whether the bundle still has the waived file, with the same content and executable bit.
    #[must_use]
    pub fn is_for(&self, bundle: &Bundle) -> bool {
        let is_same = |file: &File| file.executable == self.executable && Digest::of_bytes(&file.bytes) == self.content;
        bundle.get(&self.path).is_some_and(is_same)
    }
}

/// Returns whether a person can accept the findings of a rule. An incomplete scan cannot be accepted. Neither can the
/// judge's opinion, which is about the whole skill and may differ next time.
#[must_use]
pub fn can_be_waived(rule: &str) -> bool {
    ![rules::SCANNER_FAILURE.id, rules::SCAN_BUDGET.id, rules::JUDGE.id].contains(&rule)
}
