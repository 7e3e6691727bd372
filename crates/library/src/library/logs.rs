//! Logs of a [`Library`]: outcomes of runs with its skills, and reads and searches of agents.

use std::collections::HashMap;

use skill::SkillName;

use super::{Library, LibraryError};
use crate::{
    disk::open_dir,
    outcomes::{self, Outcome, OutcomeWriter, Outcomes, Recorded},
    uses::{self, Use, UseKind, UseState},
};

impl Library {
    /// Opens a writer for outcomes of a skill, for adding many of them.
    ///
    /// # Errors
    /// The log cannot be opened.
    pub fn outcome_writer(&self, skill: &SkillName) -> Result<OutcomeWriter, LibraryError> {
        OutcomeWriter::below(&self.ensure_own()?, skill).map_err(self.own_io())
    }

    /// Adds outcomes of a skill. A repeated combination of run and kind is ignored.
    ///
    /// # Errors
    /// An outcome is invalid, or the log cannot be written. None of the outcomes is stored then.
    pub fn record_outcomes(&self, skill: &SkillName, outcomes: &[Outcome]) -> Result<Recorded, LibraryError> {
        self.outcome_writer(skill)?.append(outcomes).map_err(self.own_io())
    }

    /// Reads the outcomes of a skill.
    ///
    /// # Errors
    /// The log exists and cannot be read. It is never treated as empty.
    pub fn outcomes(&self, skill: &SkillName) -> Result<Outcomes, LibraryError> {
        match open_dir(self.own_path())? {
            Some(own) => outcomes::read(&own, skill).map_err(self.own_io()),
            None => Ok(Outcomes::default()),
        }
    }

    /// Returns true if an outcome of any skill was ever recorded.
    ///
    /// # Errors
    /// The logs cannot be read.
    pub fn has_outcomes(&self) -> Result<bool, LibraryError> {
        match open_dir(self.own_path())? {
            Some(own) => outcomes::is_any_recorded(&own).map_err(self.own_io()),
            None => Ok(false),
        }
    }

    /// Appends to the usage log.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn note_uses(&self, uses: &[Use]) -> Result<(), LibraryError> {
        uses::append(&self.ensure_own()?, uses).map_err(self.own_io())
    }

    /// Reads the usage log, which is bounded, oldest first. Unreadable lines are skipped.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn uses(&self) -> Result<Vec<Use>, LibraryError> {
        match open_dir(self.own_path())? {
            Some(own) => uses::read(&own).map_err(self.own_io()),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the number of reads of each skill by name, within the usage log.
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
