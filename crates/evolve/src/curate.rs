//! [`Plan`]: what upkeep a library needs, and what of it may be done.
//!
//! [`gather`] reads what there is to know, [`plan`] decides from that alone, [`apply`] does exactly what a plan
//! says, each skill only if the same decision would be taken now. The one thing that is done is to archive: the
//! skill leaves the catalogue, its files and history stay, and `restore` or `undo` brings it back. All else is
//! told, and left to people.
//!
//! That nothing is heard of a skill is no reason by itself: where no use is recorded, or the record does not
//! reach back far enough, nothing is archived.

mod apply;
mod facts;
pub mod near;
mod report;
mod stale;
mod store;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use library::RevisionId;
use serde::{Deserialize, Serialize};
use skill::Digest;

pub use apply::{Applied, AppliedSkill, Archived, CurateError, apply, archived, restore};
pub use facts::{Base, DeadLink, Facts, Fault, References, SkillFacts, Spoken, gather};
pub use report::{Drift, DriftKind, Duplicates, Grown, Pair, Report};
pub use stale::{Judgement, Kept, judge};
pub use store::{keep, latest, stored};

/// The format's version.
const FORMAT: u32 = 1;

/// By what a plan is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Days without a use or a change after which a skill is stale.
    pub stale_days: u32,
    /// Days without any record in the library after which nothing is believed to be recorded any more.
    pub silent_days: u32,
}

impl Default for Terms {
    fn default() -> Self {
        Self { stale_days: 90, silent_days: 30 }
    }
}

/// What is recorded of uses in a library.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// How many uses.
    pub uses: u64,
    /// The first that is kept, RFC 3339 in UTC.
    #[serde(with = "crate::when::optional")]
    pub since: Option<Timestamp>,
    /// The last.
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
    /// The skill.
    pub skill: String,
    /// The head that was looked at.
    pub revision: RevisionId,
    /// Its number.
    pub number: u64,
    /// The last use that is recorded.
    #[serde(with = "crate::when::optional")]
    pub last_used: Option<Timestamp>,
    /// When it was changed last.
    #[serde(with = "crate::when")]
    pub last_changed: Timestamp,
    /// Why.
    pub reason: String,
}

/// What upkeep a library needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The format's version.
    pub v: u32,
    /// What the plan is called: it follows from all that stands in it.
    pub id: String,
    /// When it was made.
    #[serde(with = "crate::when")]
    pub time: Timestamp,
    /// By what.
    pub terms: Terms,
    /// How many skills were looked at.
    pub skills: usize,
    /// What is recorded of their uses.
    pub record: Record,
    /// Why nothing can be called stale, where it cannot.
    pub silence: Option<String>,
    /// The skills to be archived.
    pub archive: Vec<Step>,
    /// Skills that would be stale and stay all the same, with why.
    pub kept: Vec<KeptSkill>,
    /// What people may want to look at.
    pub report: Report,
}

/// A skill that nobody used for long and that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSkill {
    /// The skill.
    pub skill: String,
    /// Why it stays.
    pub why: String,
}

/// Makes the plan for what was gathered, at a moment.
#[must_use]
pub fn plan(facts: &Facts, terms: Terms, now: Timestamp) -> Plan {
    let silence = stale::silence(&facts.record, terms, now);
    let (mut archive, mut kept) = (Vec::new(), Vec::new());
    for skill in &facts.skills {
        match judge(skill, &facts.record, terms, now) {
            Judgement::Stale(step) => archive.push(*step),
            Judgement::Kept(Kept::Exempt(why)) => kept.push(KeptSkill { skill: skill.name.to_string(), why }),
            Judgement::Kept(_) => {}
        }
    }
    let report = report::report(facts, now);
    let record = facts.record.clone();
    let skills = facts.skills.len();
    let plan = Plan { v: FORMAT, id: String::new(), time: now, terms, skills, record, silence, archive, kept, report };
    let bytes = serde_json::to_vec(&plan).unwrap_or_default();
    Plan { id: Digest::of_bytes(&bytes).hex().get(..8).unwrap_or_default().to_owned(), ..plan }
}
