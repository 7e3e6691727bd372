//! [`Event`]: one line of the log of everything that was done or refused.

use std::{
    collections::BTreeSet,
    io::{self, Read, Seek, SeekFrom, Write},
    sync::atomic::{AtomicU64, Ordering},
};

use cap_std::fs::{Dir, File, OpenOptions};
use serde::{Deserialize, Serialize};

use crate::{
    home::read_optional,
    proposals::ProposalId,
    revision::{Revision, RevisionId, Stamp},
};

const FILE: &str = "events.jsonl";

/// How an operation ended for one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventStatus {
    /// It became a revision.
    Applied,
    /// It was refused and nothing changed.
    Refused,
    /// A setting of the skill changed, such as whether it is enabled.
    Set,
    /// It was held and became a proposal.
    Proposed,
    /// It was held and changed a proposal that waits.
    Amended,
    /// A proposal became a revision.
    Accepted,
    /// A proposal was turned down or withdrawn.
    Rejected,
    /// A proposal was found not to fit the skill any more.
    Stale,
    /// A proposal was found to be blocked by the scanner of today.
    Quarantined,
    /// A proposal was found to have waited too long.
    Expired,
    /// A proposal was found to be in the skill already.
    Superseded,
}

/// One thing that was done to a skill, or refused. Operations on several skills make several events
/// with one `operation`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The format's version.
    pub v: u32,
    /// When, RFC 3339 in UTC.
    pub time: String,
    /// The operation that it belongs to.
    pub operation: String,
    /// The skill.
    pub skill: String,
    /// What was asked for.
    pub action: String,
    /// How it ended.
    pub status: EventStatus,
    /// Who, `kind:id`.
    pub actor: String,
    /// Why, in the actor's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The run in which it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The conversation in which it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The revision that it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<RevisionId>,
    /// The head before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<RevisionId>,
    /// The error's code, when it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The error's message, when it was refused, or what was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The proposal that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
}

impl Event {
    fn new(stamp: &Stamp, operation: String, skill: &str, action: &str, status: EventStatus) -> Self {
        Self {
            v: 1,
            time: stamp.time.to_string(),
            operation,
            skill: skill.to_owned(),
            action: action.to_owned(),
            status,
            actor: stamp.actor.to_string(),
            reason: stamp.reason.clone(),
            run: stamp.run.clone(),
            thread: stamp.thread.clone(),
            revision: None,
            previous: None,
            code: None,
            message: None,
            proposal: None,
        }
    }

    /// A revision was made.
    #[must_use]
    pub fn applied(operation: &str, skill: &str, revision: &Revision) -> Self {
        let action = revision.action.as_str();
        let event = Self::new(&revision.stamp, operation.to_owned(), skill, action, EventStatus::Applied);
        Self { revision: Some(revision.id.clone()), previous: revision.parent.clone(), ..event }
    }

    /// Something was refused with an error.
    #[must_use]
    pub fn refused(stamp: &Stamp, skill: &str, action: &str, code: &str, message: &str) -> Self {
        let event = Self::new(stamp, operation_id(stamp), skill, action, EventStatus::Refused);
        Self { code: Some(code.to_owned()), message: Some(message.to_owned()), ..event }
    }

    /// A proposal came to be, or to another state.
    #[must_use]
    pub fn proposal(stamp: &Stamp, skill: &str, action: &str, status: EventStatus, id: &ProposalId) -> Self {
        let event = Self::new(stamp, operation_id(stamp), skill, action, status);
        Self { proposal: Some(id.to_string()), ..event }
    }

    /// A setting of a skill changed.
    #[must_use]
    pub fn set(stamp: &Stamp, skill: &str, action: &str) -> Self {
        Self::new(stamp, operation_id(stamp), skill, action, EventStatus::Set)
    }
}

/// An id for an operation: its time in nanoseconds, the process and a count, so that two never share
/// one, not even with one stamp.
#[must_use]
pub fn operation_id(stamp: &Stamp) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{:x}-{count:x}", stamp.time.as_nanosecond(), std::process::id())
}

/// Adds events to the log in a library's folder of the home. One write, so that lines of several
/// processes do not mix; on a line of its own, also after one that a crash cut.
pub(crate) fn append(dir: &Dir, events: &[Event]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    let mut file = dir.open_with(FILE, &options)?;
    let mut lines = Vec::new();
    if is_cut(&mut file)? {
        lines.push(b'\n');
    }
    for event in events {
        serde_json::to_writer(&mut lines, event)?;
        lines.push(b'\n');
    }
    file.write_all(&lines)
}

/// Whether the last line has no end.
fn is_cut(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Adds those events that the log does not have yet.
pub(crate) fn append_missing(dir: &Dir, events: &[Event]) -> io::Result<()> {
    let key = |event: &Event| {
        let what = (event.status, event.proposal.clone());
        (event.operation.clone(), event.skill.clone(), event.revision.clone(), what)
    };
    let known: BTreeSet<_> = read(dir)?.0.iter().map(key).collect();
    let missing: Vec<Event> = events.iter().filter(|event| !known.contains(&key(event))).cloned().collect();
    if missing.is_empty() { Ok(()) } else { append(dir, &missing) }
}

/// Makes the log durable.
pub(crate) fn sync(dir: &Dir) -> io::Result<()> {
    match dir.open(FILE) {
        Ok(file) => file.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// All events, oldest first, and the number of lines that could not be read.
pub(crate) fn read(dir: &Dir) -> io::Result<(Vec<Event>, usize)> {
    let bytes = read_optional(dir, FILE)?.unwrap_or_default();
    let mut events = Vec::new();
    let mut unreadable = 0;
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(event) => events.push(event),
            Err(_) => unreadable += 1,
        }
    }
    Ok((events, unreadable))
}
