//! [`Waivers`]: findings that a person accepted, bound to the exact content of the file.

use skill::{Bundle, Digest, File, SkillPath};

use crate::{Acceptance, Finding, Severity, can_be_waived};

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
