//! The log of outcomes: one line for each event of a run with a skill ([`Outcome`]).
//!
//! The log is `outcomes/<skill>.jsonl` in the library's folder of the home. It is append-only and shared by any
//! number of processes. A writer takes the file's lock, reads the lines added by others, skips duplicates (one line
//! per run and kind of event), and writes the rest with a single call. An unterminated line is the unreported write
//! of a killed process and is dropped. An unreadable line is kept and counted, and the lines around it remain valid.
//! Nothing is synced: a power loss may lose the newest outcomes, and no decision depends on missing ones.

use std::{
    collections::HashSet,
    io::{self, Read, Seek, SeekFrom},
};

use cap_std::fs::{Dir, File};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use skill::SkillName;
use thiserror::Error;

use crate::{
    disk::{append, open_log, read_bounded},
    revision::RevisionId,
};

const FOLDER: &str = "outcomes";

/// Size limit of the outcomes of one skill, in bytes. Larger logs are refused; nothing is dropped.
pub const SKILL_BYTES: u64 = 256 << 20;

/// Maximum length of a run or task id, in bytes.
pub const ID_BYTES: usize = 200;

/// Maximum length of a source, in bytes.
pub const SOURCE_BYTES: usize = 100;

/// Maximum length of the words of a user, in bytes.
pub const QUERY_BYTES: usize = 2048;

/// Largest integer that every JSON parser represents exactly (2^53 - 1).
pub const LARGEST_NUMBER: u64 = (1 << 53) - 1;

/// Kind of event in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// The agent read the skill.
    Activated,
    /// The task was completed.
    Completed,
    /// The task was not completed.
    Failed,
    /// The run was stopped before its end.
    Aborted,
    /// Somebody had to correct the result of the run.
    Corrected,
}

impl OutcomeKind {
    /// All kinds, in order.
    pub const ALL: [Self; 5] = [Self::Activated, Self::Completed, Self::Failed, Self::Aborted, Self::Corrected];

    /// Returns the word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Activated => "activated",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
            Self::Corrected => "corrected",
        }
    }

    /// Parses the word of a kind; `None` if it is unknown.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Source of the knowledge of an outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeSource {
    /// An agent reported it.
    #[default]
    Report,
    /// The program served the skill to the run.
    Read,
    /// The transcript of a host shows it.
    Transcript,
    /// A person reported it.
    Person,
}

/// Result of one run with one revision of a skill, or one event of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Version of the format, currently 1.
    pub v: u32,
    /// Event that is reported. It is serialised before the other fields together with the run, so that duplicates are
    /// found without parsing the whole line.
    pub event: OutcomeKind,
    /// Id of the run, at most 200 bytes.
    pub run: String,
    /// Time of the event, RFC 3339 in UTC. It may be reported later.
    pub ts: String,
    /// Name of the skill.
    pub skill: String,
    /// Revision used by the run.
    pub revision: RevisionId,
    /// Duration of the run in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Number of tokens read by the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Number of tokens written by the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// Id of the task. Runs with the same task are not statistically independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Start of what the user asked for, at most 2048 bytes. Stored with failures and corrections only; missing in data
    /// of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Name of the reporter, such as a host or an actor, at most 100 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Actor that reported it, as `kind:id`. Set by the program; missing in data of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Source of the knowledge of it. Missing in data of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<OutcomeSource>,
    /// Conversation of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// True if the connection that reported it had changed the skill before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_author: bool,
}

/// Reason why an outcome is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OutcomeFault {
    /// A text that is empty, too long, or contains an invisible character.
    #[error("`{field}` must have 1 to {limit} bytes and no control characters")]
    Text {
        /// Name of the field.
        field: &'static str,
        /// Maximum length in bytes.
        limit: usize,
    },
    /// A number that not every JSON parser represents exactly.
    #[error("`{0}` is larger than {LARGEST_NUMBER}")]
    Number(&'static str),
    /// A time that cannot be parsed.
    #[error("`ts` is not a time; write it as in 2026-01-31T12:00:00Z")]
    Time,
    /// An unsupported version of the format.
    #[error("`v` is {0}, but must be 1")]
    Version(u32),
}

