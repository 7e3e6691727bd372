//! [`CommitError`]: why nothing was committed.

use std::io;

use skill::SkillName;
use thiserror::Error;

use crate::{
    interrupt::Interrupted, library::LibraryError, lock::LockError, place_error::PlaceError, proposal_id::ProposalId,
    revision::RevisionId, storage::StorageError,
};

/// Why nothing was committed.
#[derive(Debug, Error)]
pub enum CommitError {
    /// Someone else committed in between.
    #[error("{skill} was changed by someone else in the meantime")]
    Stale {
        /// The skill.
        skill: SkillName,
        /// Its head now.
        head: Option<RevisionId>,
    },
    /// Someone else decided about the proposal, changed it, or proposed under its name in between.
    #[error("the proposal {id} was changed by someone else in the meantime")]
    ProposalMoved {
        /// The proposal.
        id: ProposalId,
    },
    /// As many proposals wait as may.
    #[error("{open} proposals wait already{}, and no more than {limit} may", of_skill(skill.as_ref()))]
    QueueFull {
        /// The skill whose own limit is reached; else it is that of the library.
        skill: Option<SkillName>,
        /// How many wait.
        open: usize,
        /// How many may.
        limit: usize,
    },
    /// What waits would be more than is read at every turn.
    #[error("{bytes} bytes of proposals would wait, and no more than {limit} may")]
    QueueTooLarge {
        /// How many would.
        bytes: u64,
        /// How many may.
        limit: u64,
    },
    /// The change is more than a record of the journal may hold.
    #[error("nothing was changed: {0}")]
    TooLarge(io::Error),
    /// The library's folder cannot be written.
    #[error("cannot write in the library {path:?}: {source}")]
    NotWritable {
        /// The library.
        path: std::path::PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Someone else held the lock all the time.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The process was asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The library.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

fn of_skill(skill: Option<&SkillName>) -> String {
    skill.map(|skill| format!(" for {skill}")).unwrap_or_default()
}

impl From<StorageError> for CommitError {
    fn from(error: StorageError) -> Self {
        Self::Library(error.into())
    }
}

impl From<PlaceError> for CommitError {
    fn from(error: PlaceError) -> Self {
        Self::Library(error.into())
    }
}
