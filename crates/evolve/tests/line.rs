//! Tests of the gate's decision on all revisions since the review checkpoint.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use evolve::{Case, Decision, GateState, Line, Verdict, decide, decline::REFERENCE_RUNS};
use jiff::{SignedDuration, Timestamp};
use library::{Outcome, OutcomeKind, OutcomeSource, RevisionId};

/// Id of the review checkpoint.
const KEPT: char = 'a';
/// Ids of the revisions after it.
const LATER: [char; 3] = ['b', 'c', 'd'];

fn id(digit: char) -> RevisionId {
    RevisionId::new(digit.to_string().repeat(40))
}

fn line(rolls_back: bool) -> Line {
    Line { kept: Some(12), kept_id: Some(id(KEPT)), with_ancestors: false, rolls_back, is_restored: false }
}

fn state() -> GateState {
    let candidate = LATER.into_iter().rev().map(id).collect();
    let (head, base) = ("sha256:new".to_owned(), vec![id(KEPT)]);
    GateState { head, base, candidate, guarded: None, unreadable: 0, authors: vec!["writer".to_owned()] }
}

/// Log of runs, in which every `bad`th of a revision fails.
#[derive(Default)]
struct Log(Vec<Outcome>);

impl Log {
    fn add(mut self, revision: char, runs: usize, bad: usize) -> Self {
        for run in 1..=runs {
            let event = if run % bad == 0 { OutcomeKind::Failed } else { OutcomeKind::Completed };
            let outcome = self.outcome(revision, event);
            self.0.push(outcome);
        }
        self
    }

    fn outcome(&self, revision: char, event: OutcomeKind) -> Outcome {
        let start: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let run = self.0.len();
        Outcome {
            v: 1,
            ts: (start + SignedDuration::from_mins(i64::try_from(run).unwrap())).to_string(),
            skill: "demo".to_owned(),
            revision: id(revision),
            event,
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
        }
    }

    fn decide(&self, line: &Line, state: &GateState) -> Decision {
        decide(Case::Line(line), &self.0, state, "2026-02-01T00:00:00Z".parse().unwrap())
    }
}

/// Returns runs that fall from 19 of 20 to two thirds in three revisions.
fn falling() -> Log {
    let log = Log::default().add(KEPT, 200, 20);
    LATER.into_iter().fold(log, |log, revision| log.add(revision, 30, 3))
}

#[test]
fn decline_over_revisions_is_reported() {
    let decision = falling().decide(&line(false), &state());
    assert_eq!(decision.verdict, Verdict::Alarm, "{decision:#?}");
    assert_eq!(decision.why, "60 of 90 runs succeeded since you kept revision 12; 95 % expected");
    let restored = falling().decide(&Line { is_restored: true, ..line(false) }, &state());
    assert_eq!(
        restored.why,
        "60 of 90 runs succeeded since the gate restored what you kept (revision 12); 95 % expected"
    );
    assert_eq!((decision.base.runs, decision.candidate.runs, decision.worse.unwrap().n), (200, 90, 90));
    let steady = Log::default().add(KEPT, 200, 20).add('b', 60, 20).add('c', 60, 20);
    assert_eq!(steady.decide(&line(false), &state()).verdict, Verdict::Wait);
}

#[test]
fn rollback_needs_policy_and_no_guard() {
    let log = falling();
    assert_eq!(log.decide(&line(true), &state()).verdict, Verdict::RollBack);
    let guarded = GateState { guarded: Some("revision 13 was made by a person".to_owned()), ..state() };
    let decision = log.decide(&line(true), &guarded);
    assert_eq!(decision.verdict, Verdict::Alarm);
    assert!(decision.why.ends_with("expected; but revision 13 was made by a person"), "{}", decision.why);
    let never_kept = Line { kept: None, kept_id: None, ..line(true) };
    let without =
        GateState { base: Vec::new(), candidate: [KEPT].into_iter().chain(LATER).map(id).collect(), ..state() };
    assert_eq!(log.decide(&never_kept, &without).verdict, Verdict::Alarm, "there is nothing to return to");
}

#[test]
fn first_runs_complete_small_reference() {
    let few = Log::default().add(KEPT, 60, 20);
    let decision = few.decide(&line(false), &state());
    assert_eq!((decision.verdict, decision.worse), (Verdict::Wait, None));
    let why = format!("its success rate is not known yet: 60 runs with a known end, of {REFERENCE_RUNS} needed");
    assert_eq!(decision.why, why);
    let decision = few.add('b', 40, 20).add('c', 120, 3).decide(&line(false), &state());
    assert_eq!(decision.verdict, Verdict::Alarm, "{decision:#?}");
    assert_eq!(decision.why, "80 of 120 runs succeeded after the first 100; 95 % expected");
}

#[test]
fn reference_is_fixed_by_first_later_run() {
    let log = falling().decide(&line(false), &state());
    let late = falling().add(KEPT, 200, 2).decide(&line(false), &state());
    assert_eq!((late.rate, late.worse), (log.rate, log.worse), "runs of old content that end later change nothing");
    let ancestors = Line { with_ancestors: true, ..line(false) };
    let state = GateState { base: vec![id(KEPT), id('9')], ..state() };
    let log = Log::default().add('9', 300, 2).add('9', 40, 20).add(KEPT, 60, 20).add('b', 60, 20);
    let decision = log.decide(&ancestors, &state);
    assert_eq!(decision.rate, Some(0.95), "the newest hundred: {decision:#?}");
}

#[test]
fn uncounted_runs_stay_out_of_line() {
    let mut log = falling();
    let before = log.decide(&line(false), &state());
    for (thread, basis) in [(Some("writer"), Some(OutcomeSource::Person)), (None, Some(OutcomeSource::Report))] {
        for _ in 0..30 {
            let outcome = log.outcome('d', OutcomeKind::Completed);
            log.0.push(Outcome { thread: thread.map(str::to_owned), basis, ..outcome });
        }
    }
    let after = log.decide(&line(false), &state());
    assert_eq!((after.uncounted.authored, after.uncounted.unseen), (30, 30), "{after:#?}");
    assert_eq!((after.candidate, after.worse), (before.candidate, before.worse));
}

#[test]
fn task_counts_once_per_revision_and_day() {
    let mut log = Log::default().add(KEPT, 200, 20);
    for revision in LATER {
        for _ in 0..5 {
            let outcome = log.outcome(revision, OutcomeKind::Failed);
            log.0.push(Outcome { task: Some("one".to_owned()), ..outcome });
        }
    }
    assert_eq!(log.decide(&line(false), &state()).candidate.failures, 3);
}
