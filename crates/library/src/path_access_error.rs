//! Reasons why a folder or file of skillhub cannot be used ([`PathAccessError`]).

use std::{io, path::PathBuf};

use thiserror::Error;

/// Reason why a folder or file of skillhub cannot be used.
#[derive(Debug, Error)]
pub enum PathAccessError {
    /// Another user owns it and could change its content at any time.
    #[error("{path:?} belongs to another user (id {owner})")]
    Foreign {
        /// The folder or file.
        path: PathBuf,
        /// User id of its owner.
        owner: u32,
    },
    /// Other users can write to it and could change its content at any time.
    #[error("other users can write to {path:?} (mode {mode:03o})")]
    Shared {
        /// The folder or file whose mode has to change.
        path: PathBuf,
        /// Its permission bits, such as 0o775.
        mode: u32,
    },
    /// Any other I/O error.
    #[error("cannot use {path:?}: {source}")]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
}

impl PathAccessError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
