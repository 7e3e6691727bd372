//! [`LineFamily`]: simulated lines of revisions, each patched every ten runs, and the tests that judge them.

use evolve::{
    UNKNOWN_RATE_ALPHA,
    decline::{DECLINE_ALPHA, DeclineTest},
    eprocess::{EProcess, against_rate, wilson},
};
use testkit::Random;

/// Runs up to the review checkpoint.
pub const REFERENCE: usize = 200;

/// Runs after it.
pub const RUNS: usize = 400;

/// Runs between two patches.
pub const PATCH: usize = 10;

/// A kind of simulated line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LineFamily {
    /// Constant rate.
    Steady(f64),
    /// From the first rate to the second in equal steps, one for each run.
    EvenFall(f64, f64),
    /// From the first rate, with a fall by the second number at each patch.
    Steps(f64, f64),
    /// From the first rate to the second in 100 runs, and back in 100 runs.
    Recovery(f64, f64),
    /// Runs of a fifth of the tasks fall from the rate to 0 in 200 runs, and all others keep it.
    SomeTasks(f64),
}

impl LineFamily {
    /// The families of the suite, those without a decline first.
    pub const ALL: [Self; 8] = [
        Self::Steady(0.95),
        Self::Steady(0.9),
        Self::Steady(0.8),
        Self::Steady(0.7),
        Self::EvenFall(0.95, 0.5),
        Self::Steps(0.95, 0.02),
        Self::Recovery(0.95, 0.75),
        Self::SomeTasks(0.95),
    ];

    /// Returns the name of the family in tables.
    pub fn name(self) -> String {
        match self {
            Self::Steady(rate) => format!("steady {rate}"),
            Self::EvenFall(from, to) => format!("even fall {from} to {to}"),
            Self::Steps(from, step) => format!("{from}, {:.0} points less with each patch", step * 100.0),
            Self::Recovery(from, to) => format!("{from} to {to} in 100 runs, and back in 100"),
            Self::SomeTasks(rate) => format!("{rate}, a fifth of the tasks falls to 0 in 200 runs"),
        }
    }

    /// Returns the success rate of a run, counted from the checkpoint. `draw` chooses its task.
    fn rate(self, run: usize, draw: f64) -> f64 {
        let part = |of: usize| (run as f64 / of as f64).min(1.0);
        match self {
            Self::Steady(rate) => rate,
            Self::EvenFall(from, to) => from + (to - from) * part(RUNS),
            Self::Steps(from, step) => from - step * (run / PATCH + 1) as f64,
            Self::Recovery(from, to) => from + (to - from) * (1.0 - (run as f64 / 100.0 - 1.0).abs()).max(0.0),
            Self::SomeTasks(rate) if draw < 0.2 => rate * (1.0 - part(200)),
            Self::SomeTasks(rate) => rate,
        }
    }

    /// Simulates the results up to the checkpoint and those after it.
    fn course(self, random: &mut Random) -> (Vec<bool>, Vec<bool>) {
        let before = self.rate(0, 1.0) + if let Self::Steps(_, step) = self { step } else { 0.0 };
        let reference = (0..REFERENCE).map(|_| random.happens(before)).collect();
        let later = (0..RUNS).map(|run| {
            let rate = self.rate(run, random.draw());
            random.happens(rate)
        });
        (reference, later.collect())
    }
}

/// A test of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineGate {
    /// The test of neighbours. Only the first patch follows a revision with enough runs.
    Neighbours,
    /// Fires when the reference's rate is above Wilson's 95 % interval of the later runs, checked after every run.
    Wilson,
    /// Our test of all revisions since the checkpoint.
    Line,
}

impl LineGate {
    /// All tests, in the order of the tables.
    pub const ALL: [Self; 3] = [Self::Neighbours, Self::Wilson, Self::Line];

    /// Returns the number of runs after the checkpoint when the test fires.
    fn fires(self, reference: &[bool], later: &[bool]) -> Option<usize> {
        let good = reference.iter().filter(|success| **success).count();
        let (mut neighbours, mut successes) = (EProcess::default(), 0_u32);
        let mut line = (self == Self::Line).then(|| DeclineTest::new(good as u32, (reference.len() - good) as u32));
        let (low, _) = wilson(good as u32, reference.len() as u32);
        let mut fires = |run: usize, success: bool| {
            successes += u32::from(success);
            match self {
                Self::Neighbours if run >= PATCH => false,
                Self::Neighbours => {
                    neighbours.observe(against_rate(low, success));
                    neighbours.highest() >= 2.0 / UNKNOWN_RATE_ALPHA
                }
                Self::Wilson => wilson(successes, run as u32 + 1).1 < good as f64 / reference.len() as f64,
                Self::Line => line.as_mut().is_some_and(|line| {
                    line.observe(success);
                    line.highest() >= 1.0 / DECLINE_ALPHA
                }),
            }
        };
        (0..).zip(later).find(|(run, success)| fires(*run, **success)).map(|(run, _)| run + 1)
    }
}

/// Returns the number of runs after which a test fires on each line, sorted; `None`, for never, is last.
pub fn line_delays(gate: LineGate, family: LineFamily, courses: usize, seed: u64) -> Vec<Option<usize>> {
    let mut random = Random::new(seed);
    let mut delays: Vec<Option<usize>> = (0..courses)
        .map(|_| {
            let (reference, later) = family.course(&mut random);
            gate.fires(&reference, &later)
        })
        .collect();
    delays.sort_by_key(|delay| delay.unwrap_or(usize::MAX));
    delays
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(delays: &[Option<usize>], percent: usize) -> usize {
        delays[delays.len() * percent / 100 - 1].unwrap_or(usize::MAX)
    }

    #[test]
    fn even_fall_is_reported_in_time() {
        let delays = line_delays(LineGate::Line, LineFamily::EvenFall(0.95, 0.5), 100, 51);
        assert!(at(&delays, 50) <= 170 && at(&delays, 95) <= 240, "{delays:?}");
        let neighbours = line_delays(LineGate::Neighbours, LineFamily::EvenFall(0.95, 0.5), 100, 51);
        assert!(neighbours.iter().flatten().count() <= 2, "{neighbours:?}");
    }

    #[test]
    fn steady_lines_are_rarely_reported() {
        for (seed, rate) in [(52, 0.95), (53, 0.9), (54, 0.8), (55, 0.7)] {
            let reported = line_delays(LineGate::Line, LineFamily::Steady(rate), 250, seed).iter().flatten().count();
            assert!(reported <= 2, "{rate}: {reported}");
        }
    }

    #[test]
    fn falls_in_steps_or_some_tasks_are_found() {
        for (seed, family) in [(56, LineFamily::Steps(0.95, 0.02)), (57, LineFamily::SomeTasks(0.95))] {
            let delays = line_delays(LineGate::Line, family, 40, seed);
            assert!(at(&delays, 95) < RUNS, "{}: {delays:?}", family.name());
        }
    }
}
