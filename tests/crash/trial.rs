//! [`Trial`]: a scenario with its own sandbox, in which its command is run and disturbed.

use std::{env, sync::Mutex, thread};

use super::{
    boundaries::{Boundary, Effect},
    checks::{Expected, Faults},
    observed::Observed,
    place::Place,
    scenario::{SCENARIOS, Scenario},
    tally::Tally,
    tracer::{Ended, Order, Watcher},
};

/// A scenario, its sandbox, and the effect of its undisturbed command.
pub struct Trial {
    pub scenario: &'static Scenario,
    pub place: Place,
    pub expected: Expected,
    pub boundaries: Vec<Boundary>,
}

/// Report of a command before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// The command reported success.
    Done,
    /// The command reported failure.
    Refused,
    Nothing,
}

/// Result of a disturbed command.
pub struct Outcome {
    /// The disturbance, for messages.
    pub name: String,
    pub said: Said,
    /// Faults found before recovery.
    pub faults: Faults,
    /// True after a power loss: a record that lost its middle looks like damage, and is set aside.
    pub powerless: bool,
}

/// Permits every call and records it.
#[derive(Default)]
struct Count(Vec<Boundary>);

impl Watcher for Count {
    fn before(&mut self, boundary: &Boundary) -> Order {
        self.0.push(boundary.clone());
        Order::Go
    }
}

impl Trial {
    pub fn new(scenario: &'static Scenario) -> Self {
        let place = Place::new(scenario.prepare);
        let expected = Expected::of(&place, scenario);
        let mut trial = Self { scenario, place, expected, boundaries: Vec::new() };
        let mut count = Count::default();
        let ended = trial.run(&mut count);
        assert_eq!(ended.exit, Some(0), "{}: {}", scenario.name, ended.stderr);
        assert!(count.0.iter().any(|boundary| boundary.effect == Effect::Print), "{:?}", count.0);
        trial.boundaries = count.0;
        trial
    }

    /// Runs the command in the initial state.
    pub fn run(&self, watcher: &mut dyn Watcher) -> Ended {
        self.place.restore();
        self.run_here(watcher)
    }

    /// Runs the command in the current state.
    pub fn run_here(&self, watcher: &mut dyn Watcher) -> Ended {
        self.place.trace(&self.scenario.args_in(&self.place.sandbox), (self.scenario.stdin)().as_bytes(), watcher)
    }

    /// Recovers with the real program, and checks the state against the report. `turn` chooses the first command.
    pub fn judge(&self, outcome: Outcome, turn: usize) -> Tally {
        let Outcome { name, said, mut faults, powerless } = outcome;
        faults.extend(self.expected.recover(&self.place, turn));
        if powerless {
            self.place.take_torn_records();
        }
        let checked = Observed::of(&self.place.sandbox).map_err(|error| vec![error]);
        let checked = checked.and_then(|found| self.expected.check(&found, said));
        let found = match checked {
            Ok(found) => {
                faults.extend(self.expected.check_again(&self.place, self.scenario, found));
                Some(found)
            }
            Err(more) => {
                faults.extend(more);
                None
            }
        };
        let faults = faults.iter().map(|fault| format!("{}, {name}: {fault}", self.scenario.name)).collect();
        Tally::of(found, said == Said::Done, faults)
    }
}

/// Parses the report that a command printed before it was killed.
pub fn said(ended: &Ended) -> Said {
    match serde_json::from_slice::<serde_json::Value>(&ended.stdout) {
        Ok(answer) if answer["ok"] == true => Said::Done,
        Ok(_) => Said::Refused,
        Err(_) => Said::Nothing,
    }
}

/// Returns whether the user disabled tracing on this machine.
pub fn is_skipped() -> bool {
    env::var("SKILLHUB_CRASH").is_ok_and(|word| word == "skip")
}

/// Runs the number of `cases` given by `variable` (a number, or `all`), otherwise `sample`, evenly spread over all
/// scenarios. Each processor runs one scenario at a time.
pub fn run_all<C: Copy>(
    variable: &str,
    sample: usize,
    cases: impl Fn(&Trial) -> Vec<C> + Sync,
    run: impl Fn(&Trial, C) -> Tally + Sync,
) -> Tally {
    let wanted = env::var(variable).unwrap_or_else(|_| sample.to_string());
    let only = env::var("SKILLHUB_CRASH_ONLY").ok();
    let is_chosen = |scenario: &&Scenario| only.as_deref().is_none_or(|only| scenario.name == only);
    let queue = Mutex::new(SCENARIOS.iter().filter(is_chosen).collect::<Vec<_>>());
    let each = (wanted != "all").then(|| wanted.parse::<usize>().unwrap().div_ceil(queue.lock().unwrap().len()));
    let all = Mutex::new(Tally::default());
    let next = || queue.lock().unwrap().pop();
    let work = || {
        while let Some(scenario) = next() {
            let trial = Trial::new(scenario);
            let cases = cases(&trial);
            let mut tally = Tally::default();
            for case in spread(&cases, each.unwrap_or(cases.len())) {
                tally.add(run(&trial, case));
            }
            println!(
                "{:32} {:3} boundaries, {:4} trials: {tally}",
                scenario.name,
                trial.boundaries.len(),
                tally.trials
            );
            all.lock().unwrap().add(tally);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    all.into_inner().unwrap()
}

/// Returns this many items of a list, evenly spread, including the last one.
fn spread<T: Copy>(all: &[T], wanted: usize) -> Vec<T> {
    let wanted = wanted.min(all.len());
    (1..=wanted).map(|at| all[at * all.len() / wanted - 1]).collect()
}
