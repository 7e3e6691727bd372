//! Committing: the only way to create a revision.
//!
//! The new folders are written beside the old ones and the objects are created in memory. Then, under the lock, the
//! heads are compared with those that the caller saw, one journal record is synced (the commit point), and objects,
//! heads, folders and events are written from it.

mod error;

use std::{
    collections::{BTreeSet, HashSet},
    io,
};

use cap_std::fs::Dir;
use scan::Baseline;
use skill::{Bundle, File, SkillName, SkillPath};

pub use error::CommitError;

use super::{
    LOCK_WAIT, Library, LibraryError,
    commit_batch::{Commit, CommitBatch},
    lock_lines,
};
use crate::{
    checkout::{self, Staged},
    disk::ensure_resolved,
    events::{self, Event, operation_id},
    interrupt::Section,
    journal::{Journal, Record, Temporary},
    links::{LinkChanges, LinkStep},
    lock::{LibraryLock, LockedDir},
    path_access_error::PathAccessError,
    proposals::store,
    revision::{Action, Content, NewRevision, Revision, RevisionId, SyncedRevision},
    state::State,
    storage::{HeadChange, StorageError},
};

/// Journal size in bytes above which a commit ends with a checkpoint.
pub(super) const CHECKPOINT_BYTES: u64 = 2 << 20;

/// Size of new files in bytes from which a commit writes them before it takes the lock.
const AHEAD_BYTES: u64 = 1 << 20;

/// Result of updating a skill's folder after its commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checkout {
    /// The folder has the committed files.
    Done,
    /// The folder has the committed files, and a concurrent hand edit was kept as this revision.
    HandEditKept(RevisionId),
    /// The commit is valid, but history, log or folder are not completely written yet, for this reason. The next
    /// opening or commit completes them.
    Pending(String),
}

/// Result of a commit for one skill.
#[derive(Debug, Clone)]
pub struct Committed {
    /// Name under which it is in the library.
    pub skill: SkillName,
    /// The revision that was committed. It is the new head, unless a concurrent hand edit followed it.
    pub revision: Revision,
    /// Head before the commit.
    pub previous: Option<RevisionId>,
    /// Result of updating the folder.
    pub checkout: Checkout,
    /// Changes of the links in agents' folders.
    pub links: LinkChanges,
}

/// Update of a skill's folder after its commit.
pub(super) enum CheckoutPlan {
    /// The staged folder replaces it.
    Swap(Staged),
    /// It is moved away to this temporary name.
    Remove(String),
    /// It stays, since it already has the committed files.
    Leave,
}

impl CheckoutPlan {
    /// Returns the temporary name used beside the skill's folder.
    fn temporary_name(&self) -> Option<&str> {
        match self {
            Self::Swap(staged) => staged.name(),
            Self::Remove(name) => Some(name),
            Self::Leave => None,
        }
    }
}

/// One skill's part of a commit, prepared under the lock.
pub(super) struct Part {
    pub skill: SkillName,
    pub head: Option<Revision>,
    /// File states that may be in the folder without being a hand edit.
    pub known: Vec<Bundle>,
    pub last: NewRevision,
    pub revision: Revision,
    /// The revision made from an accepted proposal, if it is not the last.
    pub accepted: Option<Revision>,
    /// Its changes in agents' folders.
    pub links: Vec<LinkStep>,
}

/// The content of the journal record and the result of applying it.
pub(super) struct Written {
    pub parts: Vec<Part>,
    /// Reason why heads, objects or events could not be written. The next opening writes them.
    pub trouble: Option<String>,
}

impl Library {
    /// Commits new revisions, proposals, links and lines of the lock file atomically, in one record, and checks the
    /// revisions out. Without new revisions the library's folder is not touched.
    ///
    /// # Errors
    /// Returns [`CommitError`]; nothing has changed then. A failure after the commit point is not an error, see
    /// [`Checkout::Pending`].
    pub fn commit(&mut self, batch: impl Into<CommitBatch>) -> Result<Vec<Committed>, CommitError> {
        let _whole = Section::enter()?;
        let batch = batch.into();
        let committed = if batch.commits.is_empty() { self.commit_proposals(batch) } else { self.commit_skills(batch) };
        let untold = std::mem::take(&mut self.untold);
        if let (Ok(_), Some(watcher)) = (&committed, &self.watcher) {
            watcher.notify(&self.path, &untold);
        }
        committed
    }

