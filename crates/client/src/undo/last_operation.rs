//! [`LastOperation`]: the last undoable operation in a library's log, or several operations as one.

use std::{collections::BTreeMap, path::PathBuf};

use library::{Action, Event, EventStatus, Library, Original, RevisionId, SkillState, StateBefore};
use skill::SkillName;

use super::UndoError;
use crate::placed::RELINK;

/// Settings whose changes are operations. Others, such as pins and waivers, are decisions of people and cannot be
/// undone.
const SETTINGS: [&str; 6] = ["enable", "disable", "archive", "restore", RELINK, UNDO];

/// Action that the log records for a setting restored by an undo.
pub(super) const UNDO: &str = "undo";

/// Returns the log of a library. The paths in it that moved with the library's folder are the present ones.
pub(super) fn log_of(library: &Library) -> Result<Vec<Event>, UndoError> {
    let (mut events, _) = library.events()?;
    let Some(moved) = library.moved_folder() else { return Ok(events) };
    let now = library.state()?;
    for event in &mut events {
        let known = SkillName::parse(&event.skill).map(|name| now.of(&name)).unwrap_or_default();
        let follow = |path: &mut PathBuf| {
            // A path that the state has is present: an agent's folder may have stayed where it was.
            if !known.placed.contains(path) && !known.hidden_in.contains(path) {
                *path = moved.present(path);
            }
        };
        if let Some(mut set) = state(event) {
            set.placed.iter_mut().chain(&mut set.hidden_in).for_each(follow);
            set.placed.sort();
            event.set = serde_json::to_value(set).ok();
        }
        if let Some(before) = &mut event.before {
            before.originals.iter_mut().map(|original| &mut original.path).chain(&mut before.linked).for_each(follow);
        }
    }
    Ok(events)
}

/// Everything that one command did, or several commands.
pub(super) struct LastOperation<'a> {
    /// Undoable event that describes the operation.
    pub told: &'a Event,
    /// All events of the operation.
    of_command: Vec<&'a Event>,
    /// All events before the operation.
    before: &'a [Event],
    /// Id of the operation to return to, if several are undone.
    back_to: Option<&'a str>,
}

/// Everything that one command did to one skill.
pub(super) struct SkillChanges<'a> {
    pub name: SkillName,
    /// Events of the revisions that it made, oldest first.
    applied: Vec<&'a Event>,
    /// State outside the history that it found, by event.
    moved: Vec<&'a StateBefore>,
    /// Settings of the skill before the operation.
    before: SkillState,
}

impl<'a> LastOperation<'a> {
    /// Returns the last operation in a log that is sorted from oldest to newest.
    pub fn of(events: &'a [Event]) -> Option<Self> {
        let last = events.iter().rev().find(|event| is_undoable(event))?;
        let is_of_it = |event: &&Event| command(event) == command(last);
        let first = events.iter().position(|event| is_of_it(&event))?;
        let (before, rest) = events.split_at(first);
        let told = rest.iter().filter(is_of_it).find(|event| is_undoable(event))?;
        let of_command = rest.iter().filter(is_of_it).collect();
        Some(Self { told, of_command, before, back_to: None })
    }

    /// Combines everything from an event on into one operation. Hand edits recorded in between are included, and remain
    /// in the history. `back_to` is the id given by the user.
    pub fn since(events: &'a [Event], first: &Event, back_to: &'a str) -> Option<Self> {
        let first = events.iter().position(|event| command(event) == command(first))?;
        let (before, rest) = events.split_at(first);
        let told = rest.iter().rev().find(|event| is_undoable(event))?;
        let kept: Vec<&str> = before.iter().filter(|event| is_undoable(event)).map(command).collect();
        let of_command = rest.iter().filter(|event| !kept.contains(&command(event))).collect();
        Some(Self { told, of_command, before, back_to: Some(back_to) })
    }

    /// Returns whether this is several operations, some of which may have undone each other.
    pub fn is_several(&self) -> bool {
        self.back_to.is_some()
    }

