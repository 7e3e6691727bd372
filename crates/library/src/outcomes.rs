//! [`Outcome`]: one line of the log of how runs with a skill went.
//!
//! `outcomes/<skill>.jsonl` in the library's folder of the home. Lines are only ever added, by any number of
//! processes at once: a writer holds the file's lock, reads what others added since it looked last, leaves
//! out what is there already (one line a run and kind of event), and writes the rest in one go. A line without
//! its end is what a killed process left of one that it never reported, and goes. A line that cannot be read
//! stays and is counted, and what stands before and behind it counts as before. Nothing is synced: a
//! power loss may take the newest outcomes, and no decision rests on what is not there.

use std::{
    collections::HashSet,
    io::{self, Read, Seek, SeekFrom, Write},
};

use cap_std::fs::{Dir, File, OpenOptions};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use skill::SkillName;
use thiserror::Error;

use crate::{disk::read_bounded, revision::RevisionId};

const FOLDER: &str = "outcomes";

/// Bytes that the outcomes of one skill may take; what is larger is refused, and nothing is dropped.
pub const SKILL_BYTES: u64 = 256 << 20;

/// Bytes of the longest run or task.
pub const ID_BYTES: usize = 200;

/// Bytes of the longest source.
pub const SOURCE_BYTES: usize = 100;

/// The largest number that every reader of JSON keeps as it is.
pub const LARGEST_NUMBER: u64 = (1 << 53) - 1;

/// What happened in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// The agent read the skill.
    Activated,
    /// What was to be done was done.
    Completed,
    /// It was not.
    Failed,
    /// The run was stopped before it came to an end.
    Aborted,
    /// Somebody had to put right what the run did.
    Corrected,
}

impl OutcomeKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Activated, Self::Completed, Self::Failed, Self::Aborted, Self::Corrected];

    /// The kind's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Activated => "activated",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
            Self::Corrected => "corrected",
        }
    }

    /// The kind of a word, if there is one.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// How the program knows of an outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
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

/// How one run with one revision of a skill went, or a part of that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The format's version.
    pub v: u32,
    /// What happened. With the run it stands first, so that doubles are found without reading all of a line.
    pub event: OutcomeKind,
    /// The run.
    pub run: String,
    /// When it happened, RFC 3339 in UTC. It may be told later.
    pub ts: String,
    /// The skill.
    pub skill: String,
    /// The revision that the run had.
    pub revision: RevisionId,
    /// Milliseconds that it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Tokens that the model read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// Tokens that it wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// What was to be done: runs with one task are no independent ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Who tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The actor that reported it, as `kind:id`. The program sets it, and earlier builds left it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// How the program knows of it. Earlier builds left it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// The conversation of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The connection over which it was reported had changed the skill before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_author: bool,
}

/// Why an outcome is not taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OutcomeFault {
    /// A text that is empty, too long, or has a character that shows as nothing.
    #[error("its {field} has to have 1 to {limit} bytes and no control characters")]
    Text {
        /// Which.
        field: &'static str,
        /// How many bytes it may have.
        limit: usize,
    },
    /// A number that not every reader keeps as it is.
    #[error("its {0} is larger than {LARGEST_NUMBER}")]
    Number(&'static str),
    /// A time that is none.
    #[error("its ts is no time; write it as in 2026-01-31T12:00:00Z")]
    Time,
    /// A version of the format that this one does not write.
    #[error("its v is {0}, and has to be 1")]
    Version(u32),
}

impl Outcome {
    /// Whether it may be stored.
    ///
    /// # Errors
    /// [`OutcomeFault`]
    pub fn check(&self) -> Result<(), OutcomeFault> {
        if self.v != 1 {
            return Err(OutcomeFault::Version(self.v));
        }
        self.ts.parse::<Timestamp>().map_err(|_| OutcomeFault::Time)?;
        check_text("run", Some(&self.run), ID_BYTES)?;
        check_text("task", self.task.as_ref(), ID_BYTES)?;
        check_text("thread", self.thread.as_ref(), ID_BYTES)?;
        check_text("source", self.source.as_ref(), SOURCE_BYTES)?;
        let numbers = [("latency_ms", self.latency_ms), ("tokens_in", self.tokens_in), ("tokens_out", self.tokens_out)];
        match numbers.into_iter().find(|(_, number)| number.is_some_and(|number| number > LARGEST_NUMBER)) {
            Some((field, _)) => Err(OutcomeFault::Number(field)),
            None => Ok(()),
        }
    }

