//! [`Storage`]: where revisions are kept, behind one narrow trait.
//!
//! The library decides what is committed and when it is durable; a storage turns revisions into
//! objects, keeps them, and gives them back. The configuration names one ([`open`]); `git` is the
//! one there is.

mod git;
mod message;

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};
use skill::{Bundle, File, SkillName, SkillPath};
use thiserror::Error;

use crate::revision::{NewRevision, Revision, RevisionId};

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
pub struct Damage {
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
    #[error("there is no storage called {0:?}; the one there is is called \"git\"")]
    UnknownKind(String),
    /// No such revision.
    #[error("there is no revision {0}")]
    UnknownRevision(String),
    /// What was read is not what a storage writes.
    #[error("the history is damaged: {0}")]
    Damaged(String),
    /// A revision that was to stand at the head, but that nobody cleared.
    #[error("a blocked hand edit of {0} can be kept, but not be what the skill is")]
    Uncleared(SkillName),
    /// A revision that was only looked at, so that no judge was asked.
    #[error("{0} cannot be written: the judge of [scan.judge] was not asked about it")]
    Unjudged(SkillName),
    /// The git library or the system refused.
    #[error("the history cannot be used: {0}")]
    Git(git2::Error),
    /// The system refused.
    #[error("the history cannot be used: {0}")]
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

/// Keeps revisions and gives them back.
pub trait Storage: Send {
    /// The newest revision of every skill that has one, deleted ones included, sorted.
    ///
    /// # Errors
    /// [`StorageError`]
    fn heads(&self) -> Result<Vec<(SkillName, RevisionId)>, StorageError>;

    /// The same; `None` stands for the head of a skill that cannot be read, which ends nothing.
    ///
    /// # Errors
    /// [`StorageError`]
    fn heads_found(&self) -> Result<Vec<(SkillName, Option<RevisionId>)>, StorageError>;

    /// A skill's newest revision.
    ///
    /// # Errors
    /// [`StorageError`]
    fn head(&self, skill: &SkillName) -> Result<Option<Revision>, StorageError>;

    /// The id that stands as a skill's newest revision, which may be damaged.
    ///
    /// # Errors
    /// [`StorageError`]
    fn head_id(&self, skill: &SkillName) -> Result<Option<RevisionId>, StorageError>;

    /// A file as the object that keeps its content.
    ///
    /// # Errors
    /// [`StorageError`]
    fn object_of(&self, file: &File) -> Result<Object, StorageError>;

    /// The revision of an id.
    ///
    /// # Errors
    /// [`StorageError::UnknownRevision`] and others.
    fn revision(&self, id: &RevisionId) -> Result<Revision, StorageError>;

    /// The files of a revision; empty for a tombstone.
    ///
    /// # Errors
    /// [`StorageError::UnknownRevision`] and others.
    fn bundle(&self, id: &RevisionId) -> Result<Bundle, StorageError>;

    /// One file of a revision, without reading the others; `None` where it has none of that path.
    ///
    /// # Errors
    /// [`StorageError::UnknownRevision`] and others.
    fn file(&self, id: &RevisionId, path: &SkillPath) -> Result<Option<File>, StorageError>;

    /// Turns a revision into objects. `before` is the parent and its files.
    ///
    /// # Errors
    /// [`StorageError`]
    fn prepare(&self, before: Option<(&Revision, &Bundle)>, new: &NewRevision) -> Result<Prepared, StorageError>;

    /// Writes the files of bundles durably. No commit names them yet, and none need come.
    ///
    /// # Errors
    /// [`StorageError`]
    fn write_ahead(&self, bundles: &[&Bundle]) -> Result<(), StorageError>;

    /// Writes objects and moves heads, not synced. `again` replaces what is there already, because
    /// a crash may have left it empty or cut.
    ///
    /// # Errors
    /// [`StorageError`]
    fn write(&self, objects: &[Object], heads: &[HeadChange], again: bool) -> Result<(), StorageError>;

    /// Reads a revision and all before it, down to every object, and says which are damaged. It goes
    /// down to the first, or to one in `checked`. `progress` is called for each revision.
    ///
    /// # Errors
    /// [`StorageError`] of the storage as a whole.
    fn check(
        &self,
        from: &RevisionId,
        checked: &mut Checked,
        progress: &mut dyn FnMut(),
    ) -> Result<Vec<Damage>, StorageError>;

    /// The names of packs of which the index is missing, so that nothing in them can be read, and whether
    /// each was so for long: a process may be at work in one that is new.
    ///
    /// # Errors
    /// [`StorageError`]
    fn lone_packs(&self) -> Result<Vec<(String, bool)>, StorageError>;

    /// Makes the index of such a pack again. The caller is the only one who writes.
    ///
    /// # Errors
    /// [`StorageError`]; the pack is not whole, and stays as it is.
    fn index_pack(&self, name: &str) -> Result<(), StorageError>;

    /// Makes objects and heads that were written durable.
    ///
    /// # Errors
    /// [`StorageError`]
    fn settle(&self, objects: &[Object], heads: &[HeadChange]) -> Result<(), StorageError>;

    /// Takes as little room as it can for all that it keeps, and removes what dead processes left. The
    /// caller is the only one who writes.
    ///
    /// # Errors
    /// [`StorageError`]; everything is kept then.
    fn compact(&self) -> Result<(), StorageError>;
}

/// Opens the storage of a kind in a folder; `create` makes it when it is missing, else the answer
/// is `None`.
///
/// # Errors
/// [`StorageError::UnknownKind`] and others.
pub fn open(kind: &str, folder: &Path, create: bool) -> Result<Option<Box<dyn Storage>>, StorageError> {
    match kind {
        "git" => Ok(git::GitStorage::open(folder, create)?.map(|git| Box::new(git) as Box<dyn Storage>)),
        other => Err(StorageError::UnknownKind(other.to_owned())),
    }
}
