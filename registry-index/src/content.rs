//! [`Index::bundle`], [`Entry::check_files`]: reading the archive of a release, and verifying the index entry against
//! it.

use semver::Version;
use serde::Serialize;
use skill::{Bundle, Digest, QualifiedName, archive::Archive};
use thiserror::Error;

use crate::{ArchiveLocation, Entry, Index, ReadError, StoreError};

/// Reasons why the archive of a release is not available.
#[derive(Debug, Error)]
pub enum FetchError {
    /// The release was withdrawn and no longer has an archive.
    #[error("{name} {version} was withdrawn: {reason}")]
    Withdrawn {
        /// Full name of the skill.
        name: QualifiedName,
        /// Version of the release.
        version: Version,
        /// Reason given by the registry.
        reason: String,
    },
    /// The release is under quarantine until a moderator decides.
    #[error("{name} {version} is under quarantine: {reason}")]
    Quarantined {
        /// Full name of the skill.
        name: QualifiedName,
        /// Version of the release.
        version: Version,
        /// Reason given by the registry.
        reason: String,
    },
    /// The release has the same content as one under quarantine, and no moderator has decided about it yet.
    #[error("{name} {version} is on hold: {reason}")]
    Held {
        /// Full name of the skill.
        name: QualifiedName,
        /// Version of the release.
        version: Version,
        /// Reason given by the registry.
        reason: String,
    },
    /// The index entry differs from the files that it describes.
    #[error(transparent)]
    Differs(Box<LineDiffers>),
    /// The archive is missing, although the entry refers to it.
    #[error("the archive of {name} {version} is missing from the index")]
    Missing {
        /// Full name of the skill.
        name: QualifiedName,
        /// Version of the release.
        version: Version,
    },
    /// The archive does not have the size or hash in the entry.
    #[error("the archive of {name} {version} does not match the index: {detail}")]
    Integrity {
        /// Full name of the skill.
        name: QualifiedName,
        /// Version of the release.
        version: Version,
        /// Expected size in bytes and hash, and the actual size or hash.
        detail: String,
    },
    /// The index refers to its archives by URL; the value is this URL.
    #[error("the archive is not in the index, but at {0}")]
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

/// A field of an index entry that differs from the files of the archive.
#[derive(Debug, Error)]
#[error(
    "the entry of {name} {version} differs from its archive in `{field}`: the entry has {line}, the archive {found}"
)]
pub struct LineDiffers {
    /// Full name of the skill.
    pub name: QualifiedName,
    /// Version of the release.
    pub version: Version,
    /// Name of the field.
    pub field: &'static str,
    /// Value in the entry, as JSON.
    pub line: String,
    /// Value in the archive, as JSON.
    pub found: String,
}

impl Index {
    /// Reads the `.skill` file of a release, and verifies its size and hash.
    ///
    /// # Errors
    /// [`FetchError`] if the release was withdrawn, is under quarantine or on hold, or if its archive is missing, does
    /// not match, or is outside the index.
    pub fn bundle(&self, entry: &Entry) -> Result<Archive, FetchError> {
        entry.check_open()?;
        let path = match self.config.archive_location(&entry.digest) {
            ArchiveLocation::Tree(path) => path,
            ArchiveLocation::Url(url) => return Err(FetchError::Elsewhere(url)),
        };
        let snapshot = self.store.snapshot()?;
        let missing = || FetchError::Missing { name: entry.name.clone(), version: entry.version.clone() };
        let id = snapshot.blob_id(&path)?.ok_or_else(missing)?;
        entry.check_size(snapshot.blob_size(id)?)?;
        let archive = Archive::of_bytes(snapshot.read_blob(id)?);
        entry.check_archive(&archive)?;
        Ok(archive)
    }
}

impl Entry {
    /// Verifies the content of a `.skill` file, from any source, against the size and hash in the entry.
    ///
    /// # Errors
    /// [`FetchError::Integrity`] if it is not the file that was published.
    pub fn check_archive(&self, archive: &Archive) -> Result<(), FetchError> {
        self.check_file(archive.len(), || archive.hash())
    }

    /// Verifies like [`Entry::check_archive`].
    ///
    /// # Errors
    /// As for [`Entry::check_archive`].
    pub fn check_bytes(&self, bytes: &[u8]) -> Result<(), FetchError> {
        self.check_file(bytes.len(), || Digest::of_bytes(bytes))
    }

    fn check_file(&self, bytes: usize, hash: impl FnOnce() -> Digest) -> Result<(), FetchError> {
        self.check_size(bytes as u64)?;
        let found = hash();
        if found == self.archive { Ok(()) } else { Err(self.integrity(&found.to_string())) }
    }

    /// Rejects a release that was withdrawn, is under quarantine or is on hold.
    ///
    /// # Errors
    /// [`FetchError::Withdrawn`], [`FetchError::Quarantined`] or [`FetchError::Held`] with the reason.
    pub fn check_open(&self) -> Result<(), FetchError> {
        let (name, version) = (self.name.clone(), self.version.clone());
        if let Some(withdrawal) = &self.withdrawn {
            return Err(FetchError::Withdrawn { name, version, reason: withdrawal.reason.clone() });
        }
        match (self.quarantined(), self.held()) {
            (Some(quarantine), _) => Err(FetchError::Quarantined { name, version, reason: quarantine.reason }),
            (None, Some(hold)) => Err(FetchError::Held { name, version, reason: hold.reason }),
            (None, None) => Ok(()),
        }
    }

    /// Compares each field of the entry that can be derived from the files: `digest`, `files`, `name`, `title`,
    /// `description`, `license`, `keywords` and `requires`. [`Entry::check_archive`] verifies `size` and `archive`. `verdict` depends
    /// on one ruleset and cannot be derived.
    ///
    /// A field that the entry does not have is skipped, except `requires`: a missing `requires` means that there are no
    /// requirements.
    ///
    /// # Errors
    /// [`FetchError::Differs`] with the first field that differs.
    pub fn check_files(&self, files: &Bundle) -> Result<(), FetchError> {
        let found = files.frontmatter().unwrap_or_default();
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        self.check_field("digest", self.digest.to_string(), files.digest().to_string())?;
        self.check_field("files", self.files, files.len() as u64)?;
        self.check_field("name", self.name.name.to_string(), text(&found.name))?;
        self.check_field("title", &self.title, &found.title())?;
        self.check_field("description", &self.description, &text(&found.description))?;
        self.check_field("license", &self.license, &found.license)?;
        self.check_field("keywords", &self.keywords, &found.keywords)?;
        self.check_field("requires", &self.requires, &found.requires)
    }

    fn check_field<T: PartialEq + Serialize>(&self, field: &'static str, line: T, found: T) -> Result<(), FetchError> {
        let is_absent = field != "requires" && !self.raw.contains_key(field);
        if is_absent || line == found {
            return Ok(());
        }
        let (name, version) = (self.name.clone(), self.version.clone());
        let text = |value: &T| serde_json::to_string(value).unwrap_or_default();
        let differs = LineDiffers { name, version, field, line: text(&line), found: text(&found) };
        Err(FetchError::Differs(Box::new(differs)))
    }

    fn check_size(&self, found: u64) -> Result<(), FetchError> {
        if found == self.size { Ok(()) } else { Err(self.integrity(&format!("{found} bytes"))) }
    }

    fn integrity(&self, found: &str) -> FetchError {
        let detail = format!("expected {} bytes and {}, found {found}", self.size, self.archive);
        FetchError::Integrity { name: self.name.clone(), version: self.version.clone(), detail }
    }
}
