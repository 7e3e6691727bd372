//! [`accept`], [`reject`] and [`edit`]: what becomes of a held change.
//!
//! A change that the policy holds waits as a `library::Proposal` (`hold`). An accepted one goes through
//! the spine of `manage` again: it is brought onto the head as that is now (`rebase`), held to the
//! standard and scanned by the rules of today, and committed in one record with the proposal's new
//! state. Accepting and editing take a [`Reviewer`](crate::Reviewer), which only a person has; an actor
//! may take back what it proposed itself.

mod accept;
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
pub use decide::{Decider, Reject, Rejected, reject};
pub use edit::{EditProposal, Editable, edit, editable};
pub use error::ReviewError;
pub(crate) use hold::{apply_on_own, hold, take_back};
pub(crate) use rebase::contents;
pub use release::Replacement;

use crate::error::ManageError;

/// Which proposal is meant, and which content of it was reviewed: `k7m3qx`, `k7m3qx@2`, or `k7m3qx@2@0f3a…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalRef {
    /// The proposal.
    pub id: ProposalId,
    /// The revision that was looked at; `None` for whichever it is at.
    pub revision: Option<u64>,
    /// The head that the diff was made against; `None` for the revision that the proposal was made on.
    pub head: Option<ReviewedHead>,
}

/// The head of a skill at a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewedHead {
    /// The skill had no history.
    New,
    /// The first digits of the head's id.
    At(String),
}

/// Digits of a head's id in a reference, at least and as they are printed.
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

    /// The reference to a head.
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

/// The text is no [`ProposalRef`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{0:?} does not name a proposal; write ID, ID@N for its revision N, or ID@N@HEAD for that revision on the head HEAD"
)]
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
    /// The reference to a proposal as it was reviewed, with the diff against this head.
    #[must_use]
    pub fn reviewed(proposal: &Proposal, head: Option<&RevisionId>) -> Self {
        Self { id: proposal.id.clone(), revision: Some(proposal.revision), head: Some(ReviewedHead::of(head)) }
    }

    /// The reference to a proposal, whatever it is at.
    #[must_use]
    pub fn to(id: ProposalId) -> Self {
        Self { id, revision: None, head: None }
    }
}

/// Where a proposal stands at a moment: one that waited too long is expired, whether or not its file
/// says so yet.
#[must_use]
pub fn state_at(proposal: &Proposal, now: Timestamp) -> ProposalState {
    if proposal.is_expired(now) { ProposalState::Expired } else { proposal.state }
}

/// The proposals of libraries, the oldest first, damaged ones last: those that wait, or `all`; of one
/// skill, or of every one.
///
/// # Errors
/// One of them cannot be read.
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

/// The library that has a proposal.
///
/// # Errors
/// None has it, or one cannot be read.
pub fn library_with(libraries: Vec<Library>, id: &ProposalId) -> Result<Library, ManageError> {
    for library in libraries {
        if library.proposal(id)?.is_some() {
            return Ok(library);
        }
    }
    Err(ReviewError::NotFound(id.clone()).into())
}

/// The proposal of an id.
///
/// # Errors
/// There is none, or the library cannot be read.
pub fn get(library: &Library, id: &ProposalId) -> Result<ProposalEntry, ManageError> {
    Ok(library.proposal(id)?.ok_or_else(|| ReviewError::NotFound(id.clone()))?)
}

/// The proposal that is meant, if it can still be edited or accepted.
///
/// # Errors
/// [`ReviewError`], or the library cannot be read.
pub fn waiting(library: &Library, target: &ProposalRef, now: Timestamp) -> Result<Proposal, ManageError> {
    decide::check_waits(get(library, &target.id)?, target, now)
}

/// The proposal that is meant, whatever became of it.
///
/// # Errors
/// [`ReviewError`], or the library cannot be read.
pub fn proposal(library: &Library, target: &ProposalRef) -> Result<Proposal, ManageError> {
    let proposal = whole(get(library, &target.id)?)?;
    decide::check_revision(&proposal, target)?;
    Ok(proposal)
}

/// The files of a skill as they are proposed.
///
/// # Errors
/// The proposal is damaged, or the library cannot be read.
pub fn candidate(library: &Library, proposal: &Proposal) -> Result<Bundle, ManageError> {
    Ok(contents(library, proposal)?.1)
}

/// A proposal that is whole.
pub(crate) fn whole(entry: ProposalEntry) -> Result<Proposal, ManageError> {
    match entry {
        ProposalEntry::Whole(proposal) => Ok(*proposal),
        ProposalEntry::Damaged(damaged) => Err(ReviewError::Damaged { id: damaged.id, why: damaged.why }.into()),
    }
}

/// What a proposal would change.
#[derive(Debug)]
pub struct Difference {
    /// The proposal.
    pub proposal: Proposal,
    /// The files that would change.
    pub files: Vec<FileChange>,
    /// The change as a unified diff.
    pub text: String,
    /// Where it does not go together with the head; empty when it does, or when that was not asked.
    pub conflicts: Vec<Conflict>,
    /// Whether the head is not the revision that it was made on.
    pub moved: bool,
    /// The reference by which a person accepts what is shown.
    pub reviewed: ProposalRef,
    /// The files without the change.
    pub before: Bundle,
    /// The files with it.
    pub after: Bundle,
}

/// What a proposal changes against the revision that it was made on or, `onto_head`, what accepting it
/// now would change. Hand edits that no revision holds yet are not looked at.
///
/// # Errors
/// There is no such proposal, it is damaged, or the library cannot be read.
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
