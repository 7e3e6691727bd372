//! Random sequences of commands, hand edits, git branches and kills: each agent reads the content that `read` serves,
//! or `list`, `status` and `doctor` name the difference.
//!
//! [`hosts`] is a model of what three hosts read, from measurements of the hosts and not from the program. The
//! sequence of a seed is the same each time. `SKILLHUB_SEQUENCES_STEPS` and `SKILLHUB_SEQUENCES_SEED` choose another,
//! `SKILLHUB_SEQUENCES_KEEP=1` leaves the sandbox of a failure on disk, `SKILLHUB_CRASH=skip` leaves the kills out:
//!
//! ```text
//! SKILLHUB_SEQUENCES_STEPS=500 SKILLHUB_SEQUENCES_SEED=7 cargo test --test main sequences -- --nocapture
//! ```

mod check;
mod edits;
mod hosts;
mod kills;
mod places;
mod steps;
mod world;

use self::{steps::step, world::World};
use crate::support::Layout;

/// Steps of a sequence where the environment gives no other number.
const STEPS: usize = 100;

/// Skills from the beginning.
const SKILLS: [&str; 4] = ["tables", "letters", "charts", "invoices"];

#[test]
fn adopted_project_stays_consistent() {
    sequence(|| World::new("adopted project", Layout::adopted_in_project(&SKILLS), &["claude-code", "opencode"]));
}

#[test]
fn adopted_home_stays_consistent() {
    let in_use = ["claude-code", "opencode", "codex"];
    sequence(|| World::new("adopted home", Layout::adopted_in_home(&SKILLS, &in_use), &in_use));
}

#[test]
fn imported_skills_stay_consistent() {
    sequence(|| World::new("imported", Layout::imported(&SKILLS), &["claude-code", "opencode"]));
}

#[test]
fn installed_skills_stay_consistent() {
    sequence(|| World::new("installed", Layout::installed(&SKILLS), &["claude-code", "opencode"]));
}

/// Runs a sequence in a new world, and prints what happened.
fn sequence(make: impl FnOnce() -> World) {
    let mut world = make();
    world.check();
    let steps = number("SKILLHUB_SEQUENCES_STEPS").map_or(STEPS, |steps| usize::try_from(steps).unwrap());
    for _ in 0..steps {
        step(&mut world);
    }
    world.check();
    println!("{}", world.summary());
}

/// A number from the environment.
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}")))
}
