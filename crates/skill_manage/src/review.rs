//! [`accept`], [`reject`] and [`edit`]: decisions on held changes; [`keep`]: a decision on changes that were applied.
//!
//! A change that the policy holds waits as a `library::Proposal` (`hold`). An accepted proposal goes through the
//! pipeline of `manage` again: it is rebased onto the current head (`rebase`), checked against the standard, scanned
//! with the current rules, and committed in one record with the proposal's new state. Accepting and editing require a
//! [`Reviewer`](crate::Reviewer), which only a person has. An actor may take back its own proposals.

mod accept;
mod changed;
mod decide;
mod edit;
pub(crate) mod error;
mod hold;
mod rebase;
mod release;

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use library::{Library, LibraryError, Proposal, ProposalEntry, ProposalId, ProposalState, RevisionId};
use skill::{
    Bundle, SkillName,
    diff::{self, BundleDiff, FileChange},
    merge::Conflict,
};
use thiserror::Error;

pub use accept::{Accept, accept, note_refused};
pub use changed::{ChangedSkill, keep};
pub use decide::{Decider, Reject, Rejected, reject};
pub use edit::{EditProposal, Editable, edit, editable};
pub use error::ReviewError;
pub(crate) use hold::{apply_on_own, commit_or_hold, has_own, hold};
pub(crate) use rebase::contents;
pub use release::Replacement;

use crate::error::ManageError;

/// Reference to a proposal and the content that was reviewed: `k7m3qx`, `k7m3qx@2`, or `k7m3qx@2@0f3a…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalRef {
    /// Id of the proposal.
    pub id: ProposalId,
    /// Revision that was reviewed. `None` for the current one.
    pub revision: Option<u64>,
    /// Head that the reviewed diff is relative to. `None` for the base of the proposal.
    pub head: Option<ReviewedHead>,
}

/// Head of a skill at the time of a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewedHead {
    /// The skill had no history.
    New,
    /// Prefix of the head's id.
    At(String),
}

/// Digits of a head's id in a reference: the required minimum and the number printed.
const HEAD_DIGITS: usize = 7;
const HEAD_DIGITS_PRINTED: usize = 12;

impl ReviewedHead {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "new" => Some(Self::New),
            _ if text.len() >= HEAD_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                Some(Self::At(text.to_ascii_lowercase()))
            }
            _ => None,
        }
    }

    /// Returns the reference to a head.
    #[must_use]
    pub fn of(head: Option<&RevisionId>) -> Self {
        let digits = |id: &RevisionId| id.as_str().chars().take(HEAD_DIGITS_PRINTED).collect();
        head.map_or(Self::New, |id| Self::At(digits(id)))
    }

    fn is(&self, head: Option<&RevisionId>) -> bool {
        match (self, head) {
            (Self::New, None) => true,
            (Self::At(digits), Some(head)) => head.as_str().starts_with(digits),
            _ => false,
        }
    }
}

impl fmt::Display for ReviewedHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::New => "new",
            Self::At(digits) => digits,
        })
    }
}

/// Text that is not a valid [`ProposalRef`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a proposal; write ID, ID@N for its revision N, or ID@N@HEAD for that revision on the head HEAD")]
pub struct ProposalRefError(pub String);

impl FromStr for ProposalRef {
    type Err = ProposalRefError;
    fn from_str(text: &str) -> Result<Self, ProposalRefError> {
        let error = || ProposalRefError(text.to_owned());
        let mut parts = text.splitn(3, '@');
        let id = ProposalId::parse(parts.next().unwrap_or_default()).map_err(|_| error())?;
        let revision = parts.next().map(|revision| revision.parse().map_err(|_| error())).transpose()?;
        let head = parts.next().map(|head| ReviewedHead::parse(head).ok_or_else(error)).transpose()?;
        Ok(Self { id, revision, head })
    }
}

impl fmt::Display for ProposalRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)?;
        if let Some(revision) = self.revision {
            write!(f, "@{revision}")?;
        }
        self.head.as_ref().map_or(Ok(()), |head| write!(f, "@{head}"))
    }
}

impl ProposalRef {
    /// Returns the reference to a proposal as reviewed, with the diff against this head.
    #[must_use]
    pub fn reviewed(proposal: &Proposal, head: Option<&RevisionId>) -> Self {
        Self { id: proposal.id.clone(), revision: Some(proposal.revision), head: Some(ReviewedHead::of(head)) }
    }

    /// Returns the reference to a proposal at any revision.
    #[must_use]
    pub fn to(id: ProposalId) -> Self {
        Self { id, revision: None, head: None }
    }
}

/// Returns the state of a proposal at a time. An overdue proposal is expired, even if its file does not record this
/// yet.
#[must_use]
pub fn state_at(proposal: &Proposal, now: Timestamp) -> ProposalState {
    if proposal.is_expired(now) { ProposalState::Expired } else { proposal.state }
}

