//! [`Candidate`]: a fetched skill before planning.

use std::path::PathBuf;

use library::Origin;
use skill::{Bundle, Digest, SkillName};

use crate::lock_file::LockedSkill;

/// A skill in memory, with its origin.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub name: SkillName,
    pub bundle: Bundle,
    pub origin: Origin,
    /// Hash of the packed files.
    pub archive: Digest,
    /// Text that the lock file records as the request.
    pub requested: String,
    /// True if the source exists on this machine only.
    pub local: bool,
    /// Fingerprint of the key with which the owner signed the release.
    pub signer: Option<String>,
    /// Fingerprints of the owner's other keys that vouch for that key.
    pub vouchers: Vec<String>,
    /// Keys of the owner known before, if the release is signed with a different key that they do not vouch for.
    pub unknown_key: Vec<String>,
    /// True if it is installed only as a requirement of other skills.
    pub is_dependency: bool,
    pub warnings: Vec<String>,
    /// Entry of the lock file for which it was fetched.
    pub locked: Option<LockedSkill>,
    /// Files of the installed release, if they are needed for a merge.
    pub base: Option<Bundle>,
    /// Existing folder of another tool, if it is being imported.
    pub taken: Option<ImportedFolder>,
}

/// A folder that another tool installed and that is being imported.
#[derive(Debug, Clone)]
pub(crate) struct ImportedFolder {
    /// Lock file that lists the folder.
    pub named_in: PathBuf,
    /// Files of the folder, which may have been changed since they were installed.
    pub files: Bundle,
}
