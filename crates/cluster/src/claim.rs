//! [`claim`]: makes sure that a folder of archives is that of the index, before anything is missed in it or written to it.

use server::store::StoreError;
use skill::{
    Digest,
    failure::{Fails, Failure, FailureKind},
};
use thiserror::Error;

use crate::{
    database::{Database, DatabaseError, row, rows},
    objects::{MARKER, Objects},
};

/// Archives of which one has to be in a folder without a marker.
const SAMPLES: i64 = 16;

/// Reasons why a folder of archives is not used.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// The database cannot be read.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The folder cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder has neither the marker nor the archives.
    #[error("{folder} is not mounted: it has neither the file {MARKER} nor the archives of this index")]
    NotMounted {
        /// The folder.
        folder: String,
        /// Identity of the index.
        identity: String,
    },
    /// The folder has the marker of another index.
    #[error("{folder} has the archives of another index: its file {MARKER} has another identity")]
    OtherIndex {
        /// The folder.
        folder: String,
    },
}

impl Fails for ClaimError {
    fn failure(&self) -> Failure {
        match self {
            Self::Database(error) => error.failure(),
            Self::Store(_) => Failure::io().hint("check that the folder in `objects` can be read and written"),
            Self::NotMounted { folder, identity } => {
                Failure::new(FailureKind::Unreachable, "not_mounted").hint(format!(
                    "mount it: mount '{folder}' (if it is mounted and its archives are lost, mark it: \
                 echo {identity} > '{folder}/{MARKER}')"
                ))
            }
            Self::OtherIndex { folder } => Failure::new(FailureKind::Conflict, "other_index").hint(format!(
                "name the folder of this index in `objects`; see which archives are there: ls '{folder}/bundles'"
            )),
        }
    }
}

/// Checks the marker of a folder of archives, and writes it if it is missing where archives are or none are expected. From
/// then on, the store refuses to work without it. A bucket needs no marker.
///
/// # Errors
/// [`ClaimError`]
pub fn claim(database: &Database, objects: &Objects) -> Result<(), ClaimError> {
    let Some(identity) = unmarked(database, objects)? else { return Ok(()) };
    objects.mark(&identity)?;
    objects.require_marker(identity);
    Ok(())
}

/// Checks the folder like [`claim`], and writes nothing.
///
/// # Errors
/// [`ClaimError`]
pub fn verify(database: &Database, objects: &Objects) -> Result<(), ClaimError> {
    unmarked(database, objects).map(drop)
}

/// Returns the identity with which a folder is to be marked; `None` if it is marked already.
fn unmarked(database: &Database, objects: &Objects) -> Result<Option<String>, ClaimError> {
    let Some(folder) = objects.folder().map(|folder| folder.display().to_string()) else { return Ok(None) };
    let identity = identity(database)?;
    match objects.marker()? {
        Some(found) if found == identity => {
            objects.require_marker(identity);
            Ok(None)
        }
        Some(_) => Err(ClaimError::OtherIndex { folder }),
        None if has_archives(database, objects)? => Ok(Some(identity)),
        None => Err(ClaimError::NotMounted { folder, identity }),
    }
}

fn identity(database: &Database) -> Result<String, DatabaseError> {
    let found = database.read(async |client| Ok(row(client, "select id::text from identity", &[]).await?))?;
    let found = found.ok_or_else(|| DatabaseError::Failed("the table identity has no row".to_owned()))?;
    Ok(found.try_get(0)?)
}

/// Returns whether the folder has one of the oldest archives, or the database none yet. New archives prove nothing: a
/// server without this check may have written them to the mount point.
fn has_archives(database: &Database, objects: &Objects) -> Result<bool, ClaimError> {
    let sql = "select digest from archives where state = 'stored' order by touched_at limit $1";
    let found = database.read(async |client| Ok(rows(client, sql, &[&SAMPLES]).await?))?;
    for row in &found {
        let digest: String = row.try_get(0).map_err(DatabaseError::from)?;
        if digest.parse::<Digest>().is_ok_and(|digest| objects.has(&digest).unwrap_or(false)) {
            return Ok(true);
        }
    }
    Ok(found.is_empty())
}
