//! [`Kill`]: a kill at one boundary, for every command and boundary.

use std::{fmt, time::Instant};

use super::{
    boundaries::Boundary,
    tally::Tally,
    tracer::{Order, Watcher},
    trial::{Outcome, Trial, is_skipped, run_all, said},
};

/// Number of kills in a run of `cargo test`, over all scenarios.
const SAMPLE: usize = 90;
/// Number of boundaries of a recovery from which that of a second kill is chosen.
const RECOVERY: usize = 48;

/// Position of a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kill {
    boundary: usize,
    order: Order,
    /// Boundary at which the subsequent recovery is killed as well.
    again: Option<usize>,
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.order)?;
        self.again.map_or(Ok(()), |again| write!(f, ", the recovery at its boundary {again}"))
    }
}

/// Gives an order at one boundary.
struct At(usize, Order);

impl Watcher for At {
    fn before(&mut self, boundary: &Boundary) -> Order {
        if boundary.number == self.0 { self.1 } else { Order::Go }
    }
}

/// Returns every kill of a command, and as many again in which the recovery is killed as well.
fn kills(trial: &Trial) -> Vec<Kill> {
    let mut kills = Vec::new();
    for boundary in &trial.boundaries {
        let at = |order, again| Kill { boundary: boundary.number, order, again };
        kills.extend((0..4).map(|step| at(Order::Kill, Some((boundary.number * 7 + step * 13) % RECOVERY))));
        kills.push(at(Order::Kill, None));
        kills.extend(boundary.effect.can_be_cut().then_some(at(Order::HalfThenKill, None)));
        kills.push(at(Order::GoThenKill, None));
    }
    kills
}

fn run(trial: &Trial, kill: Kill) -> Tally {
    let ended = trial.run(&mut At(kill.boundary, kill.order));
    let faults = trial.expected.check_walk(&trial.place);
    let recovered = kill.again.map(|again| trial.place.trace(&["doctor", "--fix"], b"", &mut At(again, Order::Kill)));
    let at = ended.killed_at.as_ref().map(ToString::to_string).unwrap_or_default();
    let outcome = Outcome { name: format!("{kill} at {at}"), said: said(&ended), faults, powerless: false };
    let tally = trial.judge(outcome, kill.boundary);
    let second_kills = usize::from(recovered.is_some_and(|recovered| recovered.killed_at.is_some()));
    Tally { trials: usize::from(ended.killed_at.is_some()), second_kills, ..tally }
}

#[test]
fn killed_command_is_atomic() {
    if is_skipped() {
        return;
    }
    let began = Instant::now();
    let all = run_all("SKILLHUB_CRASH_KILLS", SAMPLE, kills, run);
    let (kills, second) = (all.trials + all.second_kills, all.second_kills);
    println!("{kills} kills, {second} of them in the recovery: {all}; {:.0} s", began.elapsed().as_secs_f64());
    all.assert_good();
}
