//! `skillhub record` records the outcome of a run with a skill.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    path::{Path, PathBuf},
};

use clap::Args;
use evolve::{BYTES, Evaluation, Host, OutcomeRecord, RecordSummary, Transcripts};
use library::OutcomeSource;
use ops::skill_name;
use serde_json::json;
use skill::{SkillName, counted};

use crate::{
    access::{RECORD, check_request},
    commands::evolve::verdict_word,
    context::Context,
    exit::{CliError, Exit, failed, io_at},
    print::{GOOD, STRONG},
};

/// Flags of `record`.
#[derive(Debug, Args)]
#[command(after_help = "Events: activated, completed, failed, aborted, corrected

Examples:
  skillhub record my-skill --event completed --run 7f3a
  skillhub record my-skill --event failed --run 7f3b --task invoices --latency-ms 5300
  echo '{\"skill\":\"my-skill\",\"event\":\"completed\",\"run\":\"7f3c\"}' | skillhub record --request -
  skillhub record --import claude-code ~/.claude/projects
  skillhub record --import opencode ~/.local/share/opencode/storage/part

Recording the same event of a run again has no effect. A run without a final event counts as unknown,
never as a success.")]
pub struct RecordArgs {
    /// Skill
    #[arg(required_unless_present_any = ["request", "import"])]
    name: Option<String>,
    /// Event to record
    #[arg(long, value_name = "EVENT", required_unless_present_any = ["request", "import"])]
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
    /// Who reports it
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// Id of the conversation
    #[arg(long, alias = "thread-id", value_name = "ID")]
    thread: Option<String>,
    /// Read a JSON request, or one per line, from a file, `-` for stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "event", "import"])]
    request: Option<PathBuf>,
    /// Read transcripts of claude-code or opencode from files or folders
    #[arg(long, num_args = 2.., value_names = ["HOST", "PATH"], conflicts_with_all = ["name", "event"])]
    import: Option<Vec<String>>,
}

/// Counts of an import: lines and skill uses in transcripts.
#[derive(Clone, Copy)]
struct ImportCounts {
    /// Lines that were parsed.
    read: usize,
    /// Lines that were skipped.
    skipped: usize,
    /// Uses of skills that are not in the libraries.
    elsewhere: usize,
}

/// Records the outcomes, and lets the gate evaluate the affected skills.
pub fn run(context: &Context, args: &RecordArgs) -> Result<Exit, CliError> {
    let mut counts = None;
    let requests = match (&args.request, &args.import) {
        (Some(path), _) => evolve::requests(&read(context, path)?).map_err(failed)?,
        (None, Some(words)) => import(context, words, &mut counts)?,
        (None, None) => vec![of_flags(context, args)?],
    };
    let requests = if context.is_person() { requests.into_iter().map(by_person).collect() } else { requests };
    check_asked(context, &requests)?;
    let all = context.record(requests)?;
    let RecordSummary { recorded, doubles, unrecorded, skills } = &all.told;
    let names: Vec<&str> = skills.iter().map(SkillName::as_str).collect();
    let mut document = all.document();
    if let Some(ImportCounts { read, skipped, elsewhere }) = counts {
        document["import"] = json!({"read": read, "skipped": skipped, "not_here": elsewhere});
    }
    context.out.answer(&document, |out| {
        let twice = if *doubles > 0 { format!(", {doubles} already known") } else { String::new() };
        let of = if names.is_empty() { String::new() } else { format!(" of {STRONG}{}{STRONG:#}", names.join(", ")) };
        writeln!(out, "{GOOD}Recorded{GOOD:#} {}{of}{twice}", counted(recorded, "outcome"))?;
        if *unrecorded > 0 {
            let count = counted(unrecorded, "outcome");
            writeln!(out, "{count} without a revision, because the skill's folder has an unrecorded edit")?;
        }
        if let Some(ImportCounts { read, skipped, elsewhere }) = counts {
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
    })?;
    Ok(Exit::Done)
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
    names.into_iter().try_for_each(|name| check_request(context, RECORD, &name?))
}

/// Extracts the outcomes of installed skills from a host's transcripts.
fn import(
    context: &Context,
    words: &[String],
    counts: &mut Option<ImportCounts>,
) -> Result<Vec<OutcomeRecord>, CliError> {
    let [host, paths @ ..] = words else { return Err(CliError::usage("name a host and its transcripts")) };
    let host = Host::from_word(host)
        .ok_or_else(|| CliError::usage(format!("cannot read transcripts of {host:?}; name claude-code or opencode")))?;
    let mut found = Transcripts::default();
    for path in paths {
        add(&context.absolute(path.as_ref()), host, &mut found)?;
    }
    let libraries = context.visible_libraries()?;
    let mut heads = BTreeMap::new();
    let total = found.requests.len();
    let mut requests = Vec::new();
    for request in found.requests {
        let Ok(name) = SkillName::parse(&request.skill) else { continue };
        if !heads.contains_key(&name) {
            let mut history = Vec::new();
            for library in &libraries {
                history.extend(library.revisions(&name, usize::MAX)?);
            }
            heads.insert(name.clone(), history);
        }
        let Some(history) = heads.get(&name).filter(|history| !history.is_empty()) else { continue };
        // The revision that was current at the time of use.
        let time = request.ts.as_ref().and_then(|ts| ts.parse::<jiff::Timestamp>().ok());
        let then = history.iter().find(|revision| time.is_none_or(|time| revision.stamp.time <= time));
        let revision = then.or(history.last()).map(|revision| revision.id.to_string());
        requests.push(OutcomeRecord { revision, place: requests.len() + 1, ..request });
    }
    *counts = Some(ImportCounts { read: found.read, skipped: found.skipped, elsewhere: total - requests.len() });
    Ok(requests)
}

/// Adds a file, or all possible transcripts of a folder. Links are skipped.
fn add(path: &Path, host: Host, found: &mut Transcripts) -> Result<(), CliError> {
    let kind = std::fs::symlink_metadata(path).map_err(io_at(path))?;
    if kind.is_dir() {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(path).map_err(io_at(path))? {
            entries.push(entry.map_err(io_at(path))?.path());
        }
        entries.sort();
        let may_be =
            |entry: &PathBuf| entry.is_dir() || entry.extension().is_some_and(|end| end == "jsonl" || end == "json");
        return entries.iter().filter(|entry| may_be(entry)).try_for_each(|entry| add(entry, host, found));
    }
    if kind.is_file() && kind.len() <= BYTES {
        found.add(host, &std::fs::read(path).map_err(io_at(path))?);
    } else {
        found.skipped += 1;
    }
    Ok(())
}
