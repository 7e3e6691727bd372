//! [`watcher`]: the command of the user's configuration that is told what becomes of proposals.
//!
//! It gets one JSON document for each event on its standard input and a bounded time. Whether it fails changes nothing
//! of what it is told of. Only the configuration of the home can name one, so that none arrives with a project.

use std::{
    io::Write,
    path::Path,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use client::NotifyConfig;
use library::{Event, Watcher, child};
use serde_json::json;

use crate::setup::Setup;

/// Set for the command, so that what it does itself tells nobody.
const WITHIN: &str = "SKILLHUB_NOTIFYING";
/// How often it is looked whether the command has ended.
const LOOK: Duration = Duration::from_millis(10);
/// The most seconds that it may take.
const MOST_SECONDS: u64 = 60;

/// The one that runs the command; none where the configuration names none.
pub(crate) fn watcher(config: &NotifyConfig, setup: &Setup) -> Option<Watcher> {
    if config.command.is_empty() || (setup.variables)(WITHIN).is_some() {
        return None;
    }
    let (config, note) = (config.clone(), setup.note.clone());
    Some(Watcher::new(move |library, events| {
        for event in events.iter().filter(|event| is_wanted(&config, event)) {
            if let Err(why) = tell(&config, library, event) {
                note(&format!("the change stands, but the command of [notify] was not told of it: {why}"));
            }
        }
    }))
}

fn word(event: &Event) -> String {
    serde_json::to_value(event.status).ok().and_then(|word| Some(word.as_str()?.to_owned())).unwrap_or_default()
}

fn is_wanted(config: &NotifyConfig, event: &Event) -> bool {
    config.events.is_empty() || config.events.contains(&word(event))
}

fn tell(config: &NotifyConfig, library: &Path, event: &Event) -> Result<(), String> {
    let Some((program, arguments)) = config.command.split_first() else { return Ok(()) };
    let document = json!({
        "v": 1, "event": word(event), "proposal": event.proposal, "name": event.skill, "action": event.action,
        "actor": event.actor, "reason": event.reason, "run": event.run, "thread": event.thread, "time": event.time,
        "revision": event.revision, "message": event.message, "library": library,
    });
    let mut command = child::command(program);
    command.args(arguments).env(WITHIN, "1");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("cannot run {program:?}: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        let text = format!("{document}\n");
        // Whoever reads nothing holds nobody up.
        thread::spawn(move || drop(stdin.write_all(text.as_bytes())));
    }
    wait(&mut child, Duration::from_secs(config.timeout_seconds.clamp(1, MOST_SECONDS)))
}

/// Waits for the end of a process, and ends it when that takes too long.
fn wait(child: &mut Child, limit: Duration) -> Result<(), String> {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("it ended with {status}")),
            Ok(None) if started.elapsed() < limit => thread::sleep(LOOK),
            Ok(None) => {
                let _gone_already = child.kill();
                let _reaped = child.wait();
                return Err(format!("it took longer than {} s", limit.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}
