//! [`Journal`]: the one place where an operation becomes true.
//!
//! An operation is committed when its [`Record`] is in this file and synced, and not before. What a
//! record holds (new objects, moved heads, events) is enough to make everything else again: objects
//! and references of the storage, the folders, the event log. These are written right after the
//! record, without a sync, and `journal.applied` notes how far that went and in which boot of the
//! machine, so that opening knows whether a record must be applied (again). A checkpoint makes what
//! was applied durable and empties the journal.
//!
//! A record on disk: `SKHJ`, length of the head (4 bytes, big endian), length of the body (8), the
//! sha256 of head and body (32), the head as JSON, and the body: the objects' bytes one after the
//! other. A record that is cut or does not have its sum ends the journal; it was never reported.

use std::io::{self, Read, Seek, SeekFrom, Write};

use cap_std::fs::{Dir, File, OpenOptions};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    events::Event,
    home::read_optional,
    storage::{HeadChange, Object},
};

const FILE: &str = "journal";
const APPLIED: &str = "journal.applied";
const MAGIC: &[u8; 4] = b"SKHJ";
const FRAME_BYTES: usize = 4 + 4 + 8 + 32;

/// One committed operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The skills' heads before and after.
    pub heads: Vec<HeadChange>,
    /// What the event log will say.
    pub events: Vec<Event>,
    /// The objects that the storage did not have.
    pub objects: Vec<Object>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    format: u32,
    heads: Vec<HeadChange>,
    events: Vec<Event>,
    objects: Vec<ObjectHead>,
}

#[derive(Serialize, Deserialize)]
struct ObjectHead {
    id: String,
    kind: String,
    len: u64,
}

/// The records of a journal, and what of the file is none.
#[derive(Debug)]
pub struct Contents {
    /// All whole records in order.
    pub records: Vec<Record>,
    /// Bytes after the last whole record: an operation that was cut off before it was reported.
    pub cut_bytes: u64,
}

/// An open journal. Everything but [`Journal::is_pending`] wants the library's lock.
#[derive(Debug)]
pub struct Journal {
    dir: Dir,
    file: File,
}

impl Journal {
    /// Opens the journal in a library's folder of the home, creating it when missing.
    ///
    /// # Errors
    /// What the system said.
    pub fn open(dir: &Dir) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        Ok(Self { dir: dir.try_clone()?, file: dir.open_with(FILE, &options)? })
    }

    /// The journal's size in bytes.
    ///
    /// # Errors
    /// What the system said.
    pub fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Whether records may not have been applied, or not in this boot of the machine.
    ///
    /// # Errors
    /// What the system said.
    pub fn is_pending(&self) -> io::Result<bool> {
        let len = self.len()?;
        if len == 0 {
            return Ok(false);
        }
        let applied = read_optional(&self.dir, APPLIED)?.unwrap_or_default();
        Ok(boot_id().is_none_or(|boot| applied != applied_note(&boot, len).into_bytes()))
    }

    /// Adds a record and syncs it: the commit point.
    ///
    /// # Errors
    /// What the system said; the record may then be in the file in part, and will be cut.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        let before = self.len()?;
        let written = self.file.write_all(&frame(record)?).and_then(|()| self.file.sync_data());
        if written.is_err() {
            let _best_effort = self.file.set_len(before);
        }
        written
    }

    /// Reads all records.
    ///
    /// # Errors
    /// What the system said.
    pub fn read(&mut self) -> io::Result<Contents> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        let mut rest = bytes.as_slice();
        let mut records = Vec::new();
        while let Some((record, after)) = parse(rest) {
            records.push(record);
            rest = after;
        }
        Ok(Contents { records, cut_bytes: rest.len() as u64 })
    }

    /// Drops so many bytes at the end.
    ///
    /// # Errors
    /// What the system said.
    pub fn cut(&mut self, bytes: u64) -> io::Result<()> {
        self.file.set_len(self.len()?.saturating_sub(bytes))?;
        self.file.sync_data()
    }

    /// Notes that all records are applied in this boot of the machine.
    ///
    /// # Errors
    /// What the system said.
    pub fn mark_applied(&self) -> io::Result<()> {
        match boot_id() {
            Some(boot) => self.dir.write(APPLIED, applied_note(&boot, self.len()?)),
            None => Ok(()),
        }
    }

    /// Empties the journal after everything in it was made durable.
    ///
    /// # Errors
    /// What the system said.
    pub fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.sync_data()
    }
}

fn applied_note(boot: &str, len: u64) -> String {
    format!("1 {boot} {len}\n")
}