    /// Returns the reason to record for the revisions of the undo.
    pub fn reason(&self) -> String {
        if let Some(back_to) = self.back_to {
            return undo_reason(back_to);
        }
        let reason = self.told.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("undo of {}{reason}", self.told.action)
    }

    /// Returns its effects, grouped by skill.
    pub fn skills(&self) -> Vec<SkillChanges<'a>> {
        let mut names: Vec<&str> = Vec::new();
        let mut events: BTreeMap<&str, Vec<&'a Event>> = BTreeMap::new();
        for event in self.of_command.iter().filter(|event| is_undoable(event)) {
            if events.insert(&event.skill, Vec::new()).is_none() {
                names.push(&event.skill);
            }
        }
        for event in &self.of_command {
            events.entry(&event.skill).and_modify(|events| events.push(event));
        }
        let mut before: BTreeMap<&str, SkillState> = BTreeMap::new();
        for event in self.before.iter().filter(|event| events.contains_key(event.skill.as_str())) {
            before.extend(state(event).map(|state| (event.skill.as_str(), state)));
        }
        let of_skill = |name| {
            let events = events.remove(name).unwrap_or_default();
            SkillChanges::of(name, &events, before.remove(name).unwrap_or_default())
        };
        names.into_iter().filter_map(of_skill).collect()
    }
}

impl<'a> SkillChanges<'a> {
    /// Collects the events of one command for a skill.
    fn of(name: &str, events: &[&'a Event], before: SkillState) -> Option<Self> {
        let applied = events.iter().copied().filter(|event| event.status == EventStatus::Applied);
        let moved = events.iter().copied().filter_map(|event| event.before.as_ref());
        Some(Self { name: SkillName::parse(name).ok()?, applied: applied.collect(), moved: moved.collect(), before })
    }

    /// Returns the head after the operation; `None` if it only changed settings.
    pub fn revision(&self) -> Option<&'a RevisionId> {
        self.applied.last()?.revision.as_ref()
    }

    /// Returns the revision before its own revisions. A hand edit that it recorded first does not count as its own.
    pub fn previous(&self) -> Option<&'a RevisionId> {
        self.first()?.previous.as_ref()
    }

    /// Returns the state outside the history before the operation.
    pub fn before(&self) -> Option<&'a StateBefore> {
        self.applied.iter().filter(|event| !is_hand_edit(event)).find_map(|event| event.before.as_ref())
    }

    /// Returns whether the operation was an adoption.
    pub fn is_adoption(&self) -> bool {
        self.applied.iter().any(|event| event.action == Action::Adopt.as_str())
    }

    /// Returns whether the skill was visible to agents before.
    pub fn was_enabled(&self) -> bool {
        self.before.enabled
    }

    /// Returns the settings of the skill before the operation.
    pub fn state_before(&self) -> &SkillState {
        &self.before
    }

    /// Returns the originals that it replaced.
    pub fn originals(&self) -> Vec<Original> {
        self.moved.iter().flat_map(|before| before.originals.clone()).collect()
    }

    fn first(&self) -> Option<&'a Event> {
        self.applied.iter().copied().find(|event| !is_hand_edit(event))
    }
}

/// Returns the reason recorded for an undo of everything after an operation.
pub fn undo_reason(back_to: &str) -> String {
    format!("undo back to {back_to}")
}

/// Returns whether an event belongs to an operation that can be undone.
pub(super) fn is_undoable(event: &Event) -> bool {
    match event.status {
        EventStatus::Applied => !is_hand_edit(event),
        EventStatus::Set => SETTINGS.contains(&event.action.as_str()),
        _ => false,
    }
}

fn is_hand_edit(event: &Event) -> bool {
    event.action == Action::External.as_str()
}

/// Returns the part of an event's operation id that all events of a command share: its time and process.
pub(super) fn command(event: &Event) -> &str {
    event.operation.rsplit_once('-').map_or(event.operation.as_str(), |(command, _)| command)
}

/// Returns the settings of the skill that an event recorded.
fn state(event: &Event) -> Option<SkillState> {
    serde_json::from_value(event.set.clone()?).ok()
}
