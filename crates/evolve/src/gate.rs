//! [`decide`]: the decision on a revision, from the outcomes of its runs.
//!
//! It is a pure function of the outcomes in recorded order, the trial and its terms, the state of the history, and the
//! time. Every decision in the log can therefore be reproduced from the log (`replay`). `docs/GATE.md` states the
//! guarantees of each test and their limits.

mod line;
mod trial;

use std::collections::HashMap;

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use library::{Arm, Outcome, RevisionId, StoredTrial, TrialTerms};
use serde::{Deserialize, Serialize};

use crate::{
    eprocess::{self, Detector, EProcess},
    runs::{Known, Result, Run, once_a_day, runs},
};

pub use line::Line;
use line::decide_line;
use trial::decide_trial;
pub use trial::pairs;

/// Version of the decision rules. It is incremented whenever the same log would lead to another decision.
pub const RULES: u32 = 2;

/// Denominator of the fractions in [`TrialTerms`].
pub const WHOLE: u32 = 10_000;

/// Number of runs of one agent that count per day.
pub const RUNS_A_DAY: u32 = 20;

/// Fewest runs of the previous revision for an estimate of its rate.
pub const KNOWN_RUNS: u32 = 30;

/// Runs of a revision from which its own rate is estimated, before drift detection starts.
pub const SETTLED_RUNS: u32 = 100;

/// Lower bound on the mean number of runs between two false alarms of drift.
pub const DRIFT_LEVEL: f64 = 1000.0;

/// State of the history, as far as it affects a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateState {
    /// Digest of the head's files.
    pub head: String,
    /// Revisions with the files that preceded the judged ones.
    pub base: Vec<RevisionId>,
    /// Revisions with the judged files.
    pub candidate: Vec<RevisionId>,
    /// Reason why the gate may not roll back the judged revision by itself, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guarded: Option<String>,
    /// Number of unreadable lines of the log.
    #[serde(default)]
    pub unreadable: usize,
    /// Runs and conversations that created the judged revision.
    #[serde(default)]
    pub authors: Vec<String>,
}

/// Subject of a decision.
#[derive(Debug, Clone, Copy)]
pub enum Case<'a> {
    /// Revision on trial with a share of the runs.
    Trial(&'a StoredTrial),
    /// Head, compared with the previous revision.
    Head(&'a TrialTerms),
    /// All revisions since the review checkpoint, compared with those up to it.
    Line(&'a Line),
}

/// Verdict of the gate on a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No decision yet.
    Wait,
    /// The revision on trial becomes the head.
    Promote,
    /// The previous files stay, or are restored.
    RollBack,
    /// The trial ends, and the previous files stay.
    Inconclusive,
    /// A person has to look.
    Alarm,
}

/// Counts of the runs with one of the revisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Runs that have ended or are assumed to have ended.
    pub runs: u32,
    /// Number of successful runs.
    pub successes: u32,
    /// Number of failed runs.
    pub failures: u32,
    /// Number of runs with an unknown result.
    pub unknown: u32,
}

impl Count {
    /// Returns the number of runs with a known result.
    pub fn known(&self) -> u32 {
        self.successes + self.failures
    }

    pub(crate) fn add(&mut self, result: Result) {
        match result {
            Result::Success => self.successes += 1,
            Result::Failure => self.failures += 1,
            Result::Unknown => self.unknown += 1,
            Result::Open => return,
        }
        self.runs += 1;
    }
}

/// Ended runs that are excluded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncounted {
    /// Runs known only from their own reports: skillhub served them no skill before they ended.
    pub unseen: u32,
    /// Runs by the author of the judged revision.
    pub authored: u32,
    /// Runs beyond [`RUNS_A_DAY`].
    pub beyond_limit: u32,
}

impl Uncounted {
    /// Describes the excluded runs in a sentence. `None` if all runs count.
    pub fn sentence(&self) -> Option<String> {
        let parts = [
            (self.unseen, "that did not read the skill from skillhub before they ended".to_owned()),
            (self.authored, "by the author of the revision".to_owned()),
            (self.beyond_limit, format!("beyond {RUNS_A_DAY} per day by one agent")),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!("{} {why}", skill::counted(count, "run")))
            .collect();
        (!parts.is_empty()).then(|| format!("not counted: {}", parts.join(", ")))
    }
}

/// Evidence of one test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Number of observations: runs, or pairs of runs.
    pub n: u32,
    /// Current e-value. For the rollback test, the highest so far.
    pub e_value: f64,
    /// Lowest e-value that decides the test.
    pub threshold: f64,
}

impl Evidence {
    fn decides(&self) -> bool {
        self.e_value >= self.threshold
    }

    fn words(&self) -> String {
        eprocess::describe(self.e_value, self.threshold)
    }
}

