//! [`Expected`]: the permitted and the required state after the death of a command.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use super::{
    observed::{Observed, folders, is_object},
    place::Place,
    scenario::Scenario,
    trial::Said,
};
use crate::support::{Answer, Snapshot};

/// The effect of an undisturbed command, with the states between its operations.
pub struct Expected {
    pub before: Observed,
    pub after: Observed,
    /// Number of revisions of each skill before the command and after each of its operations.
    steps: Vec<BTreeMap<String, usize>>,
    /// The command repairs after each death, or changes other files after its operations, and may be refused there.
    goes_on: bool,
    /// Codes of the findings of `doctor` before the command.
    known_problems: Vec<String>,
}

/// Progress of the command that was found after a death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The command left no trace.
    Nothing,
    /// Some of the command's operations are complete, and the later ones left no trace.
    Part,
    /// All of its operations are complete.
    Everything,
}

/// File in which changes to the lock file wait for the next command.
const LOCK_LINES: &str = "lock-lines.json";

/// Faults found by a check, one sentence each.
pub type Faults = Vec<String>;

impl Expected {
    /// Runs the command undisturbed.
    pub fn of(place: &Place, scenario: &Scenario) -> Self {
        let sandbox = &place.sandbox;
        let known_problems = open_problems(&sandbox.ask(&["doctor"]));
        place.restore();
        let before = Observed::of(sandbox).unwrap();
        scenario.run(sandbox).exits(0);
        let after = Observed::of(sandbox).unwrap();
        let mut counts = before.counts();
        let mut steps = vec![counts.clone()];
        let new = &after.events[before.events.len()..];
        for operation in new.chunk_by(|one, next| one.operation == next.operation) {
            operation.iter().for_each(|event| *counts.entry(event.skill.clone()).or_default() += 1);
            steps.push(counts.clone());
        }
        assert_eq!(counts, after.counts(), "{}: every revision has its event", scenario.name);
        let goes_on = scenario.args == ["doctor", "--fix"] || scenario.is_setup();
        Self { before, after, steps, goes_on, known_problems }
    }

    /// Checks the view of an agent that walks the folders right after the death: each skill is as before or as after
    /// the command.
    pub fn check_walk(&self, place: &Place) -> Faults {
        let [now, before, after] = [&folders(&place.sandbox), &self.before.folders, &self.after.folders].map(of_skills);
        let names: BTreeSet<_> = now.keys().chain(before.keys()).chain(after.keys()).collect();
        let mut faults = Faults::new();
        for name in names {
            let found = now.get(name);
            if found != before.get(name) && found != after.get(name) {
                faults.push(format!("a walk finds {found:?} in {name}"));
            }
        }
        faults
    }

    /// Checks the recovered state against the command's report.
    pub fn check(&self, found: &Observed, said: Said) -> Result<Found, Faults> {
        let mut faults = Faults::new();
        let counts = found.counts();
        let Some(step) = self.step(&counts, said) else {
            return Err(vec![format!("revisions are {counts:?}, none of {:?}", self.steps)]);
        };
        for (skill, revisions) in &found.history {
            let old = self.before.history.get(skill).map_or(&[][..], Vec::as_slice);
            if !revisions.starts_with(old) {
                faults.push(format!("an older revision of {skill} is not what it was"));
            }
            let new = revisions.iter().zip(&self.after.history[skill]).skip(old.len());
            if new.clone().any(|(found, whole)| (&found.action, &found.tree) != (&whole.action, &whole.tree)) {
                faults.push(format!("a new revision of {skill} does not hold what it should: {:?}", new.last()));
            }
        }
        faults.extend(self.check_folders(found, step));
        faults.extend(check_events(found));
        faults.extend(self.check_rest(found));
        faults.extend(self.check_proposals(found, step, said));
        let operations = self.steps.len() - 1;
        let all = step == operations && (operations > 0 || found.proposals == self.after.proposals);
        if all && operations > 0 && found.locked != self.after.locked {
            faults.push(format!("the lock file is {:?}, not {:?}", found.locked, self.after.locked));
        }
        let is_against_its_word = all && operations > 0 && !self.goes_on;
        if (said == Said::Done && !all) || (said == Said::Refused && is_against_its_word) {
            faults.push(format!("{step} of {operations} operations are there, and it said {said:?}"));
        }
        let found = if all {
            Found::Everything
        } else if counts == self.steps[0] {
            Found::Nothing
        } else {
            Found::Part
        };
        if faults.is_empty() { Ok(found) } else { Err(faults) }
    }

