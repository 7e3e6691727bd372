//! Damaged revisions and heads, and their repair ([`HistoryFault`]).

use cap_std::fs::Dir;
use skill::SkillName;

use super::super::{Library, LibraryError};
use crate::{
    disk::open_dir,
    folder::{self, ToolFiles},
    journal::Journal,
    journal::Piece,
    revision::RevisionId,
    storage::{Checked, DamagedRevision, HeadChange, Object, StorageError},
};

/// One damaged part of the history.
#[derive(Debug)]
pub enum HistoryFault {
    /// A revision of a skill cannot be read completely.
    Revision(SkillName, DamagedRevision),
    /// The head of a skill is damaged.
    Head(HeadFault),
    /// The index of a pack is missing, so that nothing in the pack can be read.
    Pack(String),
    /// The history cannot be opened.
    Whole(StorageError),
}

/// A head that does not lead to a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadFault {
    /// Skill with the head.
    pub skill: SkillName,
    /// Content of the reference in readable form; empty if it is missing.
    pub holds: String,
    /// Newest intact revision that the event log names.
    pub last_whole: Option<RevisionId>,
    /// True if the event log names that revision as the newest.
    pub is_newest: bool,
}

impl Library {
    /// Reads every revision of every skill, including deleted ones, down to each file, and returns objects that are
    /// missing or do not match their id. `progress` is called for each revision.
    ///
    /// # Errors
    /// Returns I/O errors. Damage is not an error but the result.
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
                    let is_head = |found: &DamagedRevision| {
                        found.revision == id && found.objects.iter().any(|o| *o == id.as_str())
                    };
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
        let lone = storage.unindexed_packs()?.into_iter().filter(|(_, is_old)| *is_old || has_faults);
        faults.splice(0..0, lone.map(|(name, _)| HistoryFault::Pack(name)));
        Ok(faults)
    }

    /// Rebuilds the index of a pack, so that the pack can be read.
    ///
    /// # Errors
    /// The lock cannot be taken, or the pack is incomplete and stays unchanged.
    pub fn repair_pack(&mut self, name: &str) -> Result<(), LibraryError> {
        let _lock = self.lock()?;
        Ok(self.writable_storage()?.index_pack(name)?)
    }

    /// Returns the missing heads of a library without a history: one for every skill with a revision in the event
    /// log.
    fn all_heads_missing(&self) -> Result<Vec<HistoryFault>, LibraryError> {
        let mut checked = Checked::new();
        let names = self.skills_ever()?.into_iter();
        names.map(|name| Ok(HistoryFault::Head(self.head_fault(name, String::new(), &mut checked)?))).collect()
    }

    /// Returns the skills that have a reference in the history, readable or not, or a revision in the event log.
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

    /// Rewrites objects of the history that are still in the journal or in the skills' folders. `missing` are the ids
    /// of lost or damaged objects. Without a history, all objects found are written.
    ///
    /// # Errors
    /// The lock cannot be taken, or an I/O error.
    pub fn repair_objects(&mut self, missing: &[String]) -> Result<(), LibraryError> {
        let own = self.locked()?;
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
        let Ok(files) = folder::read(root, name, ToolFiles::Skip, self.limits()) else { return Vec::new() };
        let Ok(Some(storage)) = self.storage() else { return Vec::new() };
        files.files().filter_map(|(_, file)| storage.object_of(file).ok()).collect()
    }

    /// Sets a skill's head to its newest intact revision. Does nothing without such a revision.
    ///
    /// # Errors
    /// The lock cannot be taken, or an I/O error.
    pub fn repair_head(&mut self, fault: &HeadFault) -> Result<(), LibraryError> {
        let Some(new) = fault.last_whole.clone() else { return Ok(()) };
        let _lock = self.lock()?;
        let head = HeadChange { skill: fault.skill.to_string(), old: None, new };
        Ok(self.writable_storage()?.settle(&[], &[head])?)
    }
}
