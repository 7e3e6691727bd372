//! Applying what the journal holds, and making it durable in its final places.

use std::{io, time::Duration};

use cap_std::fs::Dir;
use scan::Baseline;
use skill::{Bundle, SkillName};

use super::{Library, LibraryError, commit::CHECKPOINT_BYTES};
use crate::{
    checkout, events,
    folder::{self, FolderError, Leftovers},
    home::{ensure_dir, open_dir},
    journal::Record,
    lock::{LibraryLock, LockError},
    storage::{HeadChange, Object},
};

/// What opening a library found left to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Operations that were applied again.
    pub operations: usize,
    /// Bytes of an operation that was cut off before it was reported, and dropped.
    pub cut_bytes: u64,
}

impl Library {
    /// Whether the journal holds operations that may not have been applied.
    ///
    /// # Errors
    /// The system refused.
    pub fn has_pending_operations(&self) -> Result<bool, LibraryError> {
        match open_dir(&self.own)? {
            Some(own) if own.exists("journal") => self.journal(&own)?.is_pending().map_err(self.own_io()),
            _ => Ok(false),
        }
    }

    /// Applies what is pending, unless another process holds the lock (and will see to it).
    pub(super) fn recover_if_idle(&mut self) -> Result<(), LibraryError> {
        if !self.has_pending_operations()? {
            return Ok(());
        }
        let own = ensure_dir(&self.own)?;
        match LibraryLock::acquire(&own, Duration::ZERO) {
            Ok(_lock) => self.recover(&own).map(drop),
            Err(LockError::Locked { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Applies what is pending; the caller holds the lock.
    pub(super) fn recover(&mut self, own: &Dir) -> Result<Recovery, LibraryError> {
        let mut journal = self.journal(own)?;
        if !journal.is_pending().map_err(self.own_io())? {
            return Ok(Recovery::default());
        }
        let contents = journal.read().map_err(self.own_io())?;
        if contents.cut_bytes > 0 {
            journal.cut(contents.cut_bytes).map_err(self.own_io())?;
        }
        for record in &contents.records {
            self.writable_storage()?.write(&record.objects, &record.heads, true)?;
            events::append_missing(own, &record.events).map_err(self.own_io())?;
        }
        for head in last_heads(&contents.records) {
            self.check_out_again(&head)?;
        }
        journal.mark_applied().map_err(self.own_io())?;
        Ok(Recovery { operations: contents.records.len(), cut_bytes: contents.cut_bytes })
    }

    /// Brings a folder to its head, if it holds nothing but what the operation could have left.
    fn check_out_again(&mut self, head: &HeadChange) -> Result<(), LibraryError> {
        let Ok(skill) = SkillName::parse(&head.skill) else { return Ok(()) };
        let new = self.bundle(&head.new)?;
        let old = match &head.old {
            Some(id) => self.bundle(id)?,
            None => Bundle::default(),
        };
        let root = ensure_dir(self.path())?;
        let found = match folder::read(&root, skill.as_str(), Leftovers::Skip, self.limits()) {
            Ok(found) => found,
            Err(FolderError::Missing(_)) => Bundle::default(),
            Err(_) => return Ok(()),
        };
        if found.same_but_line_ends(&new) || !is_left_by_a_crash(&found, &old, &new) {
            return Ok(());
        }
        let displaced = if new.is_empty() {
            checkout::remove(&root, &skill)
        } else {
            let baseline = if old.is_empty() { Baseline::None } else { Baseline::Cleared(&old) };
            let Ok(cleared) = scan::clear(new, baseline) else { return Ok(()) };
            checkout::stage(&root, &cleared).and_then(|staged| checkout::swap(&skill, staged))
        };
        displaced.map(drop).map_err(|source| LibraryError::Io { path: self.path().join(skill.as_str()), source })
    }

    /// Makes everything in the journal durable in its final place and empties it, when it has grown
    /// large.
    pub(super) fn checkpoint_if_large(&mut self, own: &Dir) -> Result<(), LibraryError> {
        if self.journal(own)?.len().map_err(self.own_io())? <= CHECKPOINT_BYTES {
            return Ok(());
        }
        self.checkpoint(own)
    }

    /// Makes everything in the journal durable in its final place and empties it; the caller holds
    /// the lock and has applied the journal.
    pub(super) fn checkpoint(&mut self, own: &Dir) -> Result<(), LibraryError> {
        let mut journal = self.journal(own)?;
        let records = journal.read().map_err(self.own_io())?.records;
        let heads = last_heads(&records);
        let mut objects: Vec<Object> = records.into_iter().flat_map(|record| record.objects).collect();
        objects.sort_by(|a, b| a.id.cmp(&b.id));
        objects.dedup_by(|a, b| a.id == b.id);
        self.writable_storage()?.settle(&objects, &heads)?;
        self.sync_folders(&heads).map_err(|source| LibraryError::Io { path: self.path.clone(), source })?;
        journal.clear().map_err(self.own_io())
    }

    fn sync_folders(&self, heads: &[HeadChange]) -> io::Result<()> {
        let Ok(Some(root)) = open_dir(self.path()) else { return Ok(()) };
        for head in heads {
            match root.open_dir(&head.skill) {
                Ok(dir) => folder::sync(&dir)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        root.into_std_file().sync_all()
    }
}

/// For each skill the head before all records and the one after them.
fn last_heads(records: &[Record]) -> Vec<HeadChange> {
    let mut heads: Vec<HeadChange> = Vec::new();
    for change in records.iter().flat_map(|record| &record.heads) {
        match heads.iter_mut().find(|known| known.skill == change.skill) {
            Some(known) => known.new = change.new.clone(),
            None => heads.push(change.clone()),
        }
    }
    heads
}

/// Whether every file of a folder is as before, as after, or the beginning of what comes after: the
/// traces of an operation that was cut off, and of nobody's hand.
fn is_left_by_a_crash(found: &Bundle, old: &Bundle, new: &Bundle) -> bool {
    found.files().all(|(path, file)| {
        old.get(path) == Some(file) || new.get(path).is_some_and(|whole| whole.bytes.starts_with(&file.bytes))
    })
}

#[cfg(test)]
mod tests {
    use skill::{File, Limits, SkillPath};

    use super::*;

    fn bundle(files: &[(&str, &str)]) -> Bundle {
        let files = files.iter().map(|(path, text)| {
            (SkillPath::parse(path).unwrap(), File { bytes: text.as_bytes().into(), executable: false })
        });
        Bundle::from_files(files, &Limits::default()).unwrap()
    }

    #[test]
    fn traces_of_a_crash_are_told_from_a_hand_edit() {
        let old = bundle(&[("SKILL.md", "old"), ("a", "a")]);
        let new = bundle(&[("SKILL.md", "new text"), ("b", "b")]);
        for left in [
            bundle(&[]),
            old.clone(),
            new.clone(),
            bundle(&[("SKILL.md", ""), ("b", "b")]),
            bundle(&[("SKILL.md", "new t")]),
        ] {
            assert!(is_left_by_a_crash(&left, &old, &new), "{left:?}");
        }
        for edited in [bundle(&[("SKILL.md", "mine")]), bundle(&[("SKILL.md", "old"), ("c", "")])] {
            assert!(!is_left_by_a_crash(&edited, &old, &new), "{edited:?}");
        }
    }
}
