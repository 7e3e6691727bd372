//! `skillhub log` lists all changes and refusals.

use std::num::NonZeroUsize;

use clap::Args;
use library::{Event, EventStatus};
use serde_json::json;
use skill::counted;

use crate::{
    context::Context,
    exit::{CliError, Exit},
    print::{BAD, FAINT, GOOD, STRONG, WARN, action_word, stored_past_time, stored_time, visible},
};

/// Flags of `log`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skillhub log
  skillhub log my-skill --limit 20")]
pub struct LogArgs {
    /// Skill [default: all]
    name: Option<String>,
    /// Show only the newest N
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroUsize>,
}

/// Lists the events, newest first.
pub fn run(context: &Context, args: &LogArgs) -> Result<Exit, CliError> {
    let name = args.name.as_deref().map(|name| context.skill_called(name)).transpose()?;
    let (mut events, unreadable) = context.library()?.events()?;
    let is_seen = context.seen()?;
    events.retain(|event| is_seen(&event.skill));
    events.retain(|event| name.as_ref().is_none_or(|name| event.skill == name.as_str()));
    events.reverse();
    events.truncate(args.limit.map_or(usize::MAX, NonZeroUsize::get));
    events.iter_mut().for_each(|event| event.time = stored_time(&event.time));
    if unreadable > 0 {
        context.out.note(&format!("{} in the event log could not be read", counted(unreadable, "line")));
    }
    let text = || match (events.is_empty(), &name) {
        (true, Some(name)) => format!("No operations on {name}\n"),
        (true, None) => "No operations yet\n".to_owned(),
        (false, _) => events.iter().map(text).collect(),
    };
    context.out.long_answer(&json!({"ok": true, "events": events, "unreadable": unreadable}), text)
}

fn text(event: &Event) -> String {
    let (style, word) = match event.status {
        EventStatus::Applied => (GOOD, "applied"),
        EventStatus::Refused => (BAD, "refused"),
        EventStatus::Set => (GOOD, "set"),
        EventStatus::Proposed => (WARN, "proposed"),
        EventStatus::Amended => (WARN, "amended"),
        EventStatus::Accepted => (GOOD, "accepted"),
        EventStatus::Rejected => (BAD, "rejected"),
        EventStatus::Stale => (WARN, "stale"),
        EventStatus::Quarantined => (BAD, "quarantined"),
        EventStatus::Expired => (WARN, "expired"),
        EventStatus::Superseded => (WARN, "superseded"),
        EventStatus::Promoted => (GOOD, "promoted"),
        EventStatus::RolledBack => (BAD, "rolled back"),
        EventStatus::Inconclusive => (WARN, "inconclusive"),
        EventStatus::Alarmed => (WARN, "alarmed"),
    };
    let revision = event.revision.as_ref().map(|id| id.short().to_owned());
    let of_proposal = event.proposal.as_ref().map(|id| format!("proposal {id}"));
    let result: Vec<String> = revision.into_iter().chain(of_proposal).collect();
    let result = result.join("  ");
    let mut text = format!(
        "{FAINT}{:<14}{FAINT:#}  {style}{word:<8}{style:#}  {:<11} {STRONG}{}{STRONG:#}  {}  {FAINT}{result}{FAINT:#}\n",
        stored_past_time(&event.time),
        action_word(&event.action),
        event.skill,
        event.actor,
    );
    if let (Some(code), Some(message)) = (&event.code, &event.message) {
        text.push_str(&format!("    {code}: {}\n", visible(message)));
    }
    if let Some(reason) = &event.reason {
        text.push_str(&format!("    {}\n", visible(&reason.replace('\n', " "))));
    }
    text
}
