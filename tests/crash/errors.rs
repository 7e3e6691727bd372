//! [`Refusal`]: an injected error of one call, or of every similar call from there on, as on a full disk.

use std::time::Instant;

use nix::errno::Errno;
use serde_json::Value;

use super::{
    boundaries::{Boundary, Effect},
    observed::folders,
    tally::Tally,
    tracer::{Order, Watcher},
    trial::{Outcome, Said, Trial, is_skipped, run_all, said},
};

/// Number of injected errors in a run of `cargo test`, over all scenarios.
const SAMPLE: usize = 90;

/// An injected error of a system call.
#[derive(Debug, Clone, Copy)]
struct Refusal {
    boundary: usize,
    error: Errno,
    /// Later calls of the kind fail too.
    from_there_on: bool,
}

impl Refusal {
    /// Returns whether such a call can fail with this error.
    fn is_of(self, effect: &Effect) -> bool {
        let needs_room = matches!(
            effect,
            Effect::Write(..)
                | Effect::Create { .. }
                | Effect::MakeFolder(_)
                | Effect::Link { .. }
                | Effect::Symlink { .. }
                | Effect::Rename { exchange: false, .. }
        );
        match self.error {
            Errno::ENOSPC => needs_room,
            Errno::EIO => matches!(effect, Effect::Write(..) | Effect::Sync(_) | Effect::Resize(_)),
            Errno::EROFS => !matches!(effect, Effect::Print | Effect::Write(..) | Effect::Sync(_)),
            _ => !matches!(effect, Effect::Print | Effect::Write(..) | Effect::Sync(_) | Effect::Resize(_)),
        }
    }
}

impl Watcher for Refusal {
    fn before(&mut self, boundary: &Boundary) -> Order {
        let is_its_turn = boundary.number == self.boundary || (self.from_there_on && boundary.number > self.boundary);
        if is_its_turn && self.is_of(&boundary.effect) { Order::Fail(self.error) } else { Order::Go }
    }
}

/// Returns every error that can be injected into a command.
fn refusals(trial: &Trial) -> Vec<Refusal> {
    // An error outside the library is only a warning for `setup`.
    if trial.scenario.is_setup() {
        return Vec::new();
    }
    let mut refusals = Vec::new();
    for boundary in trial.boundaries.iter().filter(|boundary| boundary.number <= last_of_undo(trial)) {
        for error in [Errno::ENOSPC, Errno::EIO, Errno::EROFS, Errno::EACCES] {
            for from_there_on in [false, true] {
                let refusal = Refusal { boundary: boundary.number, error, from_there_on };
                refusals.extend(refusal.is_of(&boundary.effect).then_some(refusal));
            }
        }
    }
    refusals
}

/// Returns the last boundary at which an error is injected. From the move of the last original on, an error leaves an
/// empty folder, or a link that is recorded until the next undo.
fn last_of_undo(trial: &Trial) -> usize {
    let is_original = |boundary: &&Boundary| {
        let Effect::Rename { from, .. } = &boundary.effect else { return false };
        from.components().any(|part| part.as_os_str() == "originals")
    };
    let last = trial.boundaries.iter().rfind(is_original).filter(|_| trial.scenario.name == "undo of an adopt");
    last.map_or(usize::MAX, |boundary| boundary.number.saturating_sub(1))
}

fn run(trial: &Trial, mut refusal: Refusal) -> Tally {
    let ended = trial.run(&mut refusal);
    let answer: Value = serde_json::from_slice(&ended.stdout).unwrap_or_default();
    let mut said = said(&ended);
    let mut faults = trial.expected.check_walk(&trial.place);
    let is_clear = answer["ok"] == true || says_why(&answer);
    if !is_clear || (ended.exit == Some(0)) != (said == Said::Done) || ended.stderr.contains("panicked") {
        faults.push(format!("it ended with {:?}: {answer} {}", ended.exit, ended.stderr));
    }
    let is_as_reported = folders(&trial.place.sandbox) == trial.expected.after.folders;
    if said == Said::Done && !is_pending(&answer) && !is_as_reported {
        faults.push(format!("it was reported as done, and the folders are not so: {answer}"));
    }
    let at = trial.boundaries.get(refusal.boundary).map(ToString::to_string).unwrap_or_default();
    let more = if refusal.from_there_on { " from there on" } else { "" };
    let name = format!("{:?} at {at}{more}", refusal.error);
    if answer.to_string().contains("may or may not have been saved") {
        said = Said::Nothing;
    }
    trial.judge(Outcome { name, said, faults, powerless: false }, refusal.boundary)
}

/// Returns whether a refusal has a message, of the command or of its skills.
fn says_why(answer: &Value) -> bool {
    let skills = answer["skills"].as_array().into_iter().flatten();
    let mut errors = skills.chain([answer]).map(|part| &part["error"]["message"]).filter_map(Value::as_str);
    errors.any(|message| message.len() > 10) || answer["problems"].as_array().is_some_and(|list| !list.is_empty())
}

/// Returns whether an answer reports that a checkout is still pending.
fn is_pending(answer: &Value) -> bool {
    let skills = answer["skills"].as_array().into_iter().flatten();
    skills.chain([answer]).any(|skill| skill["checkout"].as_str().is_some_and(|word| word != "done"))
}

/// Asserts that the command reports the injected error.
#[test]
fn refused_system_call_loses_nothing() {
    if is_skipped() {
        return;
    }
    let began = Instant::now();
    let all = run_all("SKILLHUB_CRASH_ERRORS", SAMPLE, refusals, run);
    println!("{} refusals: {all}; {:.0} s", all.trials, began.elapsed().as_secs_f64());
    all.assert_good();
}
