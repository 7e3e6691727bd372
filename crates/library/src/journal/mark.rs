//! [`JournalMark`]: how much of a journal is applied, and the note `journal.applied` that says so.

use std::io::{self, Read};

use cap_std::fs::Dir;

use super::{APPLIED, FILE};
use crate::{boot::boot_id, disk::remove_if_present};

/// Upper bound of the size of `journal.applied`, in bytes.
const NOTE_BYTES: usize = 128;

/// Length of a journal and the applied part of it. Two equal marks with nothing pending prove that no commit ran in
/// between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalMark {
    len: u64,
    applied: Option<u64>,
}

impl JournalMark {
    pub(super) fn of(dir: &Dir, len: u64) -> io::Result<Self> {
        Ok(Self { len, applied: if len > 0 { applied_bytes(dir)? } else { None } })
    }

    /// Returns whether every record was applied in this boot of the machine.
    pub fn is_settled(self) -> bool {
        self.len == 0 || self.applied == Some(self.len)
    }
}

/// Reads the mark of the journal in a folder, if there is one. Writes nothing.
///
/// # Errors
/// Returns the I/O error.
pub fn mark(dir: &Dir) -> io::Result<JournalMark> {
    let len = match dir.symlink_metadata(FILE) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    JournalMark::of(dir, len)
}

/// Returns whether that journal has records that may not have been applied in this boot of the machine. Writes
/// nothing.
///
/// # Errors
/// Returns the I/O error.
pub fn is_pending(dir: &Dir) -> io::Result<bool> {
    Ok(!mark(dir)?.is_settled())
}

pub(super) fn applied_bytes(dir: &Dir) -> io::Result<Option<u64>> {
    let boot = boot_id();
    Ok(note(dir)?.filter(|(noted, _)| Some(noted.as_str()) == boot).map(|(_, bytes)| bytes))
}

/// Reads which boot applied how many bytes; `None` if the note is missing or unreadable.
pub(super) fn note(dir: &Dir) -> io::Result<Option<(String, u64)>> {
    let mut file = match dir.open(APPLIED) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = [0; NOTE_BYTES];
    let len = file.read(&mut bytes)?;
    let text = std::str::from_utf8(bytes.get(..len).unwrap_or_default()).unwrap_or_default();
    let parts = text.strip_prefix("1 ").and_then(|rest| rest.strip_suffix('\n')?.split_once(' '));
    Ok(parts.and_then(|(boot, bytes)| Some((boot.to_owned(), bytes.parse().ok()?))))
}

pub(super) fn forget_applied(dir: &Dir) -> io::Result<()> {
    remove_if_present(dir, APPLIED)
}
