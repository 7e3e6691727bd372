//! `skillhub doctor` checks the library and the home for damage, and repairs it.
//!
//! Every check reports at least one [`Finding`]. Without `--fix` nothing is changed, not even pending journal records,
//! which every other command applies when it opens a library.

mod agents;
mod deerflow;
mod history;
mod home;
mod installed;
mod journal;
pub mod relocate;
mod settings;
mod skills;
mod text;

use std::path::{Path, PathBuf};

use clap::Args;
use library::{Home, Library, PathAccessError};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::terminal_columns,
};

/// Flags of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub doctor                                check everything, change nothing
  skillhub doctor --fix                          repair, keeping a copy of what is replaced
  skillhub doctor --relocate ~/old/project ~/new/project
                                                 after moving a project or a library's folder
  skillhub doctor --json | jq '.checks[] | select(.state != \"ok\")'

Exit code 0: no problems, or all repaired. Exit code 1: problems remain.")]
pub struct DoctorArgs {
    /// Repair what can be repaired without losing anything
    #[arg(long)]
    fix: bool,
    /// Connect a library or project that was moved from OLD to NEW with its history
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with = "fix")]
    relocate: Option<Vec<PathBuf>>,
}

/// Result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// No fault.
    Ok,
    /// No fault of skillhub's own files, but agents or skills lack something.
    Warn,
    /// A fault that `--fix` can repair.
    Found,
    /// A fault that has been repaired.
    Mended,
    /// A fault, or a skipped check, that `--fix` cannot repair.
    Cannot,
}

impl State {
    fn is_open(self) -> bool {
        matches!(self, Self::Found | Self::Cannot)
    }
}

/// The result of a check for one subject.
struct Finding {
    /// Name of the check.
    check: &'static str,
    /// Stable code of the fault or note. Equal to the check's name if there is none.
    code: &'static str,
    state: State,
    /// Subject: a file, a folder or a skill.
    path: String,
    message: String,
}

impl Finding {
    fn to_json(&self) -> Value {
        json!({
            "check": self.check, "state": self.state, "code": self.code, "path": self.path,
            "message": self.message,
        })
    }

    /// Formats the finding for the older JSON field `problems`.
    fn to_problem(&self) -> Value {
        json!({
            "code": self.code, "subject": self.path, "message": self.message,
            "fixed": self.state == State::Mended,
        })
    }
}

/// Collector of all findings.
struct Findings {
    fix: bool,
    list: Vec<Finding>,
}

impl Findings {
    fn add(
        &mut self,
        check: &'static str,
        code: &'static str,
        state: State,
        path: impl ToString,
        message: impl ToString,
    ) {
        let (path, message) = (path.to_string(), message.to_string());
        self.list.push(Finding { check, code, state, path, message });
    }

    /// Adds a result without a fault.
    fn ok(&mut self, check: &'static str, path: &Path, message: impl ToString) {
        self.add(check, check, State::Ok, path.display(), message);
    }

    /// Adds a note about something that may be intended.
    fn note(&mut self, check: &'static str, code: &'static str, path: impl ToString, message: impl ToString) {
        self.add(check, code, State::Ok, path, message);
    }

    /// Adds a warning about the machine or the agents, which is not a fault of skillhub's own files.
    fn warn(&mut self, check: &'static str, code: &'static str, path: impl ToString, message: impl ToString) {
        self.add(check, code, State::Warn, path, message);
    }

    /// Adds a fault that `doctor` cannot repair. The message names the remedy.
    fn cannot(&mut self, check: &'static str, code: &'static str, path: impl ToString, message: impl ToString) {
        self.add(check, code, State::Cannot, path, message);
    }

    /// Adds a fault, and repairs it with `mend` if `--fix` is set. `mend` returns a description of the repair.
    fn mendable(
        &mut self,
        check: &'static str,
        code: &'static str,
        path: impl ToString,
        message: impl ToString,
        mend: impl FnOnce() -> Result<String, String>,
    ) {
        let message = message.to_string();
        let (state, message) = match self.fix.then(mend) {
            None => (State::Found, message),
            Some(Ok(done)) if done.is_empty() => (State::Mended, message),
            Some(Ok(done)) => (State::Mended, format!("{message}; {done}")),
            Some(Err(why)) => (State::Cannot, format!("{message}; not repaired: {why}")),
        };
        self.add(check, code, state, path, message);
    }

    /// Ends a check. If it reported nothing, its success is added.
    fn close(&mut self, check: &'static str, path: &Path, message: impl ToString) {
        if !self.list.iter().any(|finding| finding.check == check) {
            self.ok(check, path, message);
        }
    }

