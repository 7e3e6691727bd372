//! `skillhub history`: a skill's revisions.

use std::num::NonZeroUsize;

use clap::Args;
use library::{Actor, Origin, Revision, RevisionId};
use scan::Verdict;
use serde::{Serialize, Serializer};

use crate::{
    context::{Context, skill_name},
    exit::{CliError, Exit},
    print::{FAINT, STRONG, time, verdict_style, visible},
};

/// Flags of `history`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub history my-skill
  skillhub history my-skill --limit 5 --json")]
pub struct HistoryArgs {
    /// The skill
    name: String,
    /// Show at most so many, the newest
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroUsize>,
}

/// Lists them, newest first.
pub fn run(context: &Context, args: &HistoryArgs) -> Result<Exit, CliError> {
    let name = skill_name(&args.name)?;
    let library = context.library()?;
    let revisions = library.revisions(&name, args.limit.map_or(usize::MAX, NonZeroUsize::get))?;
    if revisions.is_empty() {
        return Err(library::FindError::NoSkill(name).into());
    }
    let document = Document { ok: true, name: name.as_str(), revisions: &revisions };
    context.out.long_answer(&document, || revisions.iter().map(text).collect())?;
    Ok(Exit::Done)
}

/// The answer, whose revisions become JSON one by one: there may be very many.
#[derive(Serialize)]
struct Document<'a> {
    ok: bool,
    name: &'a str,
    #[serde(serialize_with = "one_by_one")]
    revisions: &'a [Revision],
}

fn one_by_one<S: Serializer>(revisions: &[Revision], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(revisions.iter().map(Row::from))
}

/// A revision as JSON.
#[derive(Serialize)]
struct Row<'a> {
    number: u64,
    revision: &'a RevisionId,
    parent: Option<&'a RevisionId>,
    time: String,
    action: &'static str,
    actor: &'a Actor,
    reason: Option<&'a str>,
    run: Option<&'a str>,
    thread: Option<&'a str>,
    origin: Option<&'a Origin>,
    verdict: Verdict,
    ruleset: &'a str,
    digest: String,
    files: usize,
    deleted: bool,
    absorbed_into: Option<&'a str>,
    proposal: Option<&'a str>,
    reviewer: Option<String>,
    edited_by: Option<String>,
}

impl<'a> From<&'a Revision> for Row<'a> {
    fn from(revision: &'a Revision) -> Self {
        let stamp = &revision.stamp;
        Self {
            number: revision.number,
            revision: &revision.id,
            parent: revision.parent.as_ref(),
            time: time(stamp.time),
            action: revision.action.as_str(),
            actor: &stamp.actor,
            reason: stamp.reason.as_deref(),
            run: stamp.run.as_deref(),
            thread: stamp.thread.as_deref(),
            origin: revision.origin.as_ref(),
            verdict: revision.verdict,
            ruleset: &revision.ruleset,
            digest: revision.digest.to_string(),
            files: revision.files_changed,
            deleted: revision.tombstone,
            absorbed_into: revision.absorbed_into.as_deref(),
            proposal: revision.acceptance.as_ref().map(|acceptance| acceptance.proposal.as_str()),
            reviewer: revision.acceptance.as_ref().map(|acceptance| acceptance.reviewer.to_string()),
            edited_by: edited_by(revision).map(ToString::to_string),
        }
    }
}

fn edited_by(revision: &Revision) -> Option<&Actor> {
    revision.acceptance.as_ref()?.edited_by.as_ref()
}

/// Who let a proposal become this revision, and who changed it before.
pub fn accepted(revision: &Revision) -> Option<String> {
    let acceptance = revision.acceptance.as_ref()?;
    let edited = acceptance.edited_by.as_ref().map(|actor| format!("edited by {actor}, ")).unwrap_or_default();
    Some(visible(&format!("proposal {} {edited}accepted by {}", acceptance.proposal, acceptance.reviewer)))
}

fn text(revision: &Revision) -> String {
    let stamp = &revision.stamp;
    let style = verdict_style(revision.verdict);
    let files = match revision.files_changed {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let mut text = format!(
        "{STRONG}{:>3}{STRONG:#} {FAINT}{}{FAINT:#}  {}  {:<11} {}  {files}  {style}{}{style:#}\n",
        revision.number,
        revision.id.short(),
        time(stamp.time),
        revision.action.as_str(),
        stamp.actor,
        revision.verdict,
    );
    if let Some(reason) = &stamp.reason {
        text.push_str(&format!("      {}\n", visible(&reason.replace('\n', " "))));
    }
    if let Some(accepted) = accepted(revision) {
        text.push_str(&format!("      {accepted}\n"));
    }
    if let Some(origin) = &revision.origin
        && matches!(revision.action, library::Action::Install | library::Action::Update)
    {
        let release = origin.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        text.push_str(&visible(&format!("      from {}{release} in {}", origin.name, origin.source)));
        text.push('\n');
    }
    text
}
