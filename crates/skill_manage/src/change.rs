//! [`Change`]: what a request came to, before it is judged.

use library::{Acceptance, Action, Evidence, NewRevision, Origin, Proposal, Snapshot, Stamp, TrialTerms, Upstream};
use skill::{Bundle, Edit, SkillName};

/// A change that was worked out and is to be judged and committed.
pub(crate) struct Change<'a> {
    pub skill: &'a SkillName,
    pub action: Action,
    /// The edits that were asked for, if it was made by edits.
    pub edits: &'a [Edit],
    /// What it was made on.
    pub snapshot: Snapshot,
    /// What it makes; empty for a deletion.
    pub candidate: Bundle,
    pub origin: Option<Origin>,
    /// The release that it merges in.
    pub upstream: Option<Box<Upstream>>,
    pub absorbed_into: Option<String>,
    /// A hand edit that is kept as a revision of its own before this one.
    pub hand_edit: Option<NewRevision>,
    /// Whether the folder has to be written although no file changes.
    pub checks_out_again: bool,
    pub messages: Vec<String>,
    /// What its author says speaks for it.
    pub evidence: Vec<Evidence>,
    pub dry_run: bool,
    /// Whether the standard may refuse it. What a rollback brings back was valid when it was committed.
    pub is_edit: bool,
    /// Whether it was made on what its actor has proposed, and holds that as well.
    pub on_proposal: bool,
    /// The proposal that it is, which a person accepted; the policy has no say in it then.
    pub accepted: Option<Accepted<'a>>,
}

/// An accepted proposal as it will be, and the stamp of whoever accepted it.
pub(crate) struct Accepted<'a> {
    pub proposal: Proposal,
    pub stamp: &'a Stamp,
    /// Only a share of the runs gets it at first, on these terms.
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
