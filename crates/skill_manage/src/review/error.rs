//! [`ReviewError`]: the reasons why a decision on a held change is not possible.

use jiff::Timestamp;
use library::{ProposalId, ProposalState};
use serde_json::{Value, json};
use skill::{
    SkillName, SkillPath,
    failure::{Fails, Failure, FailureKind, Hint, NextStep},
};
use thiserror::Error;

use super::ProposalRef;

/// Reason why a decision on a proposal is not possible.
#[derive(Debug, Error)]
pub enum ReviewError {
    /// The library has no such proposal.
    #[error("the proposal {0} does not exist")]
    NotFound(ProposalId),
    /// The proposal has already been decided.
    #[error(
        "the proposal {id} is already {}{}",
        state.as_str(),
        by.as_ref().map(|by| format!(", by {by}")).unwrap_or_default()
    )]
    AlreadyDecided {
        /// Id of the proposal.
        id: ProposalId,
        /// Current state of the proposal.
        state: ProposalState,
        /// Actor that decided, if recorded.
        by: Option<String>,
    },
    /// The proposal has expired.
    #[error("the proposal {id} expired on {expires:.0}")]
    Expired {
        /// Id of the proposal.
        id: ProposalId,
        /// Time of expiry.
        expires: Timestamp,
    },
    /// The proposal is at another revision than the reviewed one.
    #[error("the proposal {id} is at revision {is}, not at {asked}")]
    Amended {
        /// Id of the proposal.
        id: ProposalId,
        /// Revision that was requested.
        asked: u64,
        /// Current revision of the proposal.
        is: u64,
    },
    /// The skill is at another head than the reviewed one.
    #[error("{skill} has changed since the review: the proposal {} would now change revision {head}", now.id)]
    HeadMoved {
        /// Name of the skill.
        skill: SkillName,
        /// Current head of the skill.
        head: String,
        /// Reference to the change that an acceptance would make now.
        now: Box<ProposalRef>,
        /// Diff of the change that an acceptance would make now.
        diff: String,
    },
    /// The proposal was amended, and the request does not name a revision.
    #[error("the proposal {id} was amended and is at revision {is}; name the revision to accept")]
    Unnamed {
        /// Id of the proposal.
        id: ProposalId,
        /// Current revision of the proposal.
        is: u64,
    },
    /// The proposal's file cannot be parsed.
    #[error("the proposal {id} is damaged: {why}")]
    Damaged {
        /// Id of the proposal.
        id: ProposalId,
        /// Description of the damage.
        why: String,
    },
    /// The proposal merges a release, and some files still contain both sides.
    #[error("the proposal {id} has unresolved conflicts in {}", listed(paths))]
    Unresolved {
        /// Id of the proposal.
        id: ProposalId,
        /// Name of the skill.
        skill: SkillName,
        /// Files with unresolved conflicts.
        paths: Vec<SkillPath>,
    },
    /// The edit does not change the proposal.
    #[error("nothing was edited: the proposal {0} already has this content")]
    NotEdited(ProposalId),
    /// The edit would remove every file of a proposal that is not a deletion.
    #[error("nothing was edited: the edit would remove everything that {0} proposes")]
    NothingLeft(ProposalId),
    /// The proposal belongs to another actor.
    #[error("the proposal {id} does not belong to {actor}, so only a person can reject it")]
    NotYours {
        /// Id of the proposal.
        id: ProposalId,
        /// Actor that made the request.
        actor: String,
    },
}

fn listed(paths: &[SkillPath]) -> String {
    paths.iter().map(SkillPath::as_str).collect::<Vec<_>>().join(", ")
}

impl Fails for ReviewError {
    fn failure(&self) -> Failure {
        let (kind, code) = match self {
            Self::NotFound(_) => (FailureKind::NotFound, "not_found"),
            Self::AlreadyDecided { .. } => (FailureKind::Conflict, "already_decided"),
            Self::Expired { .. } => (FailureKind::Conflict, "proposal_expired"),
            Self::Amended { .. } | Self::Unnamed { .. } | Self::HeadMoved { .. } => {
                (FailureKind::Conflict, "stale_revision")
            }
            Self::Damaged { .. } => (FailureKind::Integrity, "damaged_proposal"),
            Self::Unresolved { .. } => (FailureKind::Conflict, "merge_conflict"),
            Self::NotEdited(_) | Self::NothingLeft(_) => (FailureKind::Usage, "invalid_request"),
            Self::NotYours { .. } => (FailureKind::Refused, "policy_denied"),
        };
        Failure::new(kind, code).hint(self.hint())
    }

    fn details(&self) -> Value {
        match self {
            Self::Amended { is, .. } | Self::Unnamed { is, .. } => json!({"revision": is}),
            Self::HeadMoved { head, now, diff, .. } => json!({"head": head, "target": now.to_string(), "diff": diff}),
            Self::Unresolved { paths, .. } => {
                json!({"unresolved": paths.iter().map(SkillPath::as_str).collect::<Vec<_>>()})
            }
            Self::AlreadyDecided { state, .. } => json!({"state": state.as_str()}),
            _ => json!({}),
        }
    }
}

impl ReviewError {
    fn hint(&self) -> Hint {
        let shown = |id: &ProposalId| NextStep::DiffProposal(id.to_string());
        let rejected = |id: &ProposalId| NextStep::RejectProposal(id.to_string());
        match self {
            Self::NotFound(_) => Hint::from("list all proposals with ")
                .step(NextStep::ListAllProposals)
                .text("; the log of the library shows how older ones ended"),
            Self::AlreadyDecided { id, .. } => {
                Hint::from("see how it was decided: ").step(NextStep::ShowProposal(id.to_string()))
            }
            Self::Expired { id, .. } => Hint::from("ask for a new proposal, or remove this one: ").step(rejected(id)),
            Self::Amended { id, is, .. } | Self::Unnamed { id, is } => Hint::from("review the current revision with ")
                .step(shown(id))
                .text(format!(", then decide on {id}@{is}")),
            Self::HeadMoved { now, .. } => Hint::from("review the current change with ")
                .step(NextStep::DiffProposalOntoHead(now.id.to_string()))
                .text(format!(", then accept {now}")),
            Self::Damaged { id, .. } => Hint::from("remove it (its file is kept): ").step(rejected(id)),
            Self::Unresolved { id, skill, .. } => format!(
                "resolve each file in a terminal with `skillhub review edit {id}`, or with its flags --path and \
                 --content; or take one side everywhere with `skillhub update {skill} --theirs` or `skillhub update \
                 {skill} --ours`"
            )
            .into(),
            Self::NotEdited(id) => Hint::from("see what it changes: ").step(shown(id)),
            Self::NothingLeft(id) => Hint::from("reject the proposal instead: ").step(rejected(id)),
            Self::NotYours { .. } => {
                "only a person can do this, in a terminal or with a token in SKILLHUB_REVIEWER_TOKEN".into()
            }
        }
    }
}
