//! Settings of skills, and people's decisions among them that others cannot change ([`Library::set_states`]).

use skill::SkillName;

use super::{Library, LibraryError};
use crate::{
    disk::{Written, open_dir, written},
    events::{self, Event},
    revision::{Actor, ActorKind, Stamp},
    state::{self, SkillState, State},
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