    fn commit_skills(&mut self, batch: CommitBatch) -> Result<Vec<Committed>, CommitError> {
        let root = self.writable_root()?;
        let follow = batch.commits.iter().map(|commit| self.stage(&root, commit)).collect::<Result<Vec<_>, _>>()?;
        let own = self.ensure_own()?;
        self.write_ahead(&own, &batch.commits)?;
        let own = LockedDir::acquire(own, LOCK_WAIT)?;
        self.check_still_free(&own, &batch.commits)?;
        let recovered = self.recover(&own)?;
        let ours: Vec<&str> = follow.iter().filter_map(CheckoutPlan::temporary_name).collect();
        self.remove_old_leftovers(&root, &recovered, &ours);
        self.commit_and_follow(&own, batch, follow, recovered.is_settled())
    }

    /// Writes the files of a large change before the lock is taken, so that the lock is only held for small objects.
    fn write_ahead(&self, own: &Dir, commits: &[Commit]) -> Result<(), CommitError> {
        let revisions = commits.iter().flat_map(|commit| &commit.revisions);
        let bundles: Vec<Bundle> = revisions.flat_map(NewRevision::bundles).collect();
        let bytes: u64 = bundles.iter().map(Bundle::total_bytes).sum();
        // A small change of a large skill has few new bytes.
        if bytes < AHEAD_BYTES || self.new_bytes(commits)? < AHEAD_BYTES {
            return Ok(());
        }
        if self.storage()?.is_none() {
            let _lock = LibraryLock::acquire(own, LOCK_WAIT)?;
            self.writable_storage()?;
        }
        Ok(self.writable_storage()?.write_ahead(&bundles.iter().collect::<Vec<_>>())?)
    }

    /// Returns the size in bytes of the files that are not in the bases of the commits.
    fn new_bytes(&self, commits: &[Commit]) -> Result<u64, CommitError> {
        let mut bytes = 0;
        for commit in commits {
            let base = commit.base.as_ref().map(|base| self.bundle(base)).transpose()?.unwrap_or_default();
            for bundle in commit.revisions.iter().flat_map(NewRevision::bundles) {
                let is_new =
                    |(path, file): &(&SkillPath, &File)| base.get(path).is_none_or(|old| old.bytes != file.bytes);
                bytes += bundle.files().filter(is_new).map(|(_, file)| file.bytes.len() as u64).sum::<u64>();
            }
        }
        Ok(bytes)
    }

    fn commit_proposals(&mut self, batch: CommitBatch) -> Result<Vec<Committed>, CommitError> {
        let own = LockedDir::acquire(self.ensure_own()?, LOCK_WAIT)?;
        let recovered = self.recover(&own)?;
        self.commit_and_follow(&own, batch, Vec::new(), recovered.is_settled())
    }

    /// Commits the current content of a skill's folder, which the caller has read under the lock.
    pub(super) fn commit_as_it_stands(
        &mut self,
        own: &LockedDir,
        commit: Commit,
        settled: bool,
    ) -> Result<Vec<Committed>, CommitError> {
        self.commit_and_follow(own, commit.into(), vec![CheckoutPlan::Leave], settled)
    }

    /// Commits and updates the folders. `settled` is true if no older record is waiting to be applied.
    fn commit_and_follow(
        &mut self,
        own: &LockedDir,
        batch: CommitBatch,
        follow: Vec<CheckoutPlan>,
        settled: bool,
    ) -> Result<Vec<Committed>, CommitError> {
        let mut journal = self.journal(own)?;
        let written = self.commit_under_lock(own, &mut journal, batch, &follow)?;
        let mut settled = settled && written.trouble.is_none();
        let (mut committed, mut stamps) = (Vec::with_capacity(written.parts.len()), Vec::new());
        for (part, follow) in written.parts.into_iter().zip(follow) {
            if let (None, Some(files)) = (&written.trouble, part.known.last()) {
                *self.last_read.borrow_mut() = Some((part.revision.id.clone(), files.clone()));
            }
            let checkout = match &written.trouble {
                Some(trouble) => Checkout::Pending(trouble.clone()),
                None => self.check_out(own, &mut journal, &part, follow, &mut settled),
            };
            let links = match (&written.trouble, &checkout) {
                (None, Checkout::Done | Checkout::HandEditKept(_)) => {
                    self.carry_out_links(own, &part.skill, &part.links)
                }
                _ => LinkChanges::default(),
            };
            stamps.push(part.last.stamp);
            let previous = part.head.map(|head| head.id);
            committed.push(Committed { skill: part.skill, revision: part.revision, previous, checkout, links });
        }
        self.note_followed(own, &mut committed, &stamps);
        if settled {
            let _again_by_the_next_opening = self.mark_and_checkpoint(own, &mut journal);
        }
        Ok(committed)
    }

    fn mark_and_checkpoint(&mut self, own: &LockedDir, journal: &mut Journal) -> Result<(), LibraryError> {
        journal.mark_applied().map_err(self.own_io())?;
        self.checkpoint_if_large(own, journal)
    }

