//! [`decide`]: what becomes of a revision, by the outcomes of its runs.
//!
//! A pure function of what is known: the outcomes in the order in which they were recorded, the trial and its
//! terms, how the history stands, and the time. So every decision in the log can be made again from the log
//! (`replay`). `docs/GATE.md` says what each test guarantees and what it does not.

use std::collections::{HashMap, VecDeque};

use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use library::{Arm, Outcome, RevisionId, StoredTrial, TrialTerms};
use serde::{Deserialize, Serialize};

use crate::{
    eprocess::{self, Detector, EProcess},
    runs::{Known, Result, Run, once_a_day, runs},
};

/// The version of the rules that decide. It goes up when the same log would be decided otherwise.
pub const RULES: u32 = 2;

/// Parts of a whole in [`TrialTerms`].
pub const WHOLE: u32 = 10_000;

/// Runs of one agent that count in a day.
pub const RUNS_A_DAY: u32 = 20;

/// Runs of the revision before from which its rate is estimated at least.
pub const KNOWN_RUNS: u32 = 30;

/// Runs of a revision from which its own rate is estimated, before drift is looked for.
pub const SETTLED_RUNS: u32 = 100;

/// The mean number of runs between two alarms of drift where nothing changes, at least.
pub const DRIFT_LEVEL: f64 = 1000.0;

/// How the history stands, as far as it bears on a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The digest of the head's files.
    pub head: String,
    /// The revisions with the files that stood before the one that is judged.
    pub base: Vec<RevisionId>,
    /// The revisions with the files that are judged.
    pub candidate: Vec<RevisionId>,
    /// Why the gate may not go back from the judged revision by itself, where it may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guarded: Option<String>,
    /// Lines of the log that cannot be read.
    #[serde(default)]
    pub unreadable: usize,
    /// The runs and conversations in which the judged revision was made.
    #[serde(default)]
    pub authors: Vec<String>,
}

/// What is judged.
#[derive(Debug, Clone, Copy)]
pub enum Case<'a> {
    /// A revision that a share of the runs gets.
    Trial(&'a StoredTrial),
    /// The head, against the revision before it.
    Head(&'a TrialTerms),
}

/// What is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing yet.
    Wait,
    /// The revision on trial becomes the head.
    Promote,
    /// What stood before stays, or comes back.
    RollBack,
    /// The trial ends and what stood before stays.
    Inconclusive,
    /// A person has to look.
    Alarm,
}

/// The runs with one of the revisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// All that have ended or are taken for ended.
    pub runs: u32,
    /// Successes.
    pub successes: u32,
    /// Failures.
    pub failures: u32,
    /// Those of which nobody knows.
    pub unknown: u32,
}

impl Count {
    /// Runs of which it is known how they went.
    #[must_use]
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

/// Ended runs that do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncounted {
    /// Runs whose reports alone say that they happened: skillhub served them no skill before they ended.
    pub unseen: u32,
    /// Runs of the author of the judged revision.
    pub authored: u32,
    /// Runs beyond [`RUNS_A_DAY`].
    pub beyond_limit: u32,
}

impl Uncounted {
    /// What does not count and why, as a sentence; `None` where all runs count.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let parts = [
            (self.unseen, "that read no skill from skillhub before their end".to_owned()),
            (self.authored, "of the author of the revision".to_owned()),
            (self.beyond_limit, format!("beyond {RUNS_A_DAY} a day of one agent")),
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
    /// Observations: runs, or pairs of runs.
    pub n: u32,
    /// The e-value; of the test for rolling back the highest so far.
    pub e_value: f64,
    /// From which e-value on it decides.
    pub threshold: f64,
}

impl Evidence {
    fn decides(&self) -> bool {
        self.e_value >= self.threshold
    }
}

/// A decision with its numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The version of the rules.
    pub rules: u32,
    /// What is decided.
    pub verdict: Verdict,
    /// Why, or what is awaited.
    pub why: String,
    /// Runs with what stood before.
    pub base: Count,
    /// Runs with what is judged.
    pub candidate: Count,
    /// Runs with either that do not count.
    #[serde(default)]
    pub uncounted: Uncounted,
    /// The rate that it was held to, where that was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// That it is worse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worse: Option<Evidence>,
    /// That it is not worse by the margin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good: Option<Evidence>,
    /// That something changed since it became the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Evidence>,
}