impl Outcome {
    /// Checks that it may be stored.
    ///
    /// # Errors
    /// Returns [`OutcomeFault`] for the first invalid field.
    pub fn check(&self) -> Result<(), OutcomeFault> {
        if self.v != 1 {
            return Err(OutcomeFault::Version(self.v));
        }
        self.ts.parse::<Timestamp>().map_err(|_| OutcomeFault::Time)?;
        check_text("run", Some(&self.run), ID_BYTES)?;
        check_text("task", self.task.as_ref(), ID_BYTES)?;
        check_text("query", self.query.as_ref(), QUERY_BYTES)?;
        check_text("thread", self.thread.as_ref(), ID_BYTES)?;
        check_text("source", self.source.as_ref(), SOURCE_BYTES)?;
        let numbers = [("latency_ms", self.latency_ms), ("tokens_in", self.tokens_in), ("tokens_out", self.tokens_out)];
        match numbers.into_iter().find(|(_, number)| number.is_some_and(|number| number > LARGEST_NUMBER)) {
            Some((field, _)) => Err(OutcomeFault::Number(field)),
            None => Ok(()),
        }
    }

    /// Parses the time of the event.
    pub fn time(&self) -> Option<Timestamp> {
        self.ts.parse().ok()
    }
}

fn check_text(field: &'static str, text: Option<&String>, limit: usize) -> Result<(), OutcomeFault> {
    match text {
        Some(text) if text.trim().is_empty() || text.len() > limit || text.chars().any(is_unseen) => {
            Err(OutcomeFault::Text { field, limit })
        }
        _ => Ok(()),
    }
}

/// Returns whether a character is a control character or changes the text direction.
fn is_unseen(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Content of the log of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Outcomes in the order of recording. Only the first of duplicates is kept.
    pub outcomes: Vec<Outcome>,
    /// Number of unreadable lines.
    pub unreadable: usize,
}

/// Result of recording outcomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Number of outcomes that were added.
    pub new: usize,
    /// Number of outcomes that were in the log already.
    pub doubles: usize,
}

/// Appends to the log of one skill, and keeps an index of its entries for detecting duplicates.
#[derive(Debug)]
pub struct OutcomeWriter {
    file: std::fs::File,
    known: HashSet<(OutcomeKind, Box<str>)>,
    read_to: u64,
}

/// The fields of a line that identify duplicates.
#[derive(Deserialize)]
struct Key<'a> {
    #[serde(borrow)]
    run: std::borrow::Cow<'a, str>,
    event: OutcomeKind,
}

