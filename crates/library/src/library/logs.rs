//! What a [`Library`] logs of runs with its skills, and of what agents read and looked for.

use std::collections::HashMap;

use jiff::Timestamp;
use skill::SkillName;

use super::{Library, LibraryError};
use crate::{
    disk::open_dir,
    outcomes::{self, Outcome, OutcomeWriter, Outcomes, Recorded},
    uses::{self, Use, UseKind, UseState},
};

impl Library {
    /// What adds outcomes of a skill; it is kept for many of them.
    ///
    /// # Errors
    /// The log cannot be opened.
    pub fn outcome_writer(&self, skill: &SkillName) -> Result<OutcomeWriter, LibraryError> {
        OutcomeWriter::below(&self.ensure_own()?, skill).map_err(self.own_io())
    }

    /// Adds outcomes of a skill, each run and kind once.
    ///
    /// # Errors
    /// One may not be stored, or the log cannot be written; none is there then.
    pub fn record_outcomes(&self, skill: &SkillName, outcomes: &[Outcome]) -> Result<Recorded, LibraryError> {
        self.outcome_writer(skill)?.append(outcomes).map_err(self.own_io())
    }

    /// The outcomes of a skill.
    ///
    /// # Errors
    /// The log is there and cannot be read; it is never taken for empty.
    pub fn outcomes(&self, skill: &SkillName) -> Result<Outcomes, LibraryError> {
        match open_dir(self.own_path())? {
            Some(own) => outcomes::read(&own, skill).map_err(self.own_io()),
            None => Ok(Outcomes::default()),
        }
    }

    /// When an outcome of any skill was recorded last.
    ///
    /// # Errors
    /// The system refused.
    pub fn last_recorded(&self) -> Result<Option<Timestamp>, LibraryError> {
        match open_dir(self.own_path())? {
            Some(own) => outcomes::last_recorded(&own).map_err(self.own_io()),
            None => Ok(None),
        }
    }

    /// Adds to the log of uses.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn note_uses(&self, uses: &[Use]) -> Result<(), LibraryError> {
        uses::append(&self.ensure_own()?, uses).map_err(self.own_io())
    }

    /// What the log of uses still has, oldest first. Lines that cannot be read are passed over.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn uses(&self) -> Result<Vec<Use>, LibraryError> {
        match open_dir(self.own_path())? {
            Some(own) => uses::read(&own).map_err(self.own_io()),
            None => Ok(Vec::new()),
        }
    }

    /// How often each skill was read, as far as the log goes back, by name.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn reads(&self) -> Result<HashMap<String, u64>, LibraryError> {
        let mut reads = HashMap::new();
        for found in
            self.uses()?.into_iter().filter(|found| found.kind == UseKind::Read && found.state == UseState::Done)
        {
            *reads.entry(found.skill).or_default() += 1;
        }
        Ok(reads)
    }
}
