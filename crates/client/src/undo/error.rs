//! [`UndoError`]: reasons why an undo was not possible.

use library::{CommitError, Denied, LibraryError, StorageError};
use scan::Blocked;
use serde_json::Value;
use skill::{
    SkillName,
    failure::{Fails, Failure, FailureKind, Hint, NextStep},
};
use thiserror::Error;

use crate::{failure::details, lock_file::LockFileError};

/// Reasons why an undo was not possible.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum UndoError {
    /// The log has no operation that can be undone.
    #[error("nothing to undo in this library")]
    Nothing,
    /// The log has no undoable operation with this id.
    #[error("no undoable operation has the id {0:?}")]
    NoOperation(String),
    /// The prefix matches the ids of several operations.
    #[error("several operations have an id that begins with {0}")]
    SeveralOperations(String),
    /// The skill was changed after the operation.
    #[error("{0} was changed after the last operation")]
    Moved(SkillName),
    /// The skill's folder was edited by hand since.
    #[error("the folder of {0} was edited by hand after the last operation")]
    HandEdited(SkillName),
    /// The skill's folder is at an earlier revision, as on another git branch.
    #[error("the folder of {name} is at revision {at}, but the last operation made revision {head}")]
    Earlier {
        /// Name of the skill.
        name: SkillName,
        /// Number of the revision in the folder.
        at: u64,
        /// Number of the newest revision.
        head: u64,
    },
    /// The scan blocks the earlier content under the current rules.
    #[error("the scanner now blocks the earlier content of {name}: {blocked}")]
    Blocked {
        /// Name of the skill.
        name: SkillName,
        /// Scan report with the findings.
        blocked: Box<Blocked>,
    },
    /// The earlier state is a captured hand edit, which was blocked and is never restored.
    #[error("revision {number} of {name} is a blocked hand edit and is never restored")]
    Captured {
        /// Name of the skill.
        name: SkillName,
        /// Number of the revision that holds the edit.
        number: u64,
    },
    /// The policy denies the change.
    Denied(#[from] Denied),
    /// The lock file cannot be read or written.
    LockFile(#[from] LockFileError),
    /// The library cannot be read or written.
    Library(#[from] LibraryError),
    /// Committing the undo failed.
    Commit(#[from] CommitError),
}

impl From<StorageError> for UndoError {
    fn from(error: StorageError) -> Self {
        Self::Library(error.into())
    }
}

impl Fails for UndoError {
    fn failure(&self) -> Failure {
        let history = |name: &SkillName| NextStep::ShowHistory(name.to_string());
        let restore = |name: &SkillName, revision: &str| NextStep::Restore(name.to_string(), revision.to_owned());
        match self {
            Self::Nothing => {
                Failure::new(FailureKind::NotFound, "not_found").hint("list past operations: skillhub log")
            }
            Self::NoOperation(_) => {
                Failure::new(FailureKind::NotFound, "not_found").hint("list the ids: skillhub undo --list")
            }
            Self::SeveralOperations(_) => Failure::new(FailureKind::Conflict, "ambiguous_match")
                .hint("give more digits of the id; `skillhub undo --list` lists the ids"),
            Self::Moved(name) => Failure::new(FailureKind::Conflict, "stale_revision").hint(
                Hint::from("choose a revision from ")
                    .step(history(name))
                    .text(", then run ")
                    .step(restore(name, "REV")),
            ),
            Self::HandEdited(name) => Failure::new(FailureKind::Conflict, "hand_edited").hint(
                Hint::from("inspect the edit with ")
                    .step(NextStep::ShowStatus(name.to_string()))
                    .text("; to revert it, run ")
                    .step(restore(name, "head"))
                    .text(", which keeps it in the history"),
            ),
            Self::Earlier { name, .. } => Failure::new(FailureKind::Conflict, "stale_revision").hint(format!(
                "switch to the git branch that has the newest revision, then undo; or go back from the folder's \
                 revision with `skillhub rollback {name}`"
            )),
            Self::Blocked { name, .. } | Self::Captured { name, .. } => {
                Failure::new(FailureKind::Blocked, "scan_blocked")
                    .hint(Hint::from("choose another revision from ").step(history(name)))
            }
            Self::Denied(error) => error.failure(),
            Self::LockFile(error) => error.failure(),
            Self::Library(error) => error.failure(),
            Self::Commit(error) => error.failure(),
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::Blocked { blocked, .. } => details(Some(blocked.report()), &[]),
            _ => details(None, &[]),
        }
    }
}
