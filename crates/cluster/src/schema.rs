//! [`apply`]: brings the schema of a database to that of this build, file by file.
//!
//! The steps are plain SQL files in order, which first only expand, so that replicas of the build before continue to
//! serve; what they no longer need goes in a later release. The table `schema_history` holds the number, name and sha256
//! of each applied file. A released file is never edited: a change is a new file. Only an operator applies them, never
//! the start of a replica.

use std::time::Duration;

use deadpool_postgres::GenericClient;
use sha2::{Digest, Sha256};
use skill::{
    failure::{Fails, Failure, FailureKind},
    hex,
};
use thiserror::Error;

use crate::database::{Abort, Database, DatabaseError, row, rows, run};

/// One step of the schema.
struct Step {
    name: &'static str,
    sql: &'static str,
}

macro_rules! steps {
    ($($name:literal),+ $(,)?) => {
        &[$(Step { name: $name, sql: include_str!(concat!("../schema/", $name, ".sql")) }),+]
    };
}

/// All steps, oldest first.
const STEPS: &[Step] = steps!["0001-tables", "0002-filters", "0003-projection", "0004-identity"];

const HISTORY: &str = "create table if not exists schema_history (
    number integer primary key,
    name text not null,
    sha256 text not null,
    applied_at timestamptz not null default now()
)";

/// Key of the advisory lock under which steps are applied.
const LOCK: i64 = 0x736b_696c_6c68_7562;

/// Limit for one step.
const STEP_TIME: Duration = Duration::from_secs(6 * 3600);

/// Reasons why a schema cannot be used or brought up to date.
#[derive(Debug, Error)]
pub enum SchemaError {
    /// The database cannot be read or changed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// Steps are missing.
    #[error("the schema of the database lacks {}", .0.join(", "))]
    Missing(Vec<&'static str>),
    /// A later build changed the schema.
    #[error("a newer version of skillhub changed the schema of the database: it has {0}")]
    Newer(String),
    /// An applied step differs from the one of this build.
    #[error("another build of skillhub made the schema of the database: its step {0} differs")]
    Altered(String),
}

impl Fails for SchemaError {
    fn failure(&self) -> Failure {
        match self {
            Self::Database(error) => error.failure(),
            Self::Missing(_) => Failure::new(FailureKind::Failed, "older_schema")
                .hint("apply the missing steps: skillhub serve schema apply --config FILE"),
            Self::Newer(_) => Failure::new(FailureKind::Failed, "newer_format")
                .hint("use that version of skillhub or a newer one, or restore a backup from before the upgrade"),
            Self::Altered(_) => {
                Failure::new(FailureKind::Integrity, "other_format").hint("use the build of skillhub that made it")
            }
        }
    }
}

impl Step {
    fn sha256(&self) -> String {
        hex(&Sha256::digest(self.sql.as_bytes()))
    }
}

/// Returns the names of the steps that are not yet applied, oldest first.
///
/// # Errors
/// [`SchemaError`], except `Missing`.
pub fn missing(database: &Database) -> Result<Vec<&'static str>, SchemaError> {
    let applied = database.read(async |client| history(client).await)?;
    Ok(after(&applied)?.iter().map(|step| step.name).collect())
}

/// Refuses a database with another schema than that of this build.
///
/// # Errors
/// [`SchemaError`]
pub fn check(database: &Database) -> Result<(), SchemaError> {
    match missing(database)? {
        missing if missing.is_empty() => Ok(()),
        missing => Err(SchemaError::Missing(missing)),
    }
}

/// Applies all missing steps, each in a transaction of its own, and returns their names.
///
/// # Errors
/// [`SchemaError`]; the steps before the failed one are applied.
pub fn apply(database: &Database) -> Result<Vec<&'static str>, SchemaError> {
    let mut applied = Vec::new();
    while let Some(name) = apply_next(database)? {
        applied.push(name);
    }
    Ok(applied)
}

/// Applies the next missing step and returns its name; `None` if all are applied.
fn apply_next(database: &Database) -> Result<Option<&'static str>, SchemaError> {
    database.transaction_within(STEP_TIME, async |write| {
        write.batch_execute("set local statement_timeout = 0; set local lock_timeout = 0").await?;
        run(write, "select pg_advisory_xact_lock($1)", &[&LOCK]).await?;
        let applied = history(write).await?;
        let missing = after(&applied).map_err(Abort::Refused)?;
        let Some(step) = missing.first() else { return Ok(None) };
        write.batch_execute(HISTORY).await?;
        write.batch_execute(step.sql).await?;
        let number = i32::try_from(applied.len()).unwrap_or(i32::MAX).saturating_add(1);
        let sql = "insert into schema_history (number, name, sha256) values ($1, $2, $3)";
        run(write, sql, &[&number, &step.name, &step.sha256()]).await?;
        Ok(Some(step.name))
    })
}

/// Returns names and hashes of the applied steps, oldest first.
async fn history(client: &impl GenericClient) -> Result<Vec<(String, String)>, DatabaseError> {
    let there = row(client, "select 1 where to_regclass('schema_history') is not null", &[]).await?;
    if there.is_none() {
        return Ok(Vec::new());
    }
    let found = rows(client, "select name, sha256 from schema_history order by number", &[]).await?;
    found.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Returns the steps after the applied ones.
fn after(applied: &[(String, String)]) -> Result<&'static [Step], SchemaError> {
    for (index, (name, sha256)) in applied.iter().enumerate() {
        let Some(step) = STEPS.get(index) else { return Err(SchemaError::Newer(name.clone())) };
        if name != step.name || *sha256 != step.sha256() {
            return Err(SchemaError::Altered(name.clone()));
        }
    }
    Ok(STEPS.get(applied.len()..).unwrap_or_default())
}
