//! Recording of run outcomes, and the gate's decisions that follow.

use std::collections::BTreeMap;

use evolve::{Defaults, Evaluation, OutcomeRecord, RecordError, RecordSummary, Verdict};
use library::{FindError, Library};
use serde_json::{Value, json};
use skill::SkillName;

use crate::{catalogue::skill_name, refusal::Refusal, workspace::Workspace};

/// Results of a recording.
#[derive(Default)]
pub struct Recorded {
    /// Counts of the recorded outcomes, and the affected skills.
    pub told: RecordSummary,
    /// Decisions that the gate made because of them.
    pub decisions: Vec<Evaluation>,
}

impl Recorded {
    /// Formats the results as JSON.
    pub fn document(&self) -> Value {
        let RecordSummary { recorded, doubles, unrecorded, skills } = &self.told;
        let names: Vec<&str> = skills.iter().map(SkillName::as_str).collect();
        let decision = |found: &Evaluation| {
            json!({
                "skill": found.skill.as_str(), "verdict": found.decision.verdict, "why": found.decision.why,
                "acted": found.acted,
            })
        };
        json!({
            "ok": true, "recorded": recorded, "doubles": doubles, "unrecorded": unrecorded, "skills": names,
            "decisions": self.decisions.iter().map(decision).collect::<Vec<_>>(),
        })
    }
}

impl Workspace {
    /// Records each outcome in the library of its skill, then lets the gate evaluate the affected skills.
    ///
    /// # Errors
    /// A skill, run or revision does not exist, or the outcome cannot be written.
    pub fn record(&self, requests: Vec<OutcomeRecord>) -> Result<Recorded, Refusal> {
        let run = format!("cli-{}", library::operation_id(&self.stamp()));
        let actor = self.actor.to_string();
        let defaults = Defaults { actor: &actor, run: &run, now: self.now };
        let mut all = Recorded::default();
        for (mut library, requests) in by_library(self, requests)? {
            let told = evolve::record(&library, requests, defaults)?;
            let decided = told.skills.iter().flat_map(|skill| self.decided(&mut library, skill));
            all.decisions.extend(decided);
            all.told.recorded += told.recorded;
            all.told.doubles += told.doubles;
            all.told.unrecorded += told.unrecorded;
            all.told.skills.extend(told.skills);
        }
        Ok(all)
    }

    /// Returns the gate's decisions. A failure is noted and does not affect the recorded outcomes.
    fn decided(&self, library: &mut Library, skill: &SkillName) -> Vec<Evaluation> {
        let mut found = self.run_gate(library, skill).unwrap_or_else(|error| {
            self.note(&format!("the gate could not evaluate {skill}: {}", error.message));
            Vec::new()
        });
        // A decline is an alarm until a person decides. Only the outcome that raises it is answered with it.
        found.retain(|found| found.decision.verdict != Verdict::Wait && (found.acted || found.line.is_none()));
        found
    }

    /// Lets the gate evaluate a skill, and applies its decisions.
    ///
    /// # Errors
    /// The configuration is invalid, or the library cannot be read or written.
    pub fn run_gate(&self, library: &mut Library, skill: &SkillName) -> Result<Vec<Evaluation>, Refusal> {
        let config = self.gate()?;
        let context = self.manage()?;
        let found = evolve::evaluate(library, skill, &config.terms(None)?, config.on_decline(), &context)?;
        if found.iter().any(|found| found.acted) {
            self.refresh_lock(library, skill);
        }
        Ok(found)
    }
}

fn by_library(place: &Workspace, requests: Vec<OutcomeRecord>) -> Result<Vec<(Library, Vec<OutcomeRecord>)>, Refusal> {
    let mut groups: Vec<(Library, Vec<OutcomeRecord>)> =
        place.visible_libraries()?.into_iter().map(|library| (library, Vec::new())).collect();
    let (mut places, is_seen) = (BTreeMap::<String, usize>::new(), place.seen()?);
    for request in requests {
        let at = match places.get(&request.skill) {
            Some(at) => *at,
            None => {
                let at = place_of(&groups, &request, &is_seen)?;
                places.insert(request.skill.clone(), at);
                at
            }
        };
        if let Some((_, of_library)) = groups.get_mut(at) {
            of_library.push(request);
        }
    }
    groups.retain(|(_, requests)| !requests.is_empty());
    Ok(groups)
}

/// Returns the index of the first library with a history of the skill, unless the skill is hidden.
fn place_of(
    groups: &[(Library, Vec<OutcomeRecord>)],
    request: &OutcomeRecord,
    is_seen: impl Fn(&str) -> bool,
) -> Result<usize, Refusal> {
    let name = skill_name(&request.skill)?;
    let seen = groups.iter().enumerate().filter(|_| is_seen(name.as_str()));
    for (place, (library, _)) in seen {
        if library.head(&name)?.is_some() {
            return Ok(place);
        }
    }
    Err(RecordError::Find { place: request.place, source: FindError::NoSkill(name) }.into())
}
