//! The event log: one line for each operation on a skill, done or refused ([`Event`]).

mod rotation;

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    sync::atomic::{AtomicU64, Ordering},
};

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use skill::objects_and_commas;

use crate::{
    disk::{self, Durability, open_log, random_process_id, read_log, sync_file, sync_folder, write_atomically},
    proposal_id::ProposalId,
    revision::{Revision, RevisionId, Stamp, StateBefore},
    state::SkillState,
};

use rotation::InPlace;
pub(crate) use rotation::{alone, damaged, has_gap, rotate};

/// Name of the active log file.
pub(crate) const FILE: &str = "events.jsonl";

/// Number of bytes at the end of the file that are searched first for the start of the last line.
const TAIL_BYTES: u64 = 4096;

/// Length in bytes from which a line's values are counted before it is parsed, and the limit for their number.
const LONG_BYTES: usize = 64 << 10;

/// Result of an operation for one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventStatus {
    /// A revision was committed.
    Applied,
    /// The operation was refused and nothing changed.
    Refused,
    /// A setting of the skill changed, such as whether it is enabled.
    Set,
    /// The change was held and became a proposal.
    Proposed,
    /// The change was held and amended a pending proposal.
    Amended,
    /// A proposal was accepted and became a revision.
    Accepted,
    /// A proposal was rejected or withdrawn.
    Rejected,
    /// A proposal was found to no longer apply to the skill.
    Stale,
    /// A proposal was found to be blocked by the scanner's current rules.
    Quarantined,
    /// A proposal was found to have exceeded its time limit.
    Expired,
    /// A proposal was found to be in the skill already.
    Superseded,
    /// The gate made the revision on trial the skill's head.
    Promoted,
    /// The gate reverted a revision or ended its trial.
    RolledBack,
    /// The gate ended a trial without a significant result.
    Inconclusive,
    /// The gate found something that needs a decision of a person.
    Alarmed,
}

/// One operation on a skill, done or refused. An operation on several skills makes several events with the same
/// `operation`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Version of the format, currently 1.
    pub v: u32,
    /// Time in RFC 3339, UTC.
    pub time: String,
    /// Id of the operation, see [`operation_id`].
    pub operation: String,
    /// Name of the skill at that time.
    pub skill: String,
    /// Requested action, such as `edit`.
    pub action: String,
    /// Result for this skill.
    pub status: EventStatus,
    /// Actor who requested it, as `kind:id`.
    pub actor: String,
    /// Reason in the actor's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Id of the agent run in which it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Id of the conversation in which it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Revision that the operation created or that the gate decided about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<RevisionId>,
    /// Head before the operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<RevisionId>,
    /// Code of the error, if the operation was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Message of the error, if the operation was refused. Otherwise a note, such as the new setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Id of the proposal concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// All settings of the skill afterwards, as in `state.toml`. A lost state is rebuilt from these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Value>,
    /// State before the operation that no revision records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<StateBefore>,
    /// Decision of the gate with its figures.
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

    /// Creates the event of a committed revision.
    pub fn applied(operation: &str, skill: &str, revision: &Revision) -> Self {
        let action = revision.action.as_str();
        let event = Self::new(&revision.stamp, operation.to_owned(), skill, action, EventStatus::Applied);
        Self { revision: Some(revision.id.clone()), previous: revision.parent.clone(), ..event }
    }

    /// Creates the event of an operation that was refused with an error.
    pub fn refused(stamp: &Stamp, skill: &str, action: &str, code: &str, message: &str) -> Self {
        let event = Self::new(stamp, operation_id(stamp), skill, action, EventStatus::Refused);
        Self { code: Some(code.to_owned()), message: Some(message.to_owned()), ..event }
    }

    /// Creates the event of a proposal that was created or changed its state.
    pub fn proposal(stamp: &Stamp, skill: &str, action: &str, status: EventStatus, id: &ProposalId) -> Self {
        let event = Self::new(stamp, operation_id(stamp), skill, action, status);
        Self { proposal: Some(id.to_string()), ..event }
    }

    /// Creates the event of a decision of the gate about a revision.
    pub fn decided(stamp: &Stamp, skill: &str, status: EventStatus, revision: &RevisionId, decision: Value) -> Self {
        let event = Self::new(stamp, operation_id(stamp), skill, "gate", status);
        Self { revision: Some(revision.clone()), decision: Some(decision), ..event }
    }

    /// Creates the event of a setting that changed, with all settings of the skill.
    pub fn set(stamp: &Stamp, skill: &str, action: &str, state: &SkillState) -> Self {
        let event = Self::new(stamp, operation_id(stamp), skill, action, EventStatus::Set);
        Self { set: serde_json::to_value(state).ok(), ..event }
    }
}