/// Decision with its numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Version of the rules.
    pub rules: u32,
    /// Verdict on the revision.
    pub verdict: Verdict,
    /// Reason, or the missing evidence.
    pub why: String,
    /// Runs with the previous files.
    pub base: Count,
    /// Runs with the judged files.
    pub candidate: Count,
    /// Excluded runs with either.
    #[serde(default)]
    pub uncounted: Uncounted,
    /// Reference rate, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Evidence that the revision is worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worse: Option<Evidence>,
    /// Evidence that it is not worse by the margin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good: Option<Evidence>,
    /// Evidence of a change since it became the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Evidence>,
}

/// Decides about a revision.
pub fn decide(case: Case<'_>, outcomes: &[Outcome], standing: &GateState, now: Timestamp) -> Decision {
    let since = match case {
        Case::Trial(trial) => trial.started.parse().unwrap_or(Timestamp::MAX),
        Case::Head(_) | Case::Line(_) => Timestamp::MIN,
    };
    let seen = Seen::of(outcomes, standing, since, matches!(case, Case::Line(_)), now);
    match case {
        Case::Trial(trial) => decide_trial(trial, &seen, standing, now),
        Case::Head(terms) => of_head(terms, &seen),
        Case::Line(line) => decide_line(line, &seen),
    }
    .guarded(standing)
}

/// Runs that count, in the order in which they ended.
struct Seen {
    runs: Vec<(Arm, Result)>,
    base: Count,
    candidate: Count,
    uncounted: Uncounted,
}

impl Seen {
    /// Selects the runs since a time. Runs of one task count once a day for each side, or for each revision.
    fn of(outcomes: &[Outcome], standing: &GateState, since: Timestamp, by_revision: bool, now: Timestamp) -> Self {
        let arm = |run: &Run<'_>| match () {
            () if standing.candidate.contains(run.revision) => Some(Arm::Candidate),
            () if standing.base.contains(run.revision) => Some(Arm::Base),
            () => None,
        };
        let mut all = runs(outcomes, now);
        all.retain(|run| arm(run).is_some() && run.time >= since);
        let uncounted = leave_out(&mut all, standing);
        let mut seen = Self { runs: Vec::new(), base: Count::default(), candidate: Count::default(), uncounted };
        for run in once_a_day(all, |run| (arm(run), by_revision.then_some(run.revision))) {
            let arm = arm(&run).unwrap_or(Arm::Base);
            match arm {
                Arm::Base => seen.base.add(run.result),
                Arm::Candidate => seen.candidate.add(run.result),
            }
            seen.runs.push((arm, run.result));
        }
        seen
    }

    /// Yields the known results of one arm, true for a success.
    fn known(&self, of: Arm) -> impl Iterator<Item = bool> {
        self.runs.iter().filter(move |(arm, _)| *arm == of).filter_map(|(_, result)| known(*result))
    }

    fn decision(&self, verdict: Verdict, why: impl Into<String>) -> Decision {
        let Self { base, candidate, uncounted, .. } = *self;
        let (rate, worse, good, drift) = Default::default();
        Decision { rules: RULES, verdict, why: why.into(), base, candidate, uncounted, rate, worse, good, drift }
    }
}

/// Excludes ended runs that an agent could have fabricated.
///
/// These are unconfirmed runs, runs by the author of the judged revision with any revision, and runs of one agent
/// beyond [`RUNS_A_DAY`].
fn leave_out(runs: &mut Vec<Run<'_>>, standing: &GateState) -> Uncounted {
    let mut uncounted = Uncounted::default();
    let limits = limits(runs);
    runs.retain(|run| {
        let reason = match run.known {
            _ if run.result == Result::Open => None,
            Known::No => Some(&mut uncounted.unseen),
            _ if is_of_author(run, standing) => Some(&mut uncounted.authored),
            Known::Since(time) if limits.get(&day_of(run, time)).is_some_and(|limit| time > *limit) => {
                Some(&mut uncounted.beyond_limit)
            }
            Known::Since(_) | Known::Taken => None,
        };
        reason.map(|count| *count += 1).is_none()
    });
    uncounted
}

/// Returns the reader and the day of a run.
fn day_of<'a>(run: &Run<'a>, read: Timestamp) -> (Option<&'a str>, Date) {
    (run.reader, read.to_zoned(TimeZone::UTC).date())
}

