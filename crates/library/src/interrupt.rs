//! Work that an interrupt does not cut short ([`Section`]), and the interrupt flag of the process.
//!
//! The program sets the flag when it gets a signal. Long work checks it and stops. Work that must complete enters a
//! section, and the process only exits when no section is open.

use std::{
    cell::Cell,
    path::{Path, PathBuf},
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

static RAISED: AtomicBool = AtomicBool::new(false);
static DONE: AtomicBool = AtomicBool::new(false);
static OPEN: Mutex<usize> = Mutex::new(0);
static CLOSED: Condvar = Condvar::new();
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

thread_local! {
    /// Number of nested sections that this thread has open.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Error of work that stopped because the user or the system interrupted the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("interrupted")]
pub struct Interrupted;

impl Fails for Interrupted {
    fn failure(&self) -> Failure {
        Failure::new(FailureKind::Interrupted, "interrupted")
    }
}

/// Guard of work that must complete once begun. Closed on drop.
#[derive(Debug)]
pub struct Section(());

impl Section {
    /// Opens a section. Within an open section of the same thread this always succeeds.
    ///
    /// # Errors
    /// Returns [`Interrupted`] if the process was interrupted.
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

/// Sets the interrupt flag.
pub fn raise() {
    RAISED.store(true, Ordering::Release);
}

/// Returns whether the process was interrupted.
pub fn is_raised() -> bool {
    RAISED.load(Ordering::Acquire)
}

/// Returns whether any section was closed, so that something may have changed.
pub fn is_anything_done() -> bool {
    DONE.load(Ordering::Acquire)
}

/// Stops long work if the process was interrupted.
///
/// # Errors
/// Returns [`Interrupted`] if it was.
pub fn check() -> Result<(), Interrupted> {
    if is_raised() { Err(Interrupted) } else { Ok(()) }
}

/// Waits until no section is open, then ends the process with `exit` before another can be opened.
pub fn end(exit: impl FnOnce()) {
    let mut open = lock();
    while *open > DEPTH.get() {
        open = CLOSED.wait(open).unwrap_or_else(PoisonError::into_inner);
    }
    exit();
}

/// Registers a temporary folder for deletion when the process is ended from outside the code that created it.
pub fn note_temporary(path: &Path) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}

/// Returns the registered temporary folders. Most no longer exist.
pub fn temporary() -> Vec<PathBuf> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn lock() -> MutexGuard<'static, usize> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::*;

    // The flag is global to the process, so the tests of the program cover it.
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
}
