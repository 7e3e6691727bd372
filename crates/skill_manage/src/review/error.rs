//! [`ReviewError`]: why a held change cannot be decided about as asked.

use jiff::Timestamp;
use library::{ProposalId, ProposalState};
use serde_json::{Value, json};
use skill::{
    SkillName, SkillPath,
    failure::{Fails, Failure, FailureKind},
};
use thiserror::Error;

use super::ProposalRef;

/// Why a proposal cannot be decided about as asked.
#[derive(Debug, Error)]
pub enum ReviewError {
    /// The library has no such proposal.
    #[error("there is no proposal {0}")]
    NotFound(ProposalId),
    /// Somebody was faster.
    #[error("the proposal {id} is {} already{}", state.as_str(), by.as_ref().map(|by| format!(", by {by}")).unwrap_or_default())]
    AlreadyDecided {
        /// The proposal.
        id: ProposalId,
        /// What it is.
        state: ProposalState,
        /// Who decided.
        by: Option<String>,
    },
    /// It waited too long.
    #[error("the proposal {id} expired on {expires:.0}")]
    Expired {
        /// The proposal.
        id: ProposalId,
        /// When.
        expires: Timestamp,
    },
    /// It is at another revision than the one that was looked at.
    #[error("the proposal {id} is at revision {is}, not at {asked}")]
    Amended {
        /// The proposal.
        id: ProposalId,
        /// The revision that was asked for.
        asked: u64,
        /// The one that it is at.
        is: u64,
    },
    /// The skill is at another head than the one that was reviewed.
    #[error("{skill} has changed since the review: the proposal {} would now change revision {head}", now.id)]
    HeadMoved {
        /// The skill.
        skill: SkillName,
        /// The head now.
        head: String,
        /// The reference to what would be accepted now.
        now: Box<ProposalRef>,
        /// What accepting it would change now.
        diff: String,
    },
    /// It was amended, and which of its revisions is accepted was not said.
    #[error("the proposal {id} was amended and is at revision {is}; say which revision you accept")]
    Unnamed {
        /// The proposal.
        id: ProposalId,
        /// The one that it is at.
        is: u64,
    },
    /// Its file cannot be understood.
    #[error("the proposal {id} is damaged: {why}")]
    Damaged {
        /// The proposal.
        id: ProposalId,
        /// What is wrong.
        why: String,
    },
    /// It merges a release in, and in some files both sides stand.
    #[error("in the proposal {id} both sides still stand in {}", listed(paths))]
    Unresolved {
        /// The proposal.
        id: ProposalId,
        /// The skill.
        skill: SkillName,
        /// The files.
        paths: Vec<SkillPath>,
    },
    /// An edit that leaves it as it is.
    #[error("the proposal {0} is like that already; nothing was edited")]
    NotEdited(ProposalId),
    /// An edit that takes out every file, of a proposal that is no deletion.
    #[error("the edit would leave no file of what {0} proposes; nothing was edited")]
    NothingLeft(ProposalId),
    /// Somebody else proposed it.
    #[error("the proposal {id} is not one of {actor}, and rejecting that of another is for people")]
    NotYours {
        /// The proposal.
        id: ProposalId,
        /// Who asked.
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
    fn hint(&self) -> String {
        match self {
            Self::NotFound(_) => {
                "`skillhub review list --all` shows the proposals of this library; of those that `gc` \
                                  dropped, `skillhub log` has what became of them"
                    .to_owned()
            }
            Self::AlreadyDecided { id, .. } => format!("`skillhub review show {id}` says what became of it"),
            Self::Expired { id, .. } => {
                format!("have it proposed again, or clear it away: skillhub review reject {id}")
            }
            Self::Amended { id, is, .. } | Self::Unnamed { id, is } => {
                format!("look at it as it is now, `skillhub review diff {id}`, and then decide about {id}@{is}")
            }
            Self::HeadMoved { now, .. } => {
                format!("review it as it is now, `skillhub review diff {} --onto-head`, then accept {now}", now.id)
            }
            Self::Damaged { id, .. } => format!("clear it away, its bytes are kept: skillhub review reject {id}"),
            Self::Unresolved { id, skill, .. } => {
                format!(
                    "choose in each file: at a terminal with `skillhub review edit {id}`, or with its flags --path and \
                     --content; or take one side everywhere, `skillhub update {skill} --theirs` or `skillhub update \
                     {skill} --ours`"
                )
            }
            Self::NotEdited(id) => format!("`skillhub review diff {id}` shows what it changes"),
            Self::NothingLeft(id) => {
                format!("turn it down: skillhub review reject {id}")
            }
            Self::NotYours { .. } => {
                "a person does it at a terminal, or with a token in SKILLHUB_REVIEWER_TOKEN".to_owned()
            }
        }
    }
}