/// Decides about a revision.
#[must_use]
pub fn decide(case: Case<'_>, outcomes: &[Outcome], standing: &Standing, now: Timestamp) -> Decision {
    let since = match case {
        Case::Trial(trial) => trial.started.parse().unwrap_or(Timestamp::MAX),
        Case::Head(_) => Timestamp::MIN,
    };
    let seen = Seen::of(outcomes, standing, since, now);
    match case {
        Case::Trial(trial) => of_trial(trial, &seen, standing, now),
        Case::Head(terms) => of_head(terms, &seen),
    }
    .guarded(standing)
}

/// The runs that count, in the order in which they ended.
struct Seen {
    runs: Vec<(Arm, Result)>,
    base: Count,
    candidate: Count,
    uncounted: Uncounted,
}

impl Seen {
    fn of(outcomes: &[Outcome], standing: &Standing, since: Timestamp, now: Timestamp) -> Self {
        let arm = |run: &Run<'_>| match () {
            () if standing.candidate.contains(run.revision) => Some(Arm::Candidate),
            () if standing.base.contains(run.revision) => Some(Arm::Base),
            () => None,
        };
        let mut all = runs(outcomes, now);
        all.retain(|run| arm(run).is_some() && run.time >= since);
        let uncounted = leave_out(&mut all, standing);
        let mut seen = Self { runs: Vec::new(), base: Count::default(), candidate: Count::default(), uncounted };
        for run in once_a_day(all, arm) {
            let arm = arm(&run).unwrap_or(Arm::Base);
            match arm {
                Arm::Base => seen.base.add(run.result),
                Arm::Candidate => seen.candidate.add(run.result),
            }
            seen.runs.push((arm, run.result));
        }
        seen
    }

    /// Successes and failures with one of the revisions.
    fn known(&self, of: Arm) -> impl Iterator<Item = bool> {
        self.runs.iter().filter(move |(arm, _)| *arm == of).filter_map(|(_, result)| known(*result))
    }

    fn decision(&self, verdict: Verdict, why: impl Into<String>) -> Decision {
        let Self { base, candidate, uncounted, .. } = *self;
        let (rate, worse, good, drift) = Default::default();
        Decision { rules: RULES, verdict, why: why.into(), base, candidate, uncounted, rate, worse, good, drift }
    }
}

/// Leaves out the ended runs that an agent could invent: those that are not known to have happened, those of the
/// author of what is judged, with whatever revision, and those of one agent beyond [`RUNS_A_DAY`].
fn leave_out(runs: &mut Vec<Run<'_>>, standing: &Standing) -> Uncounted {
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

/// Who read, and on which day.
fn day_of<'a>(run: &Run<'a>, read: Timestamp) -> (Option<&'a str>, Date) {
    (run.reader, read.to_zoned(TimeZone::UTC).date())
}

/// The time of the last reading that counts, for each agent and day with more than [`RUNS_A_DAY`] of them. Readings
/// count, not ends, so that an agent cannot choose among many runs those that count.
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

