//! Tests of monitoring after a promotion: a stable revision raises no alarm, a degrading one does.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use evolve::{Case, Decision, GateConfig, GateState, SETTLED_RUNS, Verdict, decide};
use jiff::{SignedDuration, Timestamp};
use library::{Outcome, OutcomeKind, RevisionId, TrialTerms};
use testkit::Random;

/// Number of simulated courses.
const COURSES: u64 = 120;
/// Runs with the previous revision, a tenth of which failed.
const BEFORE: usize = 60;

fn id(digit: char) -> RevisionId {
    RevisionId::new(digit.to_string().repeat(40))
}

fn standing() -> GateState {
    let (head, base, candidate) = ("sha256:new".to_owned(), vec![id('a')], vec![id('b')]);
    GateState { head, base, candidate, guarded: None, unreadable: 0, authors: Vec::new() }
}

fn terms() -> TrialTerms {
    GateConfig::default().terms(None).unwrap()
}

fn time(run: usize) -> Timestamp {
    let start: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    start + SignedDuration::from_mins(i64::try_from(run).unwrap())
}

/// Returns the log of runs before and after. `rate` gives the success probability of each run with the new revision.
fn log(runs: usize, seed: u64, rate: impl Fn(usize) -> f64) -> Vec<Outcome> {
    let mut random = Random::new(seed);
    let outcome = |run: usize, revision: RevisionId, succeeds: bool| Outcome {
        v: 1,
        ts: time(run).to_string(),
        skill: "demo".to_owned(),
        revision,
        event: if succeeds { OutcomeKind::Completed } else { OutcomeKind::Failed },
        run: format!("r{run}"),
        latency_ms: None,
        tokens_in: None,
        tokens_out: None,
        task: None,
        query: None,
        source: None,
        actor: None,
        basis: None,
        thread: None,
        by_author: false,
    };
    let before = (0..BEFORE).map(|run| outcome(run, id('a'), run % 10 != 0));
    let mut all: Vec<Outcome> = before.collect();
    all.extend((0..runs).map(|run| outcome(BEFORE + run, id('b'), random.draw() < rate(run))));
    all
}

/// Returns the decision after `runs` runs with the new revision.
fn after(log: &[Outcome], runs: usize) -> Decision {
    decide(Case::Head(&terms()), &log[..BEFORE + runs], &standing(), time(BEFORE + runs))
}

#[test]
fn stable_revision_rarely_raises_alarms() {
    for rate in [0.95, 0.9, 0.8] {
        let fired = (0..COURSES).filter(|seed| {
            let decision = after(&log(600, *seed, |_| rate), 600);
            // A rate of .8 after .9 is worse and must be rolled back. Drift is a separate test.
            decision.drift.is_some_and(|drift| drift.e_value >= drift.threshold)
        });
        let fired = fired.count();
        assert!(fired * 100 <= usize::try_from(COURSES).unwrap() * 5, "{fired} of {COURSES} at {rate}");
    }
}

#[test]
fn degradation_after_trial_is_reported_soon() {
    let (change, mut delays) = (420, Vec::new());
    for seed in 0..COURSES {
        let log = log(change + 200, seed, |run| if run < change { 0.9 } else { 0.6 });
        if after(&log, change).verdict != Verdict::Wait {
            continue;
        }
        let noticed = (change..=change + 200).step_by(5).find(|runs| after(&log, *runs).verdict == Verdict::Alarm);
        delays.push(noticed.map_or(usize::MAX, |runs| runs - change));
    }
    delays.sort_unstable();
    let (courses, found) = (delays.len(), delays.iter().filter(|delay| **delay <= 100).count());
    assert!(courses * 100 >= usize::try_from(COURSES).unwrap() * 97, "{courses}");
    assert!(found * 100 >= courses * 95, "{found} of {courses}: {delays:?}");
    let decision = after(&log(600, 1, |run| if run < change { 0.9 } else { 0.3 }), 600);
    assert_eq!(decision.verdict, Verdict::Alarm, "{}", decision.why);
    assert!(decision.why.contains("than they did at first"), "{}", decision.why);
}

#[test]
fn first_hundred_runs_show_no_drift() {
    let log = log(300, 7, |_| 0.9);
    assert_eq!(after(&log, SETTLED_RUNS as usize - 1).drift, None);
    let drift = after(&log, SETTLED_RUNS as usize + 20).drift.unwrap();
    assert_eq!(drift.n, 20, "the first hundred are the measure, and are not counted again");
}
