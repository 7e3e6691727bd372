//! [`Last`]: the last operation in a library's log that can be taken back, or several as one.

use std::collections::BTreeMap;

use library::{Action, Before, Event, EventStatus, Original, RevisionId, SkillState};
use skill::SkillName;

use crate::placed::RELINK;

/// Settings that are an operation; others, such as a pin or a waiver, are decisions of people.
const SETTINGS: [&str; 6] = ["enable", "disable", "archive", "restore", RELINK, UNDO];

/// What is noted of a setting that was taken back.
pub(super) const UNDO: &str = "undo";

/// What one command did.
pub(super) struct Last<'a> {
    /// The event that says what it was.
    pub told: &'a Event,
    /// All that it wrote to the log.
    of_command: Vec<&'a Event>,
    /// All that was logged before it.
    before: &'a [Event],
    /// The operation that stays, where several after it are taken back.
    back_to: Option<&'a str>,
}

/// What one command did to one skill.
pub(super) struct OfSkill<'a> {
    pub name: SkillName,
    /// The revisions that it made, oldest first.
    applied: Vec<&'a Event>,
    /// What it found beside the history, event by event.
    moved: Vec<&'a Before>,
    /// What was set of the skill before.
    before: SkillState,
}

impl<'a> Last<'a> {
    /// The last operation of a log, oldest event first.
    pub fn of(events: &'a [Event]) -> Option<Self> {
        let last = events.iter().rev().find(|event| is_undoable(event))?;
        let is_of_it = |event: &&Event| command(event) == command(last);
        let first = events.iter().position(|event| is_of_it(&event))?;
        let (before, rest) = events.split_at(first);
        let told = rest.iter().filter(is_of_it).find(|event| is_undoable(event))?;
        let of_command = rest.iter().filter(is_of_it).collect();
        Some(Self { told, of_command, before, back_to: None })
    }

    /// All that was logged from an event on, as one operation: hand edits that were recorded in between as well, which
    /// stay in the history. `back_to` is what the user named.
    pub fn since(events: &'a [Event], first: &Event, back_to: &'a str) -> Option<Self> {
        let first = events.iter().position(|event| command(event) == command(first))?;
        let (before, rest) = events.split_at(first);
        let told = rest.iter().rev().find(|event| is_undoable(event))?;
        let kept: Vec<&str> = before.iter().filter(|event| is_undoable(event)).map(command).collect();
        let of_command = rest.iter().filter(|event| !kept.contains(&command(event))).collect();
        Some(Self { told, of_command, before, back_to: Some(back_to) })
    }

    /// Whether it is several operations, of which some may have taken others back.
    pub fn is_several(&self) -> bool {
        self.back_to.is_some()
    }

    /// The reason of the revisions that take it back.
    pub fn reason(&self) -> String {
        if let Some(back_to) = self.back_to {
            return undo_reason(back_to);
        }
        let reason = self.told.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("undo of {}{reason}", self.told.action)
    }

    /// What it did, skill by skill.
    pub fn skills(&self) -> Vec<OfSkill<'a>> {
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
            OfSkill::of(name, &events, before.remove(name).unwrap_or_default())
        };
        names.into_iter().filter_map(of_skill).collect()
    }
}

impl<'a> OfSkill<'a> {
    /// Collects the events of one command on a skill.
    fn of(name: &str, events: &[&'a Event], before: SkillState) -> Option<Self> {
        let applied = events.iter().copied().filter(|event| event.status == EventStatus::Applied);
        let moved = events.iter().copied().filter_map(|event| event.before.as_ref());
        Some(Self { name: SkillName::parse(name).ok()?, applied: applied.collect(), moved: moved.collect(), before })
    }

    /// The head that it left; none where it only set something.
    pub fn revision(&self) -> Option<&'a RevisionId> {
        self.applied.last()?.revision.as_ref()
    }

    /// The revision before its own. A hand edit that it found is none of its own.
    pub fn previous(&self) -> Option<&'a RevisionId> {
        self.first()?.previous.as_ref()
    }

    /// What stood beside the history before.
    pub fn before(&self) -> Option<&'a Before> {
        self.applied.iter().filter(|event| !is_hand_edit(event)).find_map(|event| event.before.as_ref())
    }

    /// Whether agents saw the skill before.
    pub fn was_enabled(&self) -> bool {
        self.before.enabled
    }

    /// What was set of the skill before.
    pub fn state_before(&self) -> &SkillState {
        &self.before
    }

    /// The originals that it moved aside.
    pub fn originals(&self) -> Vec<Original> {
        self.moved.iter().flat_map(|before| before.originals.clone()).collect()
    }

    fn first(&self) -> Option<&'a Event> {
        self.applied.iter().copied().find(|event| !is_hand_edit(event))
    }
}

/// The reason of the revisions that take back everything after an operation.
#[must_use]
pub fn undo_reason(back_to: &str) -> String {
    format!("undo back to {back_to}")
}

/// Whether an event is of an operation that can be taken back.
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

/// What is the same for all that one command logs: its time and its process.
pub(super) fn command(event: &Event) -> &str {
    event.operation.rsplit_once('-').map_or(event.operation.as_str(), |(command, _)| command)
}

/// What the event says is set of its skill.
fn state(event: &Event) -> Option<SkillState> {
    serde_json::from_value(event.set.clone()?).ok()
}
