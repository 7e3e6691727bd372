//! Trials: starting and ending one, and choosing the revision for a run.

use std::path::PathBuf;

use scan::Cleared;
use serde_json::Value;
use skill::SkillName;

use super::{Head, LOCK_WAIT, Library, LibraryError, trial_links};
use crate::{
    disk::open_dir,
    events::{Event, EventStatus},
    outcomes::OutcomeKind,
    revision::Stamp,
    trials::{Arm, StoredSetBack, StoredTrial},
};

/// Revision that a run gets in place of the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The revision on trial.
    pub head: Head,
    /// Folder with its files, if it exists.
    pub path: Option<PathBuf>,
}

/// End of a trial.
#[derive(Debug)]
pub struct TrialEnd {
    /// Decision of the gate, as an event.
    pub status: EventStatus,
    /// Figures behind the decision.
    pub decision: Value,
    /// Content to be rejected for a while, if the candidate lost.
    pub set_back: Option<StoredSetBack>,
}

impl Library {
    /// Puts a revision on trial: a share of the runs gets it from now on.
    ///
    /// # Errors
    /// The state or the files cannot be written. The trial does not begin then.
    pub fn begin_trial(
        &self,
        skill: &SkillName,
        stamp: &Stamp,
        trial: StoredTrial,
        files: &Cleared,
    ) -> Result<(), LibraryError> {
        let own = self.ensure_own()?;
        let mut placed = Ok(());
        // In the same lock as the state, since files of a trial that the state does not name are removed.
        self.set_state(skill, stamp, "trial", |state| {
            placed = trial_links::check_out(&own, &trial.id, skill, files);
            if placed.is_ok() {
                state.trial = Some(trial);
            }
        })?;
        placed.map_err(self.own_io())
    }

    /// Ends the trial with this id and records the decision. Returns false if it had already ended.
    ///
    /// # Errors
    /// The state cannot be written. The trial continues then.
    pub fn end_trial(&self, skill: &SkillName, id: &str, stamp: &Stamp, end: TrialEnd) -> Result<bool, LibraryError> {
        let mut ended = None;
        self.set_state(skill, stamp, "trial", |state| {
            ended = state.trial.take_if(|trial| trial.id == id);
            if ended.is_some() {
                state.set_back.extend(end.set_back);
            }
        })?;
        let Some(trial) = ended else { return Ok(false) };
        self.record(&Event::decided(stamp, skill.as_str(), end.status, &trial.candidate, end.decision))?;
        let _left_to_next_command = self.settle_trials(LOCK_WAIT);
        Ok(true)
    }

    /// Returns the revision that a run gets in place of the head; `None` if it gets the head.
    ///
    /// # Errors
    /// State, history or outcomes cannot be read.
    pub fn served(&self, skill: &SkillName, run: &str) -> Result<Option<Served>, LibraryError> {
        let Some(trial) = self.state()?.of(skill).trial.filter(|trial| !trial.paused) else { return Ok(None) };
        let Some(head) = self.head(skill)? else { return Ok(None) };
        // A trial is suspended while the folder has other content than the head.
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
        let path = self.trial_folder(&trial.id, skill);
        let is_there = open_dir(&path).is_ok_and(|folder| folder.is_some());
        Ok(Some(Served { head: Head::from(&revision), path: is_there.then_some(path) }))
    }

    /// Returns the arm of a run. A run that has already read the skill stays with the same revision.
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