    /// When it happened.
    #[must_use]
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

/// Control characters, and those that turn the direction of what follows.
fn is_unseen(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What the log of a skill has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// The outcomes, as they were recorded; of doubles the first.
    pub outcomes: Vec<Outcome>,
    /// Lines that cannot be read.
    pub unreadable: usize,
}

/// What a recording did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Outcomes that the log has since.
    pub new: usize,
    /// Outcomes that it had already.
    pub doubles: usize,
}

/// Adds to the log of one skill, and remembers what the log has.
#[derive(Debug)]
pub struct OutcomeWriter {
    file: std::fs::File,
    known: HashSet<(OutcomeKind, Box<str>)>,
    read_to: u64,
}

/// The part of a line that tells doubles apart.
#[derive(Deserialize)]
struct Key<'a> {
    #[serde(borrow)]
    run: std::borrow::Cow<'a, str>,
    event: OutcomeKind,
}

impl Key<'_> {
    /// That of a line, whoever wrote it.
    fn of(line: &[u8]) -> Option<(OutcomeKind, Box<str>)> {
        Self::at_the_beginning(line).or_else(|| {
            let Key { run, event } = serde_json::from_slice(line).ok()?;
            Some((event, run.into()))
        })
    }

    /// That of a line as we write it, with a run that needs no escapes.
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
    /// That of a skill, below the library's own folder.
    pub(crate) fn below(own: &Dir, skill: &SkillName) -> io::Result<Self> {
        if own.symlink_metadata(FOLDER).is_err() {
            own.create_dir_all(FOLDER)?;
        }
        Self::open(&own.open_dir(FOLDER)?, skill)
    }

    fn open(dir: &Dir, skill: &SkillName) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let file = dir.open_with(file_name(skill), &options)?.into_std();
        Ok(Self { file, known: HashSet::new(), read_to: 0 })
    }

    /// Adds those that the log does not have yet. All of a call are there for every reader, or none.
    ///
    /// # Errors
    /// One may not be stored, the log is full, or the system refused.
    pub fn append(&mut self, outcomes: &[Outcome]) -> io::Result<Recorded> {
        for outcome in outcomes {
            outcome.check().map_err(|fault| io::Error::new(io::ErrorKind::InvalidInput, fault))?;
        }
        self.file.lock()?;
        let appended = self.append_locked(outcomes);
        let _closing_does_it_too = self.file.unlock();
        appended
    }

    fn append_locked(&mut self, outcomes: &[Outcome]) -> io::Result<Recorded> {
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
            let message = format!("the outcomes of the skill take {len} bytes, and may take {SKILL_BYTES}");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        if let Err(error) = self.file.write_all(&lines) {
            let _best_effort = self.file.set_len(len);
            return Err(error);
        }
        self.read_to = len + lines.len() as u64;
        let recorded = Recorded { new: new.len(), doubles: outcomes.len() - new.len() };
        self.known.extend(new);
        Ok(recorded)
    }

    /// Reads what others added, takes away a line without its end, and says how long the log is.
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

/// When an outcome of any skill was recorded last.
pub(crate) fn last_recorded(own: &Dir) -> io::Result<Option<Timestamp>> {
    let Some(folder) = folder(own)? else { return Ok(None) };
    let mut newest = None;
    for entry in folder.entries()? {
        let modified = entry?.metadata()?.modified()?.into_std();
        newest = newest.max(Timestamp::try_from(modified).ok());
    }
    Ok(newest)
}

fn folder(own: &Dir) -> io::Result<Option<Dir>> {
    match own.open_dir(FOLDER) {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The log of a skill; one that is there and cannot be read is never taken for empty.
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

/// A log that others write to meanwhile; a part of a line at its end is none yet.
fn read_whole(folder: &Dir, name: &str) -> io::Result<Option<Vec<u8>>> {
    if let Ok(file) = folder.open(name).map(File::into_std) {
        // Whoever holds the lock is about to write whole lines; without it the last one may be cut.
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
    fn a_run_has_one_event_of_a_kind_whoever_writes_it() {
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
    fn a_log_that_was_cut_or_damaged_anywhere_keeps_the_rest_and_tells() {
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
    fn what_is_no_outcome_is_not_stored() {
        let good = outcome("r", OutcomeKind::Failed);
        good.check().unwrap();
        for bad in [
            Outcome { run: String::new(), ..good.clone() },
            Outcome { run: " ".to_owned(), ..good.clone() },
            Outcome { run: "a\nb".to_owned(), ..good.clone() },
            Outcome { run: "a\u{202e}b".to_owned(), ..good.clone() },
            Outcome { run: "x".repeat(ID_BYTES + 1), ..good.clone() },
            Outcome { task: Some(String::new()), ..good.clone() },
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