/// Lists the proposals of several libraries, oldest first, damaged ones last.
///
/// It includes pending ones or `all`, for one skill or for every skill.
///
/// # Errors
/// One of the libraries cannot be read.
pub fn list(libraries: &[Library], all: bool, skill: Option<&SkillName>) -> Result<Vec<ProposalEntry>, LibraryError> {
    let mut entries = Vec::new();
    for library in libraries {
        entries.extend(if all { library.proposals()? } else { library.open_proposals()? });
    }
    entries.retain(|entry| match entry {
        ProposalEntry::Whole(proposal) => skill.is_none_or(|skill| proposal.skill == *skill),
        ProposalEntry::Damaged(damaged) => skill.is_none_or(|skill| damaged.skill.as_ref() == Some(skill)),
    });
    entries.sort_by_key(|entry| match entry {
        ProposalEntry::Whole(proposal) => (false, proposal.created),
        ProposalEntry::Damaged(_) => (true, Timestamp::MIN),
    });
    Ok(entries)
}

/// Returns the proposal with an id.
///
/// # Errors
/// The proposal does not exist, or the library cannot be read.
pub fn get(library: &Library, id: &ProposalId) -> Result<ProposalEntry, ManageError> {
    Ok(library.proposal(id)?.ok_or_else(|| ReviewError::NotFound(id.clone()))?)
}

/// Returns the referenced proposal, if it can still be edited or accepted.
///
/// # Errors
/// [`ReviewError`], or the library cannot be read.
pub fn waiting(library: &Library, target: &ProposalRef, now: Timestamp) -> Result<Proposal, ManageError> {
    decide::check_waits(get(library, &target.id)?, target, now)
}

/// Returns the referenced proposal in any state.
///
/// # Errors
/// [`ReviewError`], or the library cannot be read.
pub fn proposal(library: &Library, target: &ProposalRef) -> Result<Proposal, ManageError> {
    let proposal = whole(get(library, &target.id)?)?;
    decide::check_revision(&proposal, target)?;
    Ok(proposal)
}

/// Returns the files of a skill as proposed.
///
/// # Errors
/// The proposal is damaged, or the library cannot be read.
pub fn candidate(library: &Library, proposal: &Proposal) -> Result<Bundle, ManageError> {
    Ok(contents(library, proposal)?.1)
}

/// Returns an undamaged proposal, or an error for a damaged one.
pub(crate) fn whole(entry: ProposalEntry) -> Result<Proposal, ManageError> {
    match entry {
        ProposalEntry::Whole(proposal) => Ok(*proposal),
        ProposalEntry::Damaged(damaged) => Err(ReviewError::Damaged { id: damaged.id, why: damaged.why }.into()),
    }
}

/// Changes that a proposal would make.
#[derive(Debug)]
pub struct Difference {
    /// Proposal that is compared.
    pub proposal: Proposal,
    /// Files that would change.
    pub files: Vec<FileChange>,
    /// The change as a unified diff.
    pub text: String,
    /// Conflicts with the head. Empty if there are none, or if the comparison is with the base.
    pub conflicts: Vec<Conflict>,
    /// True if the head has moved since the proposal was made.
    pub moved: bool,
    /// Reference with which a person accepts exactly this change.
    pub reviewed: ProposalRef,
    /// Files without the change.
    pub before: Bundle,
    /// Files with the change.
    pub after: Bundle,
}

/// Compares a proposal with its base or, with `onto_head`, shows the change that accepting it now would make.
/// Unrecorded hand edits are ignored.
///
/// # Errors
/// The proposal does not exist or is damaged, or the library cannot be read.
pub fn difference(library: &Library, target: &ProposalRef, onto_head: bool) -> Result<Difference, ManageError> {
    let proposal = proposal(library, target)?;
    let head = library.head(&proposal.skill)?;
    let head_id = head.as_ref().map(|head| &head.id);
    let moved = head_id != proposal.base.as_ref();
    let reviewed = ProposalRef::reviewed(&proposal, if onto_head { head_id } else { proposal.base.as_ref() });
    let (base, candidate) = contents(library, &proposal)?;
    let (before, after, conflicts) = match onto_head {
        true => {
            let now = head.map_or_else(|| Ok(Bundle::default()), |head| library.bundle(&head.id))?;
            let merged = rebase::merge(library, &base, &now, &candidate)?;
            (now, merged.bundle, merged.conflicts)
        }
        false => (base, candidate, Vec::new()),
    };
    let difference = diff::diff(&before, &after);
    let BundleDiff { files, text } = difference;
    Ok(Difference { proposal, files, text, conflicts, moved, reviewed, before, after })
}