    /// Returns the result of a check. A check that failed is reported, and the remaining checks still run.
    fn unless_broken<T>(&mut self, check: &'static str, library: &Library, done: Result<T, CliError>) -> Option<T> {
        done.map_err(|error| {
            self.cannot(check, error.code, library.path().display(), format!("check failed: {}", error.message));
        })
        .ok()
    }

    fn count(&self, state: State) -> usize {
        self.list.iter().filter(|finding| finding.state == state).count()
    }
}

/// Runs all checks, and repairs faults with `--fix`.
pub fn run(context: &Context, args: &DoctorArgs) -> Result<Exit, CliError> {
    if let Some([old, new]) = args.relocate.as_deref() {
        return relocate::run(context, old, new);
    }
    let mut findings = Findings { fix: args.fix, list: Vec::new() };
    if let Err(error @ PathAccessError::Foreign { .. }) = Home::at(context.home.path()) {
        home::refuse(context, &error, &mut findings);
        return answer(context, context.library_path(), &findings);
    }
    let mut library = context.library_to_inspect()?;
    settings::check(context, &mut findings);
    deerflow::check(context, &mut findings);
    home::check(context, &library, &mut findings)?;
    check_library(context, &mut library, &mut findings);
    answer(context, library.path(), &findings)
}

/// Checks a library, starting with the journal, on which the other checks depend. If a lower layer is damaged, the
/// checks that depend on it are skipped.
fn check_library(context: &Context, library: &mut Library, findings: &mut Findings) {
    let note = journal::check_note(context, library, findings);
    findings.unless_broken("library", library, note);
    let moved = journal::check_moved(context, library, findings);
    findings.unless_broken("library", library, moved);
    let settled = journal::check(context, library, findings);
    let is_settled = findings.unless_broken("journal", library, settled).unwrap_or(false);
    let readable = history::check(context, library, findings);
    let is_readable = findings.unless_broken("history", library, readable).unwrap_or(false);
    let events = skills::check_events(context, library, findings);
    findings.unless_broken("events", library, events);
    let state = skills::check_state(context, library, findings);
    let has_state = findings.unless_broken("state", library, state).unwrap_or(false);
    if !is_settled || !is_readable {
        let why = match is_settled {
            false => "skipped until the journal is repaired: `skillhub doctor --fix`",
            true => "skipped: the history cannot be read",
        };
        for check in ["proposals", "outcomes", "temporary", "folders", "lock_file", "links"] {
            findings.cannot(check, "not_looked_at", library.path().display(), why);
        }
        return;
    }
    let proposals = settings::check_proposals(context, library, findings);
    findings.unless_broken("proposals", library, proposals);
    let outcomes = settings::check_outcomes(context, library, findings);
    findings.unless_broken("outcomes", library, outcomes);
    let temporary = skills::check_temporary(library, findings);
    findings.unless_broken("temporary", library, temporary);
    let folders = skills::check_folders(context, library, findings);
    findings.unless_broken("folders", library, folders);
    installed::check_lock_file(context, library, findings);
    match has_state {
        true => {
            let links = installed::check_links(context, library, findings);
            findings.unless_broken("links", library, links);
            let agents = agents::check(context, findings);
            findings.unless_broken("agents", library, agents);
            let needs = agents::check_needs(context, findings);
            findings.unless_broken("needs", library, needs);
        }
        false => {
            findings.cannot("links", "not_looked_at", library.path().display(), "skipped: state.toml cannot be read")
        }
    }
}

fn answer(context: &Context, library: &Path, findings: &Findings) -> Result<Exit, CliError> {
    let open = findings.list.iter().filter(|finding| finding.state.is_open()).count();
    let checks: Vec<Value> = findings.list.iter().map(Finding::to_json).collect();
    let unwell = findings.list.iter().filter(|finding| !matches!(finding.state, State::Ok | State::Warn));
    let problems: Vec<Value> = unwell.map(Finding::to_problem).collect();
    let document = json!({
        "ok": open == 0, "library": library, "home": context.home.path(), "checks": checks,
        "problems": problems,
        "summary": {
            "ok": findings.count(State::Ok), "warn": findings.count(State::Warn),
            "mended": findings.count(State::Mended), "found": findings.count(State::Found),
            "cannot": findings.count(State::Cannot),
        },
    });
    context
        .out
        .answer(&document, |out| text::write(out, findings, terminal_columns(), &library.display().to_string()))?;
    Ok(if open == 0 { Exit::Done } else { Exit::Failed })
}