    /// Checks that proposals are as before or as after, consistent with the revisions and the report.
    fn check_proposals(&self, found: &Observed, step: usize, said: Said) -> Faults {
        let is = |state: &Observed| found.proposals == state.proposals;
        let operations = self.steps.len() - 1;
        let is_right = match (said, step) {
            (Said::Done, _) => is(&self.after),
            (_, _) if operations == 0 => is(&self.before) || is(&self.after),
            (_, 0) => is(&self.before),
            (_, step) => step < operations || is(&self.after),
        };
        let fault = || format!("it said {said:?} after {step} operations, and proposals are {:?}", found.proposals);
        if is_right { Faults::new() } else { vec![fault()] }
    }

    /// Returns the number of completed operations. A command that refuses some skills changes the others in one
    /// operation, which counts as the last but one.
    fn step(&self, counts: &BTreeMap<String, usize>, said: Said) -> Option<usize> {
        let is_before_or_after =
            |(skill, count): (&String, &usize)| self.steps.iter().any(|step| step.get(skill) == Some(count));
        let some = || said == Said::Refused && counts.iter().all(is_before_or_after);
        self.steps.iter().position(|step| step == counts).or_else(|| some().then(|| self.steps.len() - 2))
    }

    /// Checks that every folder equals its head byte for byte, or is unchanged if nothing has happened.
    fn check_folders(&self, found: &Observed, step: usize) -> Faults {
        let mut wanted: BTreeMap<_, _> = found.heads.clone();
        wanted.retain(|_, files| !files.is_empty());
        if found.folders == wanted || (step == 0 && found.folders == self.before.folders) {
            return Faults::new();
        }
        if step + 1 == self.steps.len() && found.folders == self.after.folders {
            return Faults::new();
        }
        let differ = |name: &&String| found.folders.get(*name) != wanted.get(*name);
        let names = found.folders.keys().chain(wanted.keys()).filter(differ);
        names.map(|name| format!("the folder of {name} is not its head: {:?}", found.folders.get(name))).collect()
    }

    /// Checks for leftovers: paths and lock file entries that exist neither before nor after.
    fn check_rest(&self, found: &Observed) -> Faults {
        let is_known =
            |path: &str| self.before.paths.contains(path) || self.after.paths.contains(path) || is_put_aside(path);
        let is_new = |path: &&String| {
            !is_known(path) && path.rsplit_once('/').is_none_or(|(folder, _)| is_known(folder) || is_object(folder))
        };
        let mut faults: Faults =
            found.paths.iter().filter(is_new).map(|path| format!("{path} is left behind")).collect();
        for (skill, entry) in &found.locked {
            if ![&self.before, &self.after].iter().any(|state| state.locked.get(skill) == Some(entry)) {
                faults.push(format!("the lock file says of {skill}: {entry}"));
            }
        }
        faults
    }

