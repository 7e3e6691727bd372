//! [`DataDir`]: the folder of a server, closed to other users, and the lock of the server that changes it.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use library::{
    LibraryLock, LockError, PlaceError, ensure_dir, ensure_private_dir, make_dir_private, make_file_private,
};

use crate::{
    database::Database,
    hub::{DATABASE, DataError},
};

/// The files that SQLite keeps beside a database, with parts of its content.
const BESIDE_DATABASE: [&str; 2] = ["-wal", "-shm"];

/// The data folder of a server. One that is made is for its user alone.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
}

impl DataDir {
    /// Opens a data folder, and makes it where there is none.
    ///
    /// # Errors
    /// [`DataError::Folder`]
    pub fn ensure(path: &Path) -> Result<Self, DataError> {
        let folder = Self { path: path.to_owned() };
        ensure_private_dir(path).map_err(|error| folder.unusable(&error))?;
        Ok(folder)
    }

    /// Closes the folder to other users, as a private index needs it.
    ///
    /// # Errors
    /// [`DataError::Exposed`] when the system refuses.
    pub fn make_private(&self) -> Result<(), DataError> {
        let dir = ensure_dir(&self.path).map_err(|error| self.unusable(&error))?;
        make_dir_private(&dir).map_err(|source| DataError::Exposed { path: self.path.clone(), mode: "700", source })
    }

    /// Opens the database. Only its user can read it: it holds accounts and the hashes of tokens.
    ///
    /// # Errors
    /// [`DataError`]
    pub fn database(&self) -> Result<Arc<Database>, DataError> {
        let dir = ensure_dir(&self.path).map_err(|error| self.unusable(&error))?;
        // SQLite gives the files beside a database its rights; those that are there may be older.
        let beside = BESIDE_DATABASE.map(|suffix| format!("{DATABASE}{suffix}"));
        let there = beside.iter().map(String::as_str).filter(|name| dir.exists(name));
        for name in std::iter::once(DATABASE).chain(there) {
            match make_file_private(&dir, name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(DataError::Exposed { path: self.path.join(name), mode: "600", source: error });
                }
                _ => {}
            }
        }
        Ok(Arc::new(Database::open(&self.path.join(DATABASE))?))
    }

    /// Takes the lock of the server that changes the folder. The system releases it when the process ends, killed or
    /// not.
    ///
    /// # Errors
    /// [`DataError::Served`] when another process holds it.
    pub fn lock(&self) -> Result<LibraryLock, DataError> {
        let dir = ensure_dir(&self.path).map_err(|error| self.unusable(&error))?;
        LibraryLock::acquire(&dir, Duration::ZERO).map_err(|error| match error {
            LockError::Locked { holder } => DataError::Served { path: self.path.clone(), holder },
            LockError::Io(source) => DataError::Folder { path: self.path.clone(), source },
        })
    }

    fn unusable(&self, error: &PlaceError) -> DataError {
        DataError::Folder { path: self.path.clone(), source: io::Error::other(error.to_string()) }
    }
}