/// Returns the time of the last reading that counts, for each agent and day with at least [`RUNS_A_DAY`] readings.
/// Readings are limited, not ends, so that an agent cannot select the runs that count.
fn limits<'a>(runs: &[Run<'a>]) -> HashMap<(Option<&'a str>, Date), Timestamp> {
    let mut readings: HashMap<_, Vec<Timestamp>> = HashMap::new();
    for run in runs {
        if let Known::Since(time) = run.known {
            readings.entry(day_of(run, time)).or_default().push(time);
        }
    }
    let last = |mut times: Vec<Timestamp>| {
        times.sort_unstable();
        times.get(RUNS_A_DAY as usize - 1).copied()
    };
    readings.into_iter().filter_map(|(day, times)| Some((day, last(times)?))).collect()
}

fn is_of_author(run: &Run<'_>, standing: &GateState) -> bool {
    let is_author = |id: &str| standing.authors.iter().any(|author| author == id);
    run.by_author || is_author(run.id) || run.thread.is_some_and(is_author)
}

fn known(result: Result) -> Option<bool> {
    match result {
        Result::Success => Some(true),
        Result::Failure => Some(false),
        Result::Unknown | Result::Open => None,
    }
}

fn part(parts: u32) -> f64 {
    f64::from(parts) / f64::from(WHOLE)
}

/// Returns the e-value at which a test with this error rate decides.
pub(crate) fn threshold(alpha: u32) -> f64 {
    f64::from(WHOLE) / f64::from(alpha.max(1))
}

/// Judges the head against the rate of the previous revision, and then against its own.
fn of_head(terms: &TrialTerms, seen: &Seen) -> Decision {
    let rate = match terms.known_rate {
        Some(rate) => Some(part(rate)),
        None if seen.base.known() >= KNOWN_RUNS => Some(cautious(seen.base.successes, seen.base.known())),
        None => None,
    };
    let drift = drift(seen);
    let Some(rate) = rate else {
        let why = format!("the revision before it has {} of {KNOWN_RUNS} required runs", seen.base.known());
        return Decision { drift, ..seen.decision(Verdict::Wait, why) };
    };
    let mut evidence = EProcess::default();
    let first = seen.known(Arm::Candidate).take(terms.max_runs as usize);
    first.for_each(|success| evidence.observe(eprocess::against_rate(rate, success)));
    // If the rate is estimated, half of the error rate is reserved for the estimate.
    let share = if terms.known_rate.is_some() { 1.0 } else { 2.0 };
    let threshold = threshold(terms.rollback_alpha) * share;
    let worse = Evidence { n: evidence.observed(), e_value: evidence.highest(), threshold };
    let decision =
        |verdict, why: String| Decision { rate: Some(rate), worse: Some(worse), drift, ..seen.decision(verdict, why) };
    if worse.decides() {
        let why = format!(
            "its runs fail more often than before: {} of {} succeeded, {:.0} % expected ({})",
            seen.candidate.successes,
            seen.candidate.known(),
            rate * 100.0,
            worse.words()
        );
        return decision(Verdict::RollBack, why);
    }
    if drift.is_some_and(|drift| drift.decides()) {
        return decision(Verdict::Alarm, "its runs fail more often than they did at first".to_owned());
    }
    decision(Verdict::Wait, format!("no sign of a decline in {}", skill::counted(seen.candidate.known(), "run")))
}

/// Returns the evidence that runs after the first [`SETTLED_RUNS`] have another rate than those.
fn drift(seen: &Seen) -> Option<Evidence> {
    let results: Vec<bool> = seen.known(Arm::Candidate).collect();
    let (first, later) = results.split_at_checked(SETTLED_RUNS as usize)?;
    let successes = first.iter().filter(|success| **success).count();
    let (low, _) = eprocess::wilson(u32::try_from(successes).unwrap_or(u32::MAX), SETTLED_RUNS);
    let (mut detector, mut highest) = (Detector::default(), 0.0_f64);
    for success in later {
        detector.observe(eprocess::against_rate(low, *success));
        highest = highest.max(detector.value());
    }
    Some(Evidence { n: detector.observed(), e_value: highest, threshold: DRIFT_LEVEL })
}

/// Returns a lower confidence bound of a rate: the lower end of the 99 % interval.
fn cautious(successes: u32, runs: u32) -> f64 {
    let (n, z) = (f64::from(runs), 2.575_829);
    let rate = f64::from(successes) / n;
    let half = z * (rate * (1.0 - rate) / n + z * z / (4.0 * n * n)).sqrt();
    ((rate + z * z / (2.0 * n) - half) / (1.0 + z * z / n)).max(0.0)
}

impl Decision {
    /// Turns a rollback that the gate may not make by itself into an alarm.
    fn guarded(self, standing: &GateState) -> Self {
        match &standing.guarded {
            Some(guard) if self.verdict == Verdict::RollBack => {
                Self { verdict: Verdict::Alarm, why: format!("{}; but {guard}", self.why), ..self }
            }
            _ => self,
        }
    }
}
