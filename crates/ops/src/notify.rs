//! Notification of the user's `[notify]` command about proposals and decisions of the gate.
//!
//! The command gets one JSON document per event on its standard input, and has a timeout. Its failure does not affect
//! the operation that it reports. Only the configuration in the home can define it, so a project cannot bring its own.

use std::{path::Path, time::Duration};

use client::NotifyConfig;
use library::{Event, EventStatus, RevisionId, Watcher};
use process::{BoundedCommand, ExitReason, Membership, child};
use schemars::JsonSchema;
use serde::Serialize;

use crate::setup::Setup;

/// Set for the command, so that its own operations trigger no notifications.
const WITHIN: &str = "SKILLHUB_NOTIFYING";
/// Upper limit of the configured timeout, in seconds.
const MOST_SECONDS: u64 = 60;

/// Creates the watcher that runs the command. Returns `None` if the configuration names no command.
pub(crate) fn watcher(config: &NotifyConfig, setup: &Setup) -> Option<Watcher> {
    if config.command.is_empty() || (setup.variables)(WITHIN).is_some() {
        return None;
    }
    let (config, note) = (config.clone(), setup.note.clone());
    Some(Watcher::new(move |library, events| {
        for event in events.iter().filter(|event| is_wanted(&config, event)) {
            if let Err(why) = tell(&config, library, event) {
                note(&format!("the change was made, but the command of [notify] failed: {why}"));
            }
        }
    }))
}

/// Document that the command of `[notify]` reads, on one line.
#[derive(Debug, Serialize, JsonSchema)]
struct Notice<'a> {
    /// Version of this form, currently 1.
    v: u32,
    /// Event of a proposal: `proposed`, `amended`, `accepted`, `rejected`, `stale`, `quarantined`, `expired` or
    /// `superseded`. Decision of the gate: `promoted`, `rolled_back`, `inconclusive` or `alarmed`.
    #[schemars(with = "String")]
    event: EventStatus,
    /// Id of the proposal.
    proposal: Option<&'a str>,
    /// Name of the skill.
    name: &'a str,
    /// Action that was asked for, such as `edit`.
    action: &'a str,
    /// Who acted, as `kind:id`.
    actor: &'a str,
    /// Reason in the actor's words.
    reason: Option<&'a str>,
    /// Id of the agent's run.
    run: Option<&'a str>,
    /// Id of the conversation.
    thread: Option<&'a str>,
    /// Time in RFC 3339, UTC.
    time: &'a str,
    /// Revision that was made or judged.
    revision: Option<&'a str>,
    /// Further explanation. For an alarm and a rollback, the skill and the reason in a sentence.
    message: Option<&'a str>,
    /// Path of the skill's library.
    library: &'a Path,
}

impl<'a> Notice<'a> {
    fn of(event: &'a Event, library: &'a Path) -> Self {
        Self {
            v: 1,
            event: event.status,
            proposal: event.proposal.as_deref(),
            name: &event.skill,
            action: &event.action,
            actor: &event.actor,
            reason: event.reason.as_deref(),
            run: event.run.as_deref(),
            thread: event.thread.as_deref(),
            time: &event.time,
            revision: event.revision.as_ref().map(RevisionId::as_str),
            message: event.message.as_deref(),
            library,
        }
    }
}

fn is_wanted(config: &NotifyConfig, event: &Event) -> bool {
    let name = serde_json::to_value(event.status).ok();
    config.events.is_empty() || name.is_some_and(|name| config.events.iter().any(|wanted| name == **wanted))
}

fn tell(config: &NotifyConfig, library: &Path, event: &Event) -> Result<(), String> {
    let Some((program, arguments)) = config.command.split_first() else { return Ok(()) };
    let document = serde_json::to_string(&Notice::of(event, library)).map_err(|error| error.to_string())?;
    let mut command = child::command(program);
    command.args(arguments).env(WITHIN, "1");
    let seconds = config.timeout_seconds.clamp(1, MOST_SECONDS);
    let (input, membership) = (format!("{document}\n").into_bytes(), Membership::Ours);
    let order = BoundedCommand { input, membership, ..BoundedCommand::new(command, Duration::from_secs(seconds)) };
    let done = process::run(order, || false).map_err(|error| format!("cannot run {program:?}: {error}"))?;
    match (done.ended, done.exit) {
        (ExitReason::TimedOut, _) => Err(format!("it took longer than {seconds} s")),
        (_, Some(0)) => Ok(()),
        (_, Some(code)) => Err(format!("it ended with exit code {code}")),
        (_, None) => Err("a signal ended it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notice_has_the_published_schema() {
        testkit::assert_published::<Notice<'_>>("notify");
    }
}
