//! Integrity of the journal, and repair of a damaged one ([`JournalState`]).

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

/// State of the journal, read while nobody commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalState {
    /// All records are complete and applied.
    Sound,
    /// All records are complete and were applied before the machine was started anew.
    Restarted,
    /// All records are complete. This number of bytes may not be applied.
    Pending(u64),
    /// Complete records, then this number of bytes of an operation that was cut off before it was reported.
    Cut(u64),
    /// The bytes from this offset on are not a record, and a complete record follows.
    Damaged(u64),
}

/// Result of repairing the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRepair {
    /// Name of the copy of the damaged journal, beside it.
    pub kept_as: String,
    /// Number of operations that were saved.
    pub saved: usize,
    /// Parts that were lost. Contains every unreadable byte range, even if its content is unknown.
    pub lost: Vec<LostPart>,
    /// Result of applying the saved records.
    pub recovery: Recovery,
}

/// Part of a damaged journal that could not be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LostPart {
    /// A byte range of the file that is not a record.
    Bytes(Range<u64>),
    /// A revision from such a range that is intact in the history, so that it is not lost.
    Known {
        /// Name of the skill.
        skill: String,
        /// Id of its revision.
        revision: RevisionId,
    },
    /// An operation based on a lost revision.
    Operation {
        /// Name of the skill.
        skill: String,
        /// Revision that it created, which is now only in the copy.
        revision: RevisionId,
        /// Revision on which it was based.
        base: Option<RevisionId>,
        /// Action, actor, time and reason.
        what: String,
    },
}

impl Library {
    /// Checks the integrity of the journal. Waits for a running commit.
    ///
    /// # Errors
    /// The lock cannot be taken, an I/O error, or a later version wrote the journal.
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
                let len = journal.len().map_err(self.own_io())?;
                let applied = journal.applied_bytes().map_err(self.own_io())?.unwrap_or(0);
                match journal.bytes_applied_before().map_err(self.own_io())? == len {
                    true => JournalState::Restarted,
                    false => JournalState::Pending(len.saturating_sub(applied)),
                }
            }
            _ => JournalState::Sound,
        })
    }

    /// Repairs a damaged journal: copies it, keeps the complete records that fit the existing heads, applies those,
    /// and returns the losses. It can be stopped at any point and run again.
    ///
    /// # Errors
    /// Returns [`LibraryError`]. The journal is then either unchanged, or repaired and not yet applied.
    pub fn repair_journal(&mut self, time: Timestamp) -> Result<JournalRepair, LibraryError> {
        let own = self.locked()?;
        let mut journal = Journal::open(&own).map_err(self.own_io())?;
        let pieces = journal.pieces().map_err(self.own_io())?;
        let kept_as = super::keep_copy(&own, "journal", time).map_err(self.own_io())?;
        let mut fitting =
            Fitting { storage: self.writable_storage()?, heads: BTreeMap::new(), checked: Checked::new() };
        let (mut kept, mut lost) = (Vec::new(), Vec::new());
        for piece in pieces {
            match piece {
                Piece::Unreadable(bytes) => lost.push(LostPart::Bytes(bytes)),
                Piece::Whole(record, bytes) => match fitting.take(&record)? {
                    Taken::Fits(known) => {
                        kept.push(bytes);
                        lost.extend(known);
                    }
                    Taken::Not => lost.extend(record.heads.iter().map(|head| of_record(&record, head))),
                },
            }
        }
        // Data of lost records is no longer in the journal and may not be on the disk yet.
        sync_everything();
        journal.keep_only(&kept).map_err(self.own_io())?;
        let recovery = self.recover(&own)?;
        Ok(JournalRepair { kept_as, saved: kept.len(), lost, recovery })
    }
}

/// Selects the records that can be applied in sequence.
struct Fitting<'a> {
    storage: &'a GitStorage,
    /// The heads after the records that were taken.
    heads: BTreeMap<String, RevisionId>,
    checked: Checked,
}

enum Taken {
    /// The record fits. These revisions in between are intact although their records are not.
    Fits(Vec<LostPart>),
    Not,
}

impl Fitting<'_> {
    /// Writes a record's objects, which changes no head, and checks that every new head and its ancestors are
    /// complete.
    fn take(&mut self, record: &Record) -> Result<Taken, LibraryError> {
        self.storage.write(&record.objects, &[], true)?;
        let mut known = Vec::new();
        for head in &record.heads {
            let fits_last = self.heads.get(&head.skill).is_none_or(|last| head.old.as_ref() == Some(last));
            if !self.is_whole(&head.new)? {
                return Ok(Taken::Not);
            }
            if let (false, Some(base)) = (fits_last, &head.old) {
                known.push(LostPart::Known { skill: head.skill.clone(), revision: base.clone() });
            }
        }
        self.heads.extend(record.heads.iter().map(|head| (head.skill.clone(), head.new.clone())));
        Ok(Taken::Fits(known))
    }

    /// Returns whether a revision and its ancestors are complete. Damage is not cached, because the next record may
    /// contain the missing objects.
    fn is_whole(&mut self, id: &RevisionId) -> Result<bool, LibraryError> {
        let before = self.checked.clone();
        let whole = self.storage.check(id, &mut self.checked, &mut || {})?.is_empty();
        if !whole {
            self.checked = before;
        }
        Ok(whole)
    }
}

fn of_record(record: &Record, head: &HeadChange) -> LostPart {
    let event = record.events.iter().rev().find(|event| event.skill == head.skill);
    let what = event.map(describe).unwrap_or_default();
    LostPart::Operation { skill: head.skill.clone(), revision: head.new.clone(), base: head.old.clone(), what }
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
