//! `skillhub sync` exchanges a library with a person's other machines.

use std::collections::BTreeMap;

use clap::Args;
use client::{RunCounts, SyncChange, SyncRequest, Synced, SyncedSkill};
use evolve::Stats;
use library::{ChangeDetection, FolderStatus, Library, LibraryError, RevisionId};
use serde_json::{Value, json};
use skill::{SkillName, counted};

use crate::{
    context::Context,
    exit::{CliError, Exit, failed},
    print::{FAINT, GOOD, STRONG, WARN, shell_word, visible},
};

/// Flags of `sync`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub sync git@example.com:ann/skills.git   the first time on each machine
  skillhub sync                                  afterwards
  skillhub sync --dry-run                        show what would be received and sent

The remote is an empty git repository of your own, or a folder with a bare one. Revisions, pins, reviews,
open proposals and counts of outcomes are exchanged. Changes of two machines are merged; a conflict becomes
a proposal, see `skillhub review`. Content is scanned before it takes effect. Configuration, policy,
waivers and keys stay on each machine. For people; see `skillhub reviewer --help` for scripts.")]
pub struct SyncArgs {
    /// Git URL or folder of the remote [default: the one used before]
    remote: Option<String>,
    /// Show what would be received and sent, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Synchronises the library and prints what changed.
pub fn run(context: &Context, args: &SyncArgs) -> Result<Exit, CliError> {
    let reviewer = context.reviewer("sync a library")?;
    let mut library = context.library()?;
    let request = SyncRequest {
        remote: args.remote.as_deref(),
        base: &context.cwd,
        stamp: library::Stamp::new(reviewer.actor().clone(), context.now),
        dry_run: args.dry_run,
        count_runs: &|library, skill| count_runs(context, library, skill),
    };
    let mut synced = client::sync(&mut library, &request).map_err(failed)?;
    let changed = |row: &&SyncedSkill| matches!(row.change, SyncChange::Received | SyncChange::Merged);
    for row in synced.skills.iter().filter(changed).filter(|_| !args.dry_run) {
        context.refresh_lock(&library, &row.skill);
    }
    synced.warnings.extend(hand_edits(&library)?);
    synced.warnings.iter().for_each(|warning| context.out.note(warning));
    print(context, &library, &synced, args.dry_run)?;
    let is = |change| synced.skills.iter().any(|row| row.change == change);
    Ok(match () {
        () if is(SyncChange::Blocked) => Exit::Blocked,
        () if is(SyncChange::Refused) => Exit::Invalid,
        () => Exit::Done,
    })
}

/// Returns a warning about each hand edit. Only revisions are exchanged.
fn hand_edits(library: &Library) -> Result<Vec<String>, LibraryError> {
    let skills = library.summaries(ChangeDetection::Contents)?.into_iter();
    let edited = skills.filter(|skill| skill.head.is_some() && matches!(skill.standing, FolderStatus::Modified));
    let warning =
        |name: SkillName| format!("{name} has a hand edit, which is not sent: skillhub commit {name} --reason TEXT");
    Ok(edited.map(|skill| warning(skill.name)).collect())
}

/// Counts the runs with each revision of a skill.
fn count_runs(
    context: &Context,
    library: &Library,
    skill: &SkillName,
) -> Result<BTreeMap<RevisionId, RunCounts>, LibraryError> {
    let stats = Stats::of(library, skill, context.now)?;
    let counts = stats.revisions.into_iter().map(|of| {
        let count = of.count;
        (of.revision.id, [count.runs, count.successes, count.failures, count.unknown])
    });
    Ok(counts.collect())
}

fn print(context: &Context, library: &Library, synced: &Synced, dry_run: bool) -> Result<(), CliError> {
    let is_complete = !synced.skills.iter().any(|row| row.change >= SyncChange::Refused);
    let document = json!({
        "ok": is_complete, "library": library.path(), "remote": synced.remote, "machine": synced.machine,
        "machines": synced.machines, "dry_run": dry_run, "warnings": synced.warnings,
        "skills": synced.skills.iter().map(row_document).collect::<Vec<_>>(),
    });
    context.out.answer(&document, |out| {
        for row in &synced.skills {
            let style = if row.change < SyncChange::Conflict { GOOD } else { WARN };
            let (would, colon) = if dry_run { ("would be ", ":") } else { ("", "") };
            // The number of a revision that does not exist yet is not known.
            let number = row
                .number
                .filter(|_| !dry_run || row.change != SyncChange::Merged)
                .map(|number| format!(" revision {number}"))
                .unwrap_or_default();
            let why = row.message.as_deref().map(|why| format!(": {}", visible(why))).unwrap_or_default();
            let (word, name) = (row.change.as_str(), &row.skill);
            writeln!(
                out,
                "{style}{would}{word}{colon}{style:#} {STRONG}{name}{STRONG:#}{FAINT}{number}{FAINT:#}{why}"
            )?;
            if let Some(next) = next_step(library, row) {
                writeln!(out, "  {FAINT}{next}{FAINT:#}")?;
            }
        }
        let (machines, remote) = (counted(synced.machines, "machine"), visible(&synced.remote));
        if synced.skills.is_empty() {
            return writeln!(out, "Nothing to exchange with {remote} ({machines})");
        }
        writeln!(out, "{FAINT}{machines} at {remote}{FAINT:#}")
    })?;
    Ok(())
}

/// Returns the command that shows or settles what a sync left.
fn next_step(library: &Library, row: &SyncedSkill) -> Option<String> {
    match (row.change, &row.proposal) {
        (SyncChange::Conflict, Some(id)) => Some(format!("decide about it in a terminal: skillhub review show {id}")),
        (SyncChange::Blocked, _) => {
            let history = shell_word(&library.history_path().display().to_string());
            Some(format!("look at it: git --git-dir {history} show refs/sync/skills/{}", row.skill))
        }
        (SyncChange::Refused, _) => Some(format!("look at the skill: skillhub status {}", row.skill)),
        _ => None,
    }
}

fn row_document(row: &SyncedSkill) -> Value {
    json!({
        "name": row.skill.as_str(), "change": row.change.as_str(), "revision": row.revision, "number": row.number,
        "proposal": row.proposal.as_ref().map(ToString::to_string), "message": row.message,
        "findings": row.report.as_ref().map(|report| &report.findings),
    })
}