    /// Recovers with the real program, and checks the history with git. `turn` varies the first command.
    pub fn recover(&self, place: &Place, turn: usize) -> Faults {
        let sandbox = &place.sandbox;
        let mut faults = Faults::new();
        for command in [&["status"][..], &["log"], &["list"], &["doctor", "--fix"]].into_iter().skip(turn % 4).take(1) {
            let answer = sandbox.ask(command);
            if super::observed::own(sandbox).is_some_and(|own| own.join(LOCK_LINES).exists()) {
                faults.push(format!("lines of the lock file still wait after `{}`", command.join(" ")));
            }
            let unmended = command[0] == "doctor" && answer.exit == 1;
            if answer.exit != 0 && !unmended {
                faults.push(format!("the first command fails: {answer}"));
            }
        }
        place.grow_old();
        let doctor = sandbox.ask(&["doctor", "--fix"]);
        let open = open_problems(&doctor);
        if open.iter().any(|code| !self.known_problems.contains(code)) || ![0, 1].contains(&doctor.exit) {
            let document = doctor.json();
            let is_wrong = |check: &&serde_json::Value| check["state"] != "ok";
            let wrong: Vec<_> = document["checks"].as_array().into_iter().flatten().filter(is_wrong).collect();
            faults.push(format!("doctor cannot mend it: {wrong:?}"));
        }
        for skill in self.before.history.keys() {
            let answer = sandbox.ask(&["history", skill]);
            if answer.exit != 0 {
                faults.push(format!("history fails: {answer}"));
            }
        }
        if let Some(own) = super::observed::own(sandbox).filter(|own| own.join("history.git").exists()) {
            for args in [&["fsck", "--strict", "--no-dangling"][..], &["log", "--all", "--format=%H"]] {
                let mut command = Command::new("git");
                let output =
                    sandbox.confine(&mut command).arg("--git-dir").arg(own.join("history.git")).args(args).output();
                let output = output.unwrap();
                if !output.status.success() {
                    faults.push(format!("git {}: {}", args[0], String::from_utf8_lossy(&output.stderr)));
                }
            }
        }
        faults
    }

    /// Repeats the command: it ends as expected, and leaves no trace of the death.
    pub fn check_again(&self, place: &Place, scenario: &Scenario, found: Found) -> Faults {
        let answer = scenario.run(&place.sandbox);
        let may_end = match found {
            Found::Nothing => &[0][..],
            Found::Part | Found::Everything => &[0, 6, 7],
        };
        if !may_end.contains(&answer.exit) {
            return vec![format!("run again it fails: {answer}")];
        }
        let now = match Observed::of(&place.sandbox) {
            Ok(now) => now,
            Err(error) => return vec![error],
        };
        let mut faults = check_events(&now);
        let differ = now.paths.symmetric_difference(&self.after.paths);
        // Applied changes are noted in it until the next checkpoint, which such a repetition does not reach.
        let differ = differ.filter(|path| !path.ends_with("/journal.applied"));
        faults.extend(differ.map(|path| format!("run again {path} is there in one of the two")));
        if now.folders != self.after.folders {
            faults.push(format!("run again the folders are not as they should: {answer}"));
        }
        faults
    }
}

/// Returns whether a path is a segment of the event log that waits to be packed.
fn is_put_aside(path: &str) -> bool {
    path.rsplit_once("/events.").is_some_and(|(_, name)| name.strip_suffix(".jsonl").is_some_and(is_number))
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the files that belong to skills, without tool folders that are kept along with them.
fn of_skills(folders: &BTreeMap<String, Snapshot>) -> BTreeMap<String, Snapshot> {
    let mut folders = folders.clone();
    folders.values_mut().for_each(|files| files.retain(|path, _| !path.starts_with(".git/")));
    folders.retain(|_, files| !files.is_empty());
    folders
}

/// Checks that every revision has one event, and every event its revision.
fn check_events(found: &Observed) -> Faults {
    let mut known: Vec<_> = found.history.values().flatten().map(|revision| &revision.id).collect();
    let mut told: Vec<_> = found.events.iter().map(|event| &event.revision).collect();
    known.sort();
    told.sort();
    if known == told { Faults::new() } else { vec![format!("revisions {known:?} and events {told:?} differ")] }
}

/// Returns the codes of problems that `doctor` found and did not repair.
fn open_problems(doctor: &Answer) -> Vec<String> {
    let document = doctor.json();
    let problems = document["problems"].as_array().cloned().unwrap_or_default();
    let open = problems.iter().filter(|problem| problem["fixed"] != true);
    open.map(|problem| problem["code"].as_str().unwrap_or_default().to_owned()).collect()
}