/// What tells one boot of the machine from another, where the system says it; without it every
/// opening applies the journal again.
fn boot_id() -> Option<String> {
    let proc = Dir::open_ambient_dir("/proc/sys/kernel/random", cap_std::ambient_authority()).ok()?;
    proc.read_to_string("boot_id").ok().map(|id| id.trim().to_owned())
}

fn frame(record: &Record) -> io::Result<Vec<u8>> {
    let objects = record.objects.iter();
    let objects = objects.map(|o| ObjectHead { id: o.id.clone(), kind: o.kind.clone(), len: o.bytes.len() as u64 });
    let head =
        Head { format: 1, heads: record.heads.clone(), events: record.events.clone(), objects: objects.collect() };
    let head = serde_json::to_vec(&head)?;
    let body: Vec<u8> = record.objects.iter().flat_map(|object| &object.bytes).copied().collect();
    let head_len = u32::try_from(head.len()).map_err(io::Error::other)?;
    let mut framed = Vec::with_capacity(FRAME_BYTES + head.len() + body.len());
    framed.extend(MAGIC);
    framed.extend(head_len.to_be_bytes());
    framed.extend((body.len() as u64).to_be_bytes());
    framed.extend(Sha256::new().chain_update(&head).chain_update(&body).finalize());
    framed.extend(head);
    framed.extend(body);
    Ok(framed)
}

/// The first record of `bytes` and what follows it; `None` when there is no whole one.
fn parse(bytes: &[u8]) -> Option<(Record, &[u8])> {
    let (magic, rest) = bytes.split_first_chunk::<4>()?;
    let (head_len, rest) = rest.split_first_chunk::<4>()?;
    let (body_len, rest) = rest.split_first_chunk::<8>()?;
    let (sum, rest) = rest.split_first_chunk::<32>()?;
    let (head, rest) = rest.split_at_checked(u32::from_be_bytes(*head_len) as usize)?;
    let (mut body, after) = rest.split_at_checked(usize::try_from(u64::from_be_bytes(*body_len)).ok()?)?;
    let found: [u8; 32] = Sha256::new().chain_update(head).chain_update(body).finalize().into();
    if magic != MAGIC || found != *sum {
        return None;
    }
    let head: Head = serde_json::from_slice(head).ok()?;
    let mut objects = Vec::with_capacity(head.objects.len());
    for object in head.objects {
        let (bytes, rest) = body.split_at_checked(usize::try_from(object.len).ok()?)?;
        objects.push(Object { id: object.id, kind: object.kind, bytes: bytes.to_vec() });
        body = rest;
    }
    Some((Record { heads: head.heads, events: head.events, objects }, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revision::RevisionId;

    fn record(text: &str) -> Record {
        Record {
            heads: vec![HeadChange { skill: text.into(), old: None, new: RevisionId::new("0".repeat(40)) }],
            events: vec![],
            objects: vec![Object { id: "1".into(), kind: "blob".into(), bytes: text.as_bytes().to_vec() }],
        }
    }

    fn journal() -> (tempfile::TempDir, Journal) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        (temp, Journal::open(&dir).unwrap())
    }

    #[test]
    fn records_read_back_in_order() {
        let (_temp, mut journal) = journal();
        let records = [record("a"), record("b"), record("")];
        for record in &records {
            journal.append(record).unwrap();
        }
        let contents = journal.read().unwrap();
        assert_eq!((contents.records.as_slice(), contents.cut_bytes), (records.as_slice(), 0));
    }

    #[test]
    fn a_cut_or_damaged_end_is_no_record_at_any_byte() {
        let (_temp, mut journal) = journal();
        journal.append(&record("a")).unwrap();
        let first = journal.len().unwrap();
        journal.append(&record("b")).unwrap();
        let whole = journal.len().unwrap();
        for len in first..whole {
            journal.file.set_len(len).unwrap();
            let contents = journal.read().unwrap();
            assert_eq!((contents.records.len(), contents.cut_bytes), (1, len - first));
        }
        journal.file.set_len(first).unwrap();
        let mut damaged = frame(&record("b")).unwrap();
        *damaged.last_mut().unwrap() ^= 1;
        journal.file.write_all(&damaged).unwrap();
        assert_eq!(journal.read().unwrap().records.len(), 1);
    }

    #[test]
    fn records_are_pending_until_marked() {
        let (_temp, mut journal) = journal();
        assert!(!journal.is_pending().unwrap());
        journal.append(&record("a")).unwrap();
        assert!(journal.is_pending().unwrap());
        journal.mark_applied().unwrap();
        assert!(!journal.is_pending().unwrap() || boot_id().is_none());
        journal.append(&record("b")).unwrap();
        assert!(journal.is_pending().unwrap());
        journal.clear().unwrap();
        assert!(!journal.is_pending().unwrap());
    }
}
