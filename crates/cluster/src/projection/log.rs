//! [`LoggedEvent`]: numbered rows of the log, and what is known of their commits.

use std::collections::BTreeSet;

use jiff::Timestamp;
use registry_index::Stamp;
use serde_json::Value;
use tokio_postgres::Row;

use crate::{
    database::{Database, DatabaseError, row, rows, run, stored_time},
    events::Change,
};

/// Kind of the event that stands for a history made elsewhere: its commit is taken as it is.
pub const IMPORT: &str = "import";

/// Name of the projection to git.
pub const GIT: &str = "git";

/// A numbered event.
#[derive(Debug)]
pub struct LoggedEvent {
    /// Number of the event.
    pub seq: i64,
    /// Kind of change.
    pub kind: String,
    /// Changed lines and message.
    pub change: Change,
    /// Author and time.
    pub stamp: Stamp,
    /// Commit that an earlier leader made of it.
    pub commit: Option<String>,
}

/// A place in the log: everything up to the event is in the commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Position {
    /// Number of the event, 0 before the first.
    pub seq: i64,
    /// Commit made of the event; `None` before the first.
    pub commit: Option<String>,
}

impl LoggedEvent {
    fn of(row: &Row) -> Result<Self, DatabaseError> {
        let body: Value = row.try_get(2)?;
        let seq: i64 = row.try_get(0)?;
        let damaged = |why: String| DatabaseError::Failed(format!("the event {seq} is damaged: {why}"));
        let at = Timestamp::try_from(row.try_get::<_, std::time::SystemTime>(4)?);
        Ok(Self {
            seq,
            kind: row.try_get(1)?,
            change: serde_json::from_value(body).map_err(|error| damaged(error.to_string()))?,
            stamp: Stamp { by: row.try_get(3)?, at: at.map_err(|error| damaged(error.to_string()))? },
            commit: row.try_get(5)?,
        })
    }
}

/// Returns the numbered events after a number, in order.
///
/// # Errors
/// [`DatabaseError`]
pub fn after(database: &Database, seq: i64, most: i64) -> Result<Vec<LoggedEvent>, DatabaseError> {
    let sql = "select seq, kind, body, account, at, commit_id from events where seq > $1 order by seq limit $2";
    let found = database.read(async |client| Ok(rows(client, sql, &[&seq, &most]).await?))?;
    found.iter().map(LoggedEvent::of).collect()
}

/// Returns the position of a commit; `None` if no event is known to have become it.
///
/// # Errors
/// [`DatabaseError`]
pub fn position_of(database: &Database, commit: &str) -> Result<Option<Position>, DatabaseError> {
    let sql = "select seq from events where commit_id = $1 and seq is not null";
    let found = database.read(async |client| Ok(row(client, sql, &[&commit]).await?))?;
    let position = |row: Row| Ok(Position { seq: row.try_get(0)?, commit: Some(commit.to_owned()) });
    found.map(position).transpose()
}

/// Returns the newest position whose commit is known; the start of the log if none is.
///
/// # Errors
/// [`DatabaseError`]
pub fn last_known(database: &Database) -> Result<Position, DatabaseError> {
    let sql = "select seq, commit_id from events where seq is not null and commit_id is not null
        order by seq desc limit 1";
    let found = database.read(async |client| Ok(row(client, sql, &[]).await?))?;
    let position = |row: Row| Ok(Position { seq: row.try_get(0)?, commit: row.try_get(1)? });
    found.map_or_else(|| Ok(Position::default()), position)
}

/// Returns how far the projection to git has come.
///
/// # Errors
/// [`DatabaseError`]
pub fn cursor(database: &Database) -> Result<Position, DatabaseError> {
    let sql = "select seq, commit_id from projections where name = $1";
    let found = database.read(async |client| Ok(row(client, sql, &[&GIT]).await?))?;
    let position = |row: Row| Ok(Position { seq: row.try_get(0)?, commit: Some(row.try_get(1)?) });
    found.map_or_else(|| Ok(Position::default()), position)
}

