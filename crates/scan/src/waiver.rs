//! [`Waivers`]: findings that a person accepted, bound to the very file in which they stand.

use skill::{Bundle, Digest, SkillPath};

use crate::{Finding, Severity, rules::package};

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

    /// Whether a finding in a bundle is accepted.
    #[must_use]
    pub fn cover(&self, finding: &Finding, bundle: &Bundle) -> bool {
        let mut of_place = self.0.iter().filter(|waiver| {
            waiver.rule == finding.rule && waiver.path.as_str() == finding.path && waiver.severity >= finding.severity
        });
        of_place.any(|waiver| {
            bundle.get(&waiver.path).is_some_and(|file| {
                file.executable == waiver.executable && Digest::of_bytes(&file.bytes) == waiver.content
            })
        })
    }
}

/// Whether a person can accept what a rule finds: not that the scan did not see all.
#[must_use]
pub fn can_be_waived(rule: &str) -> bool {
    rule != package::FAILURE.id && rule != package::BUDGET.id
}
