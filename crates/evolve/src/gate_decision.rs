//! [`GateDecision`]: what the gate decided about a skill and why, for display.

use library::{Event, EventStatus, Library, LibraryError};
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
        let of_skill = events.into_iter().filter(|event| event.skill == skill.as_str());
        let decision = |event: Event| {
            let why = event.decision?["decision"]["why"].as_str()?.to_owned();
            Some(Self { time: event.time, status: event.status, why })
        };
        Ok(of_skill.filter_map(decision).collect())
    }

    /// Returns the decision as JSON.
    #[must_use]
    pub fn document(&self) -> Value {
        json!({"time": self.time, "status": self.status, "why": self.why})
    }

    /// Returns the kind of decision in words.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.status {
            EventStatus::Promoted => "promoted",
            EventStatus::RolledBack => "rolled back",
            EventStatus::Inconclusive => "trial ended without a result",
            _ => "needs a person",
        }
    }
}
