//! [`Family`]: simulated courses of runs, and the gates that are compared on them.
//!
//! Everything follows from a seed. The gates of other tools are reimplemented from their descriptions, so that all see
//! the same courses. `cargo run -p skillhub-evolve --example gate_suite` prints the tables of `docs/GATE.md`.

use evolve::{
    KNOWN_RATE_ALPHA, UNKNOWN_RATE_ALPHA,
    eprocess::{EProcess, against_rate, of_pair, wilson},
    pairs,
};
use library::Arm;
use testkit::Random;

/// Runs after which a gate counts as not having fired.
pub const HORIZON: usize = 200;

/// One run of a course, as reported to a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// Result of the run; `None` if it is unknown.
    pub success: Option<bool>,
    /// True if the same run was reported before.
    pub double: bool,
    /// True if the same task was run on the same day before.
    pub same_task: bool,
}

/// A kind of simulated course.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Family {
    /// Constant rate.
    Stable(f64),
    /// The second rate, while the gate expects the first, from the first run on.
    Worse(f64, f64),
    /// From the first rate to the second in equal steps.
    Drift(f64, f64),
    /// The first rate, then the second from this run on.
    Late(f64, f64, usize),
    /// Constant rate; this share of the failures, and half that share of the successes, is never reported.
    Missing(f64, f64),
    /// Constant rate, with every run reported twice.
    Doubled(f64),
    /// A worse rate from the first run on; results arrive up to this many runs later and out of order.
    Delayed(f64, f64, usize),
    /// Constant rate; each task is tried this many times a day, with one result.
    Correlated(f64, usize),
    /// Constant mean rate, with failures in bursts of about this length.
    Bursty(f64, f64),
    /// Constant rate; of this many tries, the course with the earliest false alarm counts.
    Timed(f64, usize),
}

impl Family {
    /// The families of the suite: first those without a regression, then those with one.
    pub const ALL: [Self; 16] = [
        Self::Stable(0.9),
        Self::Stable(0.7),
        Self::Missing(0.9, 0.2),
        Self::Doubled(0.9),
        Self::Delayed(0.9, 0.9, 30),
        Self::Correlated(0.9, 5),
        Self::Bursty(0.9, 4.0),
        Self::Timed(0.9, 10),
        Self::Worse(0.9, 0.8),
        Self::Worse(0.9, 0.7),
        Self::Worse(0.9, 0.5),
        Self::Worse(0.7, 0.5),
        Self::Drift(0.9, 0.6),
        Self::Late(0.9, 0.6, 100),
        Self::Delayed(0.9, 0.7, 30),
        Self::Missing(0.7, 0.4),
    ];

    /// Returns the name of the family in tables.
    pub fn name(self) -> String {
        match self {
            Self::Stable(rate) => format!("stable {rate}"),
            Self::Worse(known, rate) => format!("worse {known} to {rate}"),
            Self::Drift(from, to) => format!("slow drift {from} to {to}"),
            Self::Late(known, rate, at) => format!("late {known} to {rate} at {at}"),
            Self::Missing(rate, share) if self.known_rate() > rate => {
                format!("worse {} to {rate}, {share} of failures missing", self.known_rate())
            }
            Self::Missing(rate, share) => format!("stable {rate}, {share} of failures missing"),
            Self::Doubled(rate) => format!("stable {rate}, told twice"),
            Self::Delayed(known, rate, _) if known > rate => format!("worse {known} to {rate}, told late"),
            Self::Delayed(rate, ..) => format!("stable {rate}, told late"),
            Self::Correlated(rate, times) => format!("stable {rate}, {times} times a task"),
            Self::Bursty(rate, length) => format!("stable {rate}, bursts of {length}"),
            Self::Timed(rate, times) => format!("stable {rate}, adversarial timing x{times}"),
        }
    }

    /// Returns whether the rate never gets worse.
    pub fn is_stable(self) -> bool {
        match self {
            Self::Worse(..) | Self::Drift(..) | Self::Late(..) => false,
            Self::Delayed(known, rate, _) => known <= rate,
            Self::Missing(rate, _) => self.known_rate() <= rate,
            _ => true,
        }
    }

