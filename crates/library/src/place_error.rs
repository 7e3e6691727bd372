//! [`PlaceError`]: why a folder or file of ours cannot be used.

use std::{io, path::PathBuf};

use thiserror::Error;

/// Why a folder of ours cannot be used.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// Its files could be changed by that user at any time.
    #[error("{path:?} belongs to another user (id {owner})")]
    Foreign {
        /// The folder or file.
        path: PathBuf,
        /// The numeric id of its owner.
        owner: u32,
    },
    /// Its files could be changed by other users at any time.
    #[error("other users can write to {path:?} (mode {mode:03o})")]
    Shared {
        /// The folder or file whose mode has to change.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The system refused.
    #[error("cannot use {path:?}: {source}")]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl PlaceError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
