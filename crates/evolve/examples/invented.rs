//! [`Inventor`]: simulated trials of a worse revision, with an agent that fabricates successes for it.
//!
//! `cargo run -p skillhub-evolve --example invented` prints the table of `docs/GATE.md`.

#![expect(clippy::unwrap_used, reason = "an example for the desk, not for users")]

use evolve::{Case, GateConfig, GateState, Verdict, decide};
use jiff::{SignedDuration, Timestamp};
use library::{Arm, Outcome, OutcomeKind, OutcomeSource, RevisionId, StoredTrial};
use testkit::Random;

/// Number of simulated trials of each inventor.
const COURSES: u64 = 60;
/// Days of a trial.
const DAYS: i64 = 14;
/// Runs per day of an honest agent.
const HONEST: usize = 20;
/// Runs per day of an inventor.
const INVENTED: usize = 100;
/// Success rates before the trial and with the revision on trial.
const RATES: (f64, f64) = (0.9, 0.5);

/// Strategy of the fabricating agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inventor {
    /// Fabricates nothing.
    Absent,
    /// Reports runs in which it read nothing.
    Reports,
    /// Reads the skill in each run, under one name. It reports a success for each run with the revision on trial, and a
    /// failure for each other one.
    Reads,
    /// Acts as in `Reads`, over the connection that created the revision.
    Author,
}

impl Inventor {
    const ALL: [Self; 4] = [Self::Absent, Self::Reports, Self::Author, Self::Reads];

    fn words(self) -> &'static str {
        match self {
            Self::Absent => "reports nothing",
            Self::Reports => "reports successes of runs in which it read nothing",
            Self::Author => "made the revision, and reports over the same connection",
            Self::Reads => "reads in each run, and lies about the ends",
        }
    }
}

fn main() {
    println!("| the other agent | without the rules | with them |\n|---|---|---|");
    for inventor in Inventor::ALL {
        let (with, without) = (promoted(inventor, COURSES, false), promoted(inventor, COURSES, true));
        println!("| {} | {without:.1} % | {with:.1} % |", inventor.words());
    }
}

fn id(digit: char) -> RevisionId {
    RevisionId::new(digit.to_string().repeat(40))
}

fn trial(seed: u64) -> StoredTrial {
    StoredTrial {
        id: format!("t{seed}"),
        base: id('a'),
        base_digest: "base".to_owned(),
        candidate: id('b'),
        candidate_digest: "candidate".to_owned(),
        proposal: None,
        by: String::new(),
        started: time(0, 0).to_string(),
        paused: false,
        terms: GateConfig::default().terms(None).unwrap(),
    }
}

fn time(day: i64, minute: usize) -> Timestamp {
    let start: Timestamp = "2026-01-02T00:00:00Z".parse().unwrap();
    start + SignedDuration::from_hours(24 * day) + SignedDuration::from_mins(i64::try_from(minute).unwrap())
}

/// Returns the log lines of a run: its reading of the skill, if any, and its end.
fn lines(run: String, revision: RevisionId, at: Timestamp, succeeds: bool, actor: &str, reads: bool) -> Vec<Outcome> {
    let end = Outcome {
        v: 1,
        event: if succeeds { OutcomeKind::Completed } else { OutcomeKind::Failed },
        run,
        ts: at.to_string(),
        skill: "demo".to_owned(),
        revision,
        latency_ms: None,
        tokens_in: None,
        tokens_out: None,
        task: None,
        query: None,
        source: None,
        actor: Some(actor.to_owned()),
        basis: Some(OutcomeSource::Report),
        thread: None,
        by_author: false,
    };
    let read = Outcome { event: OutcomeKind::Activated, basis: Some(OutcomeSource::Read), ..end.clone() };
    if reads { vec![read, end] } else { vec![end] }
}

/// Returns the log of one day of both agents.
fn day(trial: &StoredTrial, day: i64, inventor: Inventor, random: &mut Random) -> Vec<Outcome> {
    let mut log = Vec::new();
    for run in 0..HONEST {
        let run = format!("{day}-{run}");
        let (revision, rate) = match trial.arm(&run) {
            Arm::Base => (id('a'), RATES.0),
            Arm::Candidate => (id('b'), RATES.1),
        };
        log.extend(lines(run, revision, time(day, log.len()), random.draw() < rate, "agent:honest", true));
    }
    if inventor == Inventor::Absent {
        return log;
    }
    for run in 0..INVENTED {
        let (id_of_run, reads) = (format!("{day}-x{run}"), inventor != Inventor::Reports);
        let is_on_trial = !reads || trial.arm(&id_of_run) == Arm::Candidate;
        let revision = id(if is_on_trial { 'b' } else { 'a' });
        let mut of_run = lines(id_of_run, revision, time(day, run), is_on_trial, "agent:inventor", reads);
        of_run.iter_mut().for_each(|line| line.by_author = inventor == Inventor::Author);
        log.extend(of_run);
    }
    log
}

/// Returns the percentage of trials that promote the worse revision. With `trusted`, every line is attributed to a
/// person, which disables the rules.
fn promoted(inventor: Inventor, courses: u64, trusted: bool) -> f64 {
    let promotes = |seed: &u64| {
        let (trial, mut random, mut log) = (trial(*seed), Random::new(*seed), Vec::new());
        let standing = GateState {
            head: "base".to_owned(),
            base: vec![id('a')],
            candidate: vec![id('b')],
            guarded: None,
            unreadable: 0,
            authors: Vec::new(),
        };
        for number in 0..DAYS {
            log.extend(day(&trial, number, inventor, &mut random));
            if trusted {
                log.iter_mut().for_each(|line: &mut Outcome| line.basis = Some(OutcomeSource::Person));
            }
            let verdict = decide(Case::Trial(&trial), &log, &standing, time(number, 1439)).verdict;
            if verdict != Verdict::Wait {
                return verdict == Verdict::Promote;
            }
        }
        false
    };
    100.0 * (0..courses).filter(promotes).count() as f64 / courses as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inventions_promote_no_worse_revision() {
        for inventor in [Inventor::Absent, Inventor::Reports, Inventor::Author] {
            assert_eq!(promoted(inventor, COURSES / 4, false), 0.0, "{inventor:?}");
        }
    }
}
