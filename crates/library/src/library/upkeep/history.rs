//! [`HistoryFault`]: revisions and heads that cannot be read, and bringing them back.

use cap_std::fs::Dir;
use skill::SkillName;

use super::super::{LOCK_WAIT, Library, LibraryError};
use crate::{
    disk::open_dir,
    folder::{self, Leftovers},
    journal::Journal,
    journal::Piece,
    lock::LibraryLock,
    revision::RevisionId,
    storage::{Checked, Damage, HeadChange, Object, StorageError},
};

/// One thing that is wrong with the history.
#[derive(Debug)]
pub enum HistoryFault {
    /// A skill's revision cannot be read whole.
    Revision(SkillName, Damage),
    /// A skill's head.
    Head(HeadFault),
    /// The index of a pack is missing: nothing in it can be read.
    Pack(String),
    /// The history as a whole.
    Whole(StorageError),
}

/// A reference that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadFault {
    /// The skill.
    pub skill: SkillName,
    /// What stands in its place, made readable; empty when there is nothing.
    pub holds: String,
    /// The newest revision that the event log names and that is whole.
    pub last_whole: Option<RevisionId>,
    /// Whether the event log names that one as the newest.
    pub is_newest: bool,
}

impl Library {
    /// Reads every revision of every skill, deleted ones included, down to each file, and names what is
    /// missing or not what its id says. `progress` is called for each revision.
    ///
    /// # Errors
    /// The system refused; damage is what is returned.
    pub fn check_history(&self, progress: &mut dyn FnMut()) -> Result<Vec<HistoryFault>, LibraryError> {
        let storage = match self.storage() {
            Ok(Some(storage)) => storage,
            Ok(None) => return self.all_heads_missing(),
            Err(error) => return Ok(vec![HistoryFault::Whole(error)]),
        };
        let mut checked = Checked::new();
        let mut faults = Vec::new();
        for name in self.skills_ever()? {
            match storage.head_id(&name) {
                Ok(Some(id)) => {
                    let damage = storage.check(&id, &mut checked, progress)?;
                    let is_head =
                        |found: &Damage| found.revision == id && found.objects.iter().any(|o| *o == id.as_str());
                    match damage.iter().any(is_head) {
                        true => faults.push(HistoryFault::Head(self.head_fault(name, id.to_string(), &mut checked)?)),
                        false => faults.extend(damage.into_iter().map(|d| HistoryFault::Revision(name.clone(), d))),
                    }
                }
                Ok(None) => faults.push(HistoryFault::Head(self.head_fault(name, String::new(), &mut checked)?)),
                Err(error) => {
                    faults.push(HistoryFault::Head(self.head_fault(name, error.to_string(), &mut checked)?));
                }
            }
        }
        let has_faults = !faults.is_empty();
        let lone = storage.lone_packs()?.into_iter().filter(|(_, is_old)| *is_old || has_faults);
        faults.splice(0..0, lone.map(|(name, _)| HistoryFault::Pack(name)));
        Ok(faults)
    }

    /// Makes the index of a pack again, after which it can be read.
    ///
    /// # Errors
    /// The lock was not to be had, or the pack is not whole; it stays as it is.
    pub fn mend_pack(&mut self, name: &str) -> Result<(), LibraryError> {
        let own = self.ensure_own()?;
        let _lock = LibraryLock::acquire(&own, LOCK_WAIT)?;
        Ok(self.writable_storage()?.index_pack(name)?)
    }

    /// Where there is no history at all: every skill that the event log says had a revision.
    fn all_heads_missing(&self) -> Result<Vec<HistoryFault>, LibraryError> {
        let mut checked = Checked::new();
        let names = self.skills_ever()?.into_iter();
        names.map(|name| Ok(HistoryFault::Head(self.head_fault(name, String::new(), &mut checked)?))).collect()
    }

    /// The skills that the history has a reference for, readable or not, or that the event log says became
    /// a revision once.
    fn skills_ever(&self) -> Result<Vec<SkillName>, LibraryError> {
        let (events, _) = self.events()?;
        let logged = events.iter().filter(|event| event.revision.is_some());
        let mut names: Vec<SkillName> = logged.filter_map(|event| SkillName::parse(&event.skill).ok()).collect();
        if let Some(heads) = open_dir(&self.history_path().join("refs/skills"))? {
            for entry in heads.entries().map_err(self.own_io())? {
                let file = entry.map_err(self.own_io())?.file_name();
                names.extend(file.to_str().and_then(|name| SkillName::parse(name).ok()));
            }
        }
        if let Some(storage) = self.storage()? {
            names.extend(storage.heads().unwrap_or_default().into_iter().map(|(name, _)| name));
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn head_fault(&self, skill: SkillName, holds: String, checked: &mut Checked) -> Result<HeadFault, LibraryError> {
        let (events, _) = self.events()?;
        let named = events.iter().rev().filter(|event| event.skill == skill.as_str());
        let revisions: Vec<RevisionId> = named.filter_map(|event| event.revision.clone()).collect();
        let mut last_whole = None;
        if let Some(storage) = self.storage()? {
            for id in &revisions {
                let is_known_good = matches!(checked.get(id.as_str()), Some(None)) && storage.revision(id).is_ok();
                if is_known_good || storage.check(id, checked, &mut || {})?.is_empty() {
                    last_whole = Some(id.clone());
                    break;
                }
            }
        }
        let is_newest = last_whole.is_some() && last_whole.as_ref() == revisions.first();
        Ok(HeadFault { skill, holds, last_whole, is_newest })
    }

    /// Writes objects of the history again, as far as the journal and the skills' folders still hold them:
    /// `missing` are ids of objects that are gone or damaged. Where there is no history at all, all is missing.
    ///
    /// # Errors
    /// The lock was not to be had, or the system refused.
    pub fn mend_objects(&mut self, missing: &[String]) -> Result<(), LibraryError> {
        let own = self.ensure_own()?;
        let _lock = LibraryLock::acquire(&own, LOCK_WAIT)?;
        let pieces = Journal::open(&own).and_then(|mut journal| journal.pieces()).map_err(self.own_io())?;
        let records = pieces.into_iter().filter_map(|piece| match piece {
            Piece::Whole(record, _) => Some(record.objects),
            Piece::Unreadable(_) => None,
        });
        let mut found: Vec<Object> = records.flatten().collect();
        if let Some(root) = self.root()? {
            found.extend(self.folders()?.iter().flat_map(|name| self.files_as_objects(&root, name)));
        }
        if self.storage()?.is_some() {
            found.retain(|object| missing.contains(&object.id));
        }
        Ok(self.writable_storage()?.write(&found, &[], true)?)
    }

    fn files_as_objects(&self, root: &Dir, name: &str) -> Vec<Object> {
        let Ok(files) = folder::read(root, name, Leftovers::Skip, self.limits()) else { return Vec::new() };
        let Ok(Some(storage)) = self.storage() else { return Vec::new() };
        files.files().filter_map(|(_, file)| storage.object_of(file).ok()).collect()
    }

    /// Sets a skill's head to the newest revision that is whole, where nothing newer is known.
    ///
    /// # Errors
    /// The lock was not to be had, or the system refused.
    pub fn mend_head(&mut self, fault: &HeadFault) -> Result<(), LibraryError> {
        let Some(new) = fault.last_whole.clone() else { return Ok(()) };
        let own = self.ensure_own()?;
        let _lock = LibraryLock::acquire(&own, LOCK_WAIT)?;
        let head = HeadChange { skill: fault.skill.to_string(), old: None, new };
        Ok(self.writable_storage()?.settle(&[], &[head])?)
    }
}
