//! New revisions of a skill ([`Commit`]), and all changes of one journal record ([`CommitBatch`]).

use std::collections::BTreeMap;

use skill::SkillName;

use crate::{
    links::{LinkPlan, LockLines},
    proposals::ProposalChange,
    revision::{NewRevision, RevisionId},
};

/// New revisions of one skill.
#[derive(Debug)]
pub struct Commit {
    /// Name under which it is in the library.
    pub skill: SkillName,
    /// Expected head: the revision on which the new ones are based. `None` for a new skill.
    pub base: Option<RevisionId>,
    /// New revisions, oldest first, at least one. The last one is checked out.
    pub revisions: Vec<NewRevision>,
}

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
pub struct CommitBatch {
    /// New revisions, of each skill once.
    pub commits: Vec<Commit>,
    /// Changes of proposals.
    pub proposals: Vec<ProposalChange>,
    /// Changes in agents' folders and in the lock file.
    pub plans: Plans,
}

impl From<Commit> for CommitBatch {
    fn from(commit: Commit) -> Self {
        vec![commit].into()
    }
}

impl From<Vec<Commit>> for CommitBatch {
    fn from(commits: Vec<Commit>) -> Self {
        Self { commits, ..Self::default() }
    }
}

impl From<Vec<ProposalChange>> for CommitBatch {
    fn from(proposals: Vec<ProposalChange>) -> Self {
        Self { proposals, ..Self::default() }
    }
}

impl From<ProposalChange> for CommitBatch {
    fn from(change: ProposalChange) -> Self {
        vec![change].into()
    }
}
