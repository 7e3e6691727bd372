//! [`Waivers`]: findings that a person accepted, bound to the very file in which they stand.

use serde::{Deserialize, Serialize};
use skill::{Bundle, Digest, File, SkillPath};

use crate::{Finding, Severity, rules};

/// A person's decision that what a rule finds in one file is acceptable. It holds for that content in
/// that place, and for findings that are no graver than the one that the person saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiver {
    /// The rule's id.
    pub rule: String,
    /// The file.
    pub path: SkillPath,
    /// The sha256 of the file's bytes.
    pub content: Digest,
    /// Whether the file is executable.
    pub executable: bool,
    /// The gravest severity that is accepted.
    pub severity: Severity,
    /// Who decided it, for those who see the finding.
    pub acceptance: Acceptance,
}

/// Who accepted a finding, why, and until when. It is told with the finding and decides nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    /// Names the waiver within its library; empty where it is none.
    pub id: String,
    /// Who, as `person:id`, or `configuration`.
    pub by: String,
    /// Why the finding is acceptable.
    pub reason: String,
    /// From when on it counts again, RFC 3339 in UTC; empty where it has no end.
    pub until: String,
}

impl Acceptance {
    /// Who accepts what no person decided, but `[scan]` of a configuration.
    const CONFIGURATION: &str = "configuration";

    /// Who settles a warning where `[scan.judge]` allows that.
    const JUDGE: &str = "judge";

    /// By a configuration.
    pub(crate) fn of_configuration(reason: &str, until: Option<&str>) -> Self {
        let (by, until) = (Self::CONFIGURATION.to_owned(), until.unwrap_or_default().to_owned());
        Self { id: String::new(), by, reason: reason.to_owned(), until }
    }

    /// By the judge.
    pub(crate) fn of_judge(reason: &str) -> Self {
        Self { by: Self::JUDGE.to_owned(), reason: reason.to_owned(), ..Self::default() }
    }

    /// Whether no person accepted it, but a configuration or its judge.
    pub(crate) fn is_of_configuration(&self) -> bool {
        self.by == Self::CONFIGURATION || self.by == Self::JUDGE
    }
}

/// The waivers that are in force for one skill. Whose skill, and until when, is decided by the caller:
/// nothing here reads a clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waivers(Vec<Waiver>);

impl Waivers {
    /// Those of a list; what cannot be waived is left out.
    #[must_use]
    pub fn new(waivers: impl IntoIterator<Item = Waiver>) -> Self {
        Self(waivers.into_iter().filter(|waiver| can_be_waived(&waiver.rule)).collect())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The waiver by which a finding in a bundle is accepted.
    #[must_use]
    pub fn cover(&self, finding: &Finding, bundle: &Bundle) -> Option<&Waiver> {
        let mut of_place = self.0.iter().filter(|waiver| {
            waiver.rule == finding.rule && waiver.path.as_str() == finding.path && waiver.severity >= finding.severity
        });
        of_place.find(|waiver| waiver.is_for(bundle))
    }
}

impl Waiver {
    /// Whether the file for which it was given stands in a bundle as it was then.
    #[must_use]
    pub fn is_for(&self, bundle: &Bundle) -> bool {
        let is_same = |file: &File| file.executable == self.executable && Digest::of_bytes(&file.bytes) == self.content;
        bundle.get(&self.path).is_some_and(is_same)
    }
}

/// Whether a person can accept what a rule finds: not that the scan did not see all, nor what the judge says, which is
/// about the whole skill and may be otherwise next time.
#[must_use]
pub fn can_be_waived(rule: &str) -> bool {
    ![rules::SCANNER_FAILURE.id, rules::SCAN_BUDGET.id, rules::JUDGE.id].contains(&rule)
}