fn is_of_author(run: &Run<'_>, standing: &Standing) -> bool {
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

/// What a run of unknown end is taken for where a revision has to show that it is good.
fn proven(arm: Arm, result: Result) -> Option<bool> {
    match (arm, result) {
        (Arm::Candidate, Result::Unknown) => Some(false),
        _ => known(result),
    }
}

/// Runs with what stood before that wait for a partner; older ones are left out.
const WAITING: usize = 200;

/// Puts each run with the judged revision beside the oldest runs with the other one that wait, at most so many, and
/// gives what the bets on them win in the mean. Who is put beside whom follows from which revision each had, and
/// from nothing else. A run waits for its partner.
#[must_use]
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

/// How many runs of the former revision come on one with that on trial.
fn beside_one(share: u32) -> usize {
    let share = share.clamp(1, WHOLE);
    ((WHOLE - share + share / 2) / share).clamp(1, 20) as usize
}

fn part(parts: u32) -> f64 {
    f64::from(parts) / f64::from(WHOLE)
}

/// From which e-value on a test of this error rate decides.
pub(crate) fn threshold(alpha: u32) -> f64 {
    f64::from(WHOLE) / f64::from(alpha.max(1))
}

fn of_trial(trial: &StoredTrial, seen: &Seen, standing: &Standing, now: Timestamp) -> Decision {
    let terms = &trial.terms;
    let (worse, good) = trial_evidence(terms, seen);
    let rate = terms.known_rate.map(part);
    let decision =
        |verdict, why: String| Decision { rate, worse: Some(worse), good: Some(good), ..seen.decision(verdict, why) };
    if trial.paused {
        return decision(Verdict::Wait, "a person paused it".to_owned());
    }
    if standing.head == trial.candidate_digest {
        return decision(Verdict::Promote, "it is the head already".to_owned());
    }
    if standing.head != trial.base_digest {
        return decision(Verdict::Inconclusive, "the skill was changed meanwhile, and the trial ends".to_owned());
    }
    if worse.decides() {
        let why = format!("its runs fail more often: evidence {:.1} of {:.1}", worse.e_value, worse.threshold);
        return decision(Verdict::RollBack, why);
    }
    let (done, least) = (seen.candidate.known(), terms.min_runs);
    if good.decides() && done >= least && standing.unreadable == 0 {
        let why = format!("it is not worse by {:.0} points in {done} runs", part(terms.margin) * 100.0);
        return decision(Verdict::Promote, why);
    }
    if seen.candidate.runs >= terms.max_runs {
        return decision(
            Verdict::Inconclusive,
            format!("{} showed nothing", skill::counted(seen.candidate.runs, "run")),
        );
    }
    let started = trial.started.parse().unwrap_or(now);
    if now.duration_since(started) >= SignedDuration::from_hours(24 * i64::from(terms.max_days)) {
        return decision(Verdict::Inconclusive, format!("{} showed nothing", skill::counted(terms.max_days, "day")));
    }
    let why = match (standing.unreadable, done < least) {
        (0, true) => format!("{done} of at least {}", skill::counted(least, "run")),
        (0, false) => format!("evidence {:.1} of {:.1} that it is no worse", good.e_value, good.threshold),
        (lines, _) => {
            format!("{} of its outcomes cannot be read, so it is not promoted", skill::counted(lines, "line"))
        }
    };
    decision(Verdict::Wait, why)
}

/// That the revision on trial is worse, and that it is good enough.
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

/// The head against the rate of what stood before, and then against its own.
fn of_head(terms: &TrialTerms, seen: &Seen) -> Decision {
    let rate = match terms.known_rate {
        Some(rate) => Some(part(rate)),
        None if seen.base.known() >= KNOWN_RUNS => Some(cautious(seen.base.successes, seen.base.known())),
        None => None,
    };
    let drift = drift(seen);
    let Some(rate) = rate else {
        let why = format!("the revision before it has {} of {KNOWN_RUNS} runs to be compared with", seen.base.known());
        return Decision { drift, ..seen.decision(Verdict::Wait, why) };
    };
    let mut evidence = EProcess::default();
    let first = seen.known(Arm::Candidate).take(terms.max_runs as usize);
    first.for_each(|success| evidence.observe(eprocess::against_rate(rate, success)));
    // Where the rate is estimated, half of the errors are left for the estimate.
    let share = if terms.known_rate.is_some() { 1.0 } else { 2.0 };
    let threshold = threshold(terms.rollback_alpha) * share;
    let worse = Evidence { n: evidence.observed(), e_value: evidence.highest(), threshold };
    let decision =
        |verdict, why: String| Decision { rate: Some(rate), worse: Some(worse), drift, ..seen.decision(verdict, why) };
    if worse.decides() {
        let why = format!(
            "its runs fail more often than those before, evidence {:.1} of {:.1} against a rate of {:.0} %",
            worse.e_value,
            worse.threshold,
            rate * 100.0
        );
        return decision(Verdict::RollBack, why);
    }
    if drift.is_some_and(|drift| drift.decides()) {
        return decision(Verdict::Alarm, "its runs fail more often than they did at first".to_owned());
    }
    decision(
        Verdict::Wait,
        format!("{}, and nothing shows that it is worse", skill::counted(seen.candidate.known(), "run")),
    )
}

/// Whether the runs after the first hundred go as those did.
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

/// A rate that the true one is hardly ever below: the lower end of an interval of 99 %.
fn cautious(successes: u32, runs: u32) -> f64 {
    let (n, z) = (f64::from(runs), 2.575_829);
    let rate = f64::from(successes) / n;
    let half = z * (rate * (1.0 - rate) / n + z * z / (4.0 * n * n)).sqrt();
    ((rate + z * z / (2.0 * n) - half) / (1.0 + z * z / n)).max(0.0)
}

impl Decision {
    /// What the gate may not do by itself is for a person.
    fn guarded(self, standing: &Standing) -> Self {
        match &standing.guarded {
            Some(guard) if self.verdict == Verdict::RollBack => {
                Self { verdict: Verdict::Alarm, why: format!("{}; but {guard}", self.why), ..self }
            }
            _ => self,
        }
    }
}
