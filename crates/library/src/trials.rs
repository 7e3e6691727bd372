//! Trials, in which a share of the runs gets a revision while all others get the previous one ([`StoredTrial`]).
//!
//! The history has the revision under trial, followed by a revision that restores the former files as the head. So
//! the folder keeps the former content, also for agents that read it without skillhub. The revision for a run depends
//! only on the ids of trial and run, and on what the run read before the trial began. The files under trial are in
//! `trials/<id>/<skill>` of the library's folder in the home.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::revision::{ActorKind, Revision, RevisionId};

/// Id with which the gate acts as an optimizer. It is reserved.
pub const GATE: &str = "skillhub";

impl Revision {
    /// Returns whether the gate made it.
    pub fn is_by_gate(&self) -> bool {
        self.stamp.actor.kind == ActorKind::Optimizer && self.stamp.actor.id == GATE
    }
}

/// Parameters of a trial, fixed when it began. Shares and rates are in parts of ten thousand, so that they are
/// compared exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialTerms {
    /// Version of the decision rules.
    pub rules: u32,
    /// Share of the runs that get the revision.
    pub share: u32,
    /// Maximum probability of rolling back a revision that is not worse.
    pub rollback_alpha: u32,
    /// Maximum probability of promoting a revision that is worse by `margin`.
    pub promote_alpha: u32,
    /// Decrease of the success rate that is still acceptable.
    pub margin: u32,
    /// Minimum number of runs with the revision before it may be promoted.
    pub min_runs: u32,
    /// Number of runs with the revision after which a trial without a result ends.
    pub max_runs: u32,
    /// Number of days after which a trial without a result ends.
    pub max_days: u32,
    /// Number of days for which rolled back content is rejected.
    pub cooldown_days: u32,
    /// Success rate before the trial, if a person knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_rate: Option<u32>,
}

/// Trial of a revision, as stored in the state of its skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTrial {
    /// Identifier of the trial.
    pub id: String,
    /// Previous revision, which the other runs get.
    pub base: RevisionId,
    /// Digest over its files, `sha256:…`.
    pub base_digest: String,
    /// Revision that is on trial.
    pub candidate: RevisionId,
    /// Digest over its files, `sha256:…`.
    pub candidate_digest: String,
    /// Proposal that became the candidate, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// Actor who started the trial.
    pub by: String,
    /// Start time, RFC 3339 in UTC.
    pub started: String,
    /// True if a person paused it: every run gets the previous revision, and nothing is decided.
    #[serde(default)]
    pub paused: bool,
    /// Parameters of the decision.
    pub terms: TrialTerms,
}

/// Content that the gate rolled back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSetBack {
    /// Digest over its files, `sha256:…`.
    pub digest: String,
    /// Time from which it may be accepted again, RFC 3339 in UTC.
    pub until: String,
    /// Reason for the rollback.
    pub why: String,
}

impl StoredSetBack {
    /// Returns whether it is still in force. An unreadable time counts as in the future.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.until.parse::<Timestamp>().map_or(true, |until| now < until)
    }
}

/// One of the two revisions of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// The revision before the trial.
    Base,
    /// The revision on trial.
    Candidate,
}

impl StoredTrial {
    /// Returns the arm of a run that has read neither revision yet.
    pub fn arm(&self, run: &str) -> Arm {
        let sum: [u8; 32] = Sha256::new().chain_update(&self.id).chain_update([0]).chain_update(run).finalize().into();
        let number = sum.iter().take(4).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        // The hash is uniform in 0..2^32; hashes below the share get the candidate.
        if number * 10_000 < u64::from(self.terms.share) << 32 { Arm::Candidate } else { Arm::Base }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_assignment_is_stable_and_proportional() {
        let terms = TrialTerms {
            rules: 1,
            share: 2_000,
            rollback_alpha: 300,
            promote_alpha: 500,
            margin: 1_000,
            min_runs: 50,
            max_runs: 400,
            max_days: 30,
            cooldown_days: 14,
            known_rate: None,
        };
        let trial = StoredTrial {
            id: "t1".to_owned(),
            base: RevisionId::new("a".repeat(40)),
            base_digest: String::new(),
            candidate: RevisionId::new("b".repeat(40)),
            candidate_digest: String::new(),
            proposal: None,
            by: String::new(),
            started: String::new(),
            paused: false,
            terms,
        };
        let candidates =
            |trial: &StoredTrial| (0..20_000).filter(|run| trial.arm(&format!("run-{run}")) == Arm::Candidate).count();
        let share = candidates(&trial);
        assert!((3_800..4_200).contains(&share), "{share}");
        assert_eq!(share, candidates(&trial));
        let wider = StoredTrial { terms: TrialTerms { share: 5_000, ..trial.terms.clone() }, ..trial.clone() };
        let stays = |run: usize| {
            let run = format!("run-{run}");
            trial.arm(&run) == Arm::Base || wider.arm(&run) == Arm::Candidate
        };
        assert!((0..2_000).all(stays), "a wider share takes nobody out");
        let other = StoredTrial { id: "t2".to_owned(), ..trial.clone() };
        assert!((0..200).any(|run| other.arm(&run.to_string()) != trial.arm(&run.to_string())));
        let at =
            |share| candidates(&StoredTrial { terms: TrialTerms { share, ..trial.terms.clone() }, ..trial.clone() });
        assert_eq!((at(0), at(10_000)), (0, 20_000));
    }
}
