//! `skillhub record`: how a run with a skill went.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    path::{Path, PathBuf},
};

use clap::Args;
use evolve::{BYTES, Defaults, Host, RecordError, Request, Told, Transcripts, Verdict};
use library::{Basis, FindError, Library};
use serde_json::{Value, json};
use skill::{SkillName, counted};

use crate::{
    access::{RECORD, check_request},
    catalogue::skill_called,
    commands::evolve::{gate_look, verdict_word},
    context::{Context, skill_name},
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

A run has one event of a kind: what is told twice counts once. Without --revision it is the revision
that the run was given, else the newest. What nobody tells the end of is unknown, and never a success.")]
pub struct RecordArgs {
    /// The skill
    #[arg(required_unless_present_any = ["request", "import"])]
    name: Option<String>,
    /// What happened
    #[arg(long, value_name = "EVENT", required_unless_present_any = ["request", "import"])]
    event: Option<String>,
    /// The run; one of its own without it
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// The revision that the run had
    #[arg(long, value_name = "REV")]
    revision: Option<String>,
    /// When it happened, as 2026-01-31T12:00:00Z; now without it
    #[arg(long, value_name = "TIME")]
    ts: Option<String>,
    /// Milliseconds that it took
    #[arg(long, value_name = "N")]
    latency_ms: Option<u64>,
    /// Tokens that the model read
    #[arg(long, value_name = "N")]
    tokens_in: Option<u64>,
    /// Tokens that it wrote
    #[arg(long, value_name = "N")]
    tokens_out: Option<u64>,
    /// What was to be done: runs with one task count once a day
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
    /// Who tells it
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// The conversation of the run
    #[arg(long, alias = "thread-id", value_name = "ID")]
    thread: Option<String>,
    /// Read JSON requests from a file, `-` for stdin: one, or one a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "event", "import"])]
    request: Option<PathBuf>,
    /// Read a host's transcripts: claude-code or opencode, then files or folders
    #[arg(long, num_args = 2.., value_names = ["HOST", "PATH"], conflicts_with_all = ["name", "event"])]
    import: Option<Vec<String>>,
}

/// What was recorded, and what the gate made of it.
#[derive(Default)]
struct Answer {
    told: Told,
    decisions: Vec<Value>,
    lines: Vec<String>,
    /// Of transcripts: what was understood, passed over, and is about skills that are not here.
    import: Option<(usize, usize, usize)>,
}

/// Records, and has the gate look at the skills that it is about.
pub fn run(context: &Context, args: &RecordArgs) -> Result<Exit, CliError> {
    let mut answer = Answer::default();
    let requests = match (&args.request, &args.import) {
        (Some(path), _) => evolve::requests(&read(context, path)?).map_err(failed)?,
        (None, Some(words)) => import(context, words, &mut answer)?,
        (None, None) => vec![of_flags(context, args)?],
    };
    let requests = if context.is_person() { requests.into_iter().map(by_person).collect() } else { requests };
    check_asked(context, &requests)?;
    tell(context, requests, &mut answer)?;
    let Told { recorded, doubles, unrecorded, skills } = &answer.told;
    let names: Vec<&str> = skills.iter().map(SkillName::as_str).collect();
    let mut document = answer.document();
    if let Some((read, skipped, elsewhere)) = answer.import {
        document["import"] = json!({"read": read, "skipped": skipped, "not_here": elsewhere});
    }
    context.out.answer(&document, |out| {
        let twice = if *doubles > 0 { format!(", {doubles} were known already") } else { String::new() };
        let of = if names.is_empty() { String::new() } else { format!(" of {STRONG}{}{STRONG:#}", names.join(", ")) };
        writeln!(out, "{GOOD}Recorded{GOOD:#} {}{of}{twice}", counted(recorded, "outcome"))?;
        if *unrecorded > 0 {
            let count = counted(unrecorded, "outcome");
            writeln!(out, "{count} without a revision: the skill's folder has an edit that is not recorded")?;
        }
        if let Some((read, skipped, elsewhere)) = answer.import {
            writeln!(
                out,
                "{} understood, {skipped} passed over, {} of skills that are not here",
                counted(read, "line"),
                counted(elsewhere, "use")
            )?;
        }
        answer.lines.iter().try_for_each(|line| writeln!(out, "{line}"))
    })?;
    Ok(Exit::Done)
}

impl Answer {
    fn document(&self) -> Value {
        let Told { recorded, doubles, unrecorded, skills } = &self.told;
        let names: Vec<&str> = skills.iter().map(SkillName::as_str).collect();
        json!({
            "ok": true, "recorded": recorded, "doubles": doubles, "unrecorded": unrecorded, "skills": names,
            "decisions": self.decisions,
        })
    }
}

/// Records what an agent tells of its own run.
pub fn for_agent(context: &Context, outcome: mcp::Told<'_>) -> Result<Value, CliError> {
    let mut answer = Answer::default();
    let request = Request {
        skill: outcome.name.to_string(),
        event: outcome.event.to_owned(),
        run: Some(outcome.run.to_owned()),
        task: outcome.task.map(str::to_owned),
        latency_ms: outcome.latency_ms,
        tokens_in: outcome.tokens_in,
        tokens_out: outcome.tokens_out,
        thread: outcome.thread.map(str::to_owned),
        by_author: outcome.by_author,
        place: 1,
        ..Request::default()
    };
    tell(context, vec![request], &mut answer)?;
    Ok(answer.document())
}

/// Marks a report of a person: its run counts without a reading by the program. Transcripts stay as they are.
fn by_person(request: Request) -> Request {
    match request.basis {
        Basis::Report => Request { basis: Basis::Person, ..request },
        _ => request,
    }
}

fn of_flags(context: &Context, args: &RecordArgs) -> Result<Request, CliError> {
    Ok(Request {
        v: None,
        ts: args.ts.clone(),
        skill: skill_called(context, args.name.as_deref().unwrap_or_default())?.to_string(),
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
        ..Request::default()
    })
}

/// A file, or stdin for `-`, up to what a call may have.
fn read(context: &Context, path: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let done = match path.to_str() {
        Some("-") => std::io::stdin().lock().take(BYTES + 1).read_to_end(&mut bytes),
        _ => std::fs::File::open(context.absolute(path)).and_then(|file| file.take(BYTES + 1).read_to_end(&mut bytes)),
    };
    done.map_err(io_at(path))?;
    Ok(bytes)
}

/// Records requests, each in the library that has its skill.
fn tell(context: &Context, requests: Vec<Request>, answer: &mut Answer) -> Result<(), CliError> {
    let run = format!("cli-{}", library::operation_id(&context.stamp()));
    let actor = context.actor.to_string();
    let defaults = Defaults { actor: &actor, run: &run, now: context.now };
    for (mut library, requests) in by_library(context, requests)? {
        let told = evolve::record(&library, requests, defaults).map_err(failed)?;
        for skill in &told.skills {
            look(context, &mut library, skill, answer);
        }
        answer.told.recorded += told.recorded;
        answer.told.doubles += told.doubles;
        answer.told.unrecorded += told.unrecorded;
        answer.told.skills.extend(told.skills);
    }
    Ok(())
}

fn by_library(context: &Context, requests: Vec<Request>) -> Result<Vec<(Library, Vec<Request>)>, CliError> {
    let mut groups: Vec<(Library, Vec<Request>)> =
        context.visible_libraries()?.into_iter().map(|library| (library, Vec::new())).collect();
    let (mut places, is_seen) = (BTreeMap::<String, usize>::new(), context.seen()?);
    for request in requests {
        let place = match places.get(&request.skill) {
            Some(place) => *place,
            None => {
                let place = place_of(&groups, &request, &is_seen)?;

                places.insert(request.skill.clone(), place);
                place
            }
        };
        if let Some((_, of_library)) = groups.get_mut(place) {
            of_library.push(request);
        }
    }
    groups.retain(|(_, requests)| !requests.is_empty());
    Ok(groups)
}

/// Holds the skills of a command's requests to the decision table; a hidden one is answered like one that is not there.
fn check_asked(context: &Context, requests: &[Request]) -> Result<(), CliError> {
    let is_seen = context.seen()?;
    let names: BTreeSet<&str> = requests.iter().map(|request| request.skill.as_str()).collect();
    let names = names.into_iter().filter(|name| is_seen(name)).map(skill_name);
    names.into_iter().try_for_each(|name| check_request(context, RECORD, &name?))
}

/// The first library with a history of the skill, unless it is hidden.
fn place_of(
    groups: &[(Library, Vec<Request>)],
    request: &Request,
    is_seen: impl Fn(&str) -> bool,
) -> Result<usize, CliError> {
    let name = skill_name(&request.skill)?;
    let seen = groups.iter().enumerate().filter(|_| is_seen(name.as_str()));
    for (place, (library, _)) in seen {
        if library.head(&name)?.is_some() {
            return Ok(place);
        }
    }
    Err(failed(RecordError::Find { place: request.place, source: FindError::NoSkill(name) }))
}

/// What the gate makes of it. The outcomes stand, whatever comes of that.
fn look(context: &Context, library: &mut Library, skill: &SkillName, answer: &mut Answer) {
    match gate_look(context, library, skill) {
        Ok(Some(found)) if found.decision.verdict != Verdict::Wait => {
            answer.decisions.push(json!({
                "skill": skill.as_str(), "verdict": found.decision.verdict, "why": found.decision.why, "acted": found.acted,
            }));
            if found.acted {
                answer.lines.push(format!(
                    "The gate {} {skill}: {}",
                    verdict_word(found.decision.verdict),
                    found.decision.why
                ));
            }
        }
        Ok(_) => {}
        Err(error) => context.out.note(&format!("the gate could not look at {skill}: {}", error.message)),
    }
}

/// The outcomes that a host's transcripts show, of skills that are here.
fn import(context: &Context, words: &[String], answer: &mut Answer) -> Result<Vec<Request>, CliError> {
    let [host, paths @ ..] = words else { return Err(CliError::usage("name a host and its transcripts")) };
    let host = Host::from_word(host).ok_or_else(|| {
        CliError::usage(format!("{host:?} is no host of which transcripts are read; name claude-code or opencode"))
    })?;
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
        // The revision that stood when it was used.
        let time = request.ts.as_ref().and_then(|ts| ts.parse::<jiff::Timestamp>().ok());
        let then = history.iter().find(|revision| time.is_none_or(|time| revision.stamp.time <= time));
        let revision = then.or(history.last()).map(|revision| revision.id.to_string());
        requests.push(Request { revision, place: requests.len() + 1, ..request });
    }
    answer.import = Some((found.read, found.skipped, total - requests.len()));
    Ok(requests)
}

/// Adds a file, or all files of a folder that may be transcripts; links are passed over.
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
