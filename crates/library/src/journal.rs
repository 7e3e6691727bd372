//! The write-ahead log of a library, its single commit point ([`Journal`]).
//!
//! An operation is committed once its [`Record`] is in this file and synced. A record holds new objects, moved heads
//! and events, from which everything else can be rebuilt: objects and references of the storage, the folders, the
//! event log. These are written right after the record, without a sync. `journal.applied` notes how many bytes were
//! applied and in which boot of the machine, so that opening knows whether a record must be applied (again). A
//! checkpoint syncs the applied data and empties the journal.
//!
//! Format of a record: `SKJ2`, length of the head (4 bytes, big endian), length of the body (8), CRC-32 of head and
//! body (4), the head as JSON, and the body, which is the concatenated bytes of the objects. A truncated record or
//! one with a wrong checksum ends the journal; it was never reported as done. The checksum only detects torn writes,
//! as in other logs; each object has its own id besides.

mod frames;
mod mark;

use std::{
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
};

use cap_std::fs::{Dir, OpenOptions};
use serde::{Deserialize, Serialize};

pub use self::mark::{JournalMark, is_pending, mark};
use self::{
    frames::{framed, starts, sum},
    mark::{applied_bytes, forget_applied, note},
};
use crate::{
    boot::boot_id,
    disk::{self, Durability, open_log, overwrite, sync_folder, write_atomically},
    events::Event,
    links::{LinkAction, LinkStep, LockLines},
    proposals::store::ProposalFile,
    storage::{HeadChange, Object},
};

const FILE: &str = "journal";
const APPLIED: &str = "journal.applied";
/// Files to which every commit writes.
pub(crate) const FILES: [&str; 2] = [FILE, APPLIED];
const MAGIC: &[u8; 4] = b"SKJ2";
/// Newest format of a record, and the oldest one that can be read.
const FORMAT: u32 = 4;
const OLDEST_FORMAT: u32 = 1;
const FRAME_BYTES: usize = 4 + 4 + 8 + 4;
/// Size limit of a record, in bytes. All pending proposals take at most half of it, and the files of large skills are
/// written to the history before their record.
const RECORD_BYTES: u64 = 128 << 20;

/// Size limit of the file, in bytes. A record of maximum size may follow others that were not checkpointed yet.
const JOURNAL_BYTES: u64 = 2 * RECORD_BYTES;

/// Record of one committed operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// Heads of the skills before and after.
    pub heads: Vec<HeadChange>,
    /// Events for the event log.
    pub events: Vec<Event>,
    /// Objects that the storage did not have.
    pub objects: Vec<Object>,
    /// Temporary folders that the operation exchanges with those of skills. If the process dies after this record,
    /// they may contain a hand edit; any other temporary folder only contains staged files.
    pub temporary: Vec<Temporary>,
    /// Files of proposals after the operation.
    pub proposals: Vec<ProposalFile>,
    /// Changes of links in agents' folders.
    pub links: Vec<LinkStep>,
    /// Lines for the lock file `skillhub.lock`.
    pub lock_lines: Option<LockLines>,
}

/// A temporary folder of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Temporary {
    /// Skill whose folder it replaces.
    pub skill: String,
    /// Its name in the library.
    pub name: String,
}

#[derive(Deserialize)]
struct Format {
    format: u32,
}

#[derive(Serialize, Deserialize)]
struct Head {
    format: u32,
    heads: Vec<HeadChange>,
    events: Vec<Event>,
    objects: Vec<ObjectHead>,
    #[serde(default)]
    temporary: Vec<Temporary>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    proposals: Vec<ProposalHead>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    links: Vec<LinkStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lock_lines: Option<LockLines>,
}

#[derive(Serialize, Deserialize)]
struct ProposalHead {
    id: String,
    is_open: bool,
    len: u64,
}

#[derive(Serialize, Deserialize)]
struct ObjectHead {
    id: String,
    kind: String,
    len: u64,
}

/// The records of a journal, and its unreadable end.
#[derive(Debug)]
pub struct Contents {
    /// Complete records of the requested range, in order.
    pub records: Vec<Record>,
    /// Bytes after the last complete record, from an operation that was cut off before it was reported.
    pub cut_bytes: u64,
    /// True if those bytes cannot be the beginning of a record, so that their origin is unknown.
    pub is_garbage: bool,
}

