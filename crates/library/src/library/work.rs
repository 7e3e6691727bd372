//! [`Work`]: everything that one record of the journal makes true.

use std::collections::BTreeMap;

use skill::SkillName;

use super::Commit;
use crate::{
    links::{LinkPlan, LockLines},
    proposals::ProposalChange,
};

/// Changes beside the skills that belong to a commit and become true with it.
#[derive(Debug, Default)]
pub struct Plans {
    /// Links by skill. A skill that comes to be without a plan is linked for the agents in use.
    pub links: LinkPlans,
    /// Lines of the lock file. They are kept until [`Library::lock_lines_written`](super::Library::lock_lines_written).
    pub lock_lines: Option<LockLines>,
}

/// The plans of one commit, by skill.
pub(super) type LinkPlans = BTreeMap<SkillName, LinkPlan>;

/// Everything that one record of the journal makes true.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub commits: Vec<Commit>,
    pub proposals: Vec<ProposalChange>,
    pub plans: Plans,
}

impl From<Commit> for Work {
    fn from(commit: Commit) -> Self {
        Self { commits: vec![commit], ..Self::default() }
    }
}
