//! Getting the archive of a release: [`Index::bundle`], and [`FetchError`].

use semver::Version;
use skill::{Digest, QualifiedName};
use thiserror::Error;

use crate::{BundlePlace, Entry, Index, ReadError, StoreError};

/// Why the archive of a release cannot be had.
#[derive(Debug, Error)]
pub enum FetchError {
    /// The release was withdrawn and has no archive any more.
    #[error("{name} {version} was withdrawn: {reason}")]
    Withdrawn {
        /// The skill.
        name: QualifiedName,
        /// The release.
        version: Version,
        /// The reason that the registry gives.
        reason: String,
    },
    /// The release is held back until it was looked at.
    #[error("{name} {version} is under quarantine: {reason}")]
    Quarantined {
        /// The skill.
        name: QualifiedName,
        /// The release.
        version: Version,
        /// The reason that the registry gives.
        reason: String,
    },
    /// The archive is not there though the line names it.
    #[error("the archive of {name} {version} is missing from the index")]
    Missing {
        /// The skill.
        name: QualifiedName,
        /// The release.
        version: Version,
    },
    /// The archive is not the one that the line names.
    #[error("the archive of {name} {version} is not the one in the index: {detail}")]
    Integrity {
        /// The skill.
        name: QualifiedName,
        /// The release.
        version: Version,
        /// Size in bytes and hash that the line has, and the size or hash that was found.
        detail: String,
    },
    /// The index keeps its archives somewhere else.
    #[error("the archive is not in the index but at {0}")]
    Elsewhere(String),
    /// The index cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl From<git2::Error> for FetchError {
    fn from(error: git2::Error) -> Self {
        Self::Read(StoreError::from(error).into())
    }
}

impl Index {
    /// The bytes of a release's `.skill` file, checked against the size and hash of its line.
    ///
    /// # Errors
    /// [`FetchError`] when the release was withdrawn, or its archive is missing, is another, or is not kept here.
    pub fn bundle(&self, entry: &Entry) -> Result<Vec<u8>, FetchError> {
        entry.check_open()?;
        let path = match self.config.place_of(&entry.digest) {
            BundlePlace::Tree(path) => path,
            BundlePlace::Url(url) => return Err(FetchError::Elsewhere(url)),
        };
        let snapshot = self.store.snapshot()?;
        let missing = || FetchError::Missing { name: entry.name.clone(), version: entry.version.clone() };
        let id = snapshot.blob_id(&path)?.ok_or_else(missing)?;
        entry.check_size(snapshot.blob_size(id)?)?;
        let bytes = snapshot.read_blob(id)?;
        entry.check_archive(&bytes)?;
        Ok(bytes)
    }
}

impl Entry {
    /// Holds the bytes of a `.skill` file, wherever they came from, to the size and hash of the line.
    ///
    /// # Errors
    /// [`FetchError::Integrity`] when they are not those that were published.
    pub fn check_archive(&self, bytes: &[u8]) -> Result<(), FetchError> {
        self.check_size(bytes.len() as u64)?;
        let found = Digest::of_bytes(bytes);
        if found == self.archive { Ok(()) } else { Err(self.integrity(&found.to_string())) }
    }

    /// Refuses a release that was withdrawn.
    ///
    /// # Errors
    /// [`FetchError::Withdrawn`] or [`FetchError::Quarantined`] with the reason.
    pub fn check_open(&self) -> Result<(), FetchError> {
        let (name, version) = (self.name.clone(), self.version.clone());
        match (&self.withdrawn, self.quarantined()) {
            (Some(withdrawal), _) => Err(FetchError::Withdrawn { name, version, reason: withdrawal.reason.clone() }),
            (None, Some(held)) => Err(FetchError::Quarantined { name, version, reason: held.reason }),
            (None, None) => Ok(()),
        }
    }

    fn check_size(&self, found: u64) -> Result<(), FetchError> {
        if found == self.size { Ok(()) } else { Err(self.integrity(&format!("{found} bytes"))) }
    }

    fn integrity(&self, found: &str) -> FetchError {
        let detail = format!("expected {} bytes and {}, found {found}", self.size, self.archive);
        FetchError::Integrity { name: self.name.clone(), version: self.version.clone(), detail }
    }
}
