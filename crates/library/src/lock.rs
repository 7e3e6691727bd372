//! [`LibraryLock`]: one lock a library, across processes, gone when its holder is.

use std::{
    fs::{File, TryLockError},
    io::{self, Read, Seek, Write},
    thread,
    time::{Duration, Instant},
};

use cap_std::fs::{Dir, OpenOptions};
use thiserror::Error;

/// The file of the lock that commits hold.
const COMMIT: &str = "lock";

/// The file of the lock that those hold who were overtaken, from one attempt to the next.
const TURN: &str = "turn";

/// How long one who has just come waits before it tries again; half as long each time, so that those
/// who wait longest try most often and one who comes again and again does not keep the others out.
const FIRST_PAUSE: Duration = Duration::from_millis(16);
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// Why a lock was not had.
#[derive(Debug, Error)]
pub enum LockError {
    /// Someone else held it all the time.
    #[error("the library is locked by {holder}")]
    Locked {
        /// Who, as the holder wrote it.
        holder: String,
    },
    /// The system refused.
    #[error("the library cannot be locked: {0}")]
    Io(#[from] io::Error),
}

/// The right to commit to a library, until dropped. The system gives it back when the process dies.
#[derive(Debug)]
pub struct LibraryLock {
    _file: File,
}

impl LibraryLock {
    /// Takes the lock, waiting for at most `wait`.
    ///
    /// # Errors
    /// [`LockError`]
    pub fn acquire(dir: &Dir, wait: Duration) -> Result<Self, LockError> {
        Self::acquire_file(dir, COMMIT, wait)
    }

    /// Whether someone holds the lock at this moment; no where that cannot be known.
    pub fn is_held(dir: &Dir) -> bool {
        let file = dir.open(COMMIT).map(cap_std::fs::File::into_std);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Takes the turn among those who were overtaken, waiting for at most `wait`.
    ///
    /// # Errors
    /// [`LockError`]
    pub fn acquire_turn(dir: &Dir, wait: Duration) -> Result<Self, LockError> {
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
                    return Err(LockError::Locked { holder: read_holder(&mut file) });
                }
                Err(TryLockError::WouldBlock) => thread::sleep(pause),
            }
            pause = (pause / 2).max(SHORTEST_PAUSE);
        }
        write_holder(&mut file)?;
        Ok(Self { _file: file })
    }
}

fn write_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {}", std::process::id())
}

fn read_holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    match (read, text.trim()) {
        (Ok(_), holder) if !holder.is_empty() => holder.to_owned(),
        _ => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_waits_and_is_told_who_holds_it() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        let held = LibraryLock::acquire(&dir, Duration::ZERO).unwrap();
        let error = LibraryLock::acquire(&dir, Duration::from_millis(5)).unwrap_err();
        assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
        drop(held);
        assert!(LibraryLock::acquire(&dir, Duration::ZERO).is_ok());
    }
}