impl Key<'_> {
    /// Extracts the key of a line, whoever wrote it.
    fn of(line: &[u8]) -> Option<(OutcomeKind, Box<str>)> {
        Self::at_the_beginning(line).or_else(|| {
            let Key { run, event } = serde_json::from_slice(line).ok()?;
            Some((event, run.into()))
        })
    }

    /// Extracts the key without parsing JSON, for lines as written by this program whose run needs no escapes.
    fn at_the_beginning(line: &[u8]) -> Option<(OutcomeKind, Box<str>)> {
        let quoted = |text: &'_ [u8]| text.iter().position(|byte| matches!(byte, b'"' | b'\\'));
        let event = line.strip_prefix(br#"{"v":1,"event":""#)?;
        let (event, rest) = event.split_at_checked(quoted(event)?)?;
        let run = rest.strip_prefix(br#"","run":""#)?;
        let (run, rest) = run.split_at_checked(quoted(run)?)?;
        let is_whole = rest.starts_with(br#"","ts""#);
        let event = OutcomeKind::from_word(std::str::from_utf8(event).ok()?).filter(|_| is_whole)?;
        Some((event, std::str::from_utf8(run).ok()?.into()))
    }
}

impl OutcomeWriter {
    /// Opens the writer of a skill. `own` is the library's folder in the home.
    pub(crate) fn below(own: &Dir, skill: &SkillName) -> io::Result<Self> {
        if own.symlink_metadata(FOLDER).is_err() {
            own.create_dir_all(FOLDER)?;
        }
        Self::open(&own.open_dir(FOLDER)?, skill)
    }

    fn open(dir: &Dir, skill: &SkillName) -> io::Result<Self> {
        Ok(Self { file: open_log(dir, &file_name(skill))?, known: HashSet::new(), read_to: 0 })
    }

    /// Adds the outcomes that the log does not have yet. Readers see all outcomes of a call or none.
    ///
    /// # Errors
    /// An outcome is invalid, the log is full, or an I/O error.
    pub fn append(&mut self, outcomes: &[Outcome]) -> io::Result<Recorded> {
        for outcome in outcomes {
            outcome.check().map_err(|fault| io::Error::new(io::ErrorKind::InvalidInput, fault))?;
        }
        self.file.lock()?;
        let appended = self.append_under_lock(outcomes);
        let _closing_does_it_too = self.file.unlock();
        appended
    }

    /// Appends outcomes. The caller holds the lock of the file.
    fn append_under_lock(&mut self, outcomes: &[Outcome]) -> io::Result<Recorded> {
        let len = self.catch_up()?;
        let (mut lines, mut new) = (Vec::new(), Vec::new());
        for outcome in outcomes {
            let key = (outcome.event, outcome.run.as_str().into());
            if !self.known.contains(&key) && !new.contains(&key) {
                serde_json::to_writer(&mut lines, outcome)?;
                lines.push(b'\n');
                new.push(key);
            }
        }
        if len + lines.len() as u64 > SKILL_BYTES {
            let message = format!("the outcomes of the skill already take {len} bytes, and the limit is {SKILL_BYTES}");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        if let Err(error) = append(&self.file, &lines) {
            let _best_effort = self.file.set_len(len);
            return Err(error);
        }
        self.read_to = len + lines.len() as u64;
        let recorded = Recorded { new: new.len(), doubles: outcomes.len() - new.len() };
        self.known.extend(new);
        Ok(recorded)
    }

    /// Reads lines added by others, drops an unterminated line, and returns the length of the log.
    fn catch_up(&mut self) -> io::Result<u64> {
        let len = self.file.metadata()?.len();
        if len < self.read_to {
            (self.read_to, self.known) = (0, HashSet::new());
        }
        self.file.seek(SeekFrom::Start(self.read_to))?;
        let mut added = Vec::new();
        Read::take(&mut self.file, len - self.read_to).read_to_end(&mut added)?;
        let whole = added.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.known.extend(lines(added.get(..whole).unwrap_or_default()).filter_map(Key::of));
        let end = self.read_to + whole as u64;
        if end < len {
            self.file.set_len(end)?;
        }
        self.read_to = end;
        Ok(end)
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

fn file_name(skill: &SkillName) -> String {
    format!("{skill}.jsonl")
}

/// Returns true if an outcome of any skill was ever recorded.
pub(crate) fn is_any_recorded(own: &Dir) -> io::Result<bool> {
    match folder(own)? {
        Some(folder) => Ok(folder.entries()?.next().transpose()?.is_some()),
        None => Ok(false),
    }
}

fn folder(own: &Dir) -> io::Result<Option<Dir>> {
    match own.open_dir(FOLDER) {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the log of a skill. A log that exists and cannot be read is an error and never treated as empty.
pub(crate) fn read(own: &Dir, skill: &SkillName) -> io::Result<Outcomes> {
    let Some(folder) = folder(own)? else { return Ok(Outcomes::default()) };
    let Some(bytes) = read_whole(&folder, &file_name(skill))? else { return Ok(Outcomes::default()) };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (mut found, mut known) = (Outcomes::default(), HashSet::new());
    for line in lines(bytes.get(..whole).unwrap_or_default()) {
        match serde_json::from_slice::<Outcome>(line) {
            Ok(outcome) if outcome.check().is_ok() && outcome.skill == skill.as_str() => {
                if known.insert((outcome.event, outcome.run.clone())) {
                    found.outcomes.push(outcome);
                }
            }
            _ => found.unreadable += 1,
        }
    }
    Ok(found)
}

/// Reads a log while others append to it. The caller ignores an unterminated last line.
fn read_whole(folder: &Dir, name: &str) -> io::Result<Option<Vec<u8>>> {
    if let Ok(file) = folder.open(name).map(File::into_std) {
        // The holder of the lock writes complete lines. Without the lock, the last line may be truncated.
        let _or_without = file.lock_shared();
        return read_bounded(folder, name, SKILL_BYTES);
    }
    read_bounded(folder, name, SKILL_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(run: &str, event: OutcomeKind) -> Outcome {
        Outcome {
            v: 1,
            ts: "2026-01-02T03:04:05Z".to_owned(),
            skill: "s".to_owned(),
            revision: RevisionId::new("a".repeat(40)),
            event,
            run: run.to_owned(),
            latency_ms: None,
            tokens_in: None,
            tokens_out: None,
            task: None,
            query: None,
            source: None,
            actor: None,
            basis: None,
            thread: None,
            by_author: false,
        }
    }

    fn place() -> (tempfile::TempDir, Dir, SkillName) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        dir.create_dir(FOLDER).unwrap();
        (temp, dir, SkillName::parse("s").unwrap())
    }

    #[test]
    fn outcome_of_earlier_build_is_read() {
        let revision = "a".repeat(40);
        let old = format!(
            r#"{{"v":1,"event":"failed","run":"r","ts":"2026-01-02T03:04:05Z","skill":"s","revision":"{revision}"}}"#
        );
        let read: Outcome = serde_json::from_str(&old).unwrap();
        assert_eq!(read, outcome("r", OutcomeKind::Failed));
        assert_eq!(serde_json::to_string(&read).unwrap(), old);
    }

    #[test]
    fn run_has_one_outcome_per_kind() {
        let (_temp, dir, skill) = place();
        let open = || OutcomeWriter::open(&dir.open_dir(FOLDER).unwrap(), &skill).unwrap();
        let (mut one, mut two) = (open(), open());
        for run in ["r", "a\"b", "a\\b", "é"] {
            let line = serde_json::to_vec(&outcome(run, OutcomeKind::Aborted)).unwrap();
            assert_eq!(Key::of(&line), Some((OutcomeKind::Aborted, run.into())));
            assert_eq!(Key::at_the_beginning(&line).is_some(), !run.contains(['"', '\\']));
        }
        let (first, other) = (outcome("r1", OutcomeKind::Completed), outcome("r1", OutcomeKind::Failed));
        let later = Outcome { ts: "2026-02-02T03:04:05Z".to_owned(), ..first.clone() };
        assert_eq!(one.append(std::slice::from_ref(&first)).unwrap(), Recorded { new: 1, doubles: 0 });
        assert_eq!(
            two.append(&[later.clone(), other.clone(), other.clone()]).unwrap(),
            Recorded { new: 1, doubles: 2 }
        );
        assert_eq!(one.append(&[other.clone(), first.clone()]).unwrap(), Recorded { new: 0, doubles: 2 });
        assert_eq!(read(&dir, &skill).unwrap().outcomes, [first, other]);
    }

    #[test]
    fn damaged_log_keeps_other_lines() {
        let (_temp, dir, skill) = place();
        let all: Vec<Outcome> = (0..4).map(|run| outcome(&format!("r{run}"), OutcomeKind::Completed)).collect();
        let open = || OutcomeWriter::open(&dir.open_dir(FOLDER).unwrap(), &skill).unwrap();
        open().append(&all).unwrap();
        let path = format!("{FOLDER}/s.jsonl");
        let whole = dir.read(&path).unwrap();
        for cut in 0..whole.len() {
            dir.write(&path, &whole[..cut]).unwrap();
            let kept = read(&dir, &skill).unwrap();
            assert_eq!(kept.unreadable, 0, "a line without its end is no damage: cut at {cut}");
            assert_eq!(open().append(&all).unwrap().doubles, kept.outcomes.len());
            assert_eq!(dir.read(&path).unwrap(), whole, "cut at {cut}");
        }
        let first_end = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        dir.write(&path, [b"{\"v\":9}\n\xff\xfe\n".as_slice(), &whole[first_end..]].concat()).unwrap();
        let found = read(&dir, &skill).unwrap();
        assert_eq!((found.outcomes.len(), found.unreadable), (3, 2));
        assert_eq!(open().append(&all).unwrap(), Recorded { new: 1, doubles: 3 });
        assert_eq!(read(&dir, &skill).unwrap().unreadable, 2, "damage stays to be seen");
        dir.remove_file(&path).unwrap();
        dir.create_dir(&path).unwrap();
        assert!(read(&dir, &skill).is_err(), "what cannot be read is not empty");
    }

    #[test]
    fn invalid_outcome_is_not_stored() {
        let good = outcome("r", OutcomeKind::Failed);
        good.check().unwrap();
        for bad in [
            Outcome { run: String::new(), ..good.clone() },
            Outcome { run: " ".to_owned(), ..good.clone() },
            Outcome { run: "a\nb".to_owned(), ..good.clone() },
            Outcome { run: "a\u{202e}b".to_owned(), ..good.clone() },
            Outcome { run: "x".repeat(ID_BYTES + 1), ..good.clone() },
            Outcome { task: Some(String::new()), ..good.clone() },
            Outcome { query: Some("x".repeat(QUERY_BYTES + 1)), ..good.clone() },
            Outcome { source: Some("\u{1b}[31m".to_owned()), ..good.clone() },
            Outcome { ts: "yesterday".to_owned(), ..good.clone() },
            Outcome { tokens_in: Some(u64::MAX), ..good.clone() },
            Outcome { v: 2, ..good.clone() },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
        let (_temp, dir, skill) = place();
        let mut writer = OutcomeWriter::open(&dir.open_dir(FOLDER).unwrap(), &skill).unwrap();
        assert!(writer.append(&[good.clone(), Outcome { v: 2, ..good }]).is_err());
        assert!(read(&dir, &skill).unwrap().outcomes.is_empty(), "all of a call or none");
    }
}
