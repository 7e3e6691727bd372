//! Decisions of people about a skill, and their effect on changes by others.

use std::borrow::Cow;

use jiff::Timestamp;
use scan::{Baseline, Blocked, Cleared, Reports, Waivers};
use skill::{Bundle, SkillName};

use super::{Library, LibraryError};
use crate::{
    disk::{Written, open_dir, written},
    events::{self, Event},
    revision::{Actor, ActorKind, Stamp},
    state::{self, SkillState, State, StoredWaiver},
};

/// Enforces that only people show agents a skill that a person hid, and that only people hide a skill that is pinned.
pub(super) fn check_may_show(
    skill: &SkillName,
    before: &SkillState,
    after: &SkillState,
    actor: &Actor,
) -> Result<(), LibraryError> {
    let is_refused = before.is_hidden_by_person() && after.shows_more_than(before);
    match actor.kind {
        ActorKind::Person => Ok(()),
        _ if is_refused => Err(LibraryError::DisabledByPerson(skill.clone())),
        _ if before.pinned && before.shows_more_than(after) => Err(LibraryError::Pinned(skill.clone())),
        _ => Ok(()),
    }
}

/// Cache of the last state read.
pub(super) struct LastState {
    /// Fingerprint of the file's last write. `None` if it is not reliable.
    written: Option<Written>,
    text: String,
    state: State,
}

impl Library {
    /// Returns the settings and decisions for all skills.
    ///
    /// # Errors
    /// The state is damaged or cannot be read.
    pub fn state(&self) -> Result<State, LibraryError> {
        let Some(own) = open_dir(&self.own)? else { return Ok(State::default()) };
        let written = written(&own, state::FILE);
        if let Some(last) = self.last_state.borrow().as_ref()
            && written.is_some()
            && written == last.written
        {
            return Ok(last.state.clone());
        }
        let Some(text) = State::text(&own)? else { return Ok(State::default()) };
        let last = self.last_state.take().filter(|last| last.text == text);
        let state = last.map_or_else(|| State::parse(&text), |last| Ok(last.state))?;
        *self.last_state.borrow_mut() = Some(LastState { written, text, state: state.clone() });
        Ok(state)
    }

    /// Changes the settings of a skill and records the change in the event log as `action`.
    ///
    /// # Errors
    /// Returns [`LibraryError`]; the state is then unchanged.
    pub fn set_state(
        &self,
        skill: &SkillName,
        stamp: &Stamp,
        action: &str,
        change: impl FnOnce(&mut SkillState),
    ) -> Result<(), LibraryError> {
        let mut change = Some(change);
        self.set_states([skill], stamp, action, |_, state| {
            if let Some(change) = change.take() {
                change(state);
            }
        })
    }

