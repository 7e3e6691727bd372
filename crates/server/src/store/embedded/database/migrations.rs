//! [`migrate`]: migrates a database to the schema of this build and records each step.
//!
//! The steps are plain SQL files in order. The table `migrations` holds the number, name, sha256 and time of each
//! applied step. A released file is never edited: a change is a new file.

use jiff::Timestamp;
use rusqlite::{Connection, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use skill::hex;

use crate::store::{embedded::database::DatabaseError, records::to_the_second};

/// One step of the schema.
struct Migration {
    name: &'static str,
    sql: &'static str,
}

macro_rules! migrations {
    ($($name:literal),+ $(,)?) => {
        [$(Migration { name: $name, sql: include_str!(concat!("migrations/", $name, ".sql")) }),+]
    };
}

/// All steps, oldest first.
const MIGRATIONS: [Migration; 3] = migrations!["0001-tables", "0002-copies", "0003-openings-sessions-contents"];

/// Number of migrations of builds older than the history table. Their `user_version` counts the applied ones.
const WITHOUT_HISTORY: usize = 2;

const HISTORY: &str = "create table migrations (
    number integer primary key,
    name text not null,
    sha256 text not null,
    applied_at text not null
) strict";

/// An applied migration, as recorded in the database.
#[derive(Debug, PartialEq, Eq)]
struct Applied {
    number: usize,
    name: String,
    sha256: String,
}

impl Migration {
    fn sha256(&self) -> String {
        hex(&Sha256::digest(self.sql.as_bytes()))
    }
}

/// Applies all missing migrations in one transaction.
///
/// # Errors
/// [`DatabaseError::Newer`] and [`DatabaseError::Altered`] for a history that this build does not have.
pub fn migrate(database: &mut Connection, now: Timestamp) -> Result<(), DatabaseError> {
    // A database without a history is examined only under the lock: another process may be creating it.
    if has_history(database)? && missing(&history(database)?)?.is_empty() {
        return Ok(());
    }
    let write = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have applied some meanwhile, so the history is read again under the lock.
    let applied = history(&write)?;
    let missing = missing(&applied)?;
    if !has_history(&write)? {
        write.execute_batch(HISTORY)?;
        for migration in MIGRATIONS.iter().take(applied.len()) {
            record(&write, migration, now)?;
        }
    }
    for migration in missing {
        write.execute_batch(migration.sql)?;
        record(&write, migration, now)?;
    }
    // Builds older than the history table refuse unknown migrations by this number.
    write.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
    Ok(write.commit()?)
}

fn record(database: &Connection, migration: &Migration, now: Timestamp) -> rusqlite::Result<()> {
    let sql = "insert into migrations (number, name, sha256, applied_at)
               values ((select coalesce(max(number), 0) + 1 from migrations), ?1, ?2, ?3)";
    database.execute(sql, params![migration.name, migration.sha256(), to_the_second(now)]).map(drop)
}

/// Queries the schema with a statement. `table_exists` would use the connection's cached schema, which another process
/// may have changed.
fn has_history(database: &Connection) -> rusqlite::Result<bool> {
    let sql = "select exists (select 1 from sqlite_schema where type = 'table' and name = 'migrations')";
    database.query_row(sql, [], |row| row.get(0))
}

/// The migrations that were applied, oldest first.
fn history(database: &Connection) -> Result<Vec<Applied>, DatabaseError> {
    if has_history(database)? {
        let mut select = database.prepare("select number, name, sha256 from migrations order by number")?;
        let rows = select.query_map([], |row| {
            let number = usize::try_from(row.get::<_, i64>(0)?).unwrap_or(usize::MAX);
            Ok(Applied { number, name: row.get(1)?, sha256: row.get(2)? })
        })?;
        return Ok(rows.collect::<Result<_, _>>()?);
    }
    let found: i64 = database.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match usize::try_from(found) {
        Ok(applied) if applied <= WITHOUT_HISTORY => {
            let known = MIGRATIONS.iter().take(applied).zip(1..);
            let applied = |(one, number): (&Migration, usize)| Applied {
                number,
                name: one.name.to_owned(),
                sha256: one.sha256(),
            };
            Ok(known.map(applied).collect())
        }
        _ => Err(DatabaseError::Newer { found: format!("schema {found}") }),
    }
}