    /// Returns the success rate of the version before, which the gate knows.
    pub fn known_rate(self) -> f64 {
        match self {
            Self::Missing(..) => 0.9,
            Self::Stable(rate)
            | Self::Worse(rate, _)
            | Self::Drift(rate, _)
            | Self::Late(rate, ..)
            | Self::Doubled(rate)
            | Self::Delayed(rate, ..)
            | Self::Correlated(rate, _)
            | Self::Bursty(rate, _)
            | Self::Timed(rate, _) => rate,
        }
    }

    /// Returns the first worse run, counted from 0.
    pub fn change(self) -> usize {
        if let Self::Late(_, _, at) = self { at } else { 0 }
    }

    /// Simulates one course.
    #[must_use]
    pub fn course(self, random: &mut Random) -> Vec<Told> {
        let told = |success| Told { success: Some(success), double: false, same_task: false };
        let runs = 0..HORIZON;
        match self {
            Self::Stable(rate) | Self::Worse(_, rate) | Self::Timed(rate, _) => {
                runs.map(|_| told(random.happens(rate))).collect()
            }
            Self::Drift(from, to) => {
                let at = |run: usize| from + (to - from) * run as f64 / HORIZON as f64;
                runs.map(|run| told(random.happens(at(run)))).collect()
            }
            Self::Late(before, after, at) => {
                runs.map(|run| told(random.happens(if run < at { before } else { after }))).collect()
            }
            Self::Missing(rate, share) => runs.map(|_| missing(random, rate, share)).collect(),
            Self::Doubled(rate) => runs
                .flat_map(|_| {
                    let one = told(random.happens(rate));
                    [one, Told { double: true, ..one }]
                })
                .collect(),
            Self::Delayed(_, rate, most) => delayed(random, rate, most),
            Self::Correlated(rate, times) => {
                let mut success = true;
                runs.map(|run| {
                    if run % times == 0 {
                        success = random.happens(rate);
                    }
                    Told { same_task: run % times != 0, ..told(success) }
                })
                .collect()
            }
            Self::Bursty(rate, length) => bursty(random, rate, length),
        }
    }
}

fn missing(random: &mut Random, rate: f64, share: f64) -> Told {
    let success = random.happens(rate);
    let is_missing = random.happens(if success { share / 2.0 } else { share });
    Told { success: (!is_missing).then_some(success), double: false, same_task: false }
}

/// Orders results by their run plus a random delay.
fn delayed(random: &mut Random, rate: f64, most: usize) -> Vec<Told> {
    let mut all: Vec<(f64, bool)> =
        (0..HORIZON).map(|run| (run as f64 + random.draw() * most as f64, random.happens(rate))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.into_iter().map(|(_, success)| Told { success: Some(success), double: false, same_task: false }).collect()
}

/// Simulates a Markov chain of two states whose mean is the rate.
fn bursty(random: &mut Random, rate: f64, length: f64) -> Vec<Told> {
    let end = 1.0 / length;
    let begin = end * (1.0 - rate) / rate;
    let mut fails = random.happens(1.0 - rate);
    (0..HORIZON)
        .map(|_| {
            let success = !fails;
            fails = if fails { !random.happens(end) } else { random.happens(begin) };
            Told { success: Some(success), double: false, same_task: false }
        })
        .collect()
}

/// A detector of runs that are worse than a known rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// Fires when fewer than half of at least five runs succeeded.
    Half,
    /// Fires when the last 20 runs are 15 points below the known rate.
    LastTwenty,
    /// Fires when the known rate is above Wilson's 95 % interval, checked after every run.
    Wilson,
    /// Fires when a cumulative sum of log likelihood ratios for 20 points less, floored at 0, exceeds 4.5.
    Cusum,
    /// Our e-process at alpha 0.01.
    Evidence,
}

impl Gate {
    /// All gates, in the order of the tables.
    pub const ALL: [Self; 5] = [Self::Half, Self::LastTwenty, Self::Wilson, Self::Cusum, Self::Evidence];

