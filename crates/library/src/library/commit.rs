//! Committing: the one path by which a revision comes to be.
//!
//! The new folders are written beside the old ones and the objects are made in memory; then, under
//! the lock, the heads are compared with what the caller saw, one journal record is synced (the
//! commit point), and objects, heads, folders and events are written from it.

use std::io;

use cap_std::fs::Dir;
use skill::{Bundle, SkillName};
use thiserror::Error;

use super::{LOCK_WAIT, Library, LibraryError};
use crate::{
    checkout::{self, Displaced, Staged},
    events::{self, Event, operation_id},
    home::{PlaceError, ensure_dir},
    journal::Record,
    lock::{LibraryLock, LockError},
    revision::{Action, Content, NewRevision, Revision, RevisionId, Stamp},
    storage::{HeadChange, Object, StorageError},
};

/// Bytes of the journal over which a commit ends with a checkpoint.
pub(super) const CHECKPOINT_BYTES: u64 = 4 << 20;

/// New revisions of one skill.
#[derive(Debug)]
pub struct Commit {
    /// The skill.
    pub skill: SkillName,
    /// The head that they were made on.
    pub base: Option<RevisionId>,
    /// The revisions, oldest first, at least one; the last is checked out.
    pub revisions: Vec<NewRevision>,
}

/// How a skill's folder followed its commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checkout {
    /// The folder is as committed.
    Done,
    /// It is, and what someone wrote into it in that very moment is kept as this revision.
    HandEditKept(RevisionId),
    /// The commit stands, the folder does not show it yet: why.
    Pending(String),
}

/// What was committed for one skill.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The skill.
    pub skill: SkillName,
    /// The new head, or what would be it but for a hand edit that came in between.
    pub revision: Revision,
    /// The head before.
    pub previous: Option<RevisionId>,
    /// How the folder followed.
    pub checkout: Checkout,
}

