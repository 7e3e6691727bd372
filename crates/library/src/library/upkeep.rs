//! Checks and repairs of a [`Library`]'s own files, without losing data.
//!
//! These only run at a person's request. A file that is replaced is kept beside the original under a name with the
//! time.

mod files;
mod folder_permissions;
mod history;
mod journal;
mod proposals;
mod state;

use std::{io, path::Path};

use cap_std::fs::Dir;
use jiff::Timestamp;

pub use files::{EventsRepair, LibraryNote};
pub use folder_permissions::{FolderPermissions, look_at_places, make_private};
pub use history::{HeadFault, HistoryFault};
pub use journal::{JournalRepair, JournalState, LostPart};
pub use proposals::{ProposalFault, ProposalFaultKind};
pub use state::StateRepair;

use super::{Library, LibraryError};
use crate::{
    disk::{open_dir, open_resolved, sync_file, sync_folder},
    home::Home,
    location::{Scope, resolve},
    lock,
};

/// Separator before the time in the name of the copy of a damaged file.
pub(crate) const DAMAGED: &str = ".damaged-";

impl Library {
    /// Opens the library at `path` for inspection. Unlike [`Library::open`] it applies no pending operations, and a
    /// damaged history or journal is not an error yet.
    ///
    /// # Errors
    /// Returns [`LibraryError`]. A missing folder is not an error.
    pub fn inspect(path: &Path, scope: Scope, home: &Home, storage_kind: &str) -> Result<Self, LibraryError> {
        let path = resolve(path).map_err(|source| LibraryError::Io { path: path.to_owned(), source })?;
        let own = home.library(&path);
        open_resolved(&path)?;
        open_dir(&own)?;
        let (linker, edit_policy) = (home.linker(), home.edit_policy());
        Ok(Self { linker, edit_policy, scanner: home.scanner(), ..Self::at(path, scope, own, storage_kind) })
    }

    /// Returns the current or last holder of the library's lock, as it described itself, and whether the lock is held
    /// now. Only for display, since the text can be written by anyone.
    ///
    /// # Errors
    /// The lock file cannot be read.
    pub fn lock_holder(&self) -> Result<Option<(String, bool)>, LibraryError> {
        open_dir(self.own_path())?.map_or(Ok(None), |own| lock::last_holder(&own).map_err(self.own_io()))
    }
}

/// Returns an unused name for the copy of a damaged file.
fn aside_name(dir: &Dir, name: &str, time: Timestamp) -> String {
    let stamped = format!("{name}{DAMAGED}{}", time.strftime("%Y%m%dT%H%M%SZ"));
    let numbered = (2..).map(|number| format!("{stamped}-{number}"));
    let mut names = std::iter::once(stamped.clone()).chain(numbered);
    names.find(|name| dir.symlink_metadata(name).is_err()).unwrap_or(stamped)
}

/// Makes a durable copy of a damaged file and returns its name.
pub(super) fn keep_copy(dir: &Dir, name: &str, time: Timestamp) -> io::Result<String> {
    let aside = aside_name(dir, name, time);
    dir.copy(name, dir, &aside)?;
    sync_file(dir, &aside)?;
    sync_folder(dir)?;
    Ok(aside)
}
