//! [`Line`]: the revisions since the review checkpoint, judged together, so that a decline in small steps is found.

use library::{Arm, RevisionId};
use serde::{Deserialize, Serialize};

use super::{Decision, Evidence, Seen, Verdict};
use crate::decline::{DECLINE_ALPHA, DeclineTest, MOST_REFERENCE_RUNS, REFERENCE_RUNS};

/// Line of revisions since the review checkpoint, the last revision that a person kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Number of the review checkpoint. `None` if no person ever kept a revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
    /// Id of the review checkpoint. A decline is reported once for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_id: Option<RevisionId>,
    /// True if the runs of the checkpoint are too few and those of its ancestors are added.
    #[serde(default)]
    pub with_ancestors: bool,
    /// True if the configuration lets the gate roll back to the checkpoint.
    #[serde(default)]
    pub rolls_back: bool,
    /// True if the gate made the checkpoint, with files that a person had kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_restored: bool,
}

/// Results before and after the end of the reference, in the order of the runs.
struct Parts {
    reference: Vec<bool>,
    later: Vec<bool>,
    /// True if runs since the checkpoint complete the reference.
    is_completed: bool,
}

impl Parts {
    /// Splits the known results. The reference is the newest runs of the base before the first later run; if there are
    /// fewer than [`REFERENCE_RUNS`], the first later runs complete it. So it no longer changes once the test begins.
    fn of(line: &Line, seen: &Seen) -> Self {
        let first = seen.runs.iter().position(|(arm, _)| *arm == Arm::Candidate).unwrap_or(seen.runs.len());
        let (before, _) = seen.runs.split_at(first);
        let mut reference: Vec<bool> = before.iter().filter_map(|(_, result)| super::known(*result)).collect();
        let most = if line.with_ancestors { REFERENCE_RUNS } else { MOST_REFERENCE_RUNS };
        reference.drain(..reference.len().saturating_sub(most as usize));
        let mut later: Vec<bool> = seen.known(Arm::Candidate).collect();
        let missing = (REFERENCE_RUNS as usize).saturating_sub(reference.len());
        reference.extend(later.drain(..missing.min(later.len())));
        Self { reference, later, is_completed: missing > 0 }
    }
}

/// Counts the successes and the failures.
fn split(results: &[bool]) -> (u32, u32) {
    results.iter().fold((0, 0), |(good, bad), success| if *success { (good + 1, bad) } else { (good, bad + 1) })
}

/// Decides about all revisions since the checkpoint.
pub(super) fn decide_line(line: &Line, seen: &Seen) -> Decision {
    let parts = Parts::of(line, seen);
    let (good, bad) = split(&parts.reference);
    if good + bad < REFERENCE_RUNS {
        let why = format!(
            "its success rate is not known yet: {} with a known end, of {REFERENCE_RUNS} needed",
            skill::counted(good + bad, "run")
        );
        return seen.decision(Verdict::Wait, why);
    }
    let mut test = DeclineTest::new(good, bad);
    parts.later.iter().for_each(|success| test.observe(*success));
    let worse = Evidence { n: test.observed(), e_value: test.highest(), threshold: 1.0 / DECLINE_ALPHA };
    let rate = f64::from(good) / f64::from(good + bad);
    let verdict = match (worse.decides(), line.rolls_back && line.kept.is_some()) {
        (false, _) => Verdict::Wait,
        (true, true) => Verdict::RollBack,
        (true, false) => Verdict::Alarm,
    };
    Decision { rate: Some(rate), worse: Some(worse), ..seen.decision(verdict, words(line, &parts, rate)) }
}

/// Describes the runs since the checkpoint in words for a person.
fn words(line: &Line, parts: &Parts, rate: f64) -> String {
    let (good, bad) = split(&parts.later);
    let since = match line.kept.filter(|_| !parts.is_completed) {
        Some(number) if line.is_restored => format!("since the gate restored what you kept (revision {number})"),
        Some(number) => format!("since you kept revision {number}"),
        None => format!("after the first {REFERENCE_RUNS}"),
    };
    format!("{good} of {} runs succeeded {since}; {:.0} % expected", good + bad, rate * 100.0)
}
