//! [`Cache`]: archives that were fetched once, by their hash.

use std::{io, path::PathBuf};

use cap_std::fs::Dir;
use library::{Durability, Home, PlaceError, ensure_dir, open_dir, write_atomically};
use skill::Digest;
use thiserror::Error;

use crate::failure::{Fails, Failure};

/// `cache/` of the home. It can be thrown away at any time.
#[derive(Debug, Clone)]
pub struct Cache {
    path: PathBuf,
}

/// Why the cache cannot be used.
#[derive(Debug, Error)]
pub enum CacheError {
    /// Its folder.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The system refused.
    #[error("cannot use the cache {}: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Fails for CacheError {
    fn failure(&self) -> Failure {
        match self {
            Self::Place(error) => error.failure(),
            Self::Io { .. } => Failure::io(),
        }
    }
}

impl Cache {
    /// The cache of a home.
    #[must_use]
    pub fn of(home: &Home) -> Self {
        Self { path: home.cache() }
    }

    /// The archive of a hash, if it is there. One whose bytes no longer have the hash is removed.
    ///
    /// # Errors
    /// [`CacheError`]
    pub fn get(&self, archive: &Digest) -> Result<Option<Vec<u8>>, CacheError> {
        let Some(dir) = open_dir(&self.path)? else { return Ok(None) };
        let name = file_of(archive);
        match dir.read(&name) {
            Ok(bytes) if Digest::of_bytes(&bytes) == *archive => Ok(Some(bytes)),
            Ok(_) => {
                let _best_effort = dir.remove_file(&name);
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.io(source)),
        }
    }

    /// Keeps an archive and returns its hash.
    ///
    /// # Errors
    /// [`CacheError`]
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, CacheError> {
        let archive = Digest::of_bytes(bytes);
        let dir = ensure_dir(&self.path)?;
        let name = file_of(&archive);
        if self.get(&archive)?.is_none() {
            self.write(&dir, &name, bytes).map_err(|source| self.io(source))?;
        }
        Ok(archive)
    }

    /// A new temporary folder, gone when it is dropped.
    ///
    /// # Errors
    /// [`CacheError`]
    pub(crate) fn temporary(&self) -> Result<tempfile::TempDir, CacheError> {
        ensure_dir(&self.path)?;
        tempfile::Builder::new().prefix("fetch-").tempdir_in(&self.path).map_err(|source| self.io(source))
    }

    fn write(&self, dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (folder, file) = name.split_once('/').unwrap_or((".", name));
        dir.create_dir_all(folder)?;
        write_atomically(&dir.open_dir(folder)?, file, bytes, Durability::Unsynced)
    }

    fn io(&self, source: io::Error) -> CacheError {
        CacheError::Io { path: self.path.clone(), source }
    }
}

/// `<first two digits>/<64 digits>.skill`.
fn file_of(archive: &Digest) -> String {
    let hex = archive.hex();
    format!("{}/{hex}.skill", hex.get(..2).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_damage_does_not() {
        let temp = tempfile::tempdir().unwrap();
        let cache = Cache::of(&Home::at(temp.path().join("home")).unwrap());
        assert_eq!(cache.get(&Digest::of_bytes(b"x")).unwrap(), None);
        let archive = cache.put(b"x").unwrap();
        assert_eq!(cache.get(&archive).unwrap(), Some(b"x".to_vec()));
        let dir = open_dir(&cache.path).unwrap().unwrap();
        dir.write(file_of(&archive), "y").unwrap();
        assert_eq!(cache.get(&archive).unwrap(), None);
        assert!(!dir.exists(file_of(&archive)), "a damaged archive is thrown away");
        assert_eq!(cache.put(b"x").unwrap(), archive);
        assert_eq!(cache.get(&archive).unwrap(), Some(b"x".to_vec()));
    }
}
