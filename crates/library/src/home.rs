//! [`Home`]: the folder where skillhub keeps what no skill folder may hold.

use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use scan::Scanner;
use skill::Digest;

use crate::{
    disk::ensure_private_dir, edit_policy::EditPolicy, links::Linker, ownership, place_error::PlaceError,
    watcher::Watcher,
};

/// `SKILLHUB_HOME`: history, state and events of every library, configuration, the embedded
/// registry and the cache. Created when first written to.
#[derive(Debug, Clone)]
pub struct Home {
    path: PathBuf,
    watcher: Option<Watcher>,
    linker: Option<Linker>,
    edit_policy: Option<EditPolicy>,
    scanner: Scanner,
}

impl Home {
    /// The home at a path, which need not exist yet.
    ///
    /// # Errors
    /// [`PlaceError::Foreign`] and [`PlaceError::Shared`] when another user owns it or can write to it.
    pub fn at(path: impl Into<PathBuf>) -> Result<Self, PlaceError> {
        let home = Self::unchecked(path);
        ownership::check_home(&home.path)?;
        Ok(home)
    }

    /// The home at a path whose owner and mode were not checked: to print paths and repair it, never to follow its
    /// configuration.
    pub fn unchecked(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), watcher: None, linker: None, edit_policy: None, scanner: Scanner::default() }
    }

    /// The same, with somebody who is told what becomes of proposals in libraries that are opened by it.
    #[must_use]
    pub fn watched_by(self, watcher: Watcher) -> Self {
        Self { watcher: Some(watcher), ..self }
    }

    /// The same, with rules for hand edits in libraries that are opened by it. Without them only pins hold edits.
    #[must_use]
    pub fn with_edit_policy(self, policy: EditPolicy) -> Self {
        Self { edit_policy: Some(policy), ..self }
    }

    pub(crate) fn edit_policy(&self) -> Option<EditPolicy> {
        self.edit_policy.clone()
    }

    /// The same, with a scanner for skills of libraries that are opened by it, and for what comes into them.
    #[must_use]
    pub fn scanned_by(self, scanner: Scanner) -> Self {
        Self { scanner, ..self }
    }

    /// What scans skills here.
    #[must_use]
    pub fn scanner(&self) -> Scanner {
        self.scanner
    }

    pub(crate) fn watcher(&self) -> Option<Watcher> {
        self.watcher.clone()
    }

    /// The same, with a linker for new skills of libraries that are opened by it.
    #[must_use]
    pub fn linked_by(self, linker: Linker) -> Self {
        Self { linker: Some(linker), ..self }
    }

    pub(crate) fn linker(&self) -> Option<Linker> {
        self.linker.clone()
    }

    /// The home's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the home, making it when missing, for its user alone where the system knows that.
    ///
    /// # Errors
    /// [`PlaceError`] with what the system said, or that another user owns it.
    pub fn ensure(&self) -> Result<Dir, PlaceError> {
        ensure_private_dir(&self.path)
    }

    /// `config.toml`.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// The embedded registry.
    #[must_use]
    pub fn registry(&self) -> PathBuf {
        self.path.join("registry")
    }

    /// What this machine has of registries that only git reaches; it can be thrown away at any time.
    #[must_use]
    pub fn mirrors(&self) -> PathBuf {
        self.path.join("registries")
    }

    /// Bundles by digest.
    #[must_use]
    pub fn cache(&self) -> PathBuf {
        self.path.join("cache")
    }

    /// Where history and state of the library at `library` (an absolute, resolved path) are kept:
    /// `libraries/<first 16 digits of the path's sha256>`.
    #[must_use]
    pub fn library(&self, library: &Path) -> PathBuf {
        let digest = Digest::of_bytes(library.as_os_str().as_encoded_bytes()).hex();
        self.path.join("libraries").join(digest.get(..16).unwrap_or(&digest))
    }
}
