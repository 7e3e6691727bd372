//! [`Index::bundle`], [`Entry::check_files`]: the archive of a release, and the line held to it.

use semver::Version;
use serde::Serialize;
use skill::{Bundle, Digest, Limits, QualifiedName, frontmatter};
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
    /// The release has the content of one under quarantine, and nobody has decided about it.
    #[error("{name} {version} is on hold: {reason}")]
    Held {
        /// The skill.
        name: QualifiedName,
        /// The release.
        version: Version,
        /// The reason that the registry gives.
        reason: String,
    },
    /// The line differs from the files that it describes.
    #[error(transparent)]
    Differs(Box<LineDiffers>),
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

/// A field of a line that differs from the files of the archive.
#[derive(Debug, Error)]
#[error("the line of {name} {version} differs from its archive in `{field}`: the line has {line}, the archive {found}")]
pub struct LineDiffers {
    /// The skill.
    pub name: QualifiedName,
    /// The release.
    pub version: Version,
    /// The field of the line.
    pub field: &'static str,
    /// The value in the line, as JSON.
    pub line: String,
    /// The value in the archive, as JSON.
    pub found: String,
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

    /// Refuses a release that was withdrawn, is under quarantine or on hold.
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

    /// Compares each field of the line that the files hold as well: `digest`, `files`, `name`, `description`, `license`,
    /// `keywords` and `requires`. `size` and `archive` are of [`Entry::check_archive`]; `verdict` is the judgement of one
    /// ruleset and cannot be derived.
    ///
    /// A field that the line does not have is passed over, except for `requires`: without it nothing is required.
    ///
    /// # Errors
    /// [`FetchError::Differs`] with the first field that differs.
    pub fn check_files(&self, files: &Bundle) -> Result<(), FetchError> {
        let text = files.skill_md().unwrap_or_default();
        let reading = frontmatter::read(text, &Limits::default()).ok();
        let found = reading.map(|reading| reading.frontmatter).unwrap_or_default();
        let name = found.name.unwrap_or_default();
        self.check_field("digest", self.digest.to_string(), files.digest().to_string())?;
        self.check_field("files", self.files, files.len() as u64)?;
        self.check_field("name", self.name.name.as_str(), name.as_str())?;
        self.check_field("description", &self.description, &found.description.unwrap_or_default())?;
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