/// Records the commits of events. One that is recorded stays.
///
/// # Errors
/// [`DatabaseError`]
pub fn record(database: &Database, made: &[(i64, String)]) -> Result<(), DatabaseError> {
    let (numbers, commits): (Vec<i64>, Vec<&str>) = made.iter().map(|(seq, commit)| (*seq, commit.as_str())).unzip();
    let sql = "update events set commit_id = made.id from unnest($1::bigint[], $2::text[]) as made (seq, id)
        where events.seq = made.seq and events.commit_id is null";
    database.transaction(async |write| Ok(run(write, sql, &[&numbers, &commits]).await?)).map(drop)
}

/// Adds an event of the kind `config`, which writes `config.json`, unless the newest such event has the same text. The
/// first event of a log makes the index.
///
/// # Errors
/// [`DatabaseError`]
pub fn ensure_config(database: &Database, text: &str) -> Result<(), DatabaseError> {
    let path = registry_index::shard::CONFIG;
    let newest = "select body from events where kind = 'config' order by id desc limit 1";
    let found = database.read(async |client| Ok(row(client, newest, &[]).await?))?;
    let known = found.map(|row| row.try_get::<_, Value>(0)).transpose()?;
    let message = if known.is_some() { "change config.json" } else { "create the index" };
    let edit = crate::events::Edit::Write { path: path.to_owned(), text: text.to_owned() };
    let change = Change { message: message.to_owned(), edits: vec![edit] };
    if known.is_some_and(|known| known.get("edits") == change.body().get("edits")) {
        return Ok(());
    }
    let (body, at) = (change.body(), stored_time(Timestamp::now()));
    let sql = "insert into events (seq, kind, subject, body, account, at)
        values (case when exists (select 1 from events where seq is not null) then null else 1 end,
            'config', $1, $2, 'skillhub', $3)";
    database.transaction(async |write| Ok(run(write, sql, &[&path, &body, &at]).await?)).map(drop)
}

/// Records that the history up to a commit was made elsewhere, as one event. Nothing changes if it is recorded.
///
/// # Errors
/// [`DatabaseError`]
pub fn record_import(database: &Database, commit: &str) -> Result<(), DatabaseError> {
    let (body, at) = (Change { message: String::new(), edits: Vec::new() }.body(), stored_time(Timestamp::now()));
    let event = "with added as (
            insert into events (seq, kind, subject, body, account, at, commit_id)
            select coalesce(max(seq), 0) + 1, $1::text, $2::text, $3::jsonb, 'skillhub', $4::timestamptz, $2::text
            from events
            having not exists (select 1 from events where commit_id = $2)
            returning seq
        )
        insert into projections (name, seq, commit_id) select $5::text, seq, $2::text from added
        on conflict (name) do update set seq = excluded.seq, commit_id = excluded.commit_id";
    database.transaction(async |write| Ok(run(write, event, &[&IMPORT, &commit, &body, &at, &GIT]).await?)).map(drop)
}

/// Returns the paths of files that are changed by events after a number, or by events without one.
///
/// # Errors
/// [`DatabaseError`]
pub fn paths_after(database: &Database, seq: i64) -> Result<BTreeSet<String>, DatabaseError> {
    let sql = "select distinct path from events, jsonb_array_elements(body -> 'edits') as edit,
            lateral (select value ->> 'path' as path from jsonb_each(edit)) as changed
        where seq is null or seq > $1";
    let found = database.read(async |client| Ok(rows(client, sql, &[&seq]).await?))?;
    found.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Returns the seconds since the oldest event that the projection lacks, and the number of the newest event.
///
/// # Errors
/// [`DatabaseError`]
pub fn lag(database: &Database, seq: i64) -> Result<(f64, i64), DatabaseError> {
    let sql = "select coalesce(extract(epoch from now() - least(
            (select min(at) from events where seq is null),
            (select at from events where seq > $1 order by seq limit 1)
        )), 0)::float8, (select coalesce(max(seq), 0) from events)";
    let found = database.read(async |client| Ok(row(client, sql, &[&seq]).await?))?;
    found.map_or(Ok((0.0, 0)), |row| Ok((row.try_get(0)?, row.try_get(1)?)))
}
