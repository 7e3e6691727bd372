//! [`Planned`]: a skill that passed, and the step by which the library takes it.

use library::{Commit, ProposalChange, ProposalId, Revision};
use scan::{Capabilities, CapabilityDelta, Cleared};
use skill::{Bundle, Limits, SkillName, SkillPath, diff, merge::Conflict, validate};

use super::{InstallError, InstallStatus, candidate::Candidate};

/// A skill that passed, and what is to be done.
#[derive(Debug)]
pub(super) struct Planned {
    pub candidate: Candidate,
    /// The files that agents will see.
    pub cleared: Cleared,
    /// The head before; never a tombstone.
    pub head: Option<Revision>,
    /// The files before.
    pub before: Bundle,
    /// Whether a folder without a history stands in its place.
    pub in_place: bool,
    /// The places in which a release and the changes made here disagree.
    pub conflicts: Vec<Conflict>,
    /// What the files would touch, for people; summed up when all is planned.
    pub capabilities: Capabilities,
    /// What of that differs from the files before; of a proposal's files, where it makes one.
    pub delta: Option<CapabilityDelta>,
    pub step: Step,
}

impl Planned {
    /// Without conflicts, over `head` with its files or over nothing.
    pub fn new(candidate: Candidate, cleared: Cleared, (head, before): (Option<Revision>, Bundle), step: Step) -> Self {
        let (in_place, conflicts, capabilities, delta) = Default::default();
        Self { candidate, cleared, head, before, in_place, conflicts, capabilities, delta, step }
    }

    /// The files that come: what agents will see, or what a proposal holds.
    pub fn after(&self) -> &Bundle {
        match &self.step {
            Step::Propose { files, .. } => files,
            _ => self.cleared.bundle(),
        }
    }

    /// The files that were changed here since the release was installed and that the new one changes as well.
    pub fn touched(&self) -> Vec<SkillPath> {
        let Some(base) = &self.candidate.base else { return Vec::new() };
        let changes = |bundle: &Bundle| diff::diff(base, bundle).files.into_iter().map(|file| file.path);
        let theirs: Vec<SkillPath> = changes(&self.candidate.bundle).collect();
        changes(&self.before).filter(|path| theirs.contains(path)).collect()
    }
}

/// What is to be done in the library.
#[derive(Debug)]
pub(super) enum Step {
    /// Nothing.
    Nothing(InstallStatus),
    /// A commit, and what becomes of proposals with it; taken out when it is made.
    Commit { commit: Option<Commit>, status: InstallStatus, proposals: Vec<ProposalChange> },
    /// A proposal for a person, with these files; taken out when it is made.
    Propose { proposing: Option<Proposing>, files: Bundle },
}

impl Step {
    /// What the library is to commit.
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

    /// A commit with what becomes of proposals.
    pub fn with(self, with: Vec<ProposalChange>) -> Self {
        match self {
            Self::Commit { commit, status, .. } => Self::Commit { commit, status, proposals: with },
            other => other,
        }
    }

    /// The proposal that holds it.
    pub fn proposal(&self) -> Option<&ProposalId> {
        match self {
            Self::Propose { proposing, .. } => proposing.as_ref().map(|proposing| &proposing.id),
            _ => None,
        }
    }

    /// Whether something would become of it.
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

/// A proposal that a plan makes, with what becomes of the one that waited before.
#[derive(Debug)]
pub(super) struct Proposing {
    pub id: ProposalId,
    pub changes: Vec<ProposalChange>,
}

/// Lenient as every client: only what makes a skill unusable counts.
pub(crate) fn check_usable(release: &str, name: &SkillName, files: &Bundle) -> Result<(), InstallError> {
    let bytes = files.get(&SkillPath::skill_md()).map(|file| file.bytes.to_vec());
    let loaded = match &bytes {
        Some(bytes) => validate::load(bytes, name.as_str(), &Limits::default()).map(drop),
        None => Err(validate::validate_bundle(files, None, validate::Strictness::Standard, &Limits::default())),
    };
    loaded.map_err(|problems| InstallError::Invalid { name: release.to_owned(), problems })
}
