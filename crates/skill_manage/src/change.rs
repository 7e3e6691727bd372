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
    /// True if violations of the standard block the change.
    is_edit: bool,
    /// True if the change is based on a pending proposal of its actor, and contains that as well.
    pub on_proposal: bool,
    /// Accepted proposal that this change applies. The policy is not consulted then.
    pub accepted: Option<Accepted<'a>>,
}

impl<'a> Change<'a> {
    /// Creates a change that keeps the origin of the skill.
    pub fn new(skill: &'a SkillName, action: Action, snapshot: Snapshot, candidate: Bundle) -> Self {
        let base = snapshot.base.as_ref().filter(|_| snapshot.exists());
        Self {
            skill,
            action,
            edits: &[],
            origin: base.and_then(|base| base.origin.clone()),
            snapshot,
            candidate,
            upstream: None,
            absorbed_into: None,
            hand_edit: None,
            checks_out_again: false,
            messages: Vec::new(),
            evidence: Vec::new(),
            dry_run: false,
            is_edit: true,
            on_proposal: false,
            accepted: None,
        }
    }

    /// Creates a change to the files found in the skill's folder, which were validated when the folder was read.
    pub fn of_hand_edit(skill: &'a SkillName, snapshot: Snapshot, found: Bundle) -> Self {
        Self { is_edit: false, ..Self::new(skill, Action::External, snapshot, found) }
    }

    /// Creates a change back to the files and the origin of an earlier revision, which were valid when it was committed.
    pub fn back_to(skill: &'a SkillName, snapshot: Snapshot, files: Bundle, origin: Option<Origin>) -> Self {
        Self { origin, is_edit: false, ..Self::new(skill, Action::Rollback, snapshot, files) }
    }

    /// Creates the change of an accepted proposal. If that merges in a release, the folder is written in any case.
    pub fn accepting(
        skill: &'a SkillName,
        snapshot: Snapshot,
        candidate: Bundle,
        origin: Option<Origin>,
        upstream: Option<Box<Upstream>>,
        accepted: Accepted<'a>,
    ) -> Self {
        let change = Self::new(skill, accepted.proposal.action, snapshot, candidate);
        Self {
            origin,
            checks_out_again: upstream.is_some(),
            upstream,
            absorbed_into: accepted.proposal.absorbed_into.clone(),
            messages: vec![format!("{} accepted the proposal {}", accepted.stamp.actor, accepted.proposal.id)],
            accepted: Some(accepted),
            ..change
        }
    }

    /// Replaces the files after the change.
    pub fn with_candidate(self, candidate: Bundle) -> Self {
        Self { candidate, ..self }
    }

    /// Returns whether violations of the standard block the change.
    pub fn must_conform(&self) -> bool {
        self.is_edit
    }
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
