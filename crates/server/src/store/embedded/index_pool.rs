//! [`IndexPool`]: a pool of open handles of the index.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use registry_index::{Index, OpenError};

/// A git repository used by many threads, each through a handle of its own.
#[derive(Debug)]
pub struct IndexPool {
    path: PathBuf,
    idle: Mutex<Vec<Index>>,
}

impl IndexPool {
    /// Opens the pool of an existing index.
    ///
    /// # Errors
    /// [`OpenError`]
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let first = Index::open(path)?;
        Ok(Self { path: path.to_owned(), idle: Mutex::new(vec![first]) })
    }

    /// Returns the folder of the index.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Closes unused handles, to free their open files and libgit2's caches.
    pub fn close_idle(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Runs a function with a handle, opening another one if all are in use.
    ///
    /// # Errors
    /// [`OpenError`] when a new handle cannot be opened.
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
