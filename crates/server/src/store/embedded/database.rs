//! [`Database`]: the single SQLite file of a server.

mod migrations;

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OpenFlags, Params, Row, TransactionBehavior};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use crate::store::records::{AccountError, StoreError};
use migrations::migrate;

/// Busy timeout of SQLite, for locks held by other processes.
const BUSY: Duration = Duration::from_secs(10);

/// Minimum of connections that read. Otherwise there are two for each processor, of which searches take one.
const READERS: usize = 4;

/// Reasons why the database failed or cannot be used.
#[derive(Debug, Error)]
pub enum DatabaseError {
    /// SQLite returned an error.
    #[error("the database failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The file is damaged, or is none of SQLite.
    #[error("the database {} is damaged: {source}", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Error of SQLite.
        source: rusqlite::Error,
    },
    /// A newer build wrote the file.
    #[error("a newer version of skillhub wrote the database: it has {found}")]
    Newer {
        /// Name of the first migration that this build lacks.
        found: String,
    },
    /// An applied migration differs from the one of this build.
    #[error("another build of skillhub wrote the database: its migration {found} differs")]
    Altered {
        /// Name of the migration.
        found: String,
    },
}

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        Self(Box::new(error))
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        DatabaseError::from(error).into()
    }
}

impl From<rusqlite::Error> for AccountError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Fails for DatabaseError {
    fn failure(&self) -> Failure {
        match self {
            Self::Sqlite(_) => Failure::io().hint("use a writable folder of your own: --data DIR"),
            Self::Damaged { .. } => Failure::new(FailureKind::Integrity, "damaged_database").hint(
                "stop the server and put the file of a backup in its place (docs/guides/server.md, Backup); if there \
                 is none, move it away: the server then starts with all releases, but without accounts, tokens, stars \
                 and counts",
            ),
            Self::Newer { .. } => Failure::new(FailureKind::Failed, "newer_format")
                .hint("use that version of skillhub or a newer one, or restore a backup from before the upgrade"),
            Self::Altered { .. } => {
                Failure::new(FailureKind::Integrity, "other_format").hint("use the build of skillhub that wrote it")
            }
        }
    }
}

/// Bytes of the file mapped by each reader. SQLite's own page cache would be empty after every commit.
const MAPPED_BYTES: i64 = 1 << 30;

/// A SQLite file with one connection for writing and a pool for reading.
#[derive(Debug)]
pub struct Database {
    writer: Mutex<Connection>,
    readers: Vec<Mutex<Connection>>,
    /// Number of waits for a reader, which spreads them over the pool.
    waited: AtomicUsize,
}

