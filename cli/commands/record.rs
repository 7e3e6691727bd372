//! `skillhub record` records the outcome of a run with a skill.

mod hook;
mod import;
mod show;

use std::{
    collections::BTreeSet,
    io::Read,
    path::{Path, PathBuf},
};

use clap::Args;
use evolve::{BYTES, Evaluation, OutcomeRecord, RecordSummary};
use library::OutcomeSource;
use ops::skill_name;
use serde_json::json;
use skill::{SkillName, counted};

use self::import::{ImportCounts, import};

use crate::{
    access::{RECORD, check_request},
    commands::evolve::verdict_word,
    context::Context,
    exit::{CliError, Exit, failed, io_at},
    print::{GOOD, STRONG},
};

pub use self::hook::run as run_hook;

/// Flags of `record`.
#[derive(Debug, Args)]
#[command(after_help = "Events: activated, completed, failed, aborted, corrected

Examples:
  skillhub record my-skill --event completed --run 7f3a
  skillhub record my-skill --event failed --run 7f3b --task invoices --latency-ms 5300
  skillhub record my-skill --event corrected --query \"fill in the tax form\"
  echo '{\"skill\":\"my-skill\",\"event\":\"completed\",\"run\":\"7f3c\"}' | skillhub record --request -
  skillhub record --import claude-code ~/.claude/projects
  skillhub record --import codex ~/.codex/sessions
  skillhub record my-skill --show                what is stored of the skill, and where
  skillhub record --show                         of which skills outcomes are stored

The hooks that `skillhub setup` writes import each session of Claude Code, Codex, Gemini CLI and OpenCode.
Of failed and corrected sessions, the first 500 characters that the user wrote are kept, for `curate plan`.
`use_log = false` in the table [agent] of config.toml turns that off. Everything stays on this machine: at
most 256 MiB for each skill, in the folder that --show names.

Recording the same event of a run again has no effect. A run without a final event counts as unknown,
never as a success.")]
pub struct RecordArgs {
    /// Skill
    #[arg(required_unless_present_any = ["request", "import", "hook", "show"])]
    name: Option<String>,
    /// Event to record
    #[arg(long, value_name = "EVENT", required_unless_present_any = ["request", "import", "hook", "show"])]
    event: Option<String>,
    /// Id of the run [default: a new run]
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Revision that the run used [default: the one that `read --run` gave it, else the newest]
    #[arg(long, value_name = "REV")]
    revision: Option<String>,
    /// Time of the event, as 2026-01-31T12:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    ts: Option<String>,
    /// Duration in milliseconds
    #[arg(long, value_name = "N")]
    latency_ms: Option<u64>,
    /// Tokens that the model read
    #[arg(long, value_name = "N")]
    tokens_in: Option<u64>,
    /// Tokens that the model wrote
    #[arg(long, value_name = "N")]
    tokens_out: Option<u64>,
    /// Task of the run; runs with the same task count once a day
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
    /// Request of the user; its start is kept with failed and corrected runs, to suggest evals
    #[arg(long, value_name = "TEXT")]
    query: Option<String>,
    /// Who reports it
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// Id of the conversation
    #[arg(long, alias = "thread-id", value_name = "ID")]
    thread: Option<String>,
    /// Read a JSON request, or one per line, from a file, `-` for stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "event", "import"])]
    request: Option<PathBuf>,
    /// Read transcripts of claude-code, codex, gemini-cli or opencode from files or folders, `-` for stdin
    #[arg(long, num_args = 2.., value_names = ["HOST", "PATH"], conflicts_with_all = ["name", "event"])]
    import: Option<Vec<String>>,
    /// Import the session that a host reports on stdin or as an argument; prints nothing and never fails
    #[arg(long, num_args = 1..=2, value_names = ["HOST", "JSON"],
        conflicts_with_all = ["name", "event", "request", "import"])]
    hook: Option<Vec<String>>,
    /// Print what is stored of the skill [default: the number of outcomes of each skill]
    #[arg(long, conflicts_with_all = ["event", "request", "import", "hook"])]
    show: bool,
}

impl RecordArgs {
    /// Returns the host of `--hook`, and its report if it is an argument.
    pub fn hook(&self) -> Option<&[String]> {
        self.hook.as_deref()
    }
}

