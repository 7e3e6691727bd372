//! Links in agents' folders that lead to the files of a trial instead of the skill's folder.
//!
//! The name of a trial is in the target of the link, and nothing else records it. A folder of files whose trial no
//! state names is left of a trial that ended: its links return to the skill's folder, then it is removed.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use cap_std::fs::Dir;
use scan::{Baseline, Cleared};
use skill::SkillName;

use super::{Library, LibraryError};
use crate::{
    agent_dir::{AgentDir, AgentLinkError},
    disk::open_dir,
    folder::{self, ToolFiles},
    lock::LibraryLock,
    state::State,
    trials::StoredTrial,
};

const FOLDER: &str = "trials";

/// Timeout for taking the lock at the start of a host's session, which waits for it.
const SESSION_WAIT: Duration = Duration::from_secs(2);

impl Library {
    /// Makes a skill's links lead to the files on trial, or back to the skill's folder. Only links of skillhub for
    /// which `is_included` returns true are changed. The files are scanned by the current rules first; if these block
    /// them, or the trial has ended, the links lead to the skill's folder.
    ///
    /// # Errors
    /// State, history, files or a link cannot be read or written, or the lock cannot be taken.
    pub fn point_links(
        &self,
        skill: &SkillName,
        trial: &StoredTrial,
        to_candidate: bool,
        is_included: impl Fn(&Path) -> bool,
    ) -> Result<(), AgentLinkError> {
        let unusable = |error: LibraryError| AgentLinkError::Skill(skill.clone(), error.to_string());
        let files = if to_candidate { self.cleared_candidate(skill, trial).map_err(unusable)? } else { None };
        let own = self.ensure_own().map_err(unusable)?;
        let lock = LibraryLock::acquire(&own, SESSION_WAIT);
        let _lock = lock.map_err(|error| unusable(error.into()))?;
        let set = State::read(&own).map_err(|error| unusable(error.into()))?.of(skill);
        let is_running = set.trial.is_some_and(|now| now.id == trial.id && !now.paused);
        let files = files.filter(|_| is_running);
        if let Some(files) = &files {
            let checked_out = check_out(&own, &trial.id, skill, files);
            checked_out.map_err(|error| unusable(self.own_io()(error)))?;
        }
        let to = files.map(|_| trial.id.as_str());
        set.placed.iter().filter(|path| is_included(path)).try_for_each(|path| self.point_link(skill, path, to))
    }

    /// Returns the trial whose files a link leads to, by its id. `None` for anything else at the path.
    pub fn trial_of_link(&self, skill: &SkillName, path: &Path) -> Option<String> {
        let dir = path.parent().map(AgentDir::open)?.ok()??;
        dir.trial_of(skill, &self.own.join(FOLDER))
    }

    /// Returns whether a folder has the files of the skill's running trial.
    pub fn is_trial_folder(&self, skill: &SkillName, folder: &Path) -> bool {
        let trial = self.state().ok().and_then(|state| state.of(skill).trial);
        trial.is_some_and(|trial| crate::resolve(&self.trial_folder(&trial.id, skill)).is_ok_and(|own| own == folder))
    }

    /// Makes a link that leads to the files of a trial lead to the skill's folder. Anything else at the path stays.
    ///
    /// # Errors
    /// The link cannot be changed, or the lock cannot be taken.
    pub fn return_link(&self, skill: &SkillName, path: &Path) -> Result<(), AgentLinkError> {
        if self.trial_of_link(skill, path).is_none() {
            return Ok(());
        }
        let unusable = |error: LibraryError| AgentLinkError::Skill(skill.clone(), error.to_string());
        let _lock = self.lock().map_err(unusable)?;
        self.point_link(skill, path, None)
    }

