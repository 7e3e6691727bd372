//! [`Lines`]: a digest over all lines of an index, by which two places are compared.

use registry_index::{Entry, Index, ReadError};
use sha2::{Digest as _, Sha256};
use skill::{QualifiedName, hex};

use crate::database::{Database, DatabaseError, rows};

/// Skills that are read at a time.
const SKILLS: i64 = 500;

/// Number and digest of all lines, by owner, name and position.
#[derive(Default)]
pub struct Lines {
    count: u64,
    hash: Sha256,
}

impl Lines {
    /// Reads all lines of an index.
    ///
    /// # Errors
    /// [`ReadError`]
    pub fn of_index(index: &Index) -> Result<Self, ReadError> {
        let mut lines = Self::default();
        for name in index.names()? {
            for entry in index.releases(&name)? {
                lines.add(&entry.to_line());
            }
        }
        Ok(lines)
    }

    /// Reads all lines of a database. Lines of later formats are left out, as by an index.
    ///
    /// # Errors
    /// [`DatabaseError`]
    pub fn of_database(database: &Database) -> Result<Self, DatabaseError> {
        let mut lines = Self::default();
        visit::<DatabaseError>(database, |_, found| {
            found.iter().filter(|line| Entry::parse(line).is_ok()).for_each(|line| lines.add(line));
            Ok(())
        })?;
        Ok(lines)
    }

    fn add(&mut self, line: &str) {
        self.count += 1;
        self.hash.update(line.as_bytes());
        self.hash.update(b"\n");
    }

    /// Returns the number of lines and their digest.
    #[must_use]
    pub fn finish(self) -> (u64, String) {
        (self.count, format!("sha256:{}", hex(&self.hash.finalize())))
    }
}

/// Visits the lines of all skills of a database, by owner and name.
///
/// # Errors
/// The error of `visit`, or [`DatabaseError`].
pub fn visit<E: From<DatabaseError>>(
    database: &Database,
    mut visit: impl FnMut(&QualifiedName, &[String]) -> Result<(), E>,
) -> Result<(), E> {
    let sql = "select owner, name, array(select line from releases where skill = id order by position) from skills
        where (owner, name) > ($1, $2) order by owner, name limit $3";
    let mut last = (String::new(), String::new());
    loop {
        let found = database.read(async |client| Ok(rows(client, sql, &[&last.0, &last.1, &SKILLS]).await?))?;
        for row in &found {
            let read = || -> Result<(String, String, Vec<String>), tokio_postgres::Error> {
                Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
            };
            let (owner, name, lines) = read().map_err(DatabaseError::from)?;
            let damaged = || DatabaseError::Failed(format!("{owner}/{name} is not the name of a skill"));
            visit(&format!("{owner}/{name}").parse().map_err(|_| damaged())?, &lines)?;
            last = (owner, name);
        }
        if found.is_empty() {
            return Ok(());
        }
    }
}
