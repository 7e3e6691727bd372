//! All changes of one journal record ([`Work`]).

use std::collections::BTreeMap;

use skill::SkillName;

use super::Commit;
use crate::{
    links::{LinkPlan, LockLines},
    proposals::ProposalChange,
};

/// Changes other than skills and proposals that are committed atomically with them.
#[derive(Debug, Default)]
pub struct Plans {
    /// Link plans by skill. A new skill without a plan is linked for the agents in use.
    pub links: LinkPlans,
    /// Lines for the lock file. They are stored until
    /// [`Library::lock_lines_written`](super::Library::lock_lines_written).
    pub lock_lines: Option<LockLines>,
}

/// Link plans of one commit, by skill.
pub(super) type LinkPlans = BTreeMap<SkillName, LinkPlan>;

/// All changes of one journal record.
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
