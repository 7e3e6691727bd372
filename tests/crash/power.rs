//! [`Loss`]: a power loss during a command, after which unsynced data is lost, kept or cut.

use std::{env, fs, time::Instant};

use testkit::Random;

use super::{
    disk::Disk,
    observed::own,
    scenario::SCENARIOS,
    tally::Tally,
    trial::{Outcome, Trial, is_skipped, run_all, said},
};

/// Number of cases in a run of `cargo test`, over all scenarios.
const SAMPLE: usize = 60;
/// Number of cases per scenario in a full run; it could be any number.
const ALL: usize = 100;
const SEED: u64 = 20_261_121;

/// A power loss, chosen by case and seed.
#[derive(Debug, Clone, Copy)]
struct Loss {
    case: usize,
    seed: u64,
}

fn losses(trial: &Trial) -> Vec<Loss> {
    // An original whose move was lost stands where its link is noted, which `doctor` names and another `setup` leaves.
    if trial.scenario.is_setup() {
        return Vec::new();
    }
    let number = |name| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seed = number("SKILLHUB_CRASH_SEED").unwrap_or(SEED);
    let first = SCENARIOS.iter().position(|scenario| scenario.name == trial.scenario.name).unwrap() * ALL;
    let only = number("SKILLHUB_CRASH_CASE");
    let cases = (first..first + ALL).filter(|case| only.is_none_or(|only| only == *case as u64));
    cases.map(|case| Loss { case, seed }).collect()
}

fn run(trial: &Trial, loss: Loss) -> Tally {
    let mut random = Random::new(loss.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(loss.case as u64));
    trial.place.restore();
    // One in five is after the report, when nothing may be lost.
    let last = trial.boundaries.len() - 1;
    let mut disk = Disk::of(trial.place.root(), random.below(last * 5 / 4).min(last));
    let ended = trial.run_here(&mut disk);
    let pending = disk.pending();
    disk.lose_power(&mut random);
    boot_again(trial);
    let at = ended.killed_at.as_ref().map(ToString::to_string).unwrap_or_default();
    let name = format!("case {} of seed {}, after {at} with {pending} names pending", loss.case, loss.seed);
    trial.judge(Outcome { name, said: said(&ended), faults: Vec::new(), powerless: true }, loss.case)
}

/// Changes the boot id, as a restart of the machine does.
fn boot_again(trial: &Trial) {
    let Some(path) = own(&trial.place.sandbox).map(|own| own.join("journal.applied")) else { return };
    let Ok(note) = fs::read_to_string(&path) else { return };
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    fs::write(path, note.replace(boot.trim(), "00000000-0000-4000-8000-000000000000")).unwrap();
}

/// Asserts that an unreported change is complete or absent.
#[test]
fn reported_change_survives_power_loss() {
    if is_skipped() {
        return;
    }
    let began = Instant::now();
    let all = run_all("SKILLHUB_CRASH_LOSSES", SAMPLE, losses, run);
    println!("{} power losses, seed {SEED} or as given: {all}; {:.0} s", all.trials, began.elapsed().as_secs_f64());
    all.assert_good();
}
