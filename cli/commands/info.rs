//! `skillhub info` shows the releases of a skill.

use std::io;

use clap::Args;
use client::{Info, LockFile, Signed, Spec};
use evolve::{Count, eprocess::wilson};
use library::{Library, Revision};
use registry_index::{Entry, EvalCounts, ForkedFrom, OutcomeCounts};
use serde_json::{Value, json};
use skill::{QualifiedName, SkillName, counted};

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::{BAD, FAINT, Page, STRONG, Table, capability_lines, notes_lines, visible},
};

/// Maximum number of forks that are shown.
const FORKS: usize = 10;

/// Flags of `info`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub info acme/pdf-forms
  skillhub info pdf-forms --json")]
pub struct InfoArgs {
    /// Skill, as owner/name or name
    spec: String,
}

/// Prints the releases, newest first.
pub fn run(context: &Context, args: &InfoArgs) -> Result<Exit, CliError> {
    let spec = args.spec.parse().map_err(|error: client::SpecError| failed(error))?;
    let library = context.library()?;
    check_source(&library, &spec)?;
    // An unreadable lock file counts as one without sources. Other commands report it.
    let lock = LockFile::read(&context.lock_path(&library)).unwrap_or_default();
    let info = client::info(&context.registries_of(&library)?, &spec, &lock).map_err(failed)?;
    let presence = presence(&library, &info.name, &info.releases);
    let releases: Vec<_> = info.releases.iter().collect();
    let signed: Vec<Value> =
        info.releases.iter().zip(&info.signed).map(|(entry, signed)| document(entry, signed)).collect();
    let document = json!({
        "ok": true, "name": info.name.to_string(), "registry": info.location, "releases": releases, "signed": signed,
        "forks": releases.iter().filter_map(|entry| fork(entry)).collect::<Vec<Value>>(),
        "forked_by": info.forks.iter().map(forked_by).collect::<Vec<Value>>(), "capabilities": info.capabilities,
    });
    context.out.answer(&document, |out| {
        writeln!(out, "{STRONG}{}{STRONG:#}  {FAINT}{}{FAINT:#}", info.name, info.location)?;
        if let Some(newest) = releases.first() {
            newest.title.iter().try_for_each(|title| writeln!(out, "{}", visible(title)))?;
            writeln!(out, "{}", visible(newest.description.trim()))?;
            if !newest.requires.is_empty() {
                writeln!(out, "Requires: {}", visible(&newest.requires.join("; ")))?;
            }
        }
        for line in info.capabilities.iter().flat_map(capability_lines) {
            writeln!(out, "{line}")?;
        }
        table_of(&info).write(out)?;
        notes_lines(&info.notes()).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        for entry in &releases {
            for line in entry.forked_from.iter().flat_map(results_lines) {
                writeln!(out, "{FAINT}{}{FAINT:#}  {line}", entry.version)?;
            }
        }
        forks_lines(&info.forks).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        for why in info.signed.iter().filter_map(Signed::fault) {
            writeln!(out, "{BAD}do not trust it{BAD:#}: {}", visible(why))?;
        }
        let is_offered = releases.iter().any(|entry| !entry.yanked && entry.withdrawn.is_none());
        next_step(&info.name, &presence, is_offered, out)
    })
}

/// Returns the table of the releases.
fn table_of(info: &Info) -> Table {
    let mut table = Table::new(&["version", "published", "by", "files", "bytes", "verdict", "signed", ""]);
    for (entry, signed) in info.releases.iter().zip(&info.signed) {
        let made_from = entry.forked_from.as_ref().map(|from| format!("forked from {from}"));
        table.row(&[
            entry.version.to_string(),
            entry.published_at.to_string().get(..10).unwrap_or_default().to_owned(),
            entry.publisher.clone(),
            entry.files.to_string(),
            entry.size.to_string(),
            entry.verdict.to_string(),
            match signed {
                Signed::Not => String::new(),
                Signed::With(key) => key.clone(),
                Signed::Badly(_) => "invalid".to_owned(),
            },
            visible(
                &[flag_of(entry), entry.deprecated().map(|deprecated| deprecated.to_string()), made_from]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join("; "),
            ),
        ]);
    }
    table
}

/// Refuses the bare name of a skill that was installed from another kind of source, which has no releases.
fn check_source(library: &Library, spec: &Spec) -> Result<(), CliError> {
    let Spec::Bare { name, .. } = spec else { return Ok(()) };
    let head = library.head(name).ok().flatten().filter(|head| !head.tombstone);
    match head.and_then(|head| head.origin).filter(|origin| origin.as_registry().is_none()) {
        None => Ok(()),
        Some(origin) => {
            let message = format!("{name} was installed from {}, which has no releases", origin.location());
            Err(CliError::new("not_found", Exit::NotFound, message)
                .hint(format!("see the installed skill: skillhub status {name}")))
        }
    }
}

/// State of a registry's skill in the library.
enum Presence {
    /// It is installed, in the folder with this name.
    Installed(SkillName),
    /// Another skill has its name.
    Taken,
    /// Nothing has its name.
    Absent,
}