/// A byte range of a journal's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A complete record and its range.
    Whole(Record, Range<u64>),
    /// Bytes that are not a record.
    Unreadable(Range<u64>),
}

/// An open journal. Everything but [`Journal::is_pending`] requires the library's lock.
#[derive(Debug)]
pub struct Journal {
    dir: Dir,
    file: std::fs::File,
    /// Size limit of a record, in bytes.
    most: u64,
}

impl Journal {
    /// Opens the journal in a library's folder of the home, creating it if missing.
    ///
    /// # Errors
    /// Returns the I/O error.
    pub fn open(dir: &Dir) -> io::Result<Self> {
        Ok(Self { dir: dir.try_clone()?, file: open_log(dir, FILE)?, most: RECORD_BYTES })
    }

    /// Returns the journal's size in bytes.
    ///
    /// # Errors
    /// Returns the I/O error.
    pub fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Returns whether some records may not have been applied in this boot of the machine.
    ///
    /// # Errors
    /// Returns the I/O error.
    pub fn is_pending(&self) -> io::Result<bool> {
        Ok(!JournalMark::of(&self.dir, self.len()?)?.is_settled())
    }

    /// Returns the number of bytes that were applied in this boot of the machine. `None` if nothing was applied, or
    /// if the boot is unknown.
    ///
    /// # Errors
    /// Returns the I/O error.
    pub fn applied_bytes(&self) -> io::Result<Option<u64>> {
        Ok(applied_bytes(&self.dir)?.filter(|bytes| self.len().is_ok_and(|len| *bytes <= len)))
    }

    /// Returns the number of bytes that were applied in an earlier boot of the machine. Of what was written then without
    /// a sync, parts may be lost.
    ///
    /// # Errors
    /// Returns the I/O error.
    pub fn bytes_applied_before(&self) -> io::Result<u64> {
        let note = note(&self.dir)?.filter(|(boot, _)| Some(boot.as_str()) != boot_id());
        Ok(note.map_or(0, |(_, bytes)| bytes).min(self.len()?))
    }

