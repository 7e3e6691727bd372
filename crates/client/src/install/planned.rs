//! [`PlannedSkill`]: a skill that passed all checks, with the planned change to the library.

use library::{Commit, ProposalChange, ProposalId, Revision};
use scan::{Capabilities, CapabilityDelta, Cleared};
use skill::{Bundle, Limits, SkillName, SkillPath, diff, merge::Conflict, validate};

use super::{InstallError, InstallStatus, candidate::Candidate};

/// A skill that passed all checks, with the planned change.
#[derive(Debug)]
pub(super) struct PlannedSkill {
    pub candidate: Candidate,
    /// Files that agents will see.
    pub cleared: Cleared,
    /// Head before the operation; never a tombstone.
    pub head: Option<Revision>,
    /// Files before the operation.
    pub before: Bundle,
    /// True if the library has a folder without a history at its path.
    pub in_place: bool,
    /// Conflicts between the release and the changes made here.
    pub conflicts: Vec<Conflict>,
    /// Capabilities of the files, computed after all skills are planned.
    pub capabilities: Capabilities,
    /// Change of the capabilities. For a proposal, that of its files.
    pub delta: Option<CapabilityDelta>,
    pub step: PlannedChange,
}

impl PlannedSkill {
    /// Creates a plan without conflicts, based on `head` and its files, or on nothing.
    pub fn new(
        candidate: Candidate,
        cleared: Cleared,
        head: Option<Revision>,
        before: Bundle,
        step: PlannedChange,
    ) -> Self {
        let (in_place, conflicts, capabilities, delta) = Default::default();
        Self { candidate, cleared, head, before, in_place, conflicts, capabilities, delta, step }
    }

    /// Returns the resulting files: those that agents will see, or those of the proposal.
    pub fn after(&self) -> &Bundle {
        match &self.step {
            PlannedChange::Propose { files, .. } => files,
            _ => self.cleared.bundle(),
        }
    }

    /// Returns the files changed both here and in the new release.
    pub fn touched(&self) -> Vec<SkillPath> {
        let Some(base) = &self.candidate.base else { return Vec::new() };
        let changes = |bundle: &Bundle| diff::diff(base, bundle).files.into_iter().map(|file| file.path);
        let theirs: Vec<SkillPath> = changes(&self.candidate.bundle).collect();
        changes(&self.before).filter(|path| theirs.contains(path)).collect()
    }
}

/// The planned change to the library.
#[derive(Debug)]
pub(super) enum PlannedChange {
    /// No change to the history.
    Nothing(InstallStatus),
    /// A commit, with the changes of proposals that it causes. Both are taken out when the commit is made.
    Commit { commit: Option<Commit>, status: InstallStatus, proposals: Vec<ProposalChange> },
    /// A proposal for a person with these files. It is taken out when the proposal is made.
    Propose { proposing: Option<Proposing>, files: Bundle },
}

impl PlannedChange {
    /// Takes out the commit and the changes of proposals.
    pub fn take(&mut self) -> (Option<Commit>, Vec<ProposalChange>) {
        match self {
            Self::Nothing(_) => (None, Vec::new()),
            Self::Commit { commit, proposals, .. } => (commit.take(), std::mem::take(proposals)),
            Self::Propose { proposing, .. } => {
                let changes = proposing.as_mut().map(|proposing| std::mem::take(&mut proposing.changes));
                (None, changes.unwrap_or_default())
            }
        }
    }

    /// Adds changes of proposals to a commit. Other steps are returned unchanged.
    pub fn with(self, with: Vec<ProposalChange>) -> Self {
        match self {
            Self::Commit { commit, status, .. } => Self::Commit { commit, status, proposals: with },
            other => other,
        }
    }

    /// Returns the id of the proposal, if the step makes one.
    pub fn proposal(&self) -> Option<&ProposalId> {
        match self {
            Self::Propose { proposing, .. } => proposing.as_ref().map(|proposing| &proposing.id),
            _ => None,
        }
    }

    /// Returns the revision of the proposal in which a person has resolved all conflicts.
    pub fn resolved(&self) -> Option<u64> {
        match self {
            Self::Propose { proposing, .. } => proposing.as_ref().and_then(|proposing| proposing.resolved),
            _ => None,
        }
    }

    /// Returns whether the step changes anything.
    pub fn changes(&self) -> bool {
        !matches!(self, Self::Nothing(_))
    }

    pub fn status(&self) -> InstallStatus {
        match self {
            Self::Nothing(status) | Self::Commit { status, .. } => *status,
            Self::Propose { .. } => InstallStatus::Conflict,
        }
    }
}

/// A proposal to make, with the closing of the one that it replaces.
#[derive(Debug)]
pub(super) struct Proposing {
    pub id: ProposalId,
    /// Revision of a waiting proposal in which a person has resolved all conflicts.
    pub resolved: Option<u64>,
    pub changes: Vec<ProposalChange>,
}

/// Checks that a skill is usable. Only problems that prevent its use are errors, as in every client.
pub(crate) fn check_usable(release: &str, name: &SkillName, files: &Bundle) -> Result<(), InstallError> {
    let limits = Limits::default();
    let loaded = match files.get(&SkillPath::skill_md()) {
        Some(_) => validate::load_bundle(files, name.as_str(), &limits).map(drop),
        None => Err(validate::validate_bundle(files, None, validate::Strictness::Standard, &limits)),
    };
    loaded.map_err(|problems| InstallError::Invalid { name: release.to_owned(), problems })
}
