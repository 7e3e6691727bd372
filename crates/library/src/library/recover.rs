//! Recovery and checkpoints: applying pending records of the journal and syncing the result.

use std::{collections::BTreeMap, io, time::Duration};

use jiff::Timestamp;
use scan::Baseline;
use skill::{Bundle, File, SkillName};

use super::{Library, LibraryError, commit::CHECKPOINT_BYTES, keep_copy, lock_lines, relocate::MovedFolder};
use crate::{
    checkout,
    disk::{ensure_dir, ensure_resolved, open_dir, sync_folder},
    events::{self, Event},
    folder::{self, FolderError, ToolFiles},
    journal::{self, Journal, Record, Temporary},
    lock::{LockError, LockedDir},
    proposals::store,
    storage::{HeadChange, Object},
};

/// Number of revisions of one operation that may have been in the folder.
const MOST_STATES: usize = 64;

/// Result of recovering a library when it is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Number of operations that were applied again.
    pub operations: usize,
    /// Bytes at the end of the journal that were dropped, from an operation cut off before it was reported.
    pub cut_bytes: u64,
    /// Name of a copy of the journal, made if the dropped bytes may be more than a truncated operation.
    pub kept_as: Option<String>,
    /// Skills whose folder could not be updated to the head, for example because it is a mount point. Every opening
    /// tries again, and the folder's content is not treated as a hand edit.
    pub pending: Vec<SkillName>,
    /// Temporary folders that may contain a hand edit and that could neither be kept nor removed. Every opening tries
    /// again.
    pub folders: Vec<String>,
}

impl Recovery {
    /// Returns whether recovery is complete.
    pub fn is_settled(&self) -> bool {
        self.pending.is_empty() && self.folders.is_empty()
    }
}

/// Possible damage by a crash to files that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Traces {
    /// None: the process was killed, so every file is complete.
    Whole,
    /// The machine went down, so files may be truncated or missing.
    Cut,
}

