//! [`Event`]: one line of the log of everything that was done or refused.

mod aside;

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    sync::atomic::{AtomicU64, Ordering},
};

use cap_std::fs::{Dir, OpenOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use skill::objects_and_commas;

use crate::{
    disk::{Durability, random_process_id, read_optional, sync_folder, write_atomically},
    proposal_id::ProposalId,
    revision::{Before, Revision, RevisionId, Stamp},
    state::SkillState,
};

use aside::InPlace;
pub(crate) use aside::{alone, damaged, has_gap, put_aside};

/// The log in use.
pub(crate) const FILE: &str = "events.jsonl";

/// How many bytes at the end are looked at first for the beginning of the last line.
const TAIL_BYTES: u64 = 4096;

/// Bytes of a line whose values are counted before it is read, and the most that it may then have.
const LONG_BYTES: usize = 64 << 10;

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
    /// The gate made the revision that was on trial the skill's newest.
    Promoted,
    /// The gate took a revision back, or out of its trial.
    RolledBack,
    /// The gate ended a trial that showed nothing.
    Inconclusive,
    /// The gate saw what a person has to decide about.
    Alarmed,
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
    /// All that is set for the skill since, as `state.toml` has it: a lost state is made again of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Value>,
    /// What stood before that no revision holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
    /// What the gate decided, with its numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Value>,
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
            set: None,
            before: None,
            decision: None,
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

    /// The gate decided about a revision.
    #[must_use]
    pub fn decided(stamp: &Stamp, skill: &str, status: EventStatus, revision: &RevisionId, decision: Value) -> Self {
        let event = Self::new(stamp, operation_id(stamp), skill, "gate", status);
        Self { revision: Some(revision.clone()), decision: Some(decision), ..event }
    }

    /// A setting of a skill changed to this.
    #[must_use]
    pub fn set(stamp: &Stamp, skill: &str, action: &str, state: &SkillState) -> Self {
        let event = Self::new(stamp, operation_id(stamp), skill, action, EventStatus::Set);
        Self { set: serde_json::to_value(state).ok(), ..event }
    }
}

/// An id for an operation: its time in nanoseconds, a random number of the process and a count, so that two never
/// share one, not even with one stamp.
#[must_use]
pub fn operation_id(stamp: &Stamp) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{:x}-{count:x}", stamp.time.as_nanosecond(), random_process_id())
}

/// Adds events to the log in a library's folder of the home, one writer at a time. A line without its
/// end is what a killed process left of one that it never reported, and goes.
pub(crate) fn append(dir: &Dir, events: &[Event]) -> io::Result<()> {
    let _in_place = InPlace::to_write(dir)?;
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    let mut file = dir.open_with(FILE, &options)?.into_std();
    file.lock()?;
    let mut lines = drop_cut_line(&mut file)?;
    for event in events {
        serde_json::to_writer(&mut lines, event)?;
        lines.push(b'\n');
    }
    let before = file.metadata()?.len();
    let written = file.write_all(&lines);
    if written.is_err() {
        let _best_effort = file.set_len(before);
    }
    written
}