fn presence(library: &Library, name: &QualifiedName, releases: &[Entry]) -> Presence {
    let skills = library.skills().unwrap_or_default();
    let full = name.to_string();
    // A skill that was written here may have been published from here.
    let is_it = |(folder, head): &&(SkillName, Revision)| match &head.origin {
        Some(origin) => origin.qualified_name().as_ref() == Some(&full),
        None => *folder == name.name && releases.iter().any(|release| release.digest == head.digest),
    };
    match skills.iter().find(is_it) {
        Some((folder, _)) => Presence::Installed(folder.clone()),
        None if skills.iter().any(|(folder, _)| *folder == name.name) => Presence::Taken,
        None => Presence::Absent,
    }
}

/// Prints the next command, if there is one that applies to this library.
fn next_step(name: &QualifiedName, presence: &Presence, is_offered: bool, out: &mut Page) -> io::Result<()> {
    match (presence, is_offered) {
        (Presence::Installed(folder), _) => out.message(format_args!("Already installed: skillhub status {folder}")),
        (Presence::Taken, true) => out.message(format_args!(
            "Install it beside the installed {}: skillhub install {name} --as {}-{}",
            name.name, name.owner, name.name
        )),
        (Presence::Absent, true) => out.message(format_args!("Install it: skillhub install {name}")),
        (_, false) => Ok(()),
    }
}

/// Returns the registry's warning about a release, if any.
fn flag_of(entry: &Entry) -> Option<String> {
    let withdrawn = entry.withdrawn.as_ref().map(|withdrawn| format!("withdrawn: {}", withdrawn.reason));
    let quarantined = || entry.quarantined().map(|notice| format!("quarantined: {}", notice.reason));
    let held = || entry.held().map(|notice| format!("on hold: {}", notice.reason));
    let yanked = || entry.yanked.then(|| "yanked".to_owned());
    let with_reason = || entry.yanked_reason().map(|reason| format!("yanked: {reason}"));
    withdrawn.or_else(quarantined).or_else(held).or_else(with_reason).or_else(yanked)
}

/// Formats the publisher's results for a release that was forked from another.
pub fn results_lines(from: &ForkedFrom) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(OutcomeCounts { runs, successes, failures, unknown }) = from.outcomes {
        let percent = |rate: f64| format!("{:.0}", rate * 100.0);
        let known = successes.saturating_add(failures);
        let (low, high) = wilson(successes, known);
        let rate = match successes {
            0 => String::new(),
            _ => format!(
                ", {} % ({} to {} % at 95 %)",
                percent(f64::from(successes) / f64::from(known)),
                percent(low),
                percent(high)
            ),
        };
        let counts = format!("{successes} succeeded, {failures} failed, {unknown} unknown");
        lines.push(format!("{} before publication: {counts}{rate}", counted(runs, "run")));
    }
    if let Some(EvalCounts { cases, wins, losses, ties }) = from.evals {
        lines.push(format!(
            "on {} against {}: better in {}, worse in {losses}, the same in {ties}",
            counted(cases, "case"),
            visible(&from.to_string()),
            counted(wins, "pair")
        ));
    }
    lines
}

/// Formats the origin of a fork as JSON, with rates computed from the counts.
fn fork(entry: &registry_index::Entry) -> Option<Value> {
    let from = entry.forked_from.as_ref()?;
    let outcomes = from.outcomes.map(|OutcomeCounts { runs, successes, failures, unknown }| {
        Count { runs, successes, failures, unknown }.document(false)
    });
    Some(json!({
        "version": entry.version.to_string(), "name": from.name, "digest": from.digest,
        "outcomes": outcomes, "evals": from.evals,
    }))
}

/// Formats a fork of the skill as JSON.
fn forked_by(entry: &Entry) -> Value {
    let from = entry.forked_from.as_ref().and_then(|from| from.version.as_ref());
    let (name, version) = (entry.name.to_string(), entry.version.to_string());
    json!({"name": name, "version": version, "from": from, "published_at": entry.published_at.to_string()})
}

/// Formats the newest fork of each owner, one line each.
fn forks_lines(forks: &[Entry]) -> Vec<String> {
    let newest =
        forks.iter().enumerate().filter(|(at, fork)| forks.get(at + 1).is_none_or(|next| next.name != fork.name));
    let mut lines: Vec<String> = newest
        .take(FORKS)
        .map(|(_, fork)| {
            let from = fork.forked_from.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("Fork: {} {} {FAINT}from {}{FAINT:#}", fork.name, fork.version, visible(&from))
        })
        .collect();
    if lines.len() == FORKS {
        lines.push(format!("{FAINT}--json has all forks{FAINT:#}"));
    }
    lines
}

/// Formats the signature of one release as JSON.
fn document(entry: &registry_index::Entry, signed: &Signed) -> Value {
    let key = match signed {
        Signed::With(key) => Some(key),
        _ => None,
    };
    let owner = key.map(|_| entry.name.owner.as_str());
    json!({"version": entry.version.to_string(), "by": owner, "key": key, "fault": signed.fault()})
}
