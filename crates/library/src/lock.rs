//! Locks of a library across processes, released when their holder exits ([`LibraryLock`]).
//!
//! `lock` is the lock of writers, `turn` the retry lock; the crate's documentation says who takes which.

use std::{
    fs::{File, TryLockError},
    io::{self, Read, Seek},
    ops::Deref,
    thread,
    time::{Duration, Instant},
};

use cap_std::fs::{Dir, OpenOptions};
use jiff::Timestamp;
use thiserror::Error;

use crate::disk::overwrite;

/// File of the lock for commits.
const COMMIT: &str = "lock";

/// File of the retry lock, held between attempts by a writer that lost a race.
const TURN: &str = "turn";

/// Pause before the second attempt. It is halved each time down to the shortest pause, so that the longest waiting
/// process tries most often and a process that takes the lock repeatedly does not starve the others.
const FIRST_PAUSE: Duration = Duration::from_millis(16);
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// Limit for reading the holder's note, in bytes.
const NOTE_BYTES: u64 = 512;

/// Maximum number of words of the holder's command in its note, including the program's name.
const COMMAND_WORDS: usize = 3;

/// Reason why a lock was not acquired.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another process held it until the timeout.
    #[error("the library is locked by {holder}")]
    Locked {
        /// Description of the holder, as written by itself.
        holder: String,
    },
    /// The lock file cannot be opened or locked.
    #[error("cannot lock the library: {0}")]
    Io(#[from] io::Error),
}

/// Exclusive right to commit to a library, released on drop. The system releases it when the process dies.
#[derive(Debug)]
pub struct LibraryLock {
    _file: File,
}

impl LibraryLock {
    /// Takes the lock, waiting for at most `wait`.
    ///
    /// # Errors
    /// Returns [`LockError`] on timeout or an I/O error.
    pub fn acquire(dir: &Dir, wait: Duration) -> Result<Self, LockError> {
        Self::acquire_file(dir, COMMIT, wait)
    }

    /// Returns whether the lock is held at this moment. False if that is unknown.
    pub fn is_held(dir: &Dir) -> bool {
        Self::is_file_held(dir, COMMIT)
    }

    /// Returns whether the retry lock is held at this moment. False if that is unknown.
    pub fn is_retry_lock_held(dir: &Dir) -> bool {
        Self::is_file_held(dir, TURN)
    }

    fn is_file_held(dir: &Dir, name: &str) -> bool {
        let file = dir.open(name).map(cap_std::fs::File::into_std);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Takes the retry lock, waiting for at most `wait`.
    ///
    /// # Errors
    /// Returns [`LockError`] on timeout or an I/O error.
    pub fn acquire_retry_lock(dir: &Dir, wait: Duration) -> Result<Self, LockError> {
        Self::acquire_file(dir, TURN, wait)
    }

    fn acquire_file(dir: &Dir, name: &str, wait: Duration) -> Result<Self, LockError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = dir.open_with(name, &options)?.into_std();
        let deadline = Instant::now() + wait;
        let mut pause = FIRST_PAUSE;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(error.into()),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    let holder = read_holder(&mut file).unwrap_or_else(|| "another process".to_owned());
                    return Err(LockError::Locked { holder });
                }
                Err(TryLockError::WouldBlock) => thread::sleep(pause),
            }
            pause = (pause / 2).max(SHORTEST_PAUSE);
        }
        // The holder's note is for messages only.
        let _best_effort = write_holder(&mut file);
        Ok(Self { _file: file })
    }
}

/// A library's folder in the home while its lock is held, which is released on drop. Functions that write there take it
/// as the proof that no other process does.
#[derive(Debug)]
pub(crate) struct LockedDir {
    _lock: LibraryLock,
    dir: Dir,
}

impl LockedDir {
    /// Takes the lock like [`LibraryLock::acquire`].
    pub fn acquire(dir: Dir, wait: Duration) -> Result<Self, LockError> {
        Ok(Self { _lock: LibraryLock::acquire(&dir, wait)?, dir })
    }
}