impl Library {
    /// Returns whether the journal has operations that may not have been applied.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn has_pending_operations(&self) -> Result<bool, LibraryError> {
        match open_dir(&self.own)? {
            Some(own) => journal::is_pending(&own).map_err(self.own_io()),
            None => Ok(false),
        }
    }

    /// Applies pending operations like opening does, but waits for a process that holds the lock.
    ///
    /// # Errors
    /// The lock cannot be taken, or an I/O error.
    pub fn settle(&mut self) -> Result<Recovery, LibraryError> {
        let own = self.locked()?;
        self.recover(&own)
    }

    /// Applies pending operations, unless another process holds the lock, which will apply them itself.
    pub(super) fn recover_if_idle(&mut self) -> Result<(), LibraryError> {
        if !self.has_pending_operations()? {
            return Ok(());
        }
        match LockedDir::acquire(ensure_dir(&self.own)?, Duration::ZERO) {
            Ok(own) => self.recover(&own).map(drop),
            Err(LockError::Locked { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Applies the journal's pending operations.
    pub(super) fn recover(&mut self, own: &LockedDir) -> Result<Recovery, LibraryError> {
        let mut journal = self.journal(own)?;
        if !journal.is_pending().map_err(self.own_io())? {
            return Ok(Recovery::default());
        }
        let applied = journal.applied_bytes().map_err(self.own_io())?;
        let traces = if applied.is_some() { Traces::Whole } else { Traces::Cut };
        let mut contents = journal.read(applied.unwrap_or(0)).map_err(self.own_io())?;
        if let Some(moved) = MovedFolder::of(&self.own) {
            contents.records.iter_mut().for_each(|record| move_paths(record, &moved));
        }
        let mut kept_as = None;
        if contents.cut_bytes > 0 {
            if contents.is_garbage {
                kept_as = Some(keep_copy(own, "journal", Timestamp::now()).map_err(self.own_io())?);
            }
            journal.cut(contents.cut_bytes).map_err(self.own_io())?;
        }
        let mut heads = last_heads(&contents.records);
        let operations = contents.records.len();
        let temporary: Vec<Temporary> = contents.records.iter().flat_map(|r| r.temporary.clone()).collect();
        let known = operations - self.new_operations(&mut journal, operations)?;
        let links: Vec<_> = contents.records.iter().skip(known).flat_map(|record| record.links.clone()).collect();
        if operations > 0 {
            let events: Vec<Event> = contents.records.iter().flat_map(|record| record.events.clone()).collect();
            let proposals: Vec<_> = contents.records.iter().flat_map(|record| record.proposals.clone()).collect();
            // While lines wait for the lock file, those of any operation may be missing there.
            let unwritten = contents.records.iter().skip(if lock_lines::are_pending(own) { 0 } else { known });
            for lines in unwritten.filter_map(|record| record.lock_lines.as_ref()) {
                lock_lines::keep(own, lines, self.limits().state_bytes).map_err(self.own_io())?;
            }
            let objects = objects_of(contents.records);
            if !heads.is_empty() {
                let storage = self.writable_storage()?;
                storage.write(&objects, &[], traces == Traces::Cut)?;
                heads = heads.into_iter().map(|head| self.never_back(head, storage)).collect();
                storage.write(&[], &heads, false)?;
            }
            events::append_missing(own, &events).map_err(self.own_io())?;
            store::write(own, &proposals, false).map_err(self.own_io())?;
        }
        let unfinished = self.finish_moves(&temporary, &heads)?;
        let skills = heads.iter().filter(|head| {
            unfinished.iter().any(|folder| folder.skill == head.skill) || self.check_out_again(head, traces).is_err()
        });
        let pending: Vec<SkillName> = skills.filter_map(|head| SkillName::parse(&head.skill).ok()).collect();
        let stamp_of = |skill: &SkillName| self.head(skill).ok().flatten().map(|head| head.stamp);
        self.link_again(own, &links, stamp_of);
        let folders = self.settle_temporary(own, &temporary, &heads, traces, &unfinished)?;
        let recovery = Recovery { operations, cut_bytes: contents.cut_bytes, kept_as, pending, folders };
        if recovery.is_settled() {
            journal.mark_applied().map_err(self.own_io())?;
        }
        Ok(recovery)
    }

    /// Returns the number of pending operations, out of `pending`, that no boot of the machine has applied. The links and
    /// lines of the others are left alone: a person may have changed them since.
    fn new_operations(&self, journal: &mut Journal, pending: usize) -> Result<usize, LibraryError> {
        let before = journal.bytes_applied_before().map_err(self.own_io())?;
        Ok(journal.read(before).map_or(pending, |contents| contents.records.len()).min(pending))
    }

    /// Updates a folder to its head, if it has no content other than what the interrupted operation may have left.
    fn check_out_again(&self, head: &HeadChange, traces: Traces) -> Result<(), LibraryError> {
        let Ok(skill) = SkillName::parse(&head.skill) else { return Ok(()) };
        let new = self.bundle(&head.new)?;
        let root = ensure_resolved(self.path())?;
        let found = match folder::read(&root, skill.as_str(), ToolFiles::Skip, self.limits()) {
            Ok(found) => found,
            Err(FolderError::Missing(_)) => Bundle::default(),
            Err(_) => return Ok(()),
        };
        let is_empty_rest = new.is_empty() && found.is_empty() && root.is_dir(skill.as_str());
        if folder::has_content(&found, &folder::without_tool_files(&new)) && !is_empty_rest {
            return Ok(());
        }
        let (old, states) = self.states_since(head)?;
        if !found.is_empty() && !states.iter().any(|state| is_left_by_a_crash(&found, state, traces)) {
            return Ok(());
        }
        let displaced = if new.is_empty() {
            checkout::remove(&root, &skill, checkout::temporary_name_again(&head.skill))
        } else {
            let baseline = old.as_ref().map_or(Baseline::None, Baseline::Cleared);
            let Ok(cleared) = self.clear_by(&skill, new, baseline, &self.scanner.reading())? else { return Ok(()) };
            let name = checkout::temporary_name_again(&head.skill);
            checkout::stage(&root, &cleared, name).and_then(|staged| checkout::swap(&skill, staged))
        };
        let put = displaced.and_then(|displaced| match displaced {
            Some(displaced) if displaced.bundle(self.limits()).as_ref() == Some(&found) => displaced.discard(&skill),
            Some(edited_meanwhile) => edited_meanwhile.put_back(&skill),
            None => Ok(()),
        });
        put.map_err(|source| LibraryError::Io { path: self.path().join(skill.as_str()), source })
    }

    /// Returns the files of all revisions between the old and the new head of a change, inclusive, after those of the
    /// last cleared revision before the new one. A head from another machine may have the old one in another line, and
    /// many revisions in between that were never in the folder.
    pub(super) fn states_since(&self, head: &HeadChange) -> Result<(Option<Bundle>, Vec<Bundle>), LibraryError> {
        let (mut cleared, mut states) = (None, Vec::new());
        let mut next = Some(head.new.clone());
        let mut old = head.old.clone();
        while let (Some(id), Some(storage)) = (next.take(), self.storage()?) {
            old = old.filter(|old| *old != id);
            let (revision, files) = (storage.revision(&id)?, storage.bundle(&id)?);
            if id != head.new && cleared.is_none() && revision.was_cleared() && !revision.tombstone {
                cleared = Some(files.clone());
            }
            states.push(files);
            let is_last = head.old.as_ref() == Some(&id) || states.len() > MOST_STATES;
            next = if is_last { old.take() } else { revision.parent.or_else(|| old.take()) };
        }
        Ok((cleared, states))
    }

    /// Runs a checkpoint if the journal is large: syncs everything in it to its final place and empties it.
    pub(super) fn checkpoint_if_large(&mut self, own: &LockedDir, journal: &mut Journal) -> Result<(), LibraryError> {
        if journal.len().map_err(self.own_io())? <= CHECKPOINT_BYTES {
            return Ok(());
        }
        self.checkpoint_of(own, journal)
    }

    /// Runs a checkpoint: syncs everything in the journal to its final place and empties it. The caller has applied the
    /// journal.
    pub(super) fn checkpoint(&mut self, own: &LockedDir) -> Result<(), LibraryError> {
        let mut journal = self.journal(own)?;
        self.checkpoint_of(own, &mut journal)
    }

    fn checkpoint_of(&mut self, own: &LockedDir, journal: &mut Journal) -> Result<(), LibraryError> {
        let records = journal.read(0).map_err(self.own_io())?.records;
        let heads = last_heads(&records);
        let proposals: Vec<_> = records.iter().flat_map(|record| record.proposals.clone()).collect();
        store::write(own, &proposals, true).map_err(self.own_io())?;
        if !heads.is_empty() {
            self.writable_storage()?.settle(&objects_of(records), &heads)?;
        }
        self.sync_folders(&heads).map_err(|source| LibraryError::Io { path: self.path.clone(), source })?;
        events::sync(own).map_err(self.own_io())?;
        journal.clear().map_err(self.own_io())
    }

    fn sync_folders(&self, heads: &[HeadChange]) -> io::Result<()> {
        let Ok(Some(root)) = self.root() else { return Ok(()) };
        for head in heads {
            match root.open_dir(&head.skill) {
                Ok(dir) => match folder::sync(&dir) {
                    Err(error) if !is_no_folder_of_ours(&error) => return Err(error),
                    _ => {}
                },
                Err(error) if is_no_folder_of_ours(&error) => {}
                Err(error) => return Err(error),
            }
        }
        sync_folder(&root)
    }
}

/// Returns whether a folder cannot be synced because somebody removed or replaced it. It is then a hand edit and
/// stays as it is.
fn is_no_folder_of_ours(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied)
}

/// Returns the objects of all records without duplicates.
/// Replaces the paths of links and of the lock file, which are absolute, by those after a move of the library.
fn move_paths(record: &mut Record, moved: &MovedFolder) {
    let links = record.links.iter_mut().map(|step| &mut step.path);
    let paths = links.chain(record.lock_lines.iter_mut().map(|lines| &mut lines.path));
    paths.for_each(|path| *path = moved.present(path));
}

fn objects_of(records: Vec<Record>) -> Vec<Object> {
    let mut objects: Vec<Object> = records.into_iter().flat_map(|record| record.objects).collect();
    objects.sort_by(|a, b| a.id.cmp(&b.id));
    objects.dedup_by(|a, b| a.id == b.id);
    objects
}

/// Returns for each skill the head before the first record and after the last one.
fn last_heads(records: &[Record]) -> Vec<HeadChange> {
    let mut heads: BTreeMap<&str, HeadChange> = BTreeMap::new();
    for change in records.iter().flat_map(|record| &record.heads) {
        heads.entry(&change.skill).or_insert_with(|| change.clone()).new = change.new.clone();
    }
    heads.into_values().collect()
}

/// Returns whether a folder is a revision as a crash may have left it, without changes by a user.
fn is_left_by_a_crash(found: &Bundle, state: &Bundle, traces: Traces) -> bool {
    let state = folder::without_tool_files(state);
    folder::has_content(found, &state)
        || (traces == Traces::Cut
            && found.files().all(|(path, file)| state.get(path).is_some_and(|whole| is_truncation(file, whole))))
}

/// Returns whether a file may be the remains of another after a power loss: its beginning, with zeros in place of
/// bytes that never reached the disk.
pub(super) fn is_truncation(file: &File, whole: &File) -> bool {
    file.bytes.len() <= whole.bytes.len()
        && file.bytes.iter().zip(whole.bytes.iter()).all(|(found, written)| found == written || *found == 0)
}

#[cfg(test)]
mod tests {
    use testkit::bundle;

    use super::*;

    #[test]
    fn crash_traces_are_not_hand_edits() {
        let state = bundle(&[("SKILL.md", "new text"), ("b", "b")]);
        let cut = [
            bundle(&[("SKILL.md", ""), ("b", "b")]),
            bundle(&[("SKILL.md", "new t")]),
            bundle(&[("b", "")]),
            bundle(&[("SKILL.md", "new\0\0\0\0\0"), ("b", "\0")]),
            bundle(&[("SKILL.md", "\0\0\0\0text")]),
        ];
        for left in &cut {
            assert!(is_left_by_a_crash(left, &state, Traces::Cut), "{left:?}");
            assert!(!is_left_by_a_crash(left, &state, Traces::Whole), "a killed process cuts no file: {left:?}");
        }
        assert!(is_left_by_a_crash(&state, &state, Traces::Whole));
        for edited in
            [bundle(&[("SKILL.md", "mine")]), bundle(&[("b", "b\0")]), bundle(&[("SKILL.md", "new text"), ("c", "")])]
        {
            assert!(!is_left_by_a_crash(&edited, &state, Traces::Cut), "{edited:?}");
        }
    }
}
