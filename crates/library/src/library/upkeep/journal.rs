//! [`JournalState`]: whether the journal can be read, and what can be saved of one that is damaged.

use std::{collections::BTreeMap, ops::Range};

use jiff::Timestamp;

use super::super::{LOCK_WAIT, Library, LibraryError, Recovery};
use crate::{
    disk::open_dir,
    events::Event,
    journal::{Journal, Piece, Record},
    lock::LibraryLock,
    revision::RevisionId,
    storage::{Checked, GitStorage, HeadChange},
};

/// The journal as it stands, looked at while nobody commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalState {
    /// Every record is whole, and applied.
    Sound,
    /// Every record is whole; these many bytes are not known to be applied.
    Pending(u64),
    /// Whole records, and so many bytes of an operation that was cut off before it was reported.
    Cut(u64),
    /// Bytes from here on are no record, and a whole record follows.
    Damaged(u64),
}

/// What became of a damaged journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalMend {
    /// The name of the copy of the journal as it was, beside it.
    pub kept_as: String,
    /// Operations that were saved.
    pub saved: usize,
    /// What was lost; never empty silently: a stretch that cannot be read is told even when nothing is
    /// known of it.
    pub lost: Vec<Lost>,
    /// What applying the rest came to.
    pub recovery: Recovery,
}

/// One thing that a damaged journal held and that could not be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// Bytes of the file that are no record.
    Bytes(Range<u64>),
    /// Those same bytes held a revision that is whole in the history: nothing of it is lost.
    Known {
        /// The skill.
        skill: String,
        /// Its revision.
        revision: RevisionId,
    },
    /// An operation that was made on what is lost.
    Operation {
        /// The skill.
        skill: String,
        /// The revision that it made, which is only in the copy now.
        revision: RevisionId,
        /// The revision that it was made on.
        base: Option<RevisionId>,
        /// What was done, by whom and when.
        what: String,
    },
}

impl Library {
    /// Whether the journal can be read. Waits for a process at work.
    ///
    /// # Errors
    /// The lock was not to be had, the system refused, or a later version wrote the journal.
    pub fn journal_state(&self) -> Result<JournalState, LibraryError> {
        let Some(own) = open_dir(self.own_path())?.filter(|own| own.exists("journal")) else {
            return Ok(JournalState::Sound);
        };
        let _lock = LibraryLock::acquire(&own, LOCK_WAIT)?;
        let mut journal = Journal::open(&own).map_err(self.own_io())?;
        let pieces = journal.pieces().map_err(self.own_io())?;
        let unreadable = pieces.iter().position(|piece| matches!(piece, Piece::Unreadable(_)));
        Ok(match unreadable.map(|at| (at, pieces.get(at))) {
            Some((at, Some(Piece::Unreadable(bytes)))) if at + 1 == pieces.len() => {
                JournalState::Cut(bytes.end - bytes.start)
            }
            Some((_, Some(Piece::Unreadable(bytes)))) => JournalState::Damaged(bytes.start),
            _ if journal.is_pending().map_err(self.own_io())? => {
                let applied = journal.applied_bytes().map_err(self.own_io())?.unwrap_or(0);
                JournalState::Pending(journal.len().map_err(self.own_io())?.saturating_sub(applied))
            }
            _ => JournalState::Sound,
        })
    }