impl Deref for LockedDir {
    type Target = Dir;

    fn deref(&self) -> &Dir {
        &self.dir
    }
}

/// Writes the note of the holder, which is only used in messages to waiting processes.
fn write_holder(file: &mut File) -> io::Result<()> {
    let arguments: Vec<String> = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let note = format!("process {}\ncommand {}\nsince {}\n", std::process::id(), command(&arguments), now());
    overwrite(file, note.as_bytes())
}

/// Returns the current time, truncated to seconds.
fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// Returns the program and the words of its command, without flags and without text that may be private.
fn command(arguments: &[String]) -> String {
    let (program, rest) =
        arguments.split_first().map_or(("", &[] as &[String]), |(first, rest)| (first.as_str(), rest));
    let program = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let words = rest.iter().map(String::as_str).take_while(|word| is_word(word));
    std::iter::once(program).chain(words).take(COMMAND_WORDS).collect::<Vec<_>>().join(" ")
}

fn is_word(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c == '_' || c == '-';
    (1..=24).contains(&text.len()) && !text.starts_with('-') && text.chars().all(is_plain)
}

/// Reads the note of the current or last holder; `None` if it is missing or invalid. Every part is validated, since
/// the file may contain anything.
fn read_holder(file: &mut File) -> Option<String> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.take(NOTE_BYTES).read_to_end(&mut bytes)).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    let process: u32 = value("process")?.parse().ok()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || " -_.".contains(c);
    let command: String = value("command").unwrap_or_default().chars().filter(|c| plain(*c)).take(80).collect();
    let since = value("since").and_then(|since| since.parse::<Timestamp>().ok());
    let command = if command.trim().is_empty() { String::new() } else { format!(" ({})", command.trim()) };
    let since = since.map(|since| format!(" since {since}")).unwrap_or_default();
    Some(format!("process {process}{command}{since}"))
}

/// Returns the holder noted in the lock file of a folder, and whether the lock is held now. `None` if it was never
/// held.
pub(crate) fn last_holder(dir: &Dir) -> io::Result<Option<(String, bool)>> {
    let mut file = match dir.open(COMMIT) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?.into_std(),
    };
    let holder = read_holder(&mut file).unwrap_or_else(|| "another process".to_owned());
    Ok(Some((holder, LibraryLock::is_held(dir))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_error_names_the_holder() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        let held = LibraryLock::acquire(&dir, Duration::ZERO).unwrap();
        let error = LibraryLock::acquire(&dir, Duration::from_millis(5)).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(&format!("process {} (", std::process::id())), "{message}");
        assert!(message.contains(" since 20"), "{message}");
        drop(held);
        assert!(LibraryLock::acquire(&dir, Duration::ZERO).is_ok());
    }

    #[test]
    fn note_omits_command_arguments() {
        let words = |line: &str| command(&line.split('|').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(words("/usr/bin/skillhub|manage|patch|secret"), "skillhub manage patch");
        assert_eq!(words("skillhub|--library|/x|list"), "skillhub");
        assert_eq!(words("skillhub|install|acme/pdf"), "skillhub install");
        assert_eq!(words(""), "");
    }

    #[test]
    fn forged_note_is_sanitised() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        let shown = |note: &[u8]| {
            dir.write(COMMIT, note).unwrap();
            last_holder(&dir).unwrap().unwrap()
        };
        assert_eq!(shown(b"process 7\ncommand a\x1b[2Jb\xe2\x80\xae;rm\nsince now\n").0, "process 7 (a2Jbrm)");
        assert_eq!(shown(b"process \x1b]0;x\x07\n"), ("another process".to_owned(), false));
        assert_eq!(shown(&vec![b'x'; 100_000]).0, "another process");
        assert_eq!(shown(b"process 7\n").0, "process 7", "as earlier versions wrote it");
    }
}
