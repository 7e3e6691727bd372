//! `skillhub evolve run NAME --with CMD` runs a user's program that proposes a better version of a skill.
//!
//! The program runs within resource limits, with a scrubbed environment, in a temporary folder. Its answer can only
//! become a proposal: the change is made as an optimizer, under an additional policy layer that holds everything.

use std::{path::Path, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use clap::Args;
use evolve::{
    RevisionStats, Stats,
    compare::Rules,
    evals::{EvalLimits, EvalSet, ExitReason, is_held_out, read},
    optimise::{Improvement, KnownFailure, OptimiserLimits, OptimiserRequest, read_answer, sanitise},
};
use library::{Actor, ActorKind, Event, Library, RevisionId, Stamp, interrupt};
use serde_json::{Value, json};
use skill::SkillName;
use skill_manage::{documents, manage};

use super::verdict_word;
use crate::{
    commands::{eval::Store, manage as shown},
    context::Context,
    exit::{CliError, Exit, failed},
    print::{STRONG, visible},
    process::{self, BoundedCommand, ProcessOutput},
};

/// Maximum length, in characters, of a displayed message of an optimiser.
const TOLD_CHARS: usize = 400;

/// Flags of `evolve run`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub evolve run my-skill --with ./improve.py
  skillhub evolve run my-skill --with ./improve.py --env API_KEY --time-limit 1800
  skillhub evolve run my-skill --with ./improve.py --dry-run --json

The program reads a JSON document from stdin (the skill's files, training cases, failures of the last
`eval run`, outcomes of runs, limits) and prints one with patches and reasons; docs/guides/optimisers.md
describes both. Of your environment it gets PATH, the language and the variables of --env. Its proposal
always waits for a person: `skillhub review list`.")]
pub struct WithArgs {
    /// Skill
    name: String,
    #[command(flatten)]
    optimiser: OptimiserArgs,
    /// Show the proposal, and store nothing
    #[arg(long)]
    dry_run: bool,
}

/// Which program, and what it is held to.
#[derive(Debug, Args)]
pub struct OptimiserArgs {
    /// Command that runs the program, for the system's shell
    #[arg(long, value_name = "CMD")]
    with: String,
    /// Pass this environment variable to the program; repeatable
    #[arg(long = "env", value_name = "NAME")]
    passed: Vec<String>,
    /// Kill the program after this time, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = OptimiserLimits::default().seconds)]
    time_limit: u64,
    /// Limit the memory of each of its processes, in MiB
    #[arg(long, value_name = "MIB", default_value_t = OptimiserLimits::default().memory_mib)]
    memory_limit: u64,
}

impl OptimiserArgs {
    /// Returns the resource limits of the program.
    pub(super) fn limits(&self) -> OptimiserLimits {
        OptimiserLimits { seconds: self.time_limit, memory_mib: self.memory_limit, ..OptimiserLimits::default() }
    }

    /// Sends a request to the program and returns its answer.
    ///
    /// # Errors
    /// The program cannot be started, exceeds a limit, or fails.
    pub(super) fn ask(&self, context: &Context, request: &Value) -> Result<Vec<u8>, CliError> {
        let place = tempfile::Builder::new().prefix("skillhub-optimiser-").tempdir()?;
        interrupt::note_temporary(place.path());
        let limits = self.limits();
        let folder = library::real_path(place.path())?;
        let done = process::run(&BoundedCommand {
            command: &process::from_here(&self.with, &context.cwd),
            folder: &folder,
            variables: ["HOME", "TMPDIR", "TMP", "TEMP"].map(|name| (name, folder.clone().into())).to_vec(),
            scrubbed: true,
            passed: &self.passed,
            input: request.to_string().into_bytes(),
            time: Duration::from_secs(limits.seconds),
            output_bytes: limits.output_bytes,
            memory_mib: Some(limits.memory_mib),
        })?;
        answer_of(done, &limits)
    }
}

fn answer_of(done: ProcessOutput, limits: &OptimiserLimits) -> Result<Vec<u8>, CliError> {
    let bad = |message: String| CliError::new("optimiser_failed", Exit::Failed, message);
    match (process::ended(done.ended), done.exit) {
        (ExitReason::Exited, Some(0)) => Ok(done.stdout),
        (ExitReason::TimedOut, _) => {
            Err(bad(format!("the optimiser took longer than {} s and was killed", limits.seconds))
                .hint("raise --time-limit"))
        }
        (ExitReason::TooMuchOutput, _) => {
            Err(bad(format!("the optimiser printed more than {} bytes and was killed", limits.output_bytes))
                .hint("have it print one JSON document with patches, not whole files"))
        }
        (ExitReason::Exited, exit) => {
            let told = sanitise(&String::from_utf8_lossy(&done.stderr), TOLD_CHARS);
            let how = exit.map_or_else(|| "by a signal".to_owned(), |exit| format!("with exit code {exit}"));
            Err(bad(format!("the optimiser ended {how}: {told}"))
                .hint("name files by their full path or from ./; it runs with PATH and the variables of --env only"))
        }
    }
}

/// Runs the optimiser and proposes its result.
pub(super) fn run(context: &Context, args: &WithArgs) -> Result<Exit, CliError> {
    let name = context.skill_called(&args.name)?;
    let mut library = context.library()?;
    let actor = actor(context, &args.optimiser.with);
    let stamp = Stamp::new(actor.clone(), context.now);
    let result = improve(context, args, &name, &mut library, &actor);
    if let (Err(error), false) = (&result, args.dry_run) {
        let event = Event::refused(&stamp, name.as_str(), "optimise", error.code, &error.message);
        // The failure itself is the result. A log that cannot be written must not hide it.
        let _unlogged = library.record(&event);
    }
    result
}

fn improve(
    context: &Context,
    args: &WithArgs,
    name: &SkillName,
    library: &mut Library,
    actor: &Actor,
) -> Result<Exit, CliError> {
    if !args.dry_run {
        look_first(context, library, name)?;
    }
    let (revision, bundle) = documents::at(library, name, "head")?;
    let evals = read(&bundle, &EvalLimits::default()).set;
    let last = Store::of(context).last(name.as_str(), &bundle.digest())?.unwrap_or_default();
    let failures: Vec<KnownFailure> = last
        .failures
        .into_iter()
        .map(|failure| KnownFailure { case: failure.case, text: failure.text, evidence: failure.evidence })
        .collect();
    let limits = args.optimiser.limits();
    let request = OptimiserRequest {
        skill: name,
        revision: revision.id.as_str(),
        bundle: &bundle,
        evals: evals.as_ref(),
        failures: &failures,
        outcomes: outcomes(context, library, name, &revision.id)?,
        limits,
        held_out_percent: Rules::default().held_out_percent,
    };
    note_held_out(context, evals.as_ref(), request.held_out_percent);
    let working = context.out.working("running the optimiser");
    let answer = args.optimiser.ask(context, &request.document(|bytes| STANDARD.encode(bytes)));
    drop(working);
    let improvement = read_answer(&answer?, name, revision.id.as_str(), &limits).map_err(failed)?;
    let Improvement { request: Some(mut request), rationale } = improvement else {
        return nothing(context, name, &improvement.rationale);
    };
    request.dry_run = args.dry_run;
    let policy = context.policy()?.holding("skillhub evolve run", "changes by optimisers always wait for a person");
    let acting = skill_manage::Context { actor: actor.clone(), policy, ..context.manage()? };
    let report = manage(library, &request, &acting)?;
    if !context.out.json {
        context.out.note(&format!("The optimiser says: {}", visible(&rationale)));
    }
    shown::print(context.out, &report)
}

/// Lets the gate decide first, so that the optimiser does not work on a revision that is about to be rolled back.
fn look_first(context: &Context, library: &mut Library, name: &SkillName) -> Result<(), CliError> {
    for found in context.run_gate(library, name)?.iter().filter(|found| found.acted) {
        let word = verdict_word(found.decision.verdict);
        context.out.note(&format!(
            "The gate {word} revision {}: {}",
            found.revision.number,
            visible(&found.decision.why)
        ));
    }
    Ok(())
}

/// Returns the outcome counts of the revision, or `None` if there are no reports.
fn outcomes(
    context: &Context,
    library: &Library,
    name: &SkillName,
    revision: &RevisionId,
) -> Result<Option<Value>, CliError> {
    let stats = Stats::of(library, name, context.now)?;
    Ok(stats.revisions.iter().find(|stats| stats.revision.id == *revision).map(RevisionStats::document))
}

/// Notes the held-out cases, so that the user knows what the optimiser did not see.
fn note_held_out(context: &Context, evals: Option<&EvalSet>, percent: u8) {
    let cases = evals.map(|set| set.cases.as_slice()).unwrap_or_default();
    let held: Vec<&str> = cases.iter().map(|case| case.id.as_str()).filter(|id| is_held_out(id, percent)).collect();
    if !held.is_empty() {
        let told = visible(&held.join(", "));
        context.out.note(&format!("held out from the optimiser: {} of {} cases: {told}", held.len(), cases.len()));
    }
}

/// Reports an optimiser that proposes nothing, which is a success.
fn nothing(context: &Context, name: &SkillName, rationale: &str) -> Result<Exit, CliError> {
    let document = json!({"ok": true, "status": "unchanged", "name": name.as_str(), "rationale": rationale});
    context.out.answer(&document, |out| {
        writeln!(out, "Unchanged: the optimiser proposes nothing for {STRONG}{name}{STRONG:#}")?;
        if rationale.is_empty() { Ok(()) } else { writeln!(out, "  {}", visible(rationale)) }
    })
}

/// Returns the optimiser's name in the history: from the flags, else from its program.
fn actor(context: &Context, command: &str) -> Actor {
    if context.actor.kind == ActorKind::Optimizer {
        return context.actor.clone();
    }
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    // In `python3 improve.py` the script is more informative than the interpreter.
    let words: Vec<&str> = command.split_whitespace().collect();
    let named = words.iter().take(2).rev().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
    let file = Path::new(named).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Actor::new(ActorKind::Optimizer, file.chars().filter(plain).take(60).collect::<String>())
}
