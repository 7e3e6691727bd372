//! The folder of skillhub's own data, outside of skill folders ([`Home`]).

use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use scan::Scanner;
use skill::Digest;

use crate::{
    disk::ensure_private_dir, edit_policy::EditPolicy, links::Linker, ownership, path_access_error::PathAccessError,
};

/// The folder of `SKILLHUB_HOME`: history, state and events of every library, configuration, the embedded registry
/// and the cache. It is created at the first write.
#[derive(Debug, Clone)]
pub struct Home {
    path: PathBuf,
    linker: Option<Linker>,
    edit_policy: Option<EditPolicy>,
    scanner: Scanner,
}

impl Home {
    /// Uses the home at a path, which need not exist yet.
    ///
    /// # Errors
    /// Returns [`PathAccessError::Foreign`] or [`PathAccessError::Shared`] if another user owns it or can write to it.
    pub fn at(path: impl Into<PathBuf>) -> Result<Self, PathAccessError> {
        let home = Self::unchecked(path);
        ownership::check_home(&home.path)?;
        Ok(home)
    }

    /// Uses the home at a path without checking its owner and mode. Only for printing paths and repairs: its
    /// configuration must not be trusted.
    pub fn unchecked(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), linker: None, edit_policy: None, scanner: Scanner::default() }
    }

    /// Adds rules for hand edits in libraries that are opened through this home. Without rules only pins hold edits.
    #[must_use]
    pub fn with_edit_policy(self, policy: EditPolicy) -> Self {
        Self { edit_policy: Some(policy), ..self }
    }

    pub(crate) fn edit_policy(&self) -> Option<EditPolicy> {
        self.edit_policy.clone()
    }

    /// Sets the scanner for libraries that are opened through this home, and for content that enters them.
    #[must_use]
    pub fn scanned_by(self, scanner: Scanner) -> Self {
        Self { scanner, ..self }
    }

    /// Returns the scanner of this home.
    pub fn scanner(&self) -> Scanner {
        self.scanner
    }

    /// Adds a linker for new skills of libraries that are opened through this home.
    #[must_use]
    pub fn linked_by(self, linker: Linker) -> Self {
        Self { linker: Some(linker), ..self }
    }

    pub(crate) fn linker(&self) -> Option<Linker> {
        self.linker.clone()
    }

    /// Returns the path, as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the home, creating it with access for its user only (where the system supports modes).
    ///
    /// # Errors
    /// Returns [`PathAccessError`] with the I/O error, or if another user owns it.
    pub fn ensure(&self) -> Result<Dir, PathAccessError> {
        ensure_private_dir(&self.path)
    }

    /// Returns the path of `config.toml`.
    pub fn config(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// Returns the path of the embedded registry.
    pub fn registry(&self) -> PathBuf {
        self.path.join("registry")
    }

    /// Returns the path of the mirrors of git registries. They can be deleted at any time.
    pub fn mirrors(&self) -> PathBuf {
        self.path.join("registries")
    }

    /// Returns the path of the cache of bundles, by digest.
    pub fn cache(&self) -> PathBuf {
        self.path.join("cache")
    }

    /// Returns the folder for history and state of the library at `library` (an absolute, resolved path):
    /// `libraries/<first 16 digits of the path's sha256>`.
    pub fn library(&self, library: &Path) -> PathBuf {
        let digest = Digest::of_bytes(library.as_os_str().as_encoded_bytes()).hex();
        self.path.join("libraries").join(digest.get(..16).unwrap_or(&digest))
    }
}
