//! [`main`]: prints how often the gate reports drift after a promotion, of stable revisions and degrading ones, as the
//! table of `docs/GATE.md`.
//!
//! `cargo run --release -p skillhub-evolve --example drift [COURSES]`

#![expect(clippy::unwrap_used, reason = "an example for the desk, not for users")]

use evolve::{Case, Decision, GateConfig, GateState, Verdict, decide};
use jiff::{SignedDuration, Timestamp};
use library::{Outcome, OutcomeKind, RevisionId, TrialTerms};
use testkit::Random;

/// Runs with the previous revision, a tenth of which failed.
const BEFORE: usize = 60;
/// Run with which a degradation begins, counted from 0.
const CHANGE: usize = 420;

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

/// Returns the number of courses at a stable rate that raise an alarm of drift within 600 runs. A rate of .8 after .9 is
/// worse and must be rolled back, which does not count as drift.
fn alarmed(rate: f64, courses: u64) -> usize {
    let is_alarmed = |seed: &u64| {
        let decision = after(&log(600, *seed, |_| rate), 600);
        decision.drift.is_some_and(|drift| drift.e_value >= drift.threshold)
    };
    (0..courses).filter(is_alarmed).count()
}

/// Returns the numbers of runs from a degradation to its alarm, in ascending order, of the courses that wait at that
/// time. `usize::MAX` stands for none within 200 runs.
fn delays(courses: u64) -> Vec<usize> {
    let of_course = |seed| {
        let log = log(CHANGE + 200, seed, |run| if run < CHANGE { 0.9 } else { 0.6 });
        let is_alarm = |runs: &usize| after(&log, *runs).verdict == Verdict::Alarm;
        let delay = || (CHANGE..=CHANGE + 200).step_by(5).find(is_alarm).map_or(usize::MAX, |runs| runs - CHANGE);
        (after(&log, CHANGE).verdict == Verdict::Wait).then(delay)
    };
    let mut delays: Vec<usize> = (0..courses).filter_map(of_course).collect();
    delays.sort_unstable();
    delays
}

fn main() {
    let courses = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1_000);
    println!("| rate | reported |\n|---|---|");
    for rate in [0.95, 0.9, 0.8] {
        println!("| stable {rate} | in {:.1} % |", 100.0 * alarmed(rate, courses) as f64 / courses as f64);
    }
    let delays = delays(courses);
    let soon = 100.0 * delays.iter().filter(|delay| **delay <= 100).count() as f64 / delays.len() as f64;
    let (median, late) = (delays[delays.len() / 2], delays[delays.len() * 9 / 10]);
    println!(
        "| .9, and .6 from run {} on | within 100 runs in {soon:.0} %; after {median} runs in the median, {late} in nine of ten |",
        CHANGE + 1
    );
}

#[cfg(test)]
mod tests {
    use evolve::SETTLED_RUNS;

    use super::*;

    #[test]
    fn stable_revision_rarely_raises_alarms() {
        for rate in [0.95, 0.9, 0.8] {
            let fired = alarmed(rate, 60);
            assert!(fired <= 6, "{fired} of 60 at {rate}");
        }
    }

    #[test]
    fn degradation_after_trial_is_reported_soon() {
        let delays = delays(30);
        let late = delays.iter().filter(|delay| **delay > 100).count();
        assert!(delays.len() >= 27 && late <= 5, "{delays:?}");
        let decision = after(&log(600, 1, |run| if run < CHANGE { 0.9 } else { 0.3 }), 600);
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
}
