//! `skillhub history` lists the revisions of a skill.

use std::num::NonZeroUsize;

use clap::Args;
use library::Revision;
use serde_json::Value;
use skill::counted;
use skill_manage::{
    ManageError,
    documents::{self, PastRevision},
};

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{FAINT, Output, STRONG, action_word, past_time, verdict_style, visible},
};

/// Flags of `history`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub history my-skill
  skillhub history my-skill --limit 5 --json
  skillhub history my-skill --jsonl              one JSON line per change, with old and new texts")]
pub struct HistoryArgs {
    /// Skill
    name: String,
    /// Show only the newest N
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroUsize>,
    /// Print one JSON object per line in DeerFlow's format, oldest first
    #[arg(long)]
    jsonl: bool,
}

/// Lists the revisions, newest first.
pub fn run(context: &Context, args: &HistoryArgs) -> Result<Exit, CliError> {
    let name = context.skill_called(&args.name)?;
    let library = context.library_with_past(&name)?;
    let limit = args.limit.map_or(usize::MAX, NonZeroUsize::get);
    if args.jsonl {
        return lines(context.out, documents::lines(&library, name, limit)?);
    }
    let history = documents::history(&library, name, limit)?;
    context.out.long_answer(&history, || history.revisions.iter().map(text).collect())
}

/// Prints each entry as it is produced, because all of them may not fit in memory.
fn lines(out: Output, entries: impl Iterator<Item = Result<Value, ManageError>>) -> Result<Exit, CliError> {
    let out = Output { json: true, ..out };
    for entry in entries {
        out.answer(&entry?, |_| Ok(()))?;
    }
    Ok(Exit::Done)
}

/// Describes the acceptance of the proposal that became this revision: its reviewer, and any editor.
pub fn accepted(revision: &Revision) -> Option<String> {
    let acceptance = revision.acceptance.as_ref()?;
    let edited = acceptance.edited_by.as_ref().map(|actor| format!("edited by {actor}, ")).unwrap_or_default();
    Some(visible(&format!("proposal {} {edited}accepted by {}", acceptance.proposal, acceptance.reviewer)))
}

fn text(PastRevision { revision, merged_from }: &PastRevision) -> String {
    let stamp = &revision.stamp;
    let style = verdict_style(revision.verdict);
    let files = counted(revision.files_changed, "file");
    let mut text = format!(
        "{STRONG}{:>3}{STRONG:#} {FAINT}{}{FAINT:#}  {:<14}  {:<11} {}  {files}  {style}{}{style:#}\n",
        revision.number,
        revision.id.short(),
        past_time(stamp.time),
        action_word(revision.action.as_str()),
        stamp.actor,
        revision.verdict,
    );
    if let Some(reason) = &stamp.reason {
        text.push_str(&format!("      {}\n", visible(&reason.replace('\n', " "))));
    }
    if let Some(accepted) = accepted(revision) {
        text.push_str(&format!("      {accepted}\n"));
    }
    if let Some(origin) = merged_from.as_ref().or(revision.origin.as_ref())
        && matches!(revision.action, library::Action::Install | library::Action::Update)
    {
        let release = origin.version().map(|version| format!(" {version}")).unwrap_or_default();
        text.push_str(&visible(&format!("      from {}{release} in {}", origin.name(), origin.location())));
        text.push('\n');
    }
    text
}
