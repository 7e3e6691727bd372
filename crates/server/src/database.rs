//! [`Database`]: the one SQLite file of a server, and its schema.

use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};
use thiserror::Error;

/// The steps of the schema; `user_version` counts those that were made.
const STEPS: [&str; 2] = [include_str!("schema.sql"), include_str!("copies.sql")];

/// How long a writer waits for another process.
const BUSY: Duration = Duration::from_secs(10);

/// Connections that read at the same time.
const READERS: usize = 4;

/// The file is not usable.
#[derive(Debug, Error)]
pub enum DatabaseError {
    /// SQLite says no.
    #[error("the database failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// Written by a later version.
    #[error("the database has schema {found}, this version reads {}; use the skillhub that wrote it", STEPS.len())]
    Schema {
        /// The schema found.
        found: i64,
    },
}

/// Bytes of the file that a reader has mapped: a cache of its own would be empty after every commit.
const MAPPED_BYTES: i64 = 1 << 30;

/// A SQLite file: one connection that writes, and some that read beside it.
#[derive(Debug)]
pub struct Database {
    writer: Mutex<Connection>,
    readers: Vec<Mutex<Connection>>,
}

impl Database {
    /// Opens the file, and makes it where there is none.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        let writer = Connection::open(path)?;
        writer.busy_timeout(BUSY)?;
        writer.pragma_update(None, "journal_mode", "wal")?;
        writer.pragma_update(None, "synchronous", "full")?;
        migrate(&writer)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let reader = |_| -> Result<_, DatabaseError> {
            let reader = Connection::open_with_flags(path, flags)?;
            reader.busy_timeout(BUSY)?;
            reader.pragma_update(None, "mmap_size", MAPPED_BYTES)?;
            Ok(Mutex::new(reader))
        };
        Ok(Self { writer: Mutex::new(writer), readers: (0..READERS).map(reader).collect::<Result<_, _>>()? })
    }

    /// The connection that writes; others wait for it.
    pub fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that reads.
    pub fn reader(&self) -> MutexGuard<'_, Connection> {
        let free = self.readers.iter().find_map(|reader| reader.try_lock().ok());
        match (free, self.readers.first()) {
            (Some(reader), _) => reader,
            (None, Some(first)) => first.lock().unwrap_or_else(PoisonError::into_inner),
            (None, None) => self.writer(),
        }
    }
}

/// Brings the file to the schema of this version, one step after the other.
fn migrate(database: &Connection) -> Result<(), DatabaseError> {
    let version = || database.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    loop {
        let found = version()?;
        let at = usize::try_from(found).map_err(|_| DatabaseError::Schema { found })?;
        match STEPS.get(at) {
            Some(step) => {
                // Another process may have made the step since: the transaction looks again.
                database.execute_batch("begin immediate")?;
                let made = match version()? == found {
                    true => database.execute_batch(&format!("{step} pragma user_version = {};", at + 1)),
                    false => Ok(()),
                };
                database.execute_batch(if made.is_ok() { "commit" } else { "rollback" })?;
                made?;
            }
            None if at == STEPS.len() => return Ok(()),
            None => return Err(DatabaseError::Schema { found }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The dump of a database that the build before wrote, with a release under quarantine.
    const OLD: &str = include_str!("../../../tests/data/server-database-1.sql");

    #[test]
    fn database_of_the_build_before_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("skillhub.sqlite");
        Connection::open(&path).unwrap().execute_batch(OLD).unwrap();
        for _ in 0..2 {
            let quarantines = crate::quarantines::Quarantines::new(Database::open(&path).unwrap().into());
            assert_eq!(quarantines.of("acme/notes", "1.1.0").unwrap().unwrap().reason, "it may be bad");
            assert!(quarantines.held_copies(None).unwrap().is_empty());
        }
    }

    #[test]
    fn later_schema_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("skillhub.sqlite");
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        assert!(matches!(Database::open(&path), Err(DatabaseError::Schema { found: 99 })));
    }
}