    /// Returns the name of the gate in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Half => "below half after 5",
            Self::LastTwenty => "last 20, drop .15",
            Self::Wilson => "Wilson at every run",
            Self::Cusum => "CUSUM 4.5",
            Self::Evidence => "e-process",
        }
    }

    /// Returns the number of runs after which it fires. Only ours skips duplicates and tasks of the same day, as its
    /// log does.
    pub fn fires(self, rate: f64, course: &[Told]) -> Option<usize> {
        let mut seen: Vec<bool> = Vec::new();
        let (mut evidence, mut sum) = (EProcess::default(), 0.0_f64);
        for (at, told) in course.iter().enumerate() {
            let is_ours = self == Self::Evidence;
            let Some(success) = told.success.filter(|_| !(is_ours && (told.double || told.same_task))) else {
                continue;
            };
            seen.push(success);
            let good = seen.iter().filter(|success| **success).count();
            let fires = match self {
                Self::Half => seen.len() >= 5 && good * 2 < seen.len(),
                Self::LastTwenty => {
                    let last = seen.get(seen.len().wrapping_sub(20)..);
                    last.is_some_and(|last| {
                        last.iter().filter(|success| **success).count() as f64 / 20.0 < rate - 0.15 - 1e-9
                    })
                }
                Self::Wilson => wilson(good as u32, seen.len() as u32).1 < rate,
                Self::Cusum => {
                    let worse = rate - 0.2;
                    let ratio = if success { worse / rate } else { (1.0 - worse) / (1.0 - rate) };
                    sum = (sum + ratio.ln()).max(0.0);
                    sum >= 4.5
                }
                Self::Evidence => {
                    evidence.observe(against_rate(rate, success));
                    evidence.highest() >= 1.0 / KNOWN_RATE_ALPHA
                }
            };
            if fires {
                return Some(at + 1);
            }
        }
        None
    }
}

/// Performance of a gate on many courses of a family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Share of courses on which it fired within the horizon.
    pub fired: f64,
    /// Mean number of runs from the change until it fired, over the courses on which it fired after the change.
    pub mean_delay: f64,
}

/// Runs a gate on this many courses of a family.
pub fn score(gate: Gate, family: Family, courses: usize, seed: u64) -> Score {
    let mut random = Random::new(seed);
    let tries = if let Family::Timed(_, times) = family { times } else { 1 };
    let (mut fired, mut delays) = (0_usize, Vec::new());
    for _ in 0..courses {
        // An adversary who wants a false alarm restarts, and shows the course that raises one.
        let runs = (0..tries).filter_map(|_| gate.fires(family.known_rate(), &family.course(&mut random))).min();
        let Some(runs) = runs else { continue };
        fired += 1;
        delays.extend(runs.checked_sub(family.change()).filter(|delay| *delay > 0));
    }
    let mean_delay = delays.iter().sum::<usize>() as f64 / delays.len().max(1) as f64;
    Score { fired: fired as f64 / courses as f64, mean_delay }
}

/// Returns the mean number of runs that any test with this error needs to detect the second rate (Wald's bound).
pub fn wald_bound(known: f64, rate: f64, alpha: f64) -> f64 {
    let information = rate * (rate / known).ln() + (1.0 - rate) * ((1.0 - rate) / (1.0 - known)).ln();
    (1.0 / alpha).ln() / information
}

/// A detector of a regression between two revisions that run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairGate {
    /// Fires when the posterior probability of a regression is at least 95 %, checked after every pair.
    Bayes,
    /// Our e-process, with the error share that trials begin with.
    Evidence,
}

/// Returns the number of pairs after which a test fires on each course of two rates, sorted; `None`, for never, is
/// last.
pub fn pair_delays(gate: PairGate, rates: [f64; 2], most: usize, courses: usize, seed: u64) -> Vec<Option<usize>> {
    let mut random = Random::new(seed);
    let mut delays: Vec<Option<usize>> = (0..courses)
        .map(|_| {
            let course: Vec<(bool, bool)> =
                (0..most).map(|_| (random.happens(rates[0]), random.happens(rates[1]))).collect();
            match gate {
                PairGate::Bayes => bayes(&course),
                PairGate::Evidence => evidence(&course),
            }
        })
        .collect();
    delays.sort_by_key(|delay| delay.unwrap_or(usize::MAX));
    delays
}

