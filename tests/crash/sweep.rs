//! [`Kill`]: a command killed at one boundary, for every command and boundary.

use std::{collections::BTreeMap, env, fmt, sync::Mutex, thread, time::Instant};

use super::{
    boundaries::{Boundary, Effect},
    checks::{Expected, Faults, Found},
    observed::Observed,
    place::Place,
    scenario::{SCENARIOS, Scenario},
    tracer::{Order, Watcher},
};

/// How many kills `cargo test` takes, of all scenarios together.
const SAMPLE: usize = 120;
/// Boundaries of a recovery among which a second kill falls.
const RECOVERY: usize = 48;

/// Where a command is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kill {
    boundary: usize,
    order: Order,
    /// The boundary at which the recovery from that is killed as well.
    again: Option<usize>,
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}", self.order, self.boundary)?;
        self.again.map_or(Ok(()), |again| write!(f, ", and the recovery at {again}"))
    }
}

/// Lets everything pass and notes it.
#[derive(Default)]
struct Count(Vec<Boundary>);

impl Watcher for Count {
    fn before(&mut self, boundary: &Boundary) -> Order {
        self.0.push(boundary.clone());
        Order::Go
    }
}

/// Gives an order at one boundary.
struct At(usize, Order);

impl Watcher for At {
    fn before(&mut self, boundary: &Boundary) -> Order {
        if boundary.number == self.0 { self.1 } else { Order::Go }
    }
}

/// What became of all kills.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    second_kills: usize,
    nothing: usize,
    part: usize,
    everything: usize,
    acknowledged: usize,
    cut_event_lines: usize,
    faults: Faults,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.second_kills += other.second_kills;
        self.nothing += other.nothing;
        self.part += other.part;
        self.everything += other.everything;
        self.acknowledged += other.acknowledged;
        self.cut_event_lines += other.cut_event_lines;
        self.faults.extend(other.faults);
    }
}

/// A scenario with a place of its own.
struct Trial<'a> {
    scenario: &'a Scenario,
    place: Place,
    expected: Expected,
    boundaries: Vec<Boundary>,
}

impl<'a> Trial<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let place = Place::new(scenario.prepare);
        let expected = Expected::of(&place, scenario);
        place.restore();
        let mut count = Count::default();
        let ended = place.trace(scenario.args, (scenario.stdin)().as_bytes(), &mut count);
        assert_eq!(ended.exit, Some(0), "{}: {}", scenario.name, ended.stderr);
        assert!(count.0.iter().any(|boundary| boundary.effect == Effect::Print), "{:?}", count.0);
        Self { scenario, place, expected, boundaries: count.0 }
    }

    /// Every way to kill the command, and as many again in which the recovery dies as well.
    fn kills(&self) -> Vec<Kill> {
        let mut kills = Vec::new();
        for boundary in &self.boundaries {
            let at = |order, again| Kill { boundary: boundary.number, order, again };
            kills.extend((0..4).map(|step| at(Order::Kill, Some((boundary.number * 7 + step * 13) % RECOVERY))));
            kills.push(at(Order::Kill, None));
            kills.extend(boundary.effect.can_be_cut().then_some(at(Order::HalfThenKill, None)));
            kills.push(at(Order::GoThenKill, None));
        }
        kills
    }

    fn run(&self, kill: Kill) -> Tally {
        self.place.restore();
        let (stdin, mut at) = ((self.scenario.stdin)(), At(kill.boundary, kill.order));
        let ended = self.place.trace(self.scenario.args, stdin.as_bytes(), &mut at);
        let mut tally = Tally { kills: usize::from(ended.killed_at.is_some()), ..Tally::default() };
        let mut faults = self.expected.check_walk(&self.place);
        if let Some(again) = kill.again {
            let recovered = self.place.trace(&["doctor", "--fix"], b"", &mut At(again, Order::Kill));
            tally.second_kills += usize::from(recovered.killed_at.is_some());
        }
        let acknowledged =
            serde_json::from_slice::<serde_json::Value>(&ended.stdout).is_ok_and(|answer| answer["ok"] == true);
        faults.extend(self.expected.recover(&self.place, kill.boundary));
        match Observed::of(&self.place.sandbox) {
            Ok(found) => {
                tally.cut_event_lines += found.unreadable_events;
                match self.expected.check(&found, acknowledged) {
                    Ok(found) => {
                        tally.count(found, acknowledged);
                        faults.extend(self.expected.check_again(&self.place, self.scenario, found));
                    }
                    Err(more) => faults.extend(more),
                }
            }
            Err(error) => faults.push(error),
        }
        let what = ended.killed_at.map(|boundary| boundary.to_string()).unwrap_or_default();
        tally.faults = faults.iter().map(|fault| format!("{}, {kill} ({what}): {fault}", self.scenario.name)).collect();
        tally
    }
}