/// Records the outcomes, and lets the gate evaluate the affected skills.
pub fn run(context: &Context, args: &RecordArgs) -> Result<Exit, CliError> {
    match (args.show, &args.name) {
        (true, Some(name)) => return show::run(context, name),
        (true, None) => return show::all(context),
        (false, _) => {}
    }
    let mut counts = None;
    let requests = match (&args.request, &args.import) {
        (Some(path), _) => evolve::requests(&read(context, path)?).map_err(failed)?,
        (None, Some(words)) => import(context, words, &mut counts)?,
        (None, None) => vec![of_flags(context, args)?],
    };
    let requests = if context.is_person() { requests.into_iter().map(by_person).collect() } else { requests };
    check_asked(context, &requests)?;
    let mut all = context.record(requests)?;
    all.told.unrecorded += counts.map_or(0, |counts: ImportCounts| counts.unrecorded);
    let RecordSummary { recorded, doubles, unrecorded, skills } = &all.told;
    let names: Vec<&str> = skills.iter().map(SkillName::as_str).collect();
    let mut document = all.document();
    if let Some(ImportCounts { read, skipped, elsewhere, .. }) = counts {
        document["import"] = json!({"read": read, "skipped": skipped, "not_here": elsewhere});
    }
    context.out.answer(&document, |out| {
        let twice = if *doubles > 0 { format!(", {doubles} already known") } else { String::new() };
        let of = if names.is_empty() { String::new() } else { format!(" of {STRONG}{}{STRONG:#}", names.join(", ")) };
        writeln!(out, "{GOOD}Recorded{GOOD:#} {}{of}{twice}", counted(recorded, "outcome"))?;
        if *unrecorded > 0 {
            let count = counted(unrecorded, "outcome");
            writeln!(out, "{count} without a revision, because the skill had an unrecorded edit")?;
        }
        if let Some(ImportCounts { read, skipped, elsewhere, .. }) = counts {
            writeln!(
                out,
                "{} read, {skipped} skipped, {} of skills that are not installed",
                counted(read, "line"),
                counted(elsewhere, "use")
            )?;
        }
        all.decisions.iter().filter(|found| found.acted).try_for_each(|Evaluation { skill, decision, .. }| {
            writeln!(out, "The gate {} {skill}: {}", verdict_word(decision.verdict), decision.why)
        })
    })
}

/// Marks a report as a person's, so that its run counts even without a `read` by the program. Transcript entries are
/// left unchanged.
fn by_person(request: OutcomeRecord) -> OutcomeRecord {
    match request.basis {
        OutcomeSource::Report => OutcomeRecord { basis: OutcomeSource::Person, ..request },
        _ => request,
    }
}

fn of_flags(context: &Context, args: &RecordArgs) -> Result<OutcomeRecord, CliError> {
    Ok(OutcomeRecord {
        v: None,
        ts: args.ts.clone(),
        skill: context.skill_called(args.name.as_deref().unwrap_or_default())?.to_string(),
        revision: args.revision.clone(),
        event: args.event.clone().unwrap_or_default(),
        run: args.run.clone(),
        latency_ms: args.latency_ms,
        tokens_in: args.tokens_in,
        tokens_out: args.tokens_out,
        task: args.task.clone(),
        query: args.query.clone(),
        source: args.source.clone(),
        thread: args.thread.clone(),
        place: 1,
        ..OutcomeRecord::default()
    })
}

/// Reads a file, or stdin for `-`, up to the request limit.
fn read(context: &Context, path: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let done = match path.to_str() {
        Some("-") => std::io::stdin().lock().take(BYTES + 1).read_to_end(&mut bytes),
        _ => std::fs::File::open(context.absolute(path)).and_then(|file| file.take(BYTES + 1).read_to_end(&mut bytes)),
    };
    done.map_err(io_at(path))?;
    Ok(bytes)
}

/// Checks the skills of all requests against the decision table. A hidden skill is answered like a missing one.
fn check_asked(context: &Context, requests: &[OutcomeRecord]) -> Result<(), CliError> {
    let is_seen = context.seen()?;
    let names: BTreeSet<&str> = requests.iter().map(|request| request.skill.as_str()).collect();
    let names = names.into_iter().filter(|name| is_seen(name)).map(skill_name);
    names.into_iter().try_for_each(|name| check_request(context, RECORD, &name?, false))
}