/// Applies our gate: runs of both sides are paired in the order in which they come.
fn evidence(course: &[(bool, bool)]) -> Option<usize> {
    let mut evidence = EProcess::default();
    let runs = course.iter().flat_map(|(theirs, ours)| [(Arm::Base, *theirs), (Arm::Candidate, *ours)]);
    let gains = pairs(runs, 1, of_pair);
    gains
        .into_iter()
        .position(|gain| {
            evidence.observe(gain);
            evidence.highest() >= 1.0 / UNKNOWN_RATE_ALPHA
        })
        .map(|place| place + 1)
}

/// Applies Bayes with uniform priors; the difference of the posteriors is approximated as normal.
fn bayes(course: &[(bool, bool)]) -> Option<usize> {
    let (mut theirs, mut ours) = (0.0_f64, 0.0_f64);
    course.iter().enumerate().find_map(|(at, (one, other))| {
        theirs += f64::from(u8::from(*one));
        ours += f64::from(u8::from(*other));
        let n = at as f64 + 3.0;
        let (p, q) = ((theirs + 1.0) / n, (ours + 1.0) / n);
        let deviation = ((p * (1.0 - p) + q * (1.0 - q)) / (n + 1.0)).sqrt();
        ((p - q) / deviation > 1.644_854).then_some(at + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COURSES: usize = 2_000;

    fn ours(family: Family, seed: u64) -> Score {
        score(Gate::Evidence, family, COURSES, seed)
    }

    #[test]
    fn a_known_rate_is_hardly_ever_left_by_mistake() {
        for (seed, rate) in [(11, 0.5), (12, 0.7), (13, 0.9), (14, 0.95)] {
            let score = ours(Family::Stable(rate), seed);
            assert!(score.fired <= 0.01, "{rate}: {score:?}");
        }
        let timed = ours(Family::Timed(0.9, 10), 15);
        assert!(timed.fired <= 0.1, "ten courses, ten times the chance and no more: {timed:?}");
    }

    #[test]
    fn regression_is_noticed_almost_at_once() {
        for (seed, known, rate) in [(21, 0.9, 0.7), (22, 0.9, 0.5)] {
            let score = ours(Family::Worse(known, rate), seed);
            let bound = wald_bound(known, rate, 0.01);
            assert!(score.fired > 0.999 && score.mean_delay <= 1.25 * bound, "{known} to {rate}: {score:?}, {bound}");
        }
        assert!((wald_bound(0.9, 0.7, 0.01) - 30.0).abs() < 0.1 && (wald_bound(0.9, 0.5, 0.01) - 9.0).abs() < 0.1);
    }

    #[test]
    fn parallel_revisions_differ_without_known_rate() {
        for (seed, rate) in [(31, 0.5), (32, 0.8), (33, 0.95)] {
            let delays = pair_delays(PairGate::Evidence, [rate, rate], HORIZON, COURSES, seed);
            let fired = delays.iter().flatten().count();
            assert!(fired as f64 / COURSES as f64 <= 0.02, "{rate}: {fired}");
        }
        let delays = pair_delays(PairGate::Evidence, [0.8, 0.6], 1_000, COURSES, 34);
        assert!(delays[COURSES / 2].is_some_and(|median| median <= 82), "{:?}", delays[COURSES / 2]);
    }

    #[test]
    fn other_gates_reach_known_error_rates() {
        let false_alarms = |gate, rate, seed| score(gate, Family::Stable(rate), COURSES, seed).fired;
        assert!((0.2..0.35).contains(&false_alarms(Gate::Wilson, 0.9, 41)));
        assert!((0.15..0.3).contains(&false_alarms(Gate::Half, 0.7, 42)));
        assert!(false_alarms(Gate::LastTwenty, 0.7, 43) > 0.6);
        assert!((0.08..0.2).contains(&false_alarms(Gate::Cusum, 0.9, 44)));
        let bayes = pair_delays(PairGate::Bayes, [0.8, 0.8], HORIZON, COURSES, 45);
        assert!(bayes.iter().flatten().count() as f64 / COURSES as f64 > 0.2);
    }
}