impl Tally {
    fn count(&mut self, found: Found, acknowledged: bool) {
        match found {
            Found::Nothing => self.nothing += 1,
            Found::Part => self.part += 1,
            Found::Everything => self.everything += 1,
        }
        self.acknowledged += usize::from(acknowledged);
    }
}

/// So many of a list, evenly spread, the last one among them.
fn spread<T: Copy>(all: &[T], wanted: usize) -> Vec<T> {
    let wanted = wanted.min(all.len());
    (1..=wanted).map(|at| all[at * all.len() / wanted - 1]).collect()
}

/// How many kills are wanted of each scenario; all with `None`.
fn wanted() -> Option<usize> {
    let text = env::var("SKILLHUB_CRASH_KILLS").unwrap_or_else(|_| SAMPLE.to_string());
    (text != "all").then(|| text.parse::<usize>().unwrap().div_ceil(SCENARIOS.len()))
}

fn sweep(wanted: Option<usize>) -> BTreeMap<&'static str, Tally> {
    let only = env::var("SKILLHUB_CRASH_ONLY").ok();
    let chosen = |scenario: &&Scenario| only.as_deref().is_none_or(|only| scenario.name == only);
    let queue = Mutex::new(SCENARIOS.iter().filter(chosen).collect::<Vec<_>>());
    let done = Mutex::new(BTreeMap::new());
    let next = || queue.lock().unwrap().pop();
    let work = || {
        while let Some(scenario) = next() {
            let trial = Trial::new(scenario);
            let kills = trial.kills();
            let mut tally = Tally::default();
            for kill in spread(&kills, wanted.unwrap_or(kills.len())) {
                tally.add(trial.run(kill));
            }
            println!("{:32} {:3} boundaries, {:4} kills", scenario.name, trial.boundaries.len(), tally.kills);
            done.lock().unwrap().insert(scenario.name, tally);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    done.into_inner().unwrap()
}

#[test]
fn a_killed_command_is_done_whole_or_not_at_all() {
    if env::var("SKILLHUB_CRASH").is_ok_and(|word| word == "skip") {
        return;
    }
    let began = Instant::now();
    let mut all = Tally::default();
    sweep(wanted()).into_values().for_each(|tally| all.add(tally));
    println!(
        "{} kills, {} of them with a second one in the recovery: nothing done {}, in part {}, all {}, reported {}; {} cut \
         lines of events; {:.0} s",
        all.kills + all.second_kills,
        all.second_kills,
        all.nothing,
        all.part,
        all.everything,
        all.acknowledged,
        all.cut_event_lines,
        began.elapsed().as_secs_f64()
    );
    let count = all.faults.len();
    let first: Vec<_> = all.faults.iter().take(40).cloned().collect();
    assert!(count == 0, "{count} faults:\n{}", first.join("\n"));
    assert!(all.nothing > 0 && all.everything > 0 && all.acknowledged > 0, "{all:?}");
}