/// Returns a unique id for an operation: its time in nanoseconds, a random number of the process and a counter. Two
/// operations never share an id, even with the same stamp.
pub fn operation_id(stamp: &Stamp) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{:x}-{count:x}", stamp.time.as_nanosecond(), random_process_id())
}

/// Appends events to the log in the library's folder of the home, one writer at a time. An unterminated line is the
/// unreported write of a killed process and is dropped.
pub(crate) fn append(dir: &Dir, events: &[Event]) -> io::Result<()> {
    let _in_place = InPlace::to_write(dir)?;
    let mut file = open_log(dir, FILE)?;
    file.lock()?;
    let mut lines = drop_cut_line(&mut file)?;
    for event in events {
        serde_json::to_writer(&mut lines, event)?;
        lines.push(b'\n');
    }
    let before = file.metadata()?.len();
    let written = disk::append(&file, &lines);
    if written.is_err() {
        let _best_effort = file.set_len(before);
    }
    written
}

/// Drops an unterminated last line. If it is a complete event, returns the line end that it still needs.
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

/// Appends those events that the log does not contain yet.
pub(crate) fn append_missing(dir: &Dir, events: &[Event]) -> io::Result<()> {
    let key = |event: &Event| {
        let what = (event.status, event.proposal.clone());
        (event.operation.clone(), event.skill.clone(), event.revision.clone(), what)
    };
    let known: BTreeSet<_> = read(dir)?.0.iter().map(key).collect();
    let missing: Vec<Event> = events.iter().filter(|event| !known.contains(&key(event))).cloned().collect();
    if missing.is_empty() { Ok(()) } else { append(dir, &missing) }
}

/// Syncs the log and its directory entry, which may be new.
pub(crate) fn sync(dir: &Dir) -> io::Result<()> {
    match sync_file(dir, FILE) {
        Ok(()) => sync_folder(dir),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Reads all events, oldest first, and counts the unreadable lines. An unterminated last line does not count, unless
/// it is a complete event: see [`append`].
pub(crate) fn read(dir: &Dir) -> io::Result<(Vec<Event>, usize)> {
    let _in_place = InPlace::to_read(dir);
    let mut events = Vec::new();
    let mut unreadable = 0;
    let in_use = read_log(dir, FILE)?.unwrap_or_default();
    for part in rotation::read(dir)?.into_iter().chain([Ok(in_use)]) {
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

/// Finds the newest revision of any of these skills in the log, with the skill's name. For a single skill, only lines
/// that contain its name are parsed.
pub(crate) fn last_applied(dir: &Dir, skills: &BTreeSet<&str>) -> io::Result<Option<(String, RevisionId)>> {
    let only = skills.first().filter(|_| skills.len() == 1);
    let _in_place = InPlace::to_read(dir);
    let in_use = read_log(dir, FILE)?.unwrap_or_default();
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
    let older: Vec<_> = rotation::read(dir)?.into_iter().flatten().collect();
    Ok(older.iter().rev().find_map(|bytes| newest(bytes)))
}

/// Removes unreadable lines from the log and returns their number. The caller holds the lock of [`alone`].
pub(crate) fn drop_bad_lines(dir: &Dir) -> io::Result<usize> {
    let bytes = read_log(dir, FILE)?.unwrap_or_default();
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let (good, bad): (Vec<&[u8]>, Vec<&[u8]>) = lines.partition(|line| event_of(line).is_some());
    write_atomically(dir, FILE, &good.concat(), Durability::Durable)?;
    Ok(bad.len())
}

/// Parses the event of a line. Long lines with more values than any event has are rejected, since parsing them would
/// take many times their size in memory.
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
    fn cut_line_is_written_again() {
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