impl Database {
    /// Opens the file, creates it if it does not exist, and migrates it.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        let damage = [Some(ErrorCode::DatabaseCorrupt), Some(ErrorCode::NotADatabase)];
        Self::connected(path).map_err(|error| match error {
            DatabaseError::Sqlite(source) if damage.contains(&source.sqlite_error_code()) => {
                DatabaseError::Damaged { path: path.to_owned(), source }
            }
            other => other,
        })
    }

    fn connected(path: &Path) -> Result<Self, DatabaseError> {
        let mut writer = Connection::open(path)?;
        writer.busy_timeout(BUSY)?;
        writer.pragma_update(None, "journal_mode", "wal")?;
        set_synchronous(&writer, "full")?;
        // A transaction that begins with a read cannot upgrade once another process has written: SQLite refuses at
        // once.
        writer.set_transaction_behavior(TransactionBehavior::Immediate);
        migrate(&mut writer, Timestamp::now())?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let reader = |_| -> Result<_, DatabaseError> {
            let reader = Connection::open_with_flags(path, flags)?;
            reader.busy_timeout(BUSY)?;
            reader.pragma_update(None, "mmap_size", MAPPED_BYTES)?;
            Ok(Mutex::new(reader))
        };
        let count = thread::available_parallelism().map_or(READERS, |cores| READERS.max(cores.get() * 2));
        let readers = (0..count).map(reader).collect::<Result<_, _>>()?;
        Ok(Self { writer: Mutex::new(writer), readers, waited: AtomicUsize::default() })
    }

    /// Locks the connection for writing.
    pub fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change without a sync of its own: it may be lost with the system's power until the next change is synced,
    /// so it must be one that is made again from elsewhere.
    ///
    /// # Errors
    /// The error of `change`, or of SQLite.
    pub fn change_unsynced<T, E: From<rusqlite::Error>>(
        &self,
        change: impl FnOnce(&mut Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut writer = self.writer();
        set_synchronous(&writer, "normal")?;
        let changed = change(&mut writer);
        set_synchronous(&writer, "full")?;
        changed
    }

    /// Locks a free connection for reading, or waits for one.
    pub fn reader(&self) -> MutexGuard<'_, Connection> {
        let free = self.readers.iter().find_map(|reader| reader.try_lock().ok());
        // Waits are spread round-robin: on a single one, later callers would always find the others free first.
        let turn = || self.waited.fetch_add(1, Ordering::Relaxed) % self.readers.len().max(1);
        match free {
            Some(reader) => reader,
            None => match self.readers.get(turn()) {
                Some(reader) => reader.lock().unwrap_or_else(PoisonError::into_inner),
                None => self.writer(),
            },
        }
    }

    /// Reads all rows of a query, each converted by `of`.
    ///
    /// # Errors
    /// The error of SQLite, or of `of`.
    pub fn list<T>(
        &self,
        sql: &str,
        values: impl Params,
        of: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        let reader = self.reader();
        let mut select = reader.prepare_cached(sql)?;
        let rows = select.query_map(values, of)?;
        rows.collect()
    }
}

fn set_synchronous(writer: &Connection, level: &str) -> rusqlite::Result<()> {
    writer.pragma_update(None, "synchronous", level)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "a test puts a database on disk")]

    use super::*;
    use crate::store::embedded::quarantines::SqliteQuarantines;

    /// A database with schema 1 and a release under quarantine.
    const OLD: &[u8] = include_bytes!("../../../../../tests/data/server-1.sqlite");

    #[test]
    fn database_of_the_build_before_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("skillhub.sqlite");
        std::fs::write(&path, OLD).unwrap();
        for _ in 0..2 {
            let quarantines = SqliteQuarantines::new(Database::open(&path).unwrap().into());
            assert_eq!(quarantines.of("acme/notes", "1.0.0").unwrap().unwrap().reason, "it may be bad");
            assert!(quarantines.held_copies(None).unwrap().is_empty());
        }
    }

    #[test]
    fn transaction_that_reads_first_can_write() {
        let dir = tempfile::tempdir().unwrap();
        let open = || Database::open(&dir.path().join("skillhub.sqlite")).unwrap();
        let (one, other) = (open(), open());
        let star = |account: &str| format!("insert into stars values ('acme/notes', '{account}')");
        let count = |database: &Connection| database.query_row("select count(*) from stars", [], |row| row.get(0));
        thread::scope(|scope| {
            let mut writer = one.writer();
            let write = writer.transaction().unwrap();
            assert_eq!(count(&write), Ok(0));
            let waits = scope.spawn(|| other.writer().execute(&star("bob"), []).unwrap());
            // Longer than a transaction of another process takes that does not have to wait.
            let long = std::time::Instant::now() + Duration::from_millis(300);
            while !waits.is_finished() && std::time::Instant::now() < long {
                thread::yield_now();
            }
            write.execute(&star("ann"), []).unwrap();
            write.commit().unwrap();
        });
        assert_eq!(count(&one.reader()), Ok(2));
    }

    #[test]
    fn later_schema_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("skillhub.sqlite");
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        assert!(matches!(Database::open(&path), Err(DatabaseError::Newer { .. })));
    }
}