/// Takes away what stands after the last end of a line; where that is a whole event, the end that it
/// still needs is returned.
fn drop_cut_line(file: &mut File) -> io::Result<Vec<u8>> {
    let len = file.metadata()?.len();
    let mut from = len;
    let mut tail = Vec::new();
    while from > 0 && !tail.contains(&b'\n') {
        from = from.saturating_sub(TAIL_BYTES.max(len - from));
        file.seek(SeekFrom::Start(from))?;
        tail.clear();
        tail.reserve((len - from) as usize);
        Read::take(&mut *file, len - from).read_to_end(&mut tail)?;
    }
    let cut = tail.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    if event_of(cut).is_some() {
        return Ok(b"\n".to_vec());
    }
    if !cut.is_empty() {
        file.set_len(len - cut.len() as u64)?;
    }
    Ok(Vec::new())
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

/// Makes the log durable, and its name, which may be new.
pub(crate) fn sync(dir: &Dir) -> io::Result<()> {
    match dir.open(FILE) {
        Ok(file) => file.sync_all().and_then(|()| sync_folder(dir)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// All events, oldest first, and the number of lines that could not be read. What stands after the last
/// end of a line is none, unless it is a whole event: see [`append`].
pub(crate) fn read(dir: &Dir) -> io::Result<(Vec<Event>, usize)> {
    let _in_place = InPlace::to_read(dir);
    let mut events = Vec::new();
    let mut unreadable = 0;
    let in_use = read_optional(dir, FILE)?.unwrap_or_default();
    for part in aside::read(dir)?.into_iter().chain([Ok(in_use)]) {
        let Ok(bytes) = part else {
            unreadable += 1;
            continue;
        };
        let (of_part, unreadable_of_part) = parse(&bytes);
        events.extend(of_part);
        unreadable += unreadable_of_part;
    }
    Ok((events, unreadable))
}

/// The newest revision that the log says one of these skills came to, with its name. For one skill only the lines
/// with its name are parsed.
pub(crate) fn last_applied(dir: &Dir, skills: &BTreeSet<&str>) -> io::Result<Option<(String, RevisionId)>> {
    let only = skills.first().filter(|_| skills.len() == 1);
    let _in_place = InPlace::to_read(dir);
    let in_use = read_optional(dir, FILE)?.unwrap_or_default();
    let newest = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.lines().rev().filter(|line| only.is_none_or(|name| line.contains(name)));
        let mut events = lines.filter_map(|line| event_of(line.as_bytes()));
        let is_applied = |event: &Event| skills.contains(&*event.skill) && event.status == EventStatus::Applied;
        events.find_map(|event| Some((event.skill.clone(), event.revision.clone().filter(|_| is_applied(&event))?)))
    };
    if let Some(found) = newest(&in_use) {
        return Ok(Some(found));
    }
    let older: Vec<_> = aside::read(dir)?.into_iter().flatten().collect();
    Ok(older.iter().rev().find_map(|bytes| newest(bytes)))
}

/// Leaves the lines in the log that can be read, and says how many it dropped. The caller has the log
/// [`alone`].
pub(crate) fn drop_bad_lines(dir: &Dir) -> io::Result<usize> {
    let bytes = read_optional(dir, FILE)?.unwrap_or_default();
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let (good, bad): (Vec<&[u8]>, Vec<&[u8]>) = lines.partition(|line| event_of(line).is_some());
    write_atomically(dir, FILE, &good.concat(), Durability::Durable)?;
    Ok(bad.len())
}

/// The event of a line. One that is long and has more values than any event would take many times its bytes of memory.
fn event_of(line: &[u8]) -> Option<Event> {
    let is_flood = line.len() > LONG_BYTES && objects_and_commas(line).1 > LONG_BYTES;
    if is_flood { None } else { serde_json::from_slice(line).ok() }
}

fn parse(bytes: &[u8]) -> (Vec<Event>, usize) {
    let mut events = Vec::new();
    let mut unreadable = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| *line != b"\n") {
        match event_of(line) {
            Some(event) => events.push(event),
            None => unreadable += usize::from(line.ends_with(b"\n")),
        }
    }
    (events, unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_of_many_values_is_unreadable() {
        let head = r#"{"v":1,"time":"2026-01-02T03:04:05Z","operation":"1","skill":"a","action":"pin","status":"set","actor":"agent:a","set":["#;
        let line = |values: usize| format!("{head}{}0]}}\n", "0,".repeat(values));
        let (events, unreadable) = parse([line(LONG_BYTES / 2), line(2 * LONG_BYTES)].concat().as_bytes());
        assert_eq!((events.len(), unreadable), (1, 1));
    }

    #[test]
    fn a_line_that_was_cut_at_any_byte_is_written_again() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        let event: Event = serde_json::from_str(
            r#"{"v":1,"time":"2026-01-02T03:04:05Z","operation":"1-2","skill":"a","action":"create",
            "status":"applied","actor":"agent:a"}"#,
        )
        .unwrap();
        let long = "x".repeat(TAIL_BYTES as usize + 10);
        let events = [("a", "short"), ("b", &long), ("c", "short")].map(|(skill, reason)| Event {
            skill: skill.to_owned(),
            reason: Some(reason.to_owned()),
            ..event.clone()
        });
        append(&dir, &events).unwrap();
        let whole = dir.read(FILE).unwrap();
        for cut in (0..=whole.len()).filter(|cut| cut % 7 == 0 || *cut + 5 > whole.len()) {
            dir.write(FILE, &whole[..cut]).unwrap();
            assert_eq!(read(&dir).unwrap().1, 0, "a line without its end is no damage: cut at {cut}");
            append_missing(&dir, &events).unwrap();
            let lines = dir.read(FILE).unwrap();
            assert!(lines.trim_ascii_end() == whole.trim_ascii_end(), "cut at {cut}");
        }
        dir.write(FILE, [b"no event\n", whole.as_slice()].concat()).unwrap();
        append_missing(&dir, &events).unwrap();
        assert_eq!(read(&dir).unwrap(), (events.to_vec(), 1), "a damaged line stays and is counted");
    }
}
