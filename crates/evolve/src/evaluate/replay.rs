//! [`replay`]: the decisions in the log, made again from their outcomes.

use library::{Event, Outcome};
use serde_json::Value;
use skill::SkillName;

use super::Noted;
use crate::gate::{Decision, RULES, Verdict, decide};

/// One decision of the log, made again.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// Time of the original decision.
    pub time: String,
    /// Decision in the log.
    pub noted: Noted,
    /// Decision of the current rules on the same outcomes. `None` if the rules have changed since.
    pub again: Option<Decision>,
}

impl Replayed {
    /// Returns whether the recorded decision follows from its outcomes.
    pub fn holds(&self) -> bool {
        match &self.again {
            Some(again) => same(again, &self.noted.decision),
            None => self.noted.decision.rules != RULES,
        }
    }
}

/// A decision that was refused on execution differs only in its verdict and reason.
fn same(again: &Decision, noted: &Decision) -> bool {
    let is_refusal = noted.verdict == Verdict::Alarm && noted.why.starts_with(&again.why);
    let alike = Decision { verdict: noted.verdict, why: noted.why.clone(), ..again.clone() };
    alike == *noted && (again.verdict == noted.verdict && again.why == noted.why || is_refusal)
}

/// Repeats every decision in a skill's log from the outcomes known at the time. Also returns the number of entries that
/// cannot be parsed as a decision.
pub fn replay(events: &[Event], outcomes: &[Outcome], skill: &SkillName) -> (Vec<Replayed>, usize) {
    let mut unreadable = 0;
    let of_skill = events.iter().filter(|event| event.skill == skill.as_str());
    let mut replayed = Vec::new();
    for (time, decision) in of_skill.filter_map(|event| Some((&event.time, event.decision.as_ref()?))) {
        match again(decision, outcomes) {
            Some((noted, again)) => replayed.push(Replayed { time: time.clone(), noted, again }),
            None => unreadable += 1,
        }
    }
    (replayed, unreadable)
}

fn again(decision: &Value, outcomes: &[Outcome]) -> Option<(Noted, Option<Decision>)> {
    let noted: Noted = serde_json::from_value(decision.clone()).ok()?;
    if noted.decision.rules != RULES {
        return Some((noted, None));
    }
    let known = outcomes.get(..noted.outcomes)?;
    let again = decide(noted.case(), known, &noted.standing, noted.now.parse().ok()?);
    Some((noted.clone(), Some(as_logged(&again)?)))
}

/// Returns a decision as it is read from the log: a number may change in its last bit when it is parsed.
fn as_logged(decision: &Decision) -> Option<Decision> {
    serde_json::from_str(&serde_json::to_string(decision).ok()?).ok()
}
