//! [`decide_trial`]: the decision on a revision on trial, from runs of both revisions side by side.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use library::{Arm, StoredTrial, TrialTerms};

use super::{Decision, Evidence, GateState, Seen, Verdict, WHOLE, known, part, threshold};
use crate::{
    eprocess::{self, EProcess},
    runs::Result,
};

/// Decides about a revision on trial.
pub(super) fn decide_trial(trial: &StoredTrial, seen: &Seen, standing: &GateState, now: Timestamp) -> Decision {
    let terms = &trial.terms;
    let (worse, good) = trial_evidence(terms, seen);
    let rate = terms.known_rate.map(part);
    let decision =
        |verdict, why: String| Decision { rate, worse: Some(worse), good: Some(good), ..seen.decision(verdict, why) };
    if trial.paused {
        return decision(Verdict::Wait, "paused by a person".to_owned());
    }
    if standing.head == trial.candidate_digest {
        return decision(Verdict::Promote, "it is already the newest revision".to_owned());
    }
    if standing.head != trial.base_digest {
        return decision(Verdict::Inconclusive, "the skill was changed during the trial, which ends it".to_owned());
    }
    if worse.decides() {
        return decision(Verdict::RollBack, format!("its runs fail more often ({})", worse.words()));
    }
    let (done, least) = (seen.candidate.known(), terms.min_runs);
    if good.decides() && done >= least && standing.unreadable == 0 {
        let why = format!("it is not worse by more than {:.0} points in {done} runs", part(terms.margin) * 100.0);
        return decision(Verdict::Promote, why);
    }
    if seen.candidate.runs >= terms.max_runs {
        return decision(
            Verdict::Inconclusive,
            format!("undecided after {}", skill::counted(seen.candidate.runs, "run")),
        );
    }
    let started = trial.started.parse().unwrap_or(now);
    if now.duration_since(started) >= SignedDuration::from_hours(24 * i64::from(terms.max_days)) {
        return decision(Verdict::Inconclusive, format!("undecided after {}", skill::counted(terms.max_days, "day")));
    }
    let why = match (standing.unreadable, done < least) {
        (0, true) => format!("{done} of at least {}", skill::counted(least, "run")),
        (0, false) => format!("not enough evidence yet that it is not worse ({})", good.words()),
        (lines, _) => {
            format!("{} of its outcome log cannot be read, so it is not promoted", skill::counted(lines, "line"))
        }
    };
    decision(Verdict::Wait, why)
}

/// Returns the evidence that the revision on trial is worse, and that it is good enough.
fn trial_evidence(terms: &TrialTerms, seen: &Seen) -> (Evidence, Evidence) {
    let margin = part(terms.margin).clamp(0.0, 0.9);
    let (mut worse, mut good) = (EProcess::default(), EProcess::default());
    match terms.known_rate.map(part) {
        Some(rate) => {
            seen.known(Arm::Candidate).for_each(|success| worse.observe(eprocess::against_rate(rate, success)));
            let candidate = seen.runs.iter().filter(|(arm, _)| *arm == Arm::Candidate);
            candidate
                .filter_map(|(arm, result)| proven(*arm, *result))
                .for_each(|success| good.observe(eprocess::above_rate(rate, margin, success)));
        }
        None => {
            let beside = beside_one(terms.share);
            let of_known = seen.runs.iter().filter_map(|(arm, result)| Some((*arm, known(*result)?)));
            pairs(of_known, beside, eprocess::of_pair).into_iter().for_each(|gain| worse.observe(gain));
            let of_all = seen.runs.iter().filter_map(|(arm, result)| Some((*arm, proven(*arm, *result)?)));
            let gain = |theirs, ours| eprocess::of_pair_with_margin(theirs, ours, margin);
            pairs(of_all, beside, gain).into_iter().for_each(|gain| good.observe(gain));
        }
    }
    (
        Evidence { n: worse.observed(), e_value: worse.highest(), threshold: threshold(terms.rollback_alpha) },
        Evidence { n: good.observed(), e_value: good.value(), threshold: threshold(terms.promote_alpha) },
    )
}

/// Returns the result of a run for the test that a revision is good. An unknown result of the candidate counts as a
/// failure.
fn proven(arm: Arm, result: Result) -> Option<bool> {
    match (arm, result) {
        (Arm::Candidate, Result::Unknown) => Some(false),
        _ => known(result),
    }
}

/// Largest number of unpaired base runs. The oldest are dropped.
const WAITING: usize = 200;

/// Pairs each run of the judged revision with the oldest unpaired runs of the other one, up to `beside_one` of them,
/// and returns the mean gain of the bets on each pairing.
///
/// The pairing depends only on the order of the runs and their revisions. A run without a partner waits.
pub fn pairs(runs: impl Iterator<Item = (Arm, bool)>, beside_one: usize, gain: impl Fn(bool, bool) -> f64) -> Vec<f64> {
    let (mut base, mut candidate) = (VecDeque::new(), VecDeque::new());
    let mut gains = Vec::new();
    for (arm, success) in runs {
        match arm {
            Arm::Base => base.push_back(success),
            Arm::Candidate => candidate.push_back(success),
        }
        if base.len() > WAITING {
            base.pop_front();
        }
        if base.is_empty() {
            continue;
        }
        if let Some(ours) = candidate.pop_front() {
            let beside: Vec<bool> = base.drain(..beside_one.clamp(1, base.len())).collect();
            let sum: f64 = beside.iter().map(|theirs| gain(*theirs, ours)).sum();
            gains.push(sum / beside.len() as f64);
        }
    }
    gains
}

/// Returns the number of base runs per run of the candidate, from the share of the trial.
fn beside_one(share: u32) -> usize {
    let share = share.clamp(1, WHOLE);
    ((WHOLE - share + share / 2) / share).clamp(1, 20) as usize
}