/// The migrations that are still to be applied.
fn missing(applied: &[Applied]) -> Result<&'static [Migration], DatabaseError> {
    const KNOWN: &[Migration] = &MIGRATIONS;
    for (index, one) in applied.iter().enumerate() {
        let Some(known) = KNOWN.get(index) else {
            return Err(DatabaseError::Newer { found: format!("migration {}", one.name) });
        };
        if one.number != index + 1 || one.name != known.name || one.sha256 != known.sha256() {
            return Err(DatabaseError::Altered { found: one.name.clone() });
        }
    }
    Ok(KNOWN.get(applied.len()..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap()
    }

    fn names(database: &Connection) -> Vec<String> {
        history(database).unwrap().into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn new_database_records_each_migration() {
        let mut database = Connection::open_in_memory().unwrap();
        migrate(&mut database, now()).unwrap();
        assert_eq!(names(&database), MIGRATIONS.map(|one| one.name));
        let at: String = database.query_row("select min(applied_at) from migrations", [], |row| row.get(0)).unwrap();
        assert_eq!(at, "2027-01-15T08:00:00Z");
        migrate(&mut database, Timestamp::UNIX_EPOCH).unwrap();
        let again: String = database.query_row("select min(applied_at) from migrations", [], |row| row.get(0)).unwrap();
        assert_eq!(again, at, "nothing is applied twice");
    }

    #[test]
    fn database_without_history_is_upgraded() {
        for applied in 1..=WITHOUT_HISTORY {
            let mut database = Connection::open_in_memory().unwrap();
            for migration in &MIGRATIONS[..applied] {
                database.execute_batch(migration.sql).unwrap();
            }
            database.execute_batch("insert into stars values ('acme/notes', 'ann')").unwrap();
            database.pragma_update(None, "user_version", applied as i64).unwrap();
            migrate(&mut database, now()).unwrap();
            assert_eq!(names(&database), MIGRATIONS.map(|one| one.name));
            let stars: i64 = database.query_row("select count(*) from stars", [], |row| row.get(0)).unwrap();
            assert_eq!(stars, 1);
        }
    }

    #[test]
    fn unknown_history_is_refused() {
        let mut database = Connection::open_in_memory().unwrap();
        database.pragma_update(None, "user_version", 9).unwrap();
        assert!(matches!(migrate(&mut database, now()), Err(DatabaseError::Newer { .. })));

        let mut database = Connection::open_in_memory().unwrap();
        migrate(&mut database, now()).unwrap();
        database.execute("insert into migrations values (99, '0099-later', '00', 'x')", []).unwrap();
        assert!(
            matches!(migrate(&mut database, now()), Err(DatabaseError::Newer { found }) if found.contains("later"))
        );

        let mut database = Connection::open_in_memory().unwrap();
        migrate(&mut database, now()).unwrap();
        database.execute("update migrations set sha256 = '00' where number = 1", []).unwrap();
        assert!(matches!(migrate(&mut database, now()), Err(DatabaseError::Altered { .. })));
    }

    #[test]
    fn database_that_another_process_made_meanwhile_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("skillhub.sqlite");
        let [mut early, mut late] = [(); 2].map(|()| Connection::open(&path).unwrap());
        assert!(!late.table_exists(None, "migrations").unwrap());
        migrate(&mut early, now()).unwrap();
        migrate(&mut late, now()).unwrap();
        assert_eq!(names(&late), MIGRATIONS.map(|one| one.name));
    }

    #[test]
    fn failed_migration_changes_nothing() {
        let mut database = Connection::open_in_memory().unwrap();
        database.execute_batch(MIGRATIONS[0].sql).unwrap();
        database.execute_batch("create table sessions (x integer); pragma user_version = 1;").unwrap();
        assert!(migrate(&mut database, now()).is_err());
        assert!(
            !database.table_exists(None, "migrations").unwrap() && !database.table_exists(None, "openings").unwrap()
        );
    }
}
