//! [`Fault`]: a problem found in an index.

use std::fmt;

use crate::OwnerFileError;

/// A problem found in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Path of the file in the tree.
    pub path: String,
    /// Number of the line in that file, from 1, if a single line is affected.
    pub line: Option<usize>,
    /// Kind of problem, with details.
    pub kind: FaultKind,
}

/// The kinds of problems in a [`Fault`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// The line cannot be parsed.
    #[error("the entry is damaged: {0}")]
    Line(String),
    /// A file in the folders of skills is not the file of any skill.
    #[error("the file does not belong to a skill")]
    StrayFile,
    /// The entry's skill does not match the path.
    #[error("the entry belongs to {0}")]
    WrongName(String),
    /// Several entries have the same version.
    #[error("the version {0} has more than one entry")]
    DoubledVersion(String),
    /// The owner does not have a file in `owners/`.
    #[error("the owner {0} has no file in owners/")]
    NoOwner(String),
    /// The archive of a release is missing or unreadable.
    #[error("the archive of {0} is missing or unreadable")]
    NoBundle(String),
    /// The archive does not have the size, hash or content in the entry.
    #[error("the archive of {release} does not match its entry: {detail}")]
    WrongBundle {
        /// Name and version of the release.
        release: String,
        /// Description of the difference.
        detail: String,
    },
    /// No entry refers to the archive.
    #[error("the archive does not belong to a release")]
    StrayBundle,
    /// An owner's file is damaged or has a later format.
    #[error("{0}")]
    OwnerFile(OwnerFileError),
    /// The signature of a release is not valid for its owner.
    #[error("{0}")]
    Signature(String),
    /// A commit removed or changed append-only content.
    #[error("the commit {commit} {what}")]
    Rewritten {
        /// Id of the commit.
        commit: String,
        /// Description of the change, as a verb phrase.
        what: &'static str,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.kind),
            None => write!(f, "{}: {}", self.path, self.kind),
        }
    }
}

impl Fault {
    pub(crate) fn new(path: &str, line: Option<usize>, kind: FaultKind) -> Self {
        Self { path: path.to_owned(), line, kind }
    }
}
