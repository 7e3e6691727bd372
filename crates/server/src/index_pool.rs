//! [`IndexPool`]: the index, open as often as threads need it.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use registry_index::{Index, OpenError};

/// An index that many threads use, each through a value of its own.
#[derive(Debug)]
pub struct IndexPool {
    path: PathBuf,
    idle: Mutex<Vec<Index>>,
}

impl IndexPool {
    /// The pool of an index that is there.
    ///
    /// # Errors
    /// [`OpenError`]
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let first = Index::open(path)?;
        Ok(Self { path: path.to_owned(), idle: Mutex::new(vec![first]) })
    }

    /// The folder of the index.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Closes those that nobody uses: the files that they have open, and what libgit2 keeps in memory of them.
    pub fn close_idle(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Does some work with one of them.
    ///
    /// # Errors
    /// [`OpenError`] when another had to be opened and cannot be.
    pub fn with<T>(&self, work: impl FnOnce(&Index) -> T) -> Result<T, OpenError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let index = match idle {
            Some(index) => index,
            None => Index::open(&self.path)?,
        };
        let done = work(&index);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(index);
        Ok(done)
    }
}
