//! [`LibraryError`]: why a library cannot be opened or read.

use std::{io, path::PathBuf};

use skill::SkillName;
use thiserror::Error;

use super::TakenBack;
use crate::{lock::LockError, place_error::PlaceError, state::StateError, storage::StorageError};

/// Why a library cannot be opened or read.
#[derive(Debug, Error)]
pub enum LibraryError {
    /// One of its folders.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Its history.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Its state.
    #[error(transparent)]
    State(#[from] StateError),
    /// Its lock.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A skill that only people may change.
    #[error("{0} is pinned: only people may change it")]
    Pinned(SkillName),
    /// A skill that a person disabled or hid from an agent.
    #[error("a person disabled {0}, and only a person can enable it")]
    DisabledByPerson(SkillName),
    /// Content that a person took back.
    #[error(transparent)]
    TakenBack(#[from] Box<TakenBack>),
    /// The system refused.
    #[error("cannot use {path:?}: {source}")]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
