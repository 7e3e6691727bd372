//! Reasons why nothing was committed ([`CommitError`]).

use std::io;

use skill::SkillName;
use thiserror::Error;

use crate::{
    interrupt::Interrupted, library::LibraryError, lock::LockError, path_access_error::PathAccessError,
    proposal_id::ProposalId, revision::RevisionId, storage::StorageError,
};

/// Reason why nothing was committed.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum CommitError {
    /// Another writer committed to the skill in the meantime.
    #[error("{skill} was changed by another writer in the meantime")]
    Stale {
        /// Skill that lost the race.
        skill: SkillName,
        /// Its current head, for a retry.
        head: Option<RevisionId>,
    },
    /// The proposal was decided or changed in the meantime, or its id was taken.
    #[error("the proposal {id} was changed by another writer in the meantime")]
    ProposalMoved {
        /// Id of the proposal.
        id: ProposalId,
    },
    /// The proposal queue is full.
    #[error("{open} proposals are already open{}, and the limit is {limit}", of_skill(skill.as_ref()))]
    QueueFull {
        /// Skill whose own limit is reached. `None` if it is the limit of the library.
        skill: Option<SkillName>,
        /// Number of pending proposals.
        open: usize,
        /// Maximum number of pending proposals.
        limit: usize,
    },
    /// The pending proposals would exceed their total size limit. All of them are read whenever a change is held.
    #[error("the open proposals would have {bytes} bytes, but the limit is {limit}")]
    QueueTooLarge {
        /// Total size with the new one, in bytes.
        bytes: u64,
        /// Size limit, in bytes.
        limit: u64,
    },
    /// The change exceeds the size limit of a journal record.
    #[error("nothing was changed: {0}")]
    TooLarge(io::Error),
    /// The library's folder is not writable.
    #[error("cannot write to the library {path:?}: {source}")]
    NotWritable {
        /// Path of the library.
        path: std::path::PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
    /// Another process held the lock until the timeout.
    Lock(#[from] LockError),
    /// The process was interrupted.
    Interrupted(#[from] Interrupted),
    /// The library cannot be read or written.
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

impl From<PathAccessError> for CommitError {
    fn from(error: PathAccessError) -> Self {
        Self::Library(error.into())
    }
}
