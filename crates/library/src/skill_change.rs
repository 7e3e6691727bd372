//! Changes of a skill as a whole, to be permitted by the policy ([`SkillChange`]).

use scan::Verdict;
use skill::{Bundle, SkillName};
use thiserror::Error;

use crate::{origin::Origin, revision::Action};

/// An install, an update, an adoption or an uninstall.
#[derive(Debug, Clone, Copy)]
pub struct SkillChange<'a> {
    /// Skill that is added, replaced or removed.
    pub skill: &'a SkillName,
    /// Kind of change, such as an install.
    pub action: Action,
    /// Source of the skill, if it has one.
    pub origin: Option<&'a Origin>,
    /// Files before the change; empty for a new skill.
    pub before: &'a Bundle,
    /// Files after the change; empty for a removed skill.
    pub after: &'a Bundle,
    /// Verdict of the scanner on the files.
    pub verdict: Verdict,
}

/// Refusal by the policy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the policy refuses to {} {skill}: {why}", action.as_str())]
pub struct Denied {
    /// Skill that was to change.
    pub skill: SkillName,
    /// Action that was requested.
    pub action: Action,
    /// Rule that refuses it, and the reason.
    pub why: String,
}

/// Function that asks the policy, provided by a higher layer.
pub type Permit<'a> = dyn Fn(&SkillChange<'_>) -> Result<(), Denied> + 'a;
