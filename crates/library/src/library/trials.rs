//! Putting a revision on trial, and what runs get meanwhile.

use std::{io, path::PathBuf};

use scan::Cleared;
use serde_json::Value;
use skill::SkillName;

use super::{Head, Library, LibraryError};
use crate::{
    disk::open_dir,
    events::{Event, EventStatus},
    folder,
    outcomes::OutcomeKind,
    revision::Stamp,
    trials::{Arm, StoredSetBack, StoredTrial},
};

const FOLDER: &str = "trials";

/// What a run gets in place of the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The revision.
    pub head: Head,
    /// The folder with its files, where it is there.
    pub path: Option<PathBuf>,
}

/// How a trial ends.
#[derive(Debug)]
pub struct Ended {
    /// What was decided.
    pub status: EventStatus,
    /// With which numbers.
    pub decision: Value,
    /// The content that is not accepted again for a while.
    pub set_back: Option<StoredSetBack>,
}

impl Library {
    /// Puts a revision on trial: from now on a share of the runs gets it.
    ///
    /// # Errors
    /// The state or the files cannot be written; there is no trial then.
    pub fn begin_trial(
        &self,
        skill: &SkillName,
        stamp: &Stamp,
        trial: StoredTrial,
        files: &Cleared,
    ) -> Result<(), LibraryError> {
        let own = self.ensure_own()?;
        let place = || -> io::Result<()> {
            own.create_dir_all(FOLDER)?;
            let folder = own.open_dir(FOLDER)?;
            let _left_by_another = folder.remove_dir_all(&trial.id);
            folder.create_dir(&trial.id)?;
            folder::write(&folder.open_dir(&trial.id)?, skill.as_str(), files.bundle())
        };
        place().map_err(self.own_io())?;
        self.set_state(skill, stamp, "trial", |state| state.trial = Some(trial))
    }

    /// Ends the trial of an id and notes what was decided; whether it was still on.
    ///
    /// # Errors
    /// The state cannot be written; the trial goes on then.
    pub fn end_trial(&self, skill: &SkillName, id: &str, stamp: &Stamp, end: Ended) -> Result<bool, LibraryError> {
        let mut ended = None;
        self.set_state(skill, stamp, "trial", |state| {
            ended = state.trial.take_if(|trial| trial.id == id);
            if ended.is_some() {
                state.set_back.extend(end.set_back);
            }
        })?;
        let Some(trial) = ended else { return Ok(false) };
        self.record(&Event::decided(stamp, skill.as_str(), end.status, &trial.candidate, end.decision))?;
        if let Some(folder) = open_dir(self.own_path())?.and_then(|own| own.open_dir(FOLDER).ok()) {
            let _no_run_is_led_there = folder.remove_dir_all(&trial.id);
        }
        Ok(true)
    }

    /// What a run gets in place of the head; `None` when it gets the head.
    ///
    /// # Errors
    /// State, history or outcomes cannot be read.
    pub fn served(&self, skill: &SkillName, run: &str) -> Result<Option<Served>, LibraryError> {
        let Some(trial) = self.state()?.of(skill).trial.filter(|trial| !trial.paused) else { return Ok(None) };
        let Some(head) = self.head(skill)? else { return Ok(None) };
        // A trial waits while the folder holds anything else than the head.
        if self.revision_in_folder(skill)?.is_none_or(|shown| shown.digest != head.digest) {
            return Ok(None);
        }
        if head.digest.to_string() != trial.base_digest || self.arm_of_run(skill, &trial, run)? == Arm::Base {
            return Ok(None);
        }
        let revision = self.revision(&trial.candidate)?;
        if !revision.was_cleared() || revision.digest.to_string() != trial.candidate_digest {
            return Ok(None);
        }
        let path = self.own_path().join(FOLDER).join(&trial.id).join(skill.as_str());
        let is_there = open_dir(&path).is_ok_and(|folder| folder.is_some());
        Ok(Some(Served { head: Head::from(&revision), path: is_there.then_some(path) }))
    }

    /// A run that has read the skill already keeps what it read.
    fn arm_of_run(&self, skill: &SkillName, trial: &StoredTrial, run: &str) -> Result<Arm, LibraryError> {
        let known = self.outcomes(skill)?.outcomes;
        let read = known.iter().find(|outcome| outcome.run == run && outcome.event == OutcomeKind::Activated);
        Ok(match read {
            Some(outcome) if outcome.revision == trial.candidate => Arm::Candidate,
            Some(_) => Arm::Base,
            None => trial.arm(run),
        })
    }
}
