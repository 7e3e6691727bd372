//! Log rotation: compresses the older part of the log, so that the log is complete and small.
//!
//! The active log is renamed to `events.<n>.jsonl` while nobody writes, then compressed to `events.<n>.jsonl.gz`. The
//! compressed file is used as soon as it exists; the uncompressed one is deleted last.

use std::{
    io::{self, Read, Write},
    thread,
    time::{Duration, Instant},
};

use cap_std::fs::{Dir, File, OpenOptions};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};

use super::{FILE, parse};
use crate::disk::{Durability, read_log, read_optional, write_atomically};

const LOCK: &str = "events.lock";
const PACKED: &str = ".gz";

/// Size in bytes from which the active log is rotated.
const WORTHWHILE: u64 = 32 << 10;

/// Time limit for waiting for readers and writers of the log.
const WAIT: Duration = Duration::from_secs(2);

/// Limit of the unpacked size of a log file, in bytes. Larger ones were not written by skillhub.
const UNPACKED_BYTES: u64 = 1 << 30;

/// Shared lock that prevents rotation while the log is read or written.
pub(super) struct InPlace(Option<std::fs::File>);

impl InPlace {
    /// Takes the shared lock for writing.
    pub fn to_write(dir: &Dir) -> io::Result<Self> {
        let lock = lock_file(dir)?;
        lock.lock_shared()?;
        Ok(Self(Some(lock)))
    }

    /// Takes the shared lock for reading. Where the lock file is not accessible, the log is read without it, and may
    /// lack its newest part if it is being rotated.
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

/// Rotates the active log if it is long and has no unreadable lines, then compresses rotated files. The caller holds
/// the library's lock.
pub(crate) fn rotate(dir: &Dir) -> io::Result<()> {
    let is_long = dir.metadata(FILE).is_ok_and(|file| file.len() >= WORTHWHILE);
    if is_long
        && let Some(_nobody_writes) = alone(dir)?
        && parse(&read_log(dir, FILE)?.unwrap_or_default()).1 == 0
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

/// Takes the log's exclusive lock, released on drop. Returns `None` if readers and writers kept it busy until the
/// timeout.
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

/// Returns the numbers of the rotated files, oldest first.
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

/// Returns whether a rotated file is missing. They are numbered from 1.
pub(crate) fn has_gap(dir: &Dir) -> io::Result<bool> {
    let numbers = numbers(dir)?;
    Ok(numbers.last().is_some_and(|last| *last != numbers.len() as u64))
}

/// Reads the rotated files, oldest first. Each item has a file's lines or the error of reading them.
pub(super) fn read(dir: &Dir) -> io::Result<Vec<io::Result<Vec<u8>>>> {
    numbers(dir)?.into_iter().map(|number| read_one(dir, &name(number))).collect()
}

/// Returns the names of rotated files that cannot be unpacked.
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
    // The file may be compressed between the first attempt and the second.
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