    /// Keeps a copy of a damaged journal, leaves in it the whole records that fit the heads that there
    /// are, applies those, and says what is lost. It may be stopped and run again at any point.
    ///
    /// # Errors
    /// [`LibraryError`]; the journal is then as it was, or mended and not yet applied.
    pub fn mend_journal(&mut self, time: Timestamp) -> Result<JournalMend, LibraryError> {
        let own = self.ensure_own()?;
        let _lock = LibraryLock::acquire(&own, LOCK_WAIT)?;
        let mut journal = Journal::open(&own).map_err(self.own_io())?;
        let pieces = journal.pieces().map_err(self.own_io())?;
        let kept_as = super::keep_copy(&own, "journal", time).map_err(self.own_io())?;
        let mut fitting =
            Fitting { storage: self.writable_storage()?, heads: BTreeMap::new(), checked: Checked::new() };
        let (mut kept, mut lost) = (Vec::new(), Vec::new());
        for piece in pieces {
            match piece {
                Piece::Unreadable(bytes) => lost.push(Lost::Bytes(bytes)),
                Piece::Whole(record, bytes) => match fitting.take(&record)? {
                    Taken::Fits(known) => {
                        kept.push(bytes);
                        lost.extend(known);
                    }
                    Taken::Not => lost.extend(record.heads.iter().map(|head| of_record(&record, head))),
                },
            }
        }
        // What lost records had written is neither in the journal nor known to be on the disk.
        sync_everything();
        journal.keep_only(&kept).map_err(self.own_io())?;
        let recovery = self.recover(&own)?;
        Ok(JournalMend { kept_as, saved: kept.len(), lost, recovery })
    }
}

/// Chooses the records that can be applied one after the other.
struct Fitting<'a> {
    storage: &'a GitStorage,
    /// The heads after the records that were taken.
    heads: BTreeMap<String, RevisionId>,
    checked: Checked,
}

enum Taken {
    /// It fits, and these revisions between are whole though their record is not.
    Fits(Vec<Lost>),
    Not,
}

impl Fitting<'_> {
    /// Writes a record's objects, which changes no head, and looks whether every revision that it leaves
    /// is whole down to what it was made on.
    fn take(&mut self, record: &Record) -> Result<Taken, LibraryError> {
        self.storage.write(&record.objects, &[], true)?;
        let mut known = Vec::new();
        for head in &record.heads {
            let fits_last = self.heads.get(&head.skill).is_none_or(|last| head.old.as_ref() == Some(last));
            if !self.is_whole(&head.new)? {
                return Ok(Taken::Not);
            }
            if let (false, Some(base)) = (fits_last, &head.old) {
                known.push(Lost::Known { skill: head.skill.clone(), revision: base.clone() });
            }
        }
        self.heads.extend(record.heads.iter().map(|head| (head.skill.clone(), head.new.clone())));
        Ok(Taken::Fits(known))
    }

    /// Whether a revision and all before it can be read. What is damaged is looked at again by the next
    /// record, which may bring it.
    fn is_whole(&mut self, id: &RevisionId) -> Result<bool, LibraryError> {
        let before = self.checked.clone();
        let whole = self.storage.check(id, &mut self.checked, &mut || {})?.is_empty();
        if !whole {
            self.checked = before;
        }
        Ok(whole)
    }
}

fn of_record(record: &Record, head: &HeadChange) -> Lost {
    let event = record.events.iter().rev().find(|event| event.skill == head.skill);
    let what = event.map(describe).unwrap_or_default();
    Lost::Operation { skill: head.skill.clone(), revision: head.new.clone(), base: head.old.clone(), what }
}

fn describe(event: &Event) -> String {
    let reason = event.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{} by {} at {}{reason}", event.action, event.actor, event.time)
}

#[cfg(unix)]
fn sync_everything() {
    rustix::fs::sync();
}

#[cfg(not(unix))]
fn sync_everything() {}

impl Library {
    /// A head change to a revision that the stored head is beyond: the record of a later one was damaged
    /// at the journal's end, where that cannot be told from one that was cut off. The head stays.
    pub(in crate::library) fn never_back(&self, head: HeadChange, storage: &GitStorage) -> HeadChange {
        let beyond = || -> Option<RevisionId> {
            let skill = skill::SkillName::parse(&head.skill).ok()?;
            let (stored, new) = (storage.head(&skill).ok()??, storage.revision(&head.new).ok()?);
            let mut checked = Checked::from([(head.new.to_string(), None)]);
            let mut steps = 0;
            let is_beyond = stored.number > new.number
                && storage.check(&stored.id, &mut checked, &mut || steps += 1).ok()?.is_empty()
                && stored.number - new.number == steps;
            is_beyond.then_some(stored.id)
        };
        match beyond() {
            Some(stored) => HeadChange { new: stored, ..head },
            None => head,
        }
    }
}
