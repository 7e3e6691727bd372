//! Reasons why a library cannot be used ([`LibraryError`]).

use std::{io, path::PathBuf};

use skill::SkillName;
use thiserror::Error;

use super::TakenBack;
use crate::{lock::LockError, path_access_error::PathAccessError, state::StateError, storage::StorageError};

/// Reason why a library cannot be opened, read or changed.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum LibraryError {
    /// One of its folders cannot be opened or is not trusted.
    Place(#[from] PathAccessError),
    /// Its history cannot be read or written.
    Storage(#[from] StorageError),
    /// Its state is damaged or cannot be read.
    State(#[from] StateError),
    /// Its lock cannot be taken.
    Lock(#[from] LockError),
    /// The skill is pinned, so only people may change it.
    #[error("{0} is pinned, so only a person can change it")]
    Pinned(SkillName),
    /// A person disabled the skill or hid it from an agent.
    #[error("{0} was disabled by a person, so only a person can enable it")]
    DisabledByPerson(SkillName),
    /// A person took this content back.
    TakenBack(#[from] Box<TakenBack>),
    /// Any other I/O error.
    #[error("cannot use {path:?}: {source}")]
    Io {
        /// File or folder of the failed operation.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
}
