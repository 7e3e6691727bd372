//! [`GateDecision`]: what the gate decided about a skill and why, for display, and its open alarms ([`alarms`]).

use std::collections::BTreeMap;

use jiff::Timestamp;
use library::{Event, EventStatus, Library, LibraryError, State};
use serde_json::{Value, json};
use skill::SkillName;

/// A decision of the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateDecision {
    /// Time as stored, in RFC 3339.
    pub time: String,
    /// Kind of decision.
    pub status: EventStatus,
    /// Reason in a sentence, with the counts.
    pub why: String,
}

impl GateDecision {
    /// Returns the decisions about a skill, oldest first.
    ///
    /// # Errors
    /// The event log cannot be read.
    pub fn all_of(library: &Library, skill: &SkillName) -> Result<Vec<Self>, LibraryError> {
        let (events, _) = library.events()?;
        Ok(events.iter().filter(|event| event.skill == skill.as_str()).filter_map(Self::of).collect())
    }

    fn of(event: &Event) -> Option<Self> {
        let why = event.decision.as_ref()?["decision"]["why"].as_str()?.to_owned();
        Some(Self { time: event.time.clone(), status: event.status, why })
    }

    /// Returns the decision as JSON.
    pub fn document(&self) -> Value {
        json!({"time": self.time, "status": self.status, "why": self.why})
    }

    /// Returns the kind of decision in words.
    pub fn word(&self) -> &'static str {
        match self.status {
            EventStatus::Promoted => "promoted",
            EventStatus::RolledBack => "rolled back",
            EventStatus::Inconclusive => "trial ended without a result",
            _ => "needs a person",
        }
    }
}

/// Returns the newest alarm of each skill that no person has answered yet.
///
/// An alarm about a line is answered when its review checkpoint moves, or the files of the checkpoint return. One about
/// a single revision is answered when another becomes the newest, its trial ends, or a person keeps it.
///
/// # Errors
/// The event log, the state or the history cannot be read.
pub fn alarms(library: &Library) -> Result<BTreeMap<SkillName, GateDecision>, LibraryError> {
    let (events, _) = library.events()?;
    let mut by_skill: BTreeMap<SkillName, Vec<&Event>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.status == EventStatus::Alarmed) {
        if let Ok(skill) = SkillName::parse(&event.skill) {
            by_skill.entry(skill).or_default().push(event);
        }
    }
    let (state, mut open) = (library.state()?, BTreeMap::new());
    for (skill, events) in by_skill {
        if let Some(alarm) = newest_open(library, &state, &skill, &events)? {
            open.insert(skill, alarm);
        }
    }
    Ok(open)
}

fn newest_open(
    library: &Library,
    state: &State,
    skill: &SkillName,
    alarms: &[&Event],
) -> Result<Option<GateDecision>, LibraryError> {
    let Some(head) = library.head(skill)?.filter(|head| !head.tombstone) else { return Ok(None) };
    let (found, set) = (library.unreviewed(skill)?, state.of(skill));
    let kept = found.checkpoint.as_ref().map(|kept| kept.id.as_str());
    let kept_at = set.reviewed.filter(|reviewed| reviewed.revision == head.id).map(|reviewed| reviewed.at);
    let is_later = |event: &Event, time: &str| event.time.parse::<Timestamp>().ok() > time.parse().ok();
    let is_open = |event: &Event| match event.decision.as_ref().and_then(|decision| decision.get("line")) {
        Some(line) => found.is_changed() && line.get("kept_id").and_then(Value::as_str) == kept,
        None if set.trial.as_ref().is_some_and(|trial| event.revision.as_ref() == Some(&trial.candidate)) => true,
        None => event.revision.as_ref() == Some(&head.id) && kept_at.as_ref().is_none_or(|at| is_later(event, at)),
    };
    Ok(alarms.iter().rev().find(|event| is_open(event)).and_then(|event| GateDecision::of(event)))
}
