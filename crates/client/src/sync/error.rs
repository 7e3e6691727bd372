//! [`SyncError`]: reasons why a library cannot be synchronised.

use std::{io, path::PathBuf};

use library::{CommitError, LibraryError, StorageError};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use crate::{git::ProgramError, registry::RegistryError, spec::SpecError};

/// Reasons why a library cannot be synchronised.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum SyncError {
    /// No remote was given, and none is known from before.
    #[error("the library has no remote yet")]
    NoRemote,
    /// The remote's address cannot be parsed.
    Address(SpecError),
    /// The remote's location cannot be used.
    Location(RegistryError),
    /// git could not reach the remote.
    #[error("cannot reach {remote}: {source}")]
    Unreached {
        /// URL or folder of the remote.
        remote: String,
        /// Failure of git.
        source: ProgramError,
    },
    /// The remote has branches, but none of a library.
    #[error("{remote} is not empty, and was never used to synchronise a library")]
    OtherPurpose {
        /// URL or folder of the remote.
        remote: String,
    },
    /// The remote has more than a library can have.
    #[error("{remote} has {what}")]
    TooMuch {
        /// URL or folder of the remote.
        remote: String,
        /// Number and limit, as a fragment.
        what: String,
    },
    /// Other machines pushed each time before this one could.
    #[error("other machines changed {remote} {attempts} times in a row")]
    Busy {
        /// URL or folder of the remote.
        remote: String,
        /// Number of attempts.
        attempts: u32,
    },
    /// `sync.json` is damaged or was written by a later version.
    #[error("cannot use {}: {why}", path.display())]
    Settings {
        /// Path of the file.
        path: PathBuf,
        /// Description of the fault.
        why: String,
    },
    /// The history cannot be read as a git repository.
    #[error("cannot use the history: {0}")]
    History(#[from] git2::Error),
    /// The library cannot be used.
    Library(#[from] LibraryError),
    /// Received revisions cannot be committed.
    Commit(#[from] CommitError),
    /// A file of the library cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// I/O error.
        source: io::Error,
    },
}

impl From<StorageError> for SyncError {
    fn from(error: StorageError) -> Self {
        Self::Library(error.into())
    }
}

impl Fails for SyncError {
    fn failure(&self) -> Failure {
        match self {
            Self::NoRemote => Failure::new(FailureKind::Usage, "no_remote")
                .hint("name a git URL or a bare repository once; see the examples: skillhub help sync"),
            Self::Address(error) => error.failure(),
            Self::Location(error) => error.failure(),
            Self::Unreached { source, .. } if is_locked(source) => source
                .failure()
                .hint("a git that was killed left the lock file; `skillhub doctor --fix` removes it after ten minutes"),
            Self::Unreached { source, .. } => match source.failure() {
                failure if failure.hint.is_some() => failure,
                failure => failure.hint(
                    "check the URL, and that git can fetch and push there without a password prompt; \
                     a new remote is an empty repository, as `git init --bare FOLDER` makes it",
                ),
            },
            Self::OtherPurpose { .. } => Failure::new(FailureKind::Usage, "not_a_library")
                .hint("name an empty repository of your own, as `git init --bare FOLDER` makes it; nothing was sent"),
            Self::TooMuch { .. } => {
                Failure::new(FailureKind::Invalid, "too_large").hint("use a repository that only your libraries are in")
            }
            Self::Busy { .. } => Failure::new(FailureKind::Conflict, "busy").hint("run skillhub sync again"),
            Self::Settings { .. } => Failure::new(FailureKind::Failed, "damaged")
                .hint("move the file away, and name the remote again; see the examples: skillhub help sync"),
            Self::History(_) | Self::Io { .. } => Failure::io(),
            Self::Library(error) => error.failure(),
            Self::Commit(error) => error.failure(),
        }
    }
}

/// Returns whether git found the lock file of another git, which may have died.
fn is_locked(error: &ProgramError) -> bool {
    matches!(error, ProgramError::Failed { message } if message.contains(".lock': File exists"))
}
