//! Orders to the engines of a server, and their results.

use std::path::PathBuf;

use super::storage::ServedIndex;

/// Steps of the schema that a database has and lacks.
#[derive(Debug)]
pub struct SchemaState {
    /// Names of the steps that were applied now.
    pub applied: Vec<String>,
    /// Names of the steps of this build that the database lacks.
    pub missing: Vec<String>,
}

/// Corrections before a check.
#[derive(Debug, Default)]
pub struct CheckOrder {
    /// True to take over releases that the git repository has and the database lost.
    pub adopt: bool,
    /// True to correct what another place proves.
    pub repair: bool,
    /// Another store with copies of archives, `s3://BUCKET/PREFIX` or a folder.
    pub archives: Option<String>,
}

/// Result of a check.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// Releases in the database.
    pub releases: u64,
    /// Archives that these need.
    pub archives: u64,
    /// Files that were compared with the git repository; `None` without one.
    pub files: Option<u64>,
    /// Releases taken over from the git repository.
    pub adopted: u64,
    /// Archives that were stored again, or whose rows were corrected.
    pub repaired_archives: u64,
    /// Skills whose rows were corrected.
    pub repaired_skills: u64,
    /// Descriptions of what does not agree.
    pub faults: Vec<String>,
}

/// Source and target of a move.
#[derive(Debug)]
pub enum MoveOrder {
    /// From a data folder into engines.
    Into {
        /// The data folder.
        folder: PathBuf,
        /// The index over the engines.
        cluster: Box<ServedIndex>,
    },
    /// From engines into a data folder.
    OutOf {
        /// The index over the engines.
        cluster: Box<ServedIndex>,
        /// The data folder.
        folder: PathBuf,
    },
}
