//! [`StoredTrial`]: a revision that a share of the runs gets, while all others get the one before it.
//!
//! The revision under trial is in the history, and behind it the files that stood before are brought back as
//! the head: so the folder, and every agent that reads it without asking skillhub, has what was there. Which
//! revision a run gets follows from the ids of trial and run alone, and from what the run read before the
//! trial began. The files under trial stand in `trials/<id>/<skill>` of the library's folder in the home.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::revision::RevisionId;

/// The id under which the gate acts, as an optimizer; nobody else may take it.
pub const GATE: &str = "skillhub";

/// By which numbers a trial is decided, as they were when it began. Shares are in parts of ten thousand, so
/// that they are compared exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialTerms {
    /// The version of the rules that decide.
    pub rules: u32,
    /// The share of runs that get the revision.
    pub share: u32,
    /// How often a revision that is no worse may be rolled back.
    pub rollback_alpha: u32,
    /// How often one that is worse by the margin may be promoted.
    pub promote_alpha: u32,
    /// By how much a success rate may be lower before that matters.
    pub margin: u32,
    /// Runs with the revision before it may be promoted.
    pub min_runs: u32,
    /// Runs with the revision after which a trial that showed nothing ends.
    pub max_runs: u32,
    /// Days after which it does.
    pub max_days: u32,
    /// Days for which a content that was rolled back is not accepted again.
    pub cooldown_days: u32,
    /// The success rate before, where a person knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_rate: Option<u32>,
}

/// The trial of a revision, as the state of its skill has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTrial {
    /// Names it.
    pub id: String,
    /// The revision that stood before, and the digest of its files.
    pub base: RevisionId,
    /// `sha256:…`
    pub base_digest: String,
    /// The revision on trial.
    pub candidate: RevisionId,
    /// `sha256:…`
    pub candidate_digest: String,
    /// The proposal that it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// Who put it on trial.
    pub by: String,
    /// When, RFC 3339 in UTC.
    pub started: String,
    /// Whether a person stopped it for now: every run gets the former revision, and nothing is decided.
    #[serde(default)]
    pub paused: bool,
    /// How it is decided.
    pub terms: TrialTerms,
}

/// A content that the gate rolled back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSetBack {
    /// `sha256:…`
    pub digest: String,
    /// From when on it may be accepted again, RFC 3339 in UTC.
    pub until: String,
    /// Why it was rolled back.
    pub why: String,
}

impl StoredSetBack {
    /// Whether it still holds; one whose end cannot be read does.
    #[must_use]
    pub fn holds(&self, now: Timestamp) -> bool {
        self.until.parse::<Timestamp>().map_or(true, |until| now < until)
    }
}

/// One of the two revisions of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// The one before.
    Base,
    /// The one on trial.
    Candidate,
}

impl StoredTrial {
    /// What a run gets, where it has read neither yet.
    #[must_use]
    pub fn arm(&self, run: &str) -> Arm {
        let sum: [u8; 32] = Sha256::new().chain_update(&self.id).chain_update([0]).chain_update(run).finalize().into();
        let number = sum.iter().take(4).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        // Of 2^32 equal parts, those below the share.
        if number * 10_000 < u64::from(self.terms.share) << 32 { Arm::Candidate } else { Arm::Base }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_gets_the_same_revision_again_and_the_share_is_met() {
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