    /// Returns the links of ended trials and removes the files of these, waiting for the lock at most this long. Does
    /// nothing, without the lock, if there are none.
    ///
    /// # Errors
    /// The state or a link cannot be read or written, or the lock cannot be taken. The next call tries again.
    pub fn settle_trials(&self, wait: Duration) -> Result<(), LibraryError> {
        let Some(own) = open_dir(&self.own)? else { return Ok(()) };
        let trials = || folder::open(&own, FOLDER);
        let Ok(seen) = trials() else { return Ok(()) };
        if self.ended(&seen, &self.state()?)?.is_empty() {
            return Ok(());
        }
        let _lock = LibraryLock::acquire(&own, wait)?;
        let state = State::read(&own)?;
        // A folder that was listed once is at its end.
        let Ok(trials) = trials() else { return Ok(()) };
        for id in self.ended(&trials, &state)? {
            let names = folder::open(&trials, &id).map(|files| folder::folders_in(&files).unwrap_or_default());
            let names = names.unwrap_or_default().into_iter();
            let skills: Vec<SkillName> = names.filter_map(|name| SkillName::parse(&name).ok()).collect();
            let links = skills.iter().flat_map(|skill| {
                state.of(skill).placed.into_iter().map(move |path| self.point_link(skill, &path, None))
            });
            if links.collect::<Vec<_>>().iter().all(Result::is_ok) {
                trials.remove_dir_all(&id).map_err(self.own_io())?;
            }
        }
        Ok(())
    }

    /// Returns the folder with the files of a trial.
    pub(super) fn trial_folder(&self, id: &str, skill: &SkillName) -> PathBuf {
        self.own.join(FOLDER).join(id).join(skill.as_str())
    }

    /// Returns the ids of the trials that have files and are not running.
    fn ended(&self, trials: &Dir, state: &State) -> Result<Vec<String>, LibraryError> {
        let mut ids = folder::folders_in(trials).map_err(self.own_io())?;
        ids.retain(|id| !state.skills().any(|(_, set)| set.trial.as_ref().is_some_and(|trial| trial.id == *id)));
        Ok(ids)
    }

    /// Scans the files on trial by the current rules. `None` if they are blocked.
    fn cleared_candidate(&self, skill: &SkillName, trial: &StoredTrial) -> Result<Option<Cleared>, LibraryError> {
        let (base, files) = (self.bundle(&trial.base)?, self.bundle(&trial.candidate)?);
        Ok(self.clear_by(skill, files, Baseline::Cleared(&base), &self.scanner.reading())?.ok())
    }

    /// Makes one link lead to the files of a trial, or to the skill's folder. The caller holds the lock.
    pub(super) fn point_link(&self, skill: &SkillName, path: &Path, to: Option<&str>) -> Result<(), AgentLinkError> {
        let Some(dir) = path.parent().map(AgentDir::open).transpose()?.flatten() else { return Ok(()) };
        let now = dir.trial_of(skill, &self.own.join(FOLDER));
        if now.as_deref() == to {
            return Ok(());
        }
        let folder = |id: Option<&str>| match id {
            Some(id) => self.trial_folder(id, skill),
            None => self.path.join(skill.as_str()),
        };
        dir.retarget_link(skill, &folder(now.as_deref()), &folder(to)).map(drop)
    }
}

/// Writes the files of a trial, read-only, unless they are already there. The caller holds the lock.
pub(super) fn check_out(own: &Dir, id: &str, skill: &SkillName, files: &Cleared) -> io::Result<()> {
    own.create_dir_all(FOLDER)?;
    let trials = own.open_dir(FOLDER)?;
    let found = trials.open_dir(id).ok().map(|trial| {
        folder::read(&trial, skill.as_str(), ToolFiles::Skip, &skill::Limits::default())
            .is_ok_and(|found| folder::with_recorded_modes(found, files.bundle()) == *files.bundle())
    });
    match found {
        Some(true) => return Ok(()),
        Some(false) => trials.remove_dir_all(id)?,
        None => {}
    }
    trials.create_dir(id)?;
    let trial = trials.open_dir(id)?;
    folder::write(&trial, skill.as_str(), files.bundle())?;
    let written = trial.open_dir(skill.as_str())?;
    files.bundle().files().try_for_each(|(path, _)| protect(&written, path.as_str()))
}

/// Makes a file read-only, so that an edit through a link to it fails instead of being lost.
#[cfg(unix)]
fn protect(dir: &Dir, path: &str) -> io::Result<()> {
    let mut permissions = dir.metadata(path)?.permissions();
    permissions.set_readonly(true);
    dir.set_permissions(path, permissions)
}

/// Does nothing: here, a read-only file could not be removed at the end of the trial.
#[cfg(not(unix))]
fn protect(_dir: &Dir, _path: &str) -> io::Result<()> {
    Ok(())
}
