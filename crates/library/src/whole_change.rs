//! [`WholeChange`]: a skill that comes or goes as a whole, and whether the policy lets it.

use scan::Verdict;
use skill::{Bundle, SkillName};
use thiserror::Error;

use crate::revision::{Action, Origin};

/// An install, an update, an adoption or an uninstall.
#[derive(Debug, Clone, Copy)]
pub struct WholeChange<'a> {
    /// The skill.
    pub skill: &'a SkillName,
    /// Which of these it is.
    pub action: Action,
    /// Where the skill is from.
    pub origin: Option<&'a Origin>,
    /// The files before; empty for a skill that is new.
    pub before: &'a Bundle,
    /// The files after; empty for one that goes.
    pub after: &'a Bundle,
    /// What the scanner says of them.
    pub verdict: Verdict,
}

/// The policy refuses it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the policy refuses to {} {skill}: {why}", action.as_str())]
pub struct Denied {
    /// The skill.
    pub skill: SkillName,
    /// What was asked for.
    pub action: Action,
    /// Which rule, and why.
    pub why: String,
}

/// Who asks the policy, which a layer above knows.
pub type Permit<'a> = dyn Fn(&WholeChange<'_>) -> Result<(), Denied> + 'a;