    /// Changes the settings of several skills like [`Library::set_state`], atomically and with the number of syncs of
    /// one.
    ///
    /// # Errors
    /// Returns [`LibraryError`]; the state is then unchanged.
    pub fn set_states<'s>(
        &self,
        skills: impl IntoIterator<Item = &'s SkillName>,
        stamp: &Stamp,
        action: &str,
        mut change: impl FnMut(&SkillName, &mut SkillState),
    ) -> Result<(), LibraryError> {
        let own = self.locked()?;
        let before = State::read(&own)?;
        let (mut state, mut events) = (before.clone(), Vec::new());
        for skill in skills {
            let mut of_skill = before.of(skill);
            change(skill, &mut of_skill);
            of_skill.note_shown();
            check_may_show(skill, &before.of(skill), &of_skill, &stamp.actor)?;
            if of_skill != before.of(skill) {
                events.push(Event::set(stamp, skill.as_str(), action, &of_skill));
                state.set(skill, of_skill);
            }
        }
        if events.is_empty() {
            return Ok(());
        }
        state.write(&own)?;
        let note = || State::note_written(&own).and_then(|()| events::append(&own, &events));
        let noted = note().and_then(|()| events::sync(&own));
        if noted.is_err() {
            before.write(&own)?;
        }
        noted.map_err(self.own_io())
    }

    /// Scans a candidate of a skill and returns it as cleared, unless a new finding blocks it that no active waiver
    /// covers. This may run the judge. For read-only purposes, clear with [`scan::Scanner::reading`].
    ///
    /// # Errors
    /// The inner error is [`Blocked`] with the candidate. The outer error means that the state is damaged or cannot
    /// be read.
    pub fn clear(
        &self,
        skill: &SkillName,
        candidate: Bundle,
        base: Baseline<'_>,
    ) -> Result<Result<Cleared, Box<Blocked>>, LibraryError> {
        self.clear_by(skill, candidate, base, &self.scanner)
    }

    /// Clears a candidate like [`Library::clear`], with cached reports of files that were scanned before.
    ///
    /// # Errors
    /// Fails like [`Library::clear`].
    pub fn clear_by(
        &self,
        skill: &SkillName,
        candidate: Bundle,
        base: Baseline<'_>,
        reports: &dyn Reports,
    ) -> Result<Result<Cleared, Box<Blocked>>, LibraryError> {
        let judged = match base {
            Baseline::None => scan::clear_by(candidate, base, reports),
            Baseline::Cleared(files) => {
                let files = self.without_lapsed(skill, files)?;
                scan::clear_by(candidate, Baseline::Cleared(&files), reports)
            }
        };
        self.waived(skill, judged)
    }

    /// Returns the files of a base that excuse their old findings. Files with an expired or revoked waiver are left
    /// out, as are those in which the current rules find hard evidence.
    fn without_lapsed<'b>(&self, skill: &SkillName, files: &'b Bundle) -> Result<Cow<'b, Bundle>, LibraryError> {
        let mut lapsed = self.state()?.of(skill).lapsed_files(files, Timestamp::now());
        lapsed.append(&mut self.newly_blocked_files(skill, files)?);
        if lapsed.is_empty() {
            return Ok(Cow::Borrowed(files));
        }
        let others = files.files().filter(|(path, _)| !lapsed.contains(*path));
        let others = others.map(|(path, file)| (path.clone(), file.clone()));
        // A subset of a bundle within the limits is within the limits.
        Ok(Cow::Owned(Bundle::from_files(others, self.limits()).unwrap_or_default()))
    }

    /// Returns the findings that block files of a skill because a waiver expired or was revoked, or because the rules
    /// changed. `None` if nothing blocks. Cheap for a skill to which neither applies.
    ///
    /// # Errors
    /// The state is damaged or cannot be read.
    pub fn lapsed(&self, skill: &SkillName, files: &Bundle) -> Result<Option<Box<Blocked>>, LibraryError> {
        let has_lapsed = !self.state()?.of(skill).lapsed_files(files, Timestamp::now()).is_empty();
        if !has_lapsed && self.newly_blocked_files(skill, files)?.is_empty() {
            return Ok(None);
        }
        Ok(self.clear_by(skill, files.clone(), Baseline::Cleared(files), &self.scanner.reading())?.err())
    }

    /// Applies the active waivers to a scan result of a skill.
    pub(super) fn waived(
        &self,
        skill: &SkillName,
        judged: Result<Cleared, Box<Blocked>>,
    ) -> Result<Result<Cleared, Box<Blocked>>, LibraryError> {
        match judged {
            Ok(cleared) if cleared.report().findings.is_empty() => Ok(Ok(cleared)),
            judged => Ok(scan::waive(judged, &self.waivers(skill)?)),
        }
    }

    /// Returns the waivers of a skill that are active now.
    ///
    /// # Errors
    /// The state is damaged or cannot be read.
    pub fn waivers(&self, skill: &SkillName) -> Result<Waivers, LibraryError> {
        Ok(self.state()?.of(skill).waivers_at(Timestamp::now()))
    }

    /// Returns the active waivers that cover files of a skill's newest revision in their current content.
    ///
    /// # Errors
    /// The state or the history is damaged or cannot be read.
    pub fn waivers_of_head(&self, skill: &SkillName) -> Result<Vec<StoredWaiver>, LibraryError> {
        let now = Timestamp::now();
        let mut waivers = self.state()?.of(skill).waivers;
        waivers.retain(|stored| stored.at(now).is_some());
        let Some(head) = self.head(skill)?.filter(|head| !head.tombstone && !waivers.is_empty()) else {
            return Ok(Vec::new());
        };
        let files = self.bundle(&head.id)?;
        waivers.retain(|stored| stored.at(now).is_some_and(|waiver| waiver.is_for(&files)));
        Ok(waivers)
    }

    /// Enforces that only people restore earlier settings that would show agents a skill that a person hid.
    ///
    /// # Errors
    /// Returns [`LibraryError::DisabledByPerson`] if the actor may not; the state is damaged or cannot be read.
    pub fn check_may_restore_state(
        &self,
        skill: &SkillName,
        earlier: &SkillState,
        actor: &Actor,
    ) -> Result<(), LibraryError> {
        check_may_show(skill, &self.state()?.of(skill), earlier, actor)
    }

    /// Enforces that only people change a pinned skill. Its name stays pinned after the skill is deleted.
    ///
    /// # Errors
    /// Returns [`LibraryError::Pinned`] if the actor may not; the state is damaged or cannot be read.
    pub fn check_pinned(&self, skill: &SkillName, actor: &Actor) -> Result<(), LibraryError> {
        match actor.kind {
            ActorKind::Person => Ok(()),
            _ => match self.state()?.pinned_as(skill) {
                Some(name) => Err(LibraryError::Pinned(SkillName::parse(name).unwrap_or_else(|_| skill.clone()))),
                None => Ok(()),
            },
        }
    }
}
