//! [`move_in`], [`move_out`]: an index with its accounts between a data folder and engines.
//!
//! Every step skips what is there already, so a move may be interrupted and repeated. It ends with a digest over all lines
//! of both sides.

mod into;
mod lines;
mod listed;
mod out_of;
mod tables;

use std::path::PathBuf;

use client::RegistryError;
use registry_index::{OpenError, ReadError};
use server::{DataError, store::StoreError};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;
use web::ApiError;

pub use into::move_in;
pub use out_of::move_out;

use crate::{
    database::{Database, DatabaseError, row},
    engines::EnginesError,
};

/// Called with the present step, and how much of how much is done.
pub type At<'a> = &'a dyn Fn(&'static str, u64, u64);

/// Reasons why an index is not moved.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum MoveError {
    /// The database cannot be used.
    Database(#[from] DatabaseError),
    /// A store cannot be used.
    Store(#[from] StoreError),
    /// The data folder cannot be used.
    Data(#[from] DataError),
    /// The engines cannot be used.
    Engines(#[from] EnginesError),
    /// The index of the data folder cannot be opened.
    Open(#[from] OpenError),
    /// The index of the data folder cannot be read.
    Read(#[from] ReadError),
    /// The index of the data folder cannot be written.
    Write(#[from] registry_index::StoreError),
    /// The git repository that follows the index cannot be reached.
    Remote(#[from] RegistryError),
    /// The template of a new index cannot be used.
    #[error("cannot use the template of archives: {0}")]
    Config(String),
    /// A row cannot be written.
    #[error("cannot write the lines: {0}")]
    Lines(String),
    /// Something else was published to the database.
    #[error("the database already has changes of its own: {0}")]
    NotEmpty(String),
    /// A server runs on the folder to be written.
    #[error("{} is served", .0.display())]
    Served(PathBuf),
    /// The target has commits that the source lacks.
    #[error("{0} has another history")]
    OtherHistory(String),
    /// An archive is missing or differs from its line.
    #[error("the archive of {release} is missing or damaged")]
    NoArchive {
        /// Name and version of the release.
        release: String,
    },
    /// The two sides differ after the move.
    #[error(
        "the lines of both sides differ, first those of {skill}: {in_index} in the folder, {in_database} in the database"
    )]
    Differs {
        /// Number of lines of the index in the folder.
        in_index: u64,
        /// Number of lines of the database.
        in_database: u64,
        /// Full name of the first skill that differs.
        skill: String,
    },
}

impl From<ApiError> for MoveError {
    fn from(error: ApiError) -> Self {
        Self::Lines(EnginesError::from(error).to_string())
    }
}

impl Fails for MoveError {
    fn failure(&self) -> Failure {
        match self {
            Self::Database(error) => error.failure(),
            Self::Data(error) => error.failure(),
            Self::Engines(error) => error.failure(),
            Self::Open(error) => error.failure(),
            Self::Read(error) => error.failure(),
            Self::Write(error) => error.failure(),
            Self::Remote(error) => error.failure(),
            Self::Store(_) | Self::Config(_) | Self::Lines(_) => Failure::io().hint("run it again; it continues"),
            Self::NotEmpty(_) | Self::OtherHistory(_) => {
                Failure::new(FailureKind::Conflict, "not_empty").hint("move into a new database or folder")
            }
            Self::Served(_) => Failure::new(FailureKind::Conflict, "locked").hint("stop that server first"),
            Self::NoArchive { .. } => Failure::new(FailureKind::Integrity, "no_archive")
                .hint("find all such releases: skillhub index verify DIR"),
            Self::Differs { .. } => {
                Failure::new(FailureKind::Integrity, "differs").hint("stop the servers of both sides, and run it again")
            }
        }
    }
}

/// Returns the number of archives that releases need.
fn archives_in(database: &Database) -> Result<u64, DatabaseError> {
    let sql = "select count(distinct digest) from releases where not is_withdrawn";
    let found = database.read(async |client| Ok(row(client, sql, &[]).await?))?;
    let count: i64 = found.map_or(Ok(0), |row| row.try_get(0))?;
    Ok(count.unsigned_abs())
}
