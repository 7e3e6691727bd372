//! [`Section`]: work that an interrupt does not cut, and the state of an interrupt of the whole process.
//!
//! The program raises an interrupt when it gets a signal. What takes long checks for one and stops; what is to be done
//! whole enters a section, and the process ends only when no section is open.

use std::{
    cell::Cell,
    io,
    path::{Path, PathBuf},
    process::Child,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

static RAISED: AtomicBool = AtomicBool::new(false);
static DONE: AtomicBool = AtomicBool::new(false);
static OPEN: Mutex<usize> = Mutex::new(0);
static CLOSED: Condvar = Condvar::new();
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// How long a child may take to clean up after itself.
const CHILD_LIMIT: Duration = Duration::from_millis(500);

thread_local! {
    /// Sections that this thread has open, one inside the other.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// The user, or the system, asked the process to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("interrupted")]
pub struct Interrupted;

impl Fails for Interrupted {
    fn failure(&self) -> Failure {
        Failure::new(FailureKind::Interrupted, "interrupted")
    }
}

/// Work that is done whole or not begun. Closed on drop.
#[derive(Debug)]
pub struct Section(());

impl Section {
    /// Opens one; inside of an open one of the same thread always.
    ///
    /// # Errors
    /// [`Interrupted`] when the process was asked to stop.
    pub fn enter() -> Result<Self, Interrupted> {
        let mut open = lock();
        if DEPTH.get() == 0 {
            check()?;
        }
        DEPTH.set(DEPTH.get() + 1);
        *open += 1;
        Ok(Self(()))
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        let mut open = lock();
        *open = open.saturating_sub(1);
        DEPTH.set(DEPTH.get().saturating_sub(1));
        DONE.store(true, Ordering::Release);
        CLOSED.notify_all();
    }
}

/// Asks the process to stop.
pub fn raise() {
    RAISED.store(true, Ordering::Release);
}

/// Whether the process was asked to stop.
#[must_use]
pub fn is_raised() -> bool {
    RAISED.load(Ordering::Acquire)
}

/// Whether a section was closed, so that something may have changed.
#[must_use]
pub fn is_anything_done() -> bool {
    DONE.load(Ordering::Acquire)
}

/// Stops long work.
///
/// # Errors
/// [`Interrupted`] when the process was asked to stop.
pub fn check() -> Result<(), Interrupted> {
    if is_raised() { Err(Interrupted) } else { Ok(()) }
}

/// Waits until no section is open and ends the process with `exit` before another can be opened.
pub fn end(exit: impl FnOnce()) {
    let mut open = lock();
    while *open > DEPTH.get() {
        open = CLOSED.wait(open).unwrap_or_else(PoisonError::into_inner);
    }
    exit();
}

/// Notes a temporary folder that is to go when the process is ended from outside of the code that made it.
pub fn note_temporary(path: &Path) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}

/// The temporary folders that were noted; most are gone again.
#[must_use]
pub fn temporary() -> Vec<PathBuf> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Asks a child to end, and kills it if it does not.
///
/// # Errors
/// It cannot be killed or waited for.
pub fn end_child(child: &mut Child) -> io::Result<()> {
    terminate(child);
    let until = Instant::now() + CHILD_LIMIT;
    while Instant::now() < until {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait().map(drop)
}

#[cfg(unix)]
fn terminate(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ended_already = kill_process(pid, Signal::TERM);
    }
}

#[cfg(not(unix))]
fn terminate(_: &Child) {}

fn lock() -> MutexGuard<'static, usize> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Raising is for the whole process: tests of the program do that.
    #[test]
    fn end_waits_for_open_sections() {
        let outer = Section::enter().unwrap();
        let inner = Section::enter().unwrap();
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| end(|| ended.store(true, Ordering::Release)));
            drop(inner);
            thread::sleep(Duration::from_millis(20));
            assert!(!ended.load(Ordering::Acquire));
            drop(outer);
        });
        assert!(ended.load(Ordering::Acquire) && is_anything_done());
    }

    #[cfg(unix)]
    #[test]
    fn stubborn_child_is_killed() {
        let mut child = std::process::Command::new("sh").args(["-c", "trap '' TERM; sleep 60"]).spawn().unwrap();
        thread::sleep(Duration::from_millis(50));
        end_child(&mut child).unwrap();
        assert!(child.try_wait().unwrap().is_some());
    }
}
