//! [`FolderTables`]: accounts, counts and decisions of a data folder as JSON rows, for a move to other stores and back.

use std::{path::Path, sync::Arc};

use jiff::Timestamp;
use library::LibraryLock;
use rusqlite::{Connection, Row, ToSql, types::ValueRef};
use serde_json::{Map, Value};
use skill::hex;

use crate::{
    data_dir::{DataDir, DataError},
    store::{StoreError, embedded::database::Database, records::to_the_second},
};

/// The tables that are not made from the index. Rows of later ones refer to earlier ones.
pub const TABLES: [&str; 9] =
    ["accounts", "members", "tokens", "stars", "reports", "quarantine", "copies", "downloads", "audit"];

/// The column with bytes, and those with times.
const HASH: &str = "hash";
const TIMES: [&str; 5] = ["at", "created_at", "expires_at", "revoked_at", "decided_at"];

/// Prefix of bytes in hexadecimal digits, as PostgreSQL writes them.
const BYTES: &str = "\\x";

/// A row by column. Times are RFC 3339, bytes have the prefix `\x`.
pub type JsonRow = Map<String, Value>;

/// Adds a row to a table.
pub type AddRow<'a> = &'a mut dyn FnMut(&JsonRow) -> Result<(), StoreError>;

/// Contents of both sides after a move between a data folder and other stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Number of releases.
    pub releases: u64,
    /// Number of archives.
    pub archives: u64,
    /// Number of rows of accounts, counts and decisions.
    pub rows: u64,
    /// Digest over all lines.
    pub digest: String,
    /// True if a server ran on the data folder, which may have changed since.
    pub is_served: bool,
}

/// The database of a data folder.
pub struct FolderTables {
    database: Arc<Database>,
    lock: Option<LibraryLock>,
}

impl FolderTables {
    /// Opens the database of a data folder, and creates both if they do not exist. The lock of the folder is taken if it is
    /// free.
    ///
    /// # Errors
    /// [`DataError`]
    pub fn open(data: &Path) -> Result<Self, DataError> {
        let folder = DataDir::ensure(data)?;
        let lock = match folder.lock() {
            Ok(lock) => Some(lock),
            Err(DataError::Served { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(Self { database: folder.database()?, lock })
    }

    /// Returns whether another process serves the folder, which may change it at any time.
    pub fn is_served(&self) -> bool {
        self.lock.is_none()
    }

    /// Visits all rows of a table of [`TABLES`].
    ///
    /// # Errors
    /// The error of `visit`, or [`StoreError`].
    pub fn visit(
        &self,
        table: &str,
        visit: &mut dyn FnMut(JsonRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let reader = self.database.reader();
        let mut select = reader.prepare(&format!("select * from {table}"))?;
        let names: Vec<String> = select.column_names().into_iter().map(str::to_owned).collect();
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            visit(json_of(row, &names)?)?;
        }
        Ok(())
    }

    /// Replaces all rows of [`TABLES`], in one transaction. `fill` is called for each table with a function that adds a row.
    ///
    /// # Errors
    /// The error of `fill`, or [`StoreError`]; nothing has changed then.
    pub fn replace(&self, fill: &mut dyn FnMut(&str, AddRow<'_>) -> Result<(), StoreError>) -> Result<(), StoreError> {
        let mut writer = self.database.writer();
        let write = writer.transaction()?;
        write.pragma_update(None, "defer_foreign_keys", true)?;
        for table in TABLES {
            write.execute(&format!("delete from {table}"), [])?;
            let columns = columns_of(&write, table)?;
            let marks: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
            let sql = format!("insert into {table} ({}) values ({})", columns.join(", "), marks.join(", "));
            let mut insert = write.prepare(&sql)?;
            fill(table, &mut |row| {
                let values: Vec<Box<dyn ToSql>> =
                    columns.iter().map(|column| sql_of(column, row.get(column))).collect();
                insert.execute(rusqlite::params_from_iter(values))?;
                Ok(())
            })?;
        }
        Ok(write.commit()?)
    }
}

fn columns_of(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut select = connection.prepare("select name from pragma_table_info(?1)")?;
    select.query_map([table], |row| row.get(0))?.collect()
}

fn json_of(row: &Row<'_>, names: &[String]) -> rusqlite::Result<JsonRow> {
    let value = |at: usize| -> rusqlite::Result<Value> {
        Ok(match row.get_ref(at)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => number.into(),
            ValueRef::Real(number) => number.into(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
            ValueRef::Blob(bytes) => format!("{BYTES}{}", hex(bytes)).into(),
        })
    };
    names.iter().enumerate().map(|(at, name)| Ok((name.clone(), value(at)?))).collect()
}

/// Returns a value as SQLite keeps it: truth as a number, times in UTC to the second, bytes as they are.
fn sql_of(column: &str, value: Option<&Value>) -> Box<dyn ToSql> {
    match value {
        None | Some(Value::Null) => Box::new(rusqlite::types::Null),
        Some(Value::Bool(is_true)) => Box::new(*is_true),
        Some(Value::Number(number)) => Box::new(number.as_i64()),
        Some(Value::String(text)) => {
            let bytes = text.strip_prefix(BYTES).filter(|_| column == HASH).and_then(unhex);
            let at = TIMES.contains(&column).then(|| text.parse::<Timestamp>().ok()).flatten();
            match (bytes, at) {
                (Some(bytes), _) => Box::new(bytes),
                (None, Some(at)) => Box::new(to_the_second(at)),
                (None, None) => Box::new(text.clone()),
            }
        }
        Some(other) => Box::new(other.to_string()),
    }
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map(|pair| u8::from_str_radix(pair.filter(|pair| pair.len() == 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use skill::Owner;

    use super::*;
    use crate::{NewToken, Scope};

    #[test]
    fn rows_survive_a_move() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (from, to) = (FolderTables::open(one.path()).unwrap(), FolderTables::open(other.path()).unwrap());
        let people = crate::Hub::accounts_in(one.path()).unwrap();
        let ann = Owner::parse("ann").unwrap();
        let at: Timestamp = "2027-01-15T08:00:00Z".parse().unwrap();
        let new =
            NewToken { account: ann.clone(), scope: Scope::Publish, label: "\\x00".to_owned(), expires_at: Some(at) };
        let (_, secret) = people.add_token(&new, true, &ann, "2027-01-01T00:00:00Z".parse().unwrap()).unwrap();
        to.replace(&mut |table, add| {
            from.visit(table, &mut |mut row| {
                // As PostgreSQL writes them.
                if let Some(at) = row.get_mut("expires_at") {
                    *at = "2027-01-15T08:00:00+00:00".into();
                }
                add(&row)
            })
        })
        .unwrap();
        let moved = crate::Hub::accounts_in(other.path()).unwrap();
        let before = |time: &str| moved.caller(&secret, time.parse().unwrap()).unwrap();
        assert!(before("2027-01-15T07:59:59Z").is_some() && before("2027-01-15T08:00:00Z").is_none());
        assert_eq!(moved.tokens(None).unwrap(), people.tokens(None).unwrap());
        let mut audited = 0;
        to.visit("audit", &mut |_| {
            audited += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(audited, 1);
    }
}
