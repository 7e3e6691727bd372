//! [`main`]: prints the performance of the gate and four alternatives on simulated courses, as tables for
//! `docs/GATE.md`.
//!
//! `cargo run -p skillhub-evolve --example gate_suite [COURSES [SEED]]`

use std::io::{self, Write};

mod lines;
mod suite;

use lines::{LineFamily, LineGate, PATCH, REFERENCE, RUNS, line_delays};
use suite::{Family, Gate, HORIZON, PairGate, pair_delays, score, wald_bound};

fn main() -> io::Result<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse::<u64>().ok());
    let courses = numbers.next().and_then(|courses| usize::try_from(courses).ok()).unwrap_or(4_000);
    let seed = numbers.next().unwrap_or(1);
    let mut out = io::stdout().lock();
    writeln!(out, "{courses} courses of {HORIZON} runs each, seed {seed}\n")?;
    write!(out, "| known rate |")?;
    Gate::ALL.iter().try_for_each(|gate| write!(out, " {} |", gate.name()))?;
    writeln!(out, "\n|---|{}", "---|".repeat(Gate::ALL.len()))?;
    for (place, family) in (0_u64..).zip(Family::ALL) {
        write!(out, "| {} |", family.name())?;
        for gate in Gate::ALL {
            let score = score(gate, family, courses, seed.wrapping_mul(1_000).wrapping_add(place));
            let percent = 100.0 * score.fired;
            match family.is_stable() {
                true => write!(out, " {percent:.2} % |")?,
                false => write!(out, " {percent:.0} %, {:.1} |", score.mean_delay)?,
            }
        }
        writeln!(out)?;
    }
    writeln!(out, "\nStable: false alarms. Others: noticed, and after how many runs in the mean.\n")?;
    for (known, rate) in [(0.9, 0.7), (0.9, 0.5), (0.9, 0.8), (0.7, 0.5)] {
        writeln!(out, "Wald's bound at .01 for {known} to {rate}: {:.1} runs", wald_bound(known, rate, 0.01))?;
    }
    writeln!(out, "\n| unknown rate, pairs | Bayes .95 at every pair | e-process |\n|---|---|---|")?;
    for rate in [0.5, 0.8, 0.95] {
        let share = |gate| {
            let delays = pair_delays(gate, [rate, rate], HORIZON, courses, seed);
            100.0 * delays.iter().flatten().count() as f64 / courses as f64
        };
        writeln!(
            out,
            "| stable {rate}, false | {:.2} % | {:.2} % |",
            share(PairGate::Bayes),
            share(PairGate::Evidence)
        )?;
    }
    for rates in [[0.8, 0.6], [0.9, 0.7]] {
        let median = |gate| {
            let delays = pair_delays(gate, rates, 2_000, courses, seed);
            delays.get(courses / 2).copied().flatten().map_or_else(|| "never".to_owned(), |median| median.to_string())
        };
        let (bayes, ours) = (median(PairGate::Bayes), median(PairGate::Evidence));
        writeln!(out, "| worse {} to {}, median pairs | {bayes} | {ours} |", rates[0], rates[1])?;
    }
    print_lines(&mut out, courses.min(1_000), seed)
}

/// Prints the table of lines: the share reported, and the runs after the checkpoint in the median and in 95 of 100.
fn print_lines(out: &mut impl Write, courses: usize, seed: u64) -> io::Result<()> {
    writeln!(out, "\n{courses} lines: {REFERENCE} runs, then {RUNS} with a patch every {PATCH}\n")?;
    writeln!(out, "| line | neighbours | Wilson at every run | e-process since the checkpoint |\n|---|---|---|---|")?;
    for (place, family) in (0_u64..).zip(LineFamily::ALL) {
        write!(out, "| {} |", family.name())?;
        for gate in LineGate::ALL {
            let delays = line_delays(gate, family, courses, seed.wrapping_mul(1_000).wrapping_add(500 + place));
            let share = 100.0 * delays.iter().flatten().count() as f64 / courses as f64;
            let at = |percent: usize| {
                let delay = delays.get((courses * percent / 100).saturating_sub(1)).copied().flatten();
                delay.map_or_else(|| "never".to_owned(), |runs| runs.to_string())
            };
            match family {
                LineFamily::Steady(_) => write!(out, " {share:.1} % |")?,
                _ => write!(out, " {share:.0} %; {}, {} |", at(50), at(95))?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}
