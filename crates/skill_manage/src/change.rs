//! [`Change`]: the effect of a request, before it is judged.

use library::{Acceptance, Action, Evidence, NewRevision, Origin, Proposal, Snapshot, Stamp, TrialTerms, Upstream};
use skill::{Bundle, Edit, SkillName};

/// Change that has been computed, and that is to be judged and committed.
pub(crate) struct Change<'a> {
    pub skill: &'a SkillName,
    pub action: Action,
    /// Requested edits. Empty if the change was not made by edits.
    pub edits: &'a [Edit],
    /// State of the skill that the change is based on.
    pub snapshot: Snapshot,
    /// Files after the change. Empty for a deletion.
    pub candidate: Bundle,
    pub origin: Option<Origin>,
    /// Release that the change merges in.
    pub upstream: Option<Box<Upstream>>,
    pub absorbed_into: Option<String>,
    /// Hand edit to record as a separate revision before this one.
    pub hand_edit: Option<NewRevision>,
    /// True if the folder has to be written even though no file changes.
    pub checks_out_again: bool,
    pub messages: Vec<String>,
    /// Evidence that its author gives in support of the change.
    pub evidence: Vec<Evidence>,
    pub dry_run: bool,
    /// True if violations of the standard block the change. The content of a rollback was valid when it was committed.
    pub is_edit: bool,
    /// True if the change is based on a pending proposal of its actor, and contains that as well.
    pub on_proposal: bool,
    /// Accepted proposal that this change applies. The policy is not consulted then.
    pub accepted: Option<Accepted<'a>>,
}

/// Accepted proposal in its final state, with the stamp of the reviewer.
pub(crate) struct Accepted<'a> {
    pub proposal: Proposal,
    pub stamp: &'a Stamp,
    /// Terms of a trial, if only a share of the runs gets the change at first.
    pub trial: Option<&'a TrialTerms>,
}

impl Accepted<'_> {
    pub fn acceptance(&self) -> Acceptance {
        Acceptance {
            proposal: self.proposal.id.to_string(),
            reviewer: self.stamp.actor.clone(),
            edited_by: self.proposal.edited_by.clone(),
        }
    }
}
