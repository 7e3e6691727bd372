//! [`Plan`]: the upkeep that a library needs, and the part of it that may be done automatically.
//!
//! [`gather`] reads the facts, [`plan`] is a pure function of them, and [`apply`] executes exactly the plan. It skips a
//! skill for which the current decision would be different. The only action on a skill is to archive: it leaves the
//! catalogue, its files and history stay, and `restore` or `undo` brings it back. [`suggest`] proposes evals, about which
//! a person decides. Everything else is reported and left to people.
//!
//! The absence of recorded uses is not sufficient. Where no use is recorded, or the record is too short, nothing is
//! archived.

mod apply;
mod facts;
mod queries;
mod report;
pub mod similarity;
mod stale;
mod store;
mod suggest;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use library::RevisionId;
use serde::{Deserialize, Serialize};
use skill::Digest;

pub use apply::{Applied, AppliedSkill, Archived, CurateError, apply, archived, restore};
pub use facts::{Base, DeadLink, Facts, Fault, References, SkillFacts, TextFacts, gather};
pub use queries::{CURATOR, FailedQuery};
pub use report::{Drift, DriftKind, Duplicates, Grown, Pair, Report};
pub use stale::{Judgement, KeepReason, judge};
pub use store::{keep, latest, stored};
pub use suggest::{SuggestedEvals, Suggestion, suggest};

/// Version of the plan format.
const FORMAT: u32 = 1;

/// Terms on which a plan is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Days without a use or a change after which a skill is stale.
    pub stale_days: u32,
    /// Days without any recorded use in the library after which recording is assumed to have stopped.
    pub silent_days: u32,
}

impl Default for Terms {
    fn default() -> Self {
        Self { stale_days: 90, silent_days: 30 }
    }
}

/// Extent of the recorded uses in a library.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Number of recorded uses.
    pub uses: u64,
    /// Earliest recorded use, RFC 3339 in UTC.
    #[serde(with = "crate::when::optional")]
    pub since: Option<Timestamp>,
    /// Latest recorded use, RFC 3339 in UTC.
    #[serde(with = "crate::when::optional")]
    pub until: Option<Timestamp>,
}

impl Record {
    fn add(&mut self, time: Timestamp) {
        self.uses += 1;
        self.since = Some(self.since.map_or(time, |since| since.min(time)));
        self.until = Some(self.until.map_or(time, |until| until.max(time)));
    }
}

/// One skill to be archived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Name of the skill.
    pub skill: String,
    /// Head that was examined.
    pub revision: RevisionId,
    /// Number of that head.
    pub number: u64,
    /// Latest recorded use, if any.
    #[serde(with = "crate::when::optional")]
    pub last_used: Option<Timestamp>,
    /// Time of the last change.
    #[serde(with = "crate::when")]
    pub last_changed: Timestamp,
    /// Reason for archiving it.
    pub reason: String,
}

/// Upkeep that a library needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of the plan format.
    pub v: u32,
    /// Id of the plan, derived from its content.
    pub id: String,
    /// Time at which it was made.
    #[serde(with = "crate::when")]
    pub time: Timestamp,
    /// Terms on which it was made.
    pub terms: Terms,
    /// Number of skills examined.
    pub skills: usize,
    /// Extent of the recorded uses.
    pub record: Record,
    /// Reason why no skill can be called stale, if so.
    pub silence: Option<String>,
    /// Skills to be archived, with reasons.
    pub archive: Vec<Step>,
    /// Skills that are exempt although unused, with reasons.
    pub kept: Vec<KeptSkill>,
    /// Queries to propose for the evals of skills. Missing in plans of earlier builds.
    #[serde(default)]
    pub evals: Vec<Suggestion>,
    /// Findings for people to look at.
    pub report: Report,
}

/// Unused skill that is exempt from archiving.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSkill {
    /// Name of the skill.
    pub skill: String,
    /// Reason for the exemption.
    pub why: String,
}

/// Makes the plan for gathered facts at a given time.
pub fn plan(facts: &Facts, terms: Terms, now: Timestamp) -> Plan {
    let silence = stale::insufficient_record(&facts.record, terms, now);
    let (mut archive, mut kept) = (Vec::new(), Vec::new());
    for skill in &facts.skills {
        match judge(skill, &facts.record, terms, now) {
            Judgement::Stale(step) => archive.push(*step),
            Judgement::Kept(KeepReason::Exempt(why)) => kept.push(KeptSkill { skill: skill.name.to_string(), why }),
            Judgement::Kept(_) => {}
        }
    }
    let stays = |suggestion: &Suggestion| archive.iter().all(|step| step.skill != suggestion.skill);
    let evals = facts.skills.iter().filter_map(|skill| suggest::suggestion(skill, now)).filter(stays).collect();
    let report = report::report(facts, now);
    let record = facts.record.clone();
    let skills = facts.skills.len();
    let plan =
        Plan { v: FORMAT, id: String::new(), time: now, terms, skills, record, silence, archive, kept, evals, report };
    let bytes = serde_json::to_vec(&plan).unwrap_or_default();
    Plan { id: Digest::of_bytes(&bytes).hex().get(..8).unwrap_or_default().to_owned(), ..plan }
}