/// Why nothing was committed.
#[derive(Debug, Error)]
pub enum CommitError {
    /// Someone else committed in between.
    #[error("{skill} was changed by someone else in the meantime")]
    Stale {
        /// The skill.
        skill: SkillName,
        /// Its head now.
        head: Option<RevisionId>,
    },
    /// The library's folder cannot be written.
    #[error("cannot write in the library {path:?}: {source}")]
    NotWritable {
        /// The library.
        path: std::path::PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Someone else held the lock all the time.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The library.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

impl From<StorageError> for CommitError {
    fn from(error: StorageError) -> Self {
        Self::Library(error.into())
    }
}

impl From<PlaceError> for CommitError {
    fn from(error: PlaceError) -> Self {
        Self::Library(error.into())
    }
}

/// One skill's part of a commit, made under the lock.
struct Part {
    skill: SkillName,
    head: Option<Revision>,
    /// What may stand in the folder without being a hand edit.
    known: Vec<Bundle>,
    last: NewRevision,
    revision: Revision,
}

impl Library {
    /// Commits new revisions of one or several skills, all or none, and checks them out.
    ///
    /// # Errors
    /// [`CommitError`]; nothing has changed then. A checkout that fails after the commit is no
    /// error, see [`Checkout::Pending`].
    pub fn commit(&mut self, commits: Vec<Commit>) -> Result<Vec<Committed>, CommitError> {
        let root = self.writable_root()?;
        let staged = commits.iter().map(|commit| self.stage(&root, commit)).collect::<Result<Vec<_>, _>>()?;
        let own = self.ensure_own()?;
        let _lock = LibraryLock::acquire(&own, LOCK_WAIT)?;
        self.recover(&own)?;
        let parts = self.commit_locked(&own, commits)?;
        let mut committed = Vec::with_capacity(parts.len());
        for (part, staged) in parts.into_iter().zip(staged) {
            committed.push(self.check_out(&own, &root, part, staged)?);
        }
        self.journal(&own)?.mark_applied().map_err(self.own_io())?;
        self.checkpoint_if_large(&own)?;
        Ok(committed)
    }

    fn writable_root(&self) -> Result<Dir, CommitError> {
        ensure_dir(self.path()).map_err(|error| match error {
            PlaceError::Io { source, .. } => CommitError::NotWritable { path: self.path().to_owned(), source },
            foreign @ PlaceError::Foreign { .. } => foreign.into(),
        })
    }

    fn stage(&self, root: &Dir, commit: &Commit) -> Result<Option<Staged>, CommitError> {
        match commit.revisions.last().map(|revision| &revision.content) {
            Some(Content::Cleared(cleared)) => match checkout::stage(root, cleared) {
                Ok(staged) => Ok(Some(staged)),
                Err(source) => Err(CommitError::NotWritable { path: self.path().to_owned(), source }),
            },
            _ => Ok(None),
        }
    }

    /// Makes the revisions true and writes objects, heads and events; the folders come after.
    fn commit_locked(&mut self, own: &Dir, commits: Vec<Commit>) -> Result<Vec<Part>, CommitError> {
        let mut record = Record { heads: Vec::new(), events: Vec::new(), objects: Vec::new() };
        let mut parts = Vec::with_capacity(commits.len());
        let first_stamp = commits.first().and_then(|commit| commit.revisions.first()).map(|revision| &revision.stamp);
        let operation = first_stamp.map(operation_id).unwrap_or_default();
        for commit in commits {
            parts.extend(self.prepare(commit, &operation, &mut record)?);
        }
        self.journal(own)?.append(&record).map_err(self.own_io())?;
        self.writable_storage()?.write(&record.objects, &record.heads, false)?;
        events::append(own, &record.events).map_err(self.own_io())?;
        Ok(parts)
    }

    /// Turns one skill's revisions into objects and adds them to the record.
    fn prepare(&mut self, commit: Commit, operation: &str, record: &mut Record) -> Result<Option<Part>, CommitError> {
        let storage = self.writable_storage()?;
        let head = storage.head(&commit.skill)?;
        if head.as_ref().map(|head| &head.id) != commit.base.as_ref() {
            return Err(CommitError::Stale { skill: commit.skill, head: head.map(|head| head.id) });
        }
        let mut before = match &head {
            Some(head) => Some((head.clone(), storage.bundle(&head.id)?)),
            None => None,
        };
        let mut known: Vec<Bundle> = before.iter().map(|(_, bundle)| bundle.clone()).collect();
        let mut last = None;
        for new in commit.revisions {
            let prepared = storage.prepare(before.as_ref().map(|(revision, bundle)| (revision, bundle)), &new)?;
            record.events.push(Event::applied(operation, commit.skill.as_str(), &prepared.revision));
            add_objects(&mut record.objects, prepared.objects);
            let bundle = new.content.bundle();
            known.push(bundle.clone());
            before = Some((prepared.revision, bundle));
            last = Some(new);
        }
        let Some((last, (revision, _))) = last.zip(before) else { return Ok(None) };
        let old = head.as_ref().map(|head| head.id.clone());
        record.heads.push(HeadChange { skill: commit.skill.to_string(), old, new: revision.id.clone() });
        Ok(Some(Part { skill: commit.skill, head, known, last, revision }))
    }

    fn check_out(
        &mut self,
        own: &Dir,
        root: &Dir,
        part: Part,
        staged: Option<Staged>,
    ) -> Result<Committed, CommitError> {
        let swapped = match staged {
            Some(staged) => checkout::swap(&part.skill, staged),
            None => checkout::remove(root, &part.skill),
        };
        let checkout = match swapped {
            Ok(None) => Checkout::Done,
            Ok(Some(displaced)) => self.keep_displaced(own, &part, displaced)?,
            Err(error) => Checkout::Pending(error.to_string()),
        };
        let previous = part.head.map(|head| head.id);
        Ok(Committed { skill: part.skill, revision: part.revision, previous, checkout })
    }

    /// Looks at the folder that the checkout took away. What no revision holds was written in the
    /// moment between; it becomes a revision of its own, and the commit's content one after it.
    fn keep_displaced(&mut self, own: &Dir, part: &Part, displaced: Displaced) -> Result<Checkout, CommitError> {
        let Some(found) = displaced.bundle(self.limits()) else {
            let pending = "the folder was changed meanwhile into something that cannot be read as a skill";
            return match displaced.put_back(&part.skill) {
                Ok(()) => Ok(Checkout::Pending(pending.to_owned())),
                Err(error) => Ok(Checkout::Pending(format!("{pending}: {error}"))),
            };
        };
        if found.is_empty() || part.known.iter().any(|known| known.same_but_line_ends(&found)) {
            return Ok(Checkout::Done);
        }
        let commit = Commit {
            skill: part.skill.clone(),
            base: Some(part.revision.id.clone()),
            revisions: vec![external(found, &part.last.stamp), again(&part.last)],
        };
        let kept = self.commit_locked(own, vec![commit])?;
        let id = kept.into_iter().next().and_then(|part| part.revision.parent);
        Ok(id.map_or(Checkout::Done, Checkout::HandEditKept))
    }
}

fn add_objects(objects: &mut Vec<Object>, more: Vec<Object>) {
    for object in more {
        if !objects.iter().any(|known| known.id == object.id) {
            objects.push(object);
        }
    }
}

/// A hand edit as a revision: cleared if the scanner lets it, else kept with its verdict.
fn external(found: Bundle, stamp: &Stamp) -> NewRevision {
    let content = match scan::clear(found.clone(), scan::Baseline::None) {
        Ok(cleared) => Content::Cleared(cleared),
        Err(_) => Content::Captured(scan::capture(found)),
    };
    NewRevision::new(content, Action::External, stamp.external("changed by hand at the same moment"))
}

/// The same content once more, over a hand edit.
fn again(last: &NewRevision) -> NewRevision {
    let content = match &last.content {
        Content::Cleared(cleared) => Content::Cleared(cleared.clone()),
        Content::Captured(captured) => Content::Captured(captured.clone()),
        Content::Tombstone => Content::Tombstone,
    };
    NewRevision {
        content,
        action: last.action,
        stamp: last.stamp.clone(),
        origin: last.origin.clone(),
        absorbed_into: None,
    }
}
