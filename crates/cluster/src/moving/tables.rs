//! Rows of accounts, counts and decisions as JSON, out of the database and into it.

use deadpool_postgres::ClientWrapper;
use serde_json::Value;
use server::{FolderTables, JsonRow, TABLES, store::StoreError};

use crate::database::{Database, DatabaseError};

/// Rows that are moved at a time.
const ROWS: usize = 2000;

/// Columns of skills that are made from other tables.
const COUNT: &str = "update skills set
    downloads = coalesce((select sum(count) from downloads where skill = owner || '/' || name), 0),
    stars = (select count(*) from stars where skill = owner || '/' || name)";

/// A transaction on a connection of its own, which is rolled back when it is dropped. Statements may take as long as they
/// need.
struct Steps<'a> {
    database: &'a Database,
    session: ClientWrapper,
}

impl<'a> Steps<'a> {
    fn begin(database: &'a Database) -> Result<Self, DatabaseError> {
        let steps = Self { database, session: database.session()? };
        steps.run(
            "begin isolation level repeatable read; set local statement_timeout = 0; set local timezone = 'UTC'; \
             set local idle_in_transaction_session_timeout = 0",
        )?;
        Ok(steps)
    }

    fn run(&self, sql: &str) -> Result<(), DatabaseError> {
        Ok(self.database.wait(self.session.batch_execute(sql))?)
    }

    fn insert(&self, table: &str, rows: Vec<JsonRow>) -> Result<(), DatabaseError> {
        let sql = format!(
            "insert into {table} overriding system value select * from jsonb_populate_recordset(null::{table}, $1)"
        );
        let rows = Value::Array(rows.into_iter().map(Value::Object).collect());
        self.database.wait(self.session.execute(&sql, &[&rows]))?;
        Ok(())
    }

    fn fetch(&self) -> Result<Vec<Value>, DatabaseError> {
        let found = self.database.wait(self.session.query(&format!("fetch {ROWS} from moved"), &[]))?;
        Ok(found.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
    }
}

/// Replaces the tables of the database by those of a folder, in one transaction. Returns the number of rows.
///
/// # Errors
/// [`StoreError`]; nothing has changed then.
pub fn into_database(database: &Database, folder: &FolderTables) -> Result<u64, StoreError> {
    let steps = Steps::begin(database)?;
    let old: Vec<String> = TABLES.iter().rev().map(|table| format!("delete from {table};")).collect();
    steps.run(&format!("delete from sessions; {}", old.join(" ")))?;
    let mut count = 0;
    for table in TABLES {
        let mut rows = Vec::new();
        folder.visit(table, &mut |row| {
            rows.push(row);
            count += 1;
            if rows.len() >= ROWS {
                steps.insert(table, std::mem::take(&mut rows))?;
            }
            Ok(())
        })?;
        steps.insert(table, rows)?;
    }
    for table in ["reports", "audit"] {
        let next = "(select coalesce(max(id), 0) + 1 from";
        steps.run(&format!("select setval(pg_get_serial_sequence('{table}', 'id'), {next} {table}), false)"))?;
    }
    steps.run(&format!("{COUNT}; commit"))?;
    Ok(count)
}

/// Replaces the tables of a folder by those of the database, as of one moment. Returns the number of rows.
///
/// # Errors
/// [`StoreError`]; nothing has changed then.
pub fn into_folder(database: &Database, folder: &FolderTables) -> Result<u64, StoreError> {
    let steps = Steps::begin(database)?;
    let mut count = 0;
    folder.replace(&mut |table, add| {
        steps.run(&format!("declare moved cursor for select to_jsonb(row) from {table} as row"))?;
        loop {
            let found = steps.fetch()?;
            if found.is_empty() {
                return Ok(steps.run("close moved")?);
            }
            for value in found {
                let Value::Object(row) = value else { continue };
                add(&row)?;
                count += 1;
            }
        }
    })?;
    Ok(count)
}
