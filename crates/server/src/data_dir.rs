//! [`DataDir`]: the data folder of a server, private to its user, and the lock for writing to it.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use library::{
    LibraryLock, LockError, PathAccessError, ensure_dir, ensure_private_dir, make_dir_private, make_file_private,
    open_dir,
};
use registry_index::{InitError, OpenError};
use skill::{
    failure::{Fails, Failure, FailureKind},
    shell_word,
};
use thiserror::Error;

use crate::store::embedded::database::{Database, DatabaseError};

/// Name of the SQLite file, beside the index.
pub const DATABASE: &str = "skillhub.sqlite";

/// Name of the git repository with the index, in the data folder.
pub const INDEX: &str = "index.git";

/// Time in which a server that was just started creates its folder, and the delay between looks at it.
const START_LIMIT: Duration = Duration::from_secs(3);
const START_PAUSE: Duration = Duration::from_millis(50);

/// Suffixes of SQLite's files beside a database, which hold parts of its content.
const BESIDE_DATABASE: [&str; 2] = ["-wal", "-shm"];

/// The data folder of a server. A new one is private to its user.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
}

/// Reasons why a data folder cannot be used.
#[derive(Debug, Error)]
pub enum DataError {
    /// The folder cannot be created or used.
    #[error("cannot use {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// No server has stored anything in the folder.
    #[error("{} is not the data folder of a server", .0.display())]
    NoServer(PathBuf),
    /// Another server holds the lock of the folder.
    #[error("{} is already served by {holder}", path.display())]
    Served {
        /// The folder.
        path: PathBuf,
        /// Description of the process that serves it.
        holder: String,
    },
    /// Other users can read a file with secrets, and its mode cannot be changed.
    #[error("other users can read {}, which holds secrets, and its mode cannot be changed: {source}", path.display())]
    Exposed {
        /// The file or folder.
        path: PathBuf,
        /// The required mode, in octal.
        mode: &'static str,
        /// The system's refusal.
        source: io::Error,
    },
    /// The index cannot be created.
    #[error(transparent)]
    Init(#[from] InitError),
    /// The index cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The catalogue cannot be refreshed from the index.
    #[error("cannot load the catalogue from the index: {0}")]
    Refresh(String),
}

impl Fails for DataError {
    fn failure(&self) -> Failure {
        match self {
            Self::Folder { .. } | Self::Refresh(_) => {
                Failure::io().hint("use a writable folder of your own: --data DIR")
            }
            Self::NoServer(path) => Failure::new(FailureKind::NotFound, "not_found").hint(format!(
                "name the folder of a server with --data DIR, or start a server there first: skillhub serve --data {}",
                shell_word(&path.display().to_string())
            )),
            Self::Served { path, .. } => Failure::new(FailureKind::Conflict, "locked").hint(format!(
                "stop that server, or run a read-only mirror beside it: skillhub serve --read-only --addr 127.0.0.1:0 \
                 --data {}",
                shell_word(&path.display().to_string())
            )),
            Self::Exposed { path, mode, .. } => Failure::new(FailureKind::Refused, "permission_denied")
                .hint(format!("run this as its owner: chmod {mode} {}", shell_word(&path.display().to_string()))),
            Self::Database(error) => error.failure(),
            Self::Init(error) => error.failure(),
            Self::Open(error) => error.failure(),
        }
    }
}

impl DataDir {
    /// Opens a data folder and creates it if it does not exist.
    ///
    /// # Errors
    /// [`DataError::Folder`]
    pub fn ensure(path: &Path) -> Result<Self, DataError> {
        let folder = Self { path: path.to_owned() };
        ensure_private_dir(path).map_err(|error| folder.unusable(&error))?;
        Ok(folder)
    }

    /// Opens the data folder of a server, or an empty folder for a server that is yet to be started. Creates none: a
    /// misspelt path would become a second server without releases. Waits a moment for a server that is starting.
    ///
    /// # Errors
    /// [`DataError::NoServer`]
    pub fn existing(path: &Path) -> Result<Self, DataError> {
        let (folder, until) = (Self { path: path.to_owned() }, Instant::now() + START_LIMIT);
        while !folder.is_for_server()? {
            if Instant::now() >= until {
                return Err(DataError::NoServer(folder.path));
            }
            thread::sleep(START_PAUSE);
        }
        Ok(folder)
    }

    fn is_for_server(&self) -> Result<bool, DataError> {
        let Some(dir) = open_dir(&self.path).map_err(|error| self.unusable(&error))? else { return Ok(false) };
        let mut files = dir.entries().map_err(|source| DataError::Folder { path: self.path.clone(), source })?;
        Ok(files.next().is_none() || dir.exists(DATABASE) || dir.exists(INDEX))
    }

    /// Makes the folder private to its user, as a private index requires.
    ///
    /// # Errors
    /// [`DataError::Exposed`] when the system refuses.
    pub fn make_private(&self) -> Result<(), DataError> {
        let dir = ensure_dir(&self.path).map_err(|error| self.unusable(&error))?;
        make_dir_private(&dir).map_err(|source| DataError::Exposed { path: self.path.clone(), mode: "700", source })
    }

    /// Opens the database with a mode that only its user can read: it holds accounts and the hashes of tokens.
    ///
    /// # Errors
    /// [`DataError`]
    pub fn database(&self) -> Result<Arc<Database>, DataError> {
        let dir = ensure_dir(&self.path).map_err(|error| self.unusable(&error))?;
        // SQLite gives new files beside a database its mode; existing ones may have an older mode.
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

    /// Takes the lock for writing to the folder, without waiting. The system releases it when the process ends, even if
    /// it is killed.
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

    fn unusable(&self, error: &PathAccessError) -> DataError {
        DataError::Folder { path: self.path.clone(), source: io::Error::other(error.to_string()) }
    }
}
