//! Temporary folders of ours that a killed process left in a library.

use cap_std::fs::Dir;

use super::{Library, LibraryError};
use crate::{
    checkout::{self, TEMPORARY},
    folder::{self, Leftovers},
    home::open_dir,
};

impl Library {
    /// The temporary names of ours that a killed process left in the library.
    ///
    /// # Errors
    /// The system refused.
    pub fn temporary_names(&self) -> Result<Vec<String>, LibraryError> {
        let io = |source| LibraryError::Io { path: self.path.clone(), source };
        let Some(root) = open_dir(&self.path)? else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for entry in root.entries().map_err(io)? {
            names.extend(entry.map_err(io)?.file_name().into_string().ok().filter(|name| name.starts_with(TEMPORARY)));
        }
        Ok(names)
    }

    /// Removes one of [`Library::temporary_names`], if nothing can be lost by it: the process that made
    /// it is gone, and its files are those of some revision. Says whether it did.
    ///
    /// # Errors
    /// The system refused, or the history cannot be read.
    pub fn remove_temporary(&self, name: &str) -> Result<bool, LibraryError> {
        let Some(root) = open_dir(&self.path)? else { return Ok(false) };
        if !name.starts_with(TEMPORARY) || checkout::maker_is_alive(name) || !self.is_some_revision(&root, name)? {
            return Ok(false);
        }
        let io = |source| LibraryError::Io { path: self.path.join(name), source };
        root.remove_dir_all(name).map_err(io)?;
        Ok(true)
    }

    /// Whether a folder holds what some revision of some skill holds, or nothing.
    fn is_some_revision(&self, root: &Dir, name: &str) -> Result<bool, LibraryError> {
        let Ok(found) = folder::read(root, name, Leftovers::Read, &self.limits) else { return Ok(false) };
        let digest = found.digest();
        let Some(storage) = self.storage()? else { return Ok(found.is_empty()) };
        for skill in storage.skills()? {
            if self.revisions(&skill, usize::MAX)?.iter().any(|revision| revision.digest == digest) {
                return Ok(true);
            }
        }
        Ok(found.is_empty())
    }
}
