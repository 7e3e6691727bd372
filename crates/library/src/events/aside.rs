//! Events put aside: the older part of the log, compressed, so that the log is all there and small.
//!
//! The log in use is renamed to `events.<n>.jsonl` while nobody writes, then compressed to
//! `events.<n>.jsonl.gz`, which counts as soon as it is there; the file that it was made of goes last.

use std::{
    io::{self, Read, Write},
    thread,
    time::{Duration, Instant},
};

use cap_std::fs::{Dir, File, OpenOptions};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};

use super::{FILE, parse};
use crate::disk::{Durability, read_optional, write_atomically};

const LOCK: &str = "events.lock";
const PACKED: &str = ".gz";

/// Bytes from which on the log in use is put aside.
const WORTHWHILE: u64 = 32 << 10;

/// How long putting aside waits for readers and writers of the log.
const WAIT: Duration = Duration::from_secs(2);

/// Bytes that one file of the log may have unpacked: what is larger was not made by us.
const UNPACKED_BYTES: u64 = 1 << 30;

/// Holds the log where it is while it is read or written.
pub(super) struct InPlace(Option<std::fs::File>);

impl InPlace {
    /// For writing.
    pub fn to_write(dir: &Dir) -> io::Result<Self> {
        let lock = lock_file(dir)?;
        lock.lock_shared()?;
        Ok(Self(Some(lock)))
    }

    /// For reading, where the lock may be out of reach: then a log that is put aside at this very
    /// moment may be read without its newest part.
    pub fn to_read(dir: &Dir) -> Self {
        Self(dir.open(LOCK).ok().map(File::into_std).filter(|lock| lock.lock_shared().is_ok()))
    }
}

impl Drop for InPlace {
    fn drop(&mut self) {
        if let Some(lock) = &self.0 {
            let _closing_does_it_too = lock.unlock();
        }
    }
}

fn lock_file(dir: &Dir) -> io::Result<std::fs::File> {
    let mut options = OpenOptions::new();
    Ok(dir.open_with(LOCK, options.read(true).write(true).create(true))?.into_std())
}

/// Puts the log in use aside when it is long and nothing is wrong with it, and compresses what was put
/// aside. The caller holds the library's lock.
pub(crate) fn put_aside(dir: &Dir) -> io::Result<()> {
    let is_long = dir.metadata(FILE).is_ok_and(|file| file.len() >= WORTHWHILE);
    if is_long
        && let Some(_nobody_writes) = alone(dir)?
        && parse(&read_optional(dir, FILE)?.unwrap_or_default()).1 == 0
    {
        let next = numbers(dir)?.last().map_or(1, |number| number + 1);
        dir.rename(FILE, dir, name(next))?;
    }
    for number in numbers(dir)? {
        let plain = name(number);
        let Some(bytes) = read_optional(dir, &plain)? else { continue };
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&bytes)?;
        write_atomically(dir, &format!("{plain}{PACKED}"), &packed.finish()?, Durability::Durable)?;
        dir.remove_file(&plain)?;
    }
    Ok(())
}

/// Holds off all who read or write the log, until dropped; `None` where they do so all the time.
pub(crate) fn alone(dir: &Dir) -> io::Result<Option<std::fs::File>> {
    let lock = lock_file(dir)?;
    let deadline = Instant::now() + WAIT;
    while lock.try_lock().is_err() {
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(Some(lock))
}

fn name(number: u64) -> String {
    format!("events.{number}.jsonl")
}

/// The numbers of what was put aside, oldest first.
fn numbers(dir: &Dir) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in dir.entries()? {
        let file = entry?.file_name();
        let number: Option<u64> = file.to_str().and_then(|file| {
            let file = file.strip_suffix(PACKED).unwrap_or(file);
            file.strip_prefix("events.")?.strip_suffix(".jsonl")?.parse().ok()
        });
        numbers.extend(number);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// Whether a part that was put aside is gone: they are numbered from 1.
pub(crate) fn has_gap(dir: &Dir) -> io::Result<bool> {
    let numbers = numbers(dir)?;
    Ok(numbers.last().is_some_and(|last| *last != numbers.len() as u64))
}

/// What was put aside, oldest first, each file's lines or why they cannot be read.
pub(super) fn read(dir: &Dir) -> io::Result<Vec<io::Result<Vec<u8>>>> {
    numbers(dir)?.into_iter().map(|number| read_one(dir, &name(number))).collect()
}

/// The names of the files among them that cannot be unpacked.
pub(crate) fn damaged(dir: &Dir) -> io::Result<Vec<String>> {
    let mut damaged = Vec::new();
    for number in numbers(dir)? {
        if read_one(dir, &name(number))?.is_err() {
            damaged.push(format!("{}{PACKED}", name(number)));
        }
    }
    Ok(damaged)
}

fn read_one(dir: &Dir, plain: &str) -> io::Result<io::Result<Vec<u8>>> {
    let packed = format!("{plain}{PACKED}");
    // It may be compressed between the first look and the second.
    for _ in 0..2 {
        if let Some(bytes) = read_optional(dir, &packed)? {
            let mut lines = Vec::new();
            let read = GzDecoder::new(bytes.as_slice()).take(UNPACKED_BYTES).read_to_end(&mut lines);
            return Ok(read.map(|_| lines));
        }
        if let Some(lines) = read_optional(dir, plain)? {
            return Ok(Ok(lines));
        }
    }
    Ok(Err(io::ErrorKind::NotFound.into()))
}
