//! Content of `library.toml` ([`LibraryNote`]), and repair of that file and of the event log.

use jiff::Timestamp;
use serde::Deserialize;
use skill::Limits;

use super::super::{LOCK_WAIT, Library, LibraryError};
use crate::{
    disk::{open_dir, read_bounded},
    events,
    lock::LibraryLock,
    toml_text::from_toml,
};

const NOTE: &str = "library.toml";
const EVENTS: &str = "events.jsonl";

/// Result of reading `library.toml`, which identifies the library of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LibraryNote {
    /// Neither the file nor other data of a library exists.
    Absent,
    /// It names this library.
    Ours,
    /// It names a library at this other path.
    Other(String),
    /// It is missing or unreadable, for this reason.
    Damaged(String),
}

/// Result of repairing the event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventsRepair {
    /// Names of the copies: the previous log, and rotated files that cannot be unpacked. Separated by commas.
    pub kept_as: String,
    /// Number of unreadable lines and files, which are now only in the copies.
    pub dropped: usize,
}

#[derive(Deserialize)]
struct LibraryToml {
    format: u32,
    path: String,
}

impl Library {
    /// Reads the identity of the library from `library.toml`.
    ///
    /// # Errors
    /// The file exists and cannot be read because of an I/O error.
    pub fn note(&self) -> Result<LibraryNote, LibraryError> {
        let Some(own) = open_dir(self.own_path())? else { return Ok(LibraryNote::Absent) };
        let Some(bytes) = read_bounded(&own, NOTE, Limits::default().state_bytes).map_err(self.own_io())? else {
            let is_empty = own.entries().map_err(self.own_io())?.next().is_none();
            return Ok(if is_empty { LibraryNote::Absent } else { LibraryNote::Damaged("it is missing".to_owned()) });
        };
        let read = String::from_utf8(bytes).map_err(|error| error.to_string());
        let note = read.and_then(|text| from_toml::<LibraryToml>(&text));
        Ok(match note {
            Ok(note) if note.format != 1 => LibraryNote::Damaged(format!("its format {} is unknown", note.format)),
            Ok(note) if note.path == self.path().display().to_string() => LibraryNote::Ours,
            Ok(note) => LibraryNote::Other(note.path),
            Err(why) => LibraryNote::Damaged(why),
        })
    }

    /// Rewrites a damaged `library.toml`. Returns the name under which the old file is kept, if there was one.
    ///
    /// # Errors
    /// The lock cannot be taken, or an I/O error.
    pub fn repair_library_toml(&self, time: Timestamp) -> Result<Option<String>, LibraryError> {
        let Some(own) = open_dir(self.own_path())? else { return Ok(None) };
        let _lock = LibraryLock::acquire(&own, LOCK_WAIT)?;
        let kept = match own.symlink_metadata(NOTE) {
            Ok(_) => Some(super::aside_name(&own, NOTE, time)),
            Err(_) => None,
        };
        if let Some(kept) = &kept {
            own.rename(NOTE, &own, kept).map_err(self.own_io())?;
        }
        self.ensure_own()?;
        Ok(kept)
    }

    /// Copies the event log and removes its unreadable lines. Rotated files that cannot be unpacked are renamed.
    ///
    /// # Errors
    /// The lock cannot be taken, or an I/O error.
    pub fn repair_events(&self, time: Timestamp) -> Result<EventsRepair, LibraryError> {
        let own = self.locked()?;
        let mend = || -> std::io::Result<EventsRepair> {
            let busy =
                || std::io::Error::new(std::io::ErrorKind::ResourceBusy, "another process is using the event log");
            let _nobody_writes = events::alone(&own)?.ok_or_else(busy)?;
            let mut kept_as = Vec::new();
            for part in events::damaged(&own)? {
                let aside = super::aside_name(&own, &part, time);
                own.rename(&part, &own, &aside)?;
                kept_as.push(aside);
            }
            let mut dropped = kept_as.len();
            if own.exists(EVENTS) {
                kept_as.push(super::keep_copy(&own, EVENTS, time)?);
                dropped += events::drop_bad_lines(&own)?;
            }
            Ok(EventsRepair { kept_as: kept_as.join(", "), dropped })
        };
        mend().map_err(self.own_io())
    }
}
