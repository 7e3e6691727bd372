//! [`GitStorage`]: where revisions are kept.
//!
//! The library decides what is committed and when it is durable; the storage turns revisions into
//! objects, keeps them, and gives them back. The configuration names its kind ([`open`]); `git` is the
//! only one.

mod git;
mod message;

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};
use skill::SkillName;
use thiserror::Error;

pub use git::GitStorage;

use crate::revision::{Revision, RevisionId};

/// A piece of what a storage keeps, with its id: what the journal holds until it is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// The id by which the storage finds it.
    pub id: String,
    /// The storage's own word for its kind.
    pub kind: String,
    /// The content.
    pub bytes: Vec<u8>,
}

/// A skill's head before and after an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadChange {
    /// The skill.
    pub skill: String,
    /// The head that the operation was made on.
    pub old: Option<RevisionId>,
    /// The head that it leaves.
    pub new: RevisionId,
}

/// A revision turned into objects, none of them written yet.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The revision as it will be read back.
    pub revision: Revision,
    /// Its objects that the storage does not have yet.
    pub objects: Vec<Object>,
}

/// A revision that cannot be read, or not whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedRevision {
    /// The revision.
    pub revision: RevisionId,
    /// Its place in the skill's history, where that can be read.
    pub number: Option<u64>,
    /// What is wrong, as a lower-case fragment.
    pub what: String,
    /// The ids of the objects that are missing or wrong, each once.
    pub objects: Vec<String>,
}

/// What was found of objects looked at so far, by id: each is looked at once, however many revisions
/// share it.
pub type Checked = BTreeMap<String, Option<Fault>>;

/// What is wrong with an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The object itself, or one below it.
    pub object: String,
    /// As a lower-case fragment.
    pub what: String,
}

/// Why a storage could not do something.
#[derive(Debug, Error)]
pub enum StorageError {
    /// The configuration names a storage that there is not.
    #[error("unknown storage {0:?}; the only storage is \"git\"")]
    UnknownKind(String),
    /// No such revision.
    #[error("the revision {0} does not exist")]
    UnknownRevision(String),
    /// What was read is not what a storage writes.
    #[error("the history is damaged: {0}")]
    Damaged(String),
    /// A revision that was to stand at the head, but that nobody cleared.
    #[error("a blocked hand edit of {0} cannot become its head")]
    Uncleared(SkillName),
    /// A revision that was only looked at, so that no judge was asked.
    #[error("cannot write {0}: the judge of [scan.judge] was not asked about it")]
    Unjudged(SkillName),
    /// The git library or the system refused.
    #[error("cannot use the history: {0}")]
    Git(git2::Error),
    /// The system refused.
    #[error("cannot use the history: {0}")]
    Io(#[from] std::io::Error),
}

impl From<git2::Error> for StorageError {
    /// What git cannot make sense of is damage; the rest is the system's.
    fn from(error: git2::Error) -> Self {
        use git2::ErrorClass::{Object, Odb, Reference, Tree, Zlib};
        match error.class() {
            Reference | Odb | Object | Tree | Zlib => Self::Damaged(error.message().to_owned()),
            _ => Self::Git(error),
        }
    }
}

/// Opens the storage of a kind in a folder; `create` makes it when it is missing, else the answer
/// is `None`.
///
/// # Errors
/// [`StorageError::UnknownKind`] and others.
pub fn open(kind: &str, folder: &Path, create: bool) -> Result<Option<GitStorage>, StorageError> {
    match kind {
        "git" => GitStorage::open(folder, create),
        other => Err(StorageError::UnknownKind(other.to_owned())),
    }
}