    /// Appends a record and syncs it. This is the commit point.
    ///
    /// # Errors
    /// Returns `FileTooLarge`, with nothing written, if the record or the journal would exceed its size limit. After
    /// any other I/O error part of the record may be in the file and will be cut off.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        let framed = frame(record, self.most)?;
        let before = self.len()?;
        check_size(before + framed.len() as u64)?;
        if before == 0 {
            sync_folder(&self.dir)?;
        }
        let written = disk::append(&self.file, &framed).and_then(|()| self.file.sync_data());
        written.map_err(|error| match self.file.set_len(before).and_then(|()| self.file.sync_data()) {
            Ok(()) => error,
            Err(_) => {
                let doubt = format!("{error}; the change may or may not have been saved: check the history");
                io::Error::new(error.kind(), doubt)
            }
        })
    }

    /// Reads the records from byte `from` on, which must be 0 or the end of a record.
    ///
    /// # Errors
    /// Returns the I/O error. `InvalidData` if a complete record follows unreadable bytes, which means damage rather
    /// than a torn write, or if a later version wrote the record.
    pub fn read(&mut self, from: u64) -> io::Result<Contents> {
        let bytes = self.bytes_from(from)?;
        let mut rest = bytes.as_slice();
        let mut records = Vec::new();
        while let Some((record, after)) = parse(rest, self.most)? {
            records.push(record);
            rest = after;
        }
        if !starts(rest).is_empty() {
            let at = from + (bytes.len() - rest.len()) as u64;
            return Err(invalid(&format!("the journal is damaged at byte {at}; it was not changed")));
        }
        Ok(Contents { records, cut_bytes: rest.len() as u64, is_garbage: !is_beginning(rest, self.most) })
    }

    fn bytes_from(&mut self, from: u64) -> io::Result<Vec<u8>> {
        check_size(self.len()?)?;
        self.file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        (&self.file).take(JOURNAL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads everything in the file, damaged or not. Complete records after damage are found as well.
    ///
    /// # Errors
    /// Returns the I/O error. `InvalidData` if a complete record cannot be decoded, for example one of a later
    /// version.
    pub fn pieces(&mut self) -> io::Result<Vec<Piece>> {
        let bytes = self.bytes_from(0)?;
        let (mut pieces, mut at) = (Vec::new(), 0);
        let mut starts = starts(&bytes).into_iter();
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match parse(rest, self.most)? {
                Some((record, after)) => {
                    let end = bytes.len() - after.len();
                    pieces.push(Piece::Whole(record, at as u64..end as u64));
                    at = end;
                }
                None => {
                    let next = starts.find(|start| *start > at).unwrap_or(bytes.len());
                    pieces.push(Piece::Unreadable(at as u64..next as u64));
                    at = next;
                }
            }
        }
        Ok(pieces)
    }

    /// Replaces the file's content with these ranges of it, to be applied at the next opening. The note of the
    /// current boot is kept, since it shows whether files may have been truncated by a power loss after they were
    /// applied.
    ///
    /// # Errors
    /// Returns the I/O error; the journal is then unchanged.
    pub fn keep_only(&mut self, kept: &[Range<u64>]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for range in kept {
            self.file.seek(SeekFrom::Start(range.start))?;
            let copied = (&self.file).take(range.end - range.start).read_to_end(&mut bytes)?;
            if copied as u64 != range.end - range.start {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        match boot_id().filter(|_| self.applied_bytes().is_ok_and(|bytes| bytes.is_some())) {
            Some(boot) => self.dir.write(APPLIED, format!("1 {boot} 0\n"))?,
            None => forget_applied(&self.dir)?,
        }
        write_atomically(&self.dir, FILE, &bytes, Durability::Durable)?;
        *self = Self::open(&self.dir)?;
        Ok(())
    }

    /// Removes this number of bytes at the end.
    ///
    /// # Errors
    /// Returns the I/O error.
    pub fn cut(&mut self, bytes: u64) -> io::Result<()> {
        self.file.set_len(self.len()?.saturating_sub(bytes))?;
        self.file.sync_data()
    }

    /// Notes that all records are applied in this boot of the machine. An empty journal is marked as well, so that
    /// its first record is known to be of this boot if the process is killed. A concurrent reader may see the old
    /// note, the new one, or a mixture. With a mixture it treats the journal as pending.
    ///
    /// # Errors
    /// Returns the I/O error.
    pub fn mark_applied(&self) -> io::Result<()> {
        let Some(boot) = boot_id() else { return Ok(()) };
        let mut options = OpenOptions::new();
        options.write(true).create(true);
        let mut file = self.dir.open_with(APPLIED, &options)?.into_std();
        overwrite(&mut file, format!("1 {boot} {}\n", self.len()?).as_bytes())
    }

    /// Empties the journal. Everything in it must be durable already.
    ///
    /// # Errors
    /// Returns the I/O error.
    pub fn clear(&mut self) -> io::Result<()> {
        forget_applied(&self.dir)?;
        self.file.set_len(0)?;
        self.file.sync_data()?;
        self.mark_applied()
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Enforces the size limit of the file. Checkpoints empty it long before.
fn check_size(bytes: u64) -> io::Result<()> {
    if bytes <= JOURNAL_BYTES {
        return Ok(());
    }
    let message =
        format!("{FILE} would have {bytes} bytes, but the limit is {JOURNAL_BYTES}; `skillhub doctor` shows the cause");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, message))
}

fn frame(record: &Record, most: u64) -> io::Result<Vec<u8>> {
    let objects = record.objects.iter();
    let objects = objects.map(|o| ObjectHead { id: o.id.clone(), kind: o.kind.clone(), len: o.bytes.len() as u64 });
    let head = Head {
        format: format_of(record),
        heads: record.heads.clone(),
        events: record.events.clone(),
        objects: objects.collect(),
        temporary: record.temporary.clone(),
        proposals: record.proposals.iter().map(ProposalHead::of).collect(),
        links: record.links.clone(),
        lock_lines: record.lock_lines.clone(),
    };
    let head = serde_json::to_vec(&head)?;
    let parts =
        || record.objects.iter().map(|object| &object.bytes).chain(record.proposals.iter().map(|file| &file.bytes));
    let bytes = (head.len() + parts().map(Vec::len).sum::<usize>()) as u64;
    if bytes > most {
        let message = format!("the change has {bytes} bytes of new files and proposals, but the limit is {most}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    let body: Vec<u8> = parts().flatten().copied().collect();
    let head_len = u32::try_from(head.len()).map_err(io::Error::other)?;
    let mut framed = Vec::with_capacity(FRAME_BYTES + head.len() + body.len());
    framed.extend(MAGIC);
    framed.extend(head_len.to_be_bytes());
    framed.extend((body.len() as u64).to_be_bytes());
    framed.extend(sum(&head, &body));
    framed.extend(head);
    framed.extend(body);
    Ok(framed)
}

/// Returns the lowest format that can represent a record: 4 if it hides a link, 3 with other links or with lock lines,
/// 2 with proposals. Older builds read it unless they need to know more.
fn format_of(record: &Record) -> u32 {
    if record.links.iter().any(|step| step.action == LinkAction::Hide) {
        FORMAT
    } else if !record.links.is_empty() || record.lock_lines.is_some() {
        3
    } else if !record.proposals.is_empty() {
        2
    } else {
        OLDEST_FORMAT
    }
}

/// Returns whether these bytes are the beginning of a longer record, as left by a process that was killed while
/// writing. A power loss may leave zeros at the end, for bytes that never reached the disk.
fn is_beginning(bytes: &[u8], most: u64) -> bool {
    let written = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let bytes = bytes.get(..written).unwrap_or_default();
    let number = |from: usize, to: usize| {
        bytes.get(from..to).map(|digits| digits.iter().fold(0_u64, |number, digit| number << 8 | u64::from(*digit)))
    };
    let starts = bytes.iter().zip(MAGIC).all(|(found, expected)| found == expected);
    let whole = number(4, 8).zip(number(8, 16)).map(|(head, body)| head.saturating_add(body));
    let is_cut = |whole: u64| whole <= most && whole.saturating_add(FRAME_BYTES as u64) > bytes.len() as u64;
    starts && whole.is_none_or(is_cut)
}

/// Parses the first record of `bytes` and returns it with the rest. Returns `None` if the record is incomplete. A
/// complete record that cannot be decoded is an error, because it was reported as done.
fn parse(bytes: &[u8], most: u64) -> io::Result<Option<(Record, &[u8])>> {
    let Some((head, mut body, after)) = framed(bytes) else { return Ok(None) };
    let found = (head.len() + body.len()) as u64;
    if found > most {
        return Err(invalid(&format!(
            "a record of the journal has {found} bytes, but this version of skillhub reads at most {most}; use the \
             version that wrote it"
        )));
    }
    let format: Format = serde_json::from_slice(head)?;
    if !(OLDEST_FORMAT..=FORMAT).contains(&format.format) {
        return Err(invalid(&format!(
            "the journal has format {}, but this version of skillhub reads only {FORMAT}; use the version that wrote \
             it",
            format.format
        )));
    }
    let head: Head = serde_json::from_slice(head)?;
    let mut objects = Vec::with_capacity(head.objects.len());
    for object in &head.objects {
        let bytes = take(&mut body, object.len)?;
        objects.push(Object { id: object.id.clone(), kind: object.kind.clone(), bytes });
    }
    let mut proposals = Vec::with_capacity(head.proposals.len());
    for file in head.proposals {
        proposals.push(ProposalFile { bytes: take(&mut body, file.len)?, id: file.id, is_open: file.is_open });
    }
    let Head { heads, events, temporary, links, lock_lines, .. } = head;
    Ok(Some((Record { heads, events, objects, temporary, proposals, links, lock_lines }, after)))
}

/// Takes the next `len` bytes of a body.
fn take(body: &mut &[u8], len: u64) -> io::Result<Vec<u8>> {
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let (bytes, rest) = body.split_at_checked(len).ok_or_else(|| invalid("a record of the journal is too short"))?;
    *body = rest;
    Ok(bytes.to_vec())
}

impl ProposalHead {
    fn of(file: &ProposalFile) -> Self {
        Self { id: file.id.clone(), is_open: file.is_open, len: file.bytes.len() as u64 }
    }
}

#[cfg(test)]
mod tests;
