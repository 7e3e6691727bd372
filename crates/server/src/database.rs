//! [`Database`]: the one SQLite file of a server, and its schema.

use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};
use thiserror::Error;

/// The schema's version, as `user_version` has it.
const SCHEMA: i64 = 1;

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
    #[error("the database has schema {found}, this version reads {SCHEMA}; use the skillhub that wrote it")]
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

fn migrate(database: &Connection) -> Result<(), DatabaseError> {
    let found: i64 = database.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match found {
        SCHEMA => Ok(()),
        0 => {
            database.execute_batch(&format!(
                "begin immediate; {} pragma user_version = {SCHEMA}; commit;",
                include_str!("schema.sql")
            ))?;
            Ok(())
        }
        _ => Err(DatabaseError::Schema { found }),
    }
}