    pub(super) fn writable_root(&self) -> Result<Dir, CommitError> {
        ensure_resolved(self.path()).map_err(|error| match error {
            PathAccessError::Io { source, .. } => self.not_writable(source),
            refused => refused.into(),
        })
    }

    fn not_writable(&self, source: io::Error) -> CommitError {
        CommitError::NotWritable { path: self.path().to_owned(), source }
    }

    pub(super) fn stage(&self, root: &Dir, commit: &Commit) -> Result<CheckoutPlan, CommitError> {
        let staged = match commit.revisions.last().map(|revision| &revision.content) {
            Some(Content::Cleared(cleared)) => {
                checkout::stage(root, cleared, checkout::temporary_name()).map(CheckoutPlan::Swap)
            }
            Some(Content::Tombstone) => {
                checkout::probe(root).map(|()| CheckoutPlan::Remove(checkout::temporary_name()))
            }
            Some(Content::Captured(_)) => return Err(StorageError::Uncleared(commit.skill.clone()).into()),
            None => return Err(StorageError::Damaged("a commit without revisions".to_owned()).into()),
        };
        staged.map_err(|source| self.not_writable(source))
    }

    /// Writes the journal record, then objects, heads and events. The caller updates the folders afterwards, as
    /// announced in `follow`. After an error nothing has been committed.
    pub(super) fn commit_under_lock(
        &mut self,
        own: &LockedDir,
        journal: &mut Journal,
        CommitBatch { commits, proposals, mut plans }: CommitBatch,
        follow: &[CheckoutPlan],
    ) -> Result<Written, CommitError> {
        // For a state written by an earlier version. If the marker cannot be written, the next commit tries again.
        let _next_time = State::note_written(own);
        let temporary = temporary_of(&commits, follow);
        let mut record = Record { temporary, lock_lines: plans.lock_lines.take(), ..Record::default() };
        let mut parts = Vec::with_capacity(commits.len());
        let first_stamp = commits.first().and_then(|commit| commit.revisions.first()).map(|revision| &revision.stamp);
        let operation = first_stamp.map(operation_id).unwrap_or_default();
        refuse_repeated(&commits)?;
        for commit in commits {
            parts.push(self.prepare(commit, &operation, &mut record)?);
        }
        self.refuse_lost_heads(own, &parts)?;
        let mut ids = HashSet::new();
        record.objects.retain(|object| ids.insert(object.id.clone()));
        self.plan_links(own, &mut parts, plans.links, &operation, &mut record)?;
        let named = |part: &'_ Part| part.accepted.clone().unwrap_or_else(|| part.revision.clone());
        let named: Vec<_> = parts.iter().map(|part| (part.skill.to_string(), named(part))).collect();
        let revisions: Vec<_> = named.iter().map(|(skill, revision)| (skill.as_str(), revision)).collect();
        let (files, events) = self.prepare_proposals(own, proposals, &operation, &revisions)?;
        record.proposals = files;
        record.events.extend(events.iter().cloned());
        journal.append(&record).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => CommitError::TooLarge(error),
            _ => self.own_io()(error).into(),
        })?;
        self.untold.extend(events);
        let trouble = self.write_out(own, &record).err().map(|error| error.to_string());
        Ok(Written { parts, trouble })
    }

    fn write_out(&self, own: &LockedDir, record: &Record) -> Result<(), LibraryError> {
        if !record.heads.is_empty() {
            self.writable_storage()?.write(&record.objects, &record.heads, false)?;
        }
        events::append(own, &record.events).map_err(self.own_io())?;
        if let Some(lines) = &record.lock_lines {
            lock_lines::keep(own, lines, self.limits().state_bytes).map_err(self.own_io())?;
        }
        store::write(own, &record.proposals, false).map_err(self.own_io())
    }

    /// Turns one skill's revisions into objects and adds them to the record.
    fn prepare(&self, commit: Commit, operation: &str, record: &mut Record) -> Result<Part, CommitError> {
        let storage = self.writable_storage()?;
        let head = storage.head(&commit.skill)?;
        let now = head.as_ref().map(|head| &head.id);
        if now != commit.base.as_ref() {
            return Err(CommitError::Stale { head: now.cloned(), skill: commit.skill });
        }
        let mut before = match &head {
            Some(head) => Some((head.clone(), self.bundle(&head.id)?)),
            None => None,
        };
        let mut known: Vec<Bundle> = before.iter().map(|(_, bundle)| bundle.clone()).collect();
        let (mut last, mut accepted) = (None, None);
        for new in commit.revisions {
            if new.is_unjudged() {
                return Err(StorageError::Unjudged(commit.skill).into());
            }
            let prepared = storage.prepare(before.as_ref().map(|(revision, bundle)| (revision, bundle)), &new)?;
            let event = match &new.synced {
                Some(SyncedRevision::Head(_)) => {
                    let (parent, stamp) = (now.cloned(), new.stamp.clone());
                    let received = Revision { parent, stamp, ..prepared.revision.clone() };
                    Event::applied(operation, commit.skill.as_str(), &received)
                }
                _ => Event::applied(operation, commit.skill.as_str(), &prepared.revision),
            };
            record.events.push(Event { before: new.before.clone(), ..event });
            record.objects.extend(prepared.objects);
            let bundle = new.content.bundle();
            known.push(bundle.clone());
            accepted = new.acceptance.as_ref().map(|_| prepared.revision.clone()).or(accepted);
            before = Some((prepared.revision, bundle));
            last = Some(new);
        }
        let empty = || StorageError::Damaged("a commit without revisions".to_owned());
        let (last, (revision, _)) = last.zip(before).ok_or_else(empty)?;
        let old = head.as_ref().map(|head| head.id.clone());
        record.heads.push(HeadChange { skill: commit.skill.to_string(), old, new: revision.id.clone() });
        Ok(Part { skill: commit.skill, head, known, last, revision, accepted, links: Vec::new() })
    }

    /// Refuses a first revision of a skill that already had one according to the log. Otherwise a lost head could not
    /// be restored.
    fn refuse_lost_heads(&self, own: &Dir, parts: &[Part]) -> Result<(), LibraryError> {
        let new: BTreeSet<&str> =
            parts.iter().filter(|part| part.head.is_none()).map(|part| part.skill.as_str()).collect();
        if new.is_empty() {
            return Ok(());
        }
        match events::last_applied(own, &new).map_err(self.own_io())? {
            None => Ok(()),
            Some((skill, id)) => Err(StorageError::Damaged(format!(
                "{skill} has no head, but the event log lists its revision {}",
                id.short()
            ))
            .into()),
        }
    }

    fn check_out(
        &mut self,
        own: &LockedDir,
        journal: &mut Journal,
        part: &Part,
        follow: CheckoutPlan,
        settled: &mut bool,
    ) -> Checkout {
        let swapped = match follow {
            CheckoutPlan::Leave => return Checkout::Done,
            CheckoutPlan::Swap(staged) => checkout::swap(&part.skill, staged),
            CheckoutPlan::Remove(name) => {
                self.writable_root().map_err(io::Error::other).and_then(|r| checkout::remove(&r, &part.skill, name))
            }
        };
        match swapped {
            Ok(None) => Checkout::Done,
            Ok(Some(displaced)) => self.keep_displaced(own, journal, part, displaced, settled),
            Err(error) => {
                *settled = false;
                Checkout::Pending(error.to_string())
            }
        }
    }

    /// Turns a hand edit into a revision: cleared if the scanner allows it, otherwise captured with its verdict.
    pub(super) fn external(&self, found: Bundle, part: &Part) -> NewRevision {
        let baseline = match (&part.head, part.known.first()) {
            (Some(head), Some(files)) if head.was_cleared() && !head.tombstone => Baseline::Cleared(files),
            _ => Baseline::None,
        };
        let content = match self.clear(&part.skill, found.clone(), baseline) {
            Ok(Ok(cleared)) => Content::Cleared(cleared),
            Ok(Err(_)) | Err(_) => Content::Captured(scan::capture(found, &self.scanner)),
        };
        let stamp = part.last.stamp.external("changed by hand at the same moment");
        let origin = part.head.as_ref().and_then(|head| head.origin.clone());
        NewRevision::new(content, Action::External, stamp).with_origin(origin)
    }
}

fn temporary_of(commits: &[Commit], follow: &[CheckoutPlan]) -> Vec<Temporary> {
    let named = commits.iter().zip(follow).filter_map(|(commit, follow)| Some((commit, follow.temporary_name()?)));
    named.map(|(commit, name)| Temporary { skill: commit.skill.to_string(), name: name.to_owned() }).collect()
}

/// Refuses a skill that occurs twice.
fn refuse_repeated(commits: &[Commit]) -> Result<(), CommitError> {
    let mut names = BTreeSet::new();
    match commits.iter().find(|commit| !names.insert(&commit.skill)) {
        Some(commit) => Err(CommitError::Stale { skill: commit.skill.clone(), head: commit.base.clone() }),
        None => Ok(()),
    }
}

/// Copies a revision, to be committed again on top of a hand edit.
pub(super) fn again(last: &NewRevision) -> NewRevision {
    NewRevision { synced: None, before: None, ..last.clone() }
}
