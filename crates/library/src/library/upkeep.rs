//! Looking for what is wrong with a [`Library`]'s own files, and mending it without losing anything.
//!
//! Nothing here happens by itself: a person asks for it. What is replaced is kept beside its place, under
//! a name with the time.

mod files;
mod history;
mod journal;
mod places;
mod state;

use std::{io, path::Path};

use cap_std::fs::Dir;
use jiff::Timestamp;

pub use files::{EventsMend, LibraryNote};
pub use history::{HeadFault, HistoryFault};
pub use journal::{JournalMend, JournalState, Lost};
pub use places::{Places, look_at_places, make_private};
pub use state::StateMend;

use super::{Library, LibraryError};
use crate::{
    disk::{open_dir, open_resolved, sync_folder},
    home::Home,
    location::{Scope, resolve},
    lock,
};

/// What the name of a file that was kept aside ends with, before the time.
pub(crate) const DAMAGED: &str = ".damaged-";

impl Library {
    /// The library at `path`, to be looked at: unlike [`Library::open`] it applies nothing, and a damaged
    /// history or journal is no error yet.
    ///
    /// # Errors
    /// [`LibraryError`]; a folder that is not there yet is none.
    pub fn inspect(path: &Path, scope: Scope, home: &Home, storage_kind: &str) -> Result<Self, LibraryError> {
        let path = resolve(path).map_err(|source| LibraryError::Io { path: path.to_owned(), source })?;
        let own = home.library(&path);
        open_resolved(&path)?;
        open_dir(&own)?;
        let (linker, edit_policy) = (home.linker(), home.edit_policy());
        Ok(Self {
            watcher: home.watcher(),
            linker,
            edit_policy,
            scanner: home.scanner(),
            ..Self::at(path, scope, own, storage_kind)
        })
    }

    /// Who holds the library's lock, or held it last, as the holder wrote it, and whether it is held now.
    /// For people only: anybody may have written it.
    ///
    /// # Errors
    /// The system refused.
    pub fn lock_holder(&self) -> Result<Option<(String, bool)>, LibraryError> {
        match open_dir(self.own_path())? {
            Some(own) => lock::last_holder(&own).map_err(self.own_io()),
            None => Ok(None),
        }
    }
}

/// A name that no other file kept aside has.
pub(crate) fn aside_name(dir: &Dir, name: &str, time: Timestamp) -> String {
    let stamped = format!("{name}{DAMAGED}{}", time.strftime("%Y%m%dT%H%M%SZ"));
    let numbered = (2..).map(|number| format!("{stamped}-{number}"));
    let mut names = std::iter::once(stamped.clone()).chain(numbered);
    names.find(|name| dir.symlink_metadata(name).is_err()).unwrap_or(stamped)
}

/// Keeps a durable copy of a file; says under which name.
pub(super) fn keep_copy(dir: &Dir, name: &str, time: Timestamp) -> io::Result<String> {
    let aside = aside_name(dir, name, time);
    dir.copy(name, dir, &aside)?;
    dir.open(&aside)?.sync_all()?;
    sync_folder(dir)?;
    Ok(aside)
}
