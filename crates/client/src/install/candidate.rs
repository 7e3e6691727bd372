//! [`Candidate`]: a skill that was fetched, before anybody decides what becomes of it.

use std::path::PathBuf;

use library::Origin;
use skill::{Bundle, Digest, SkillName};

use crate::lock_file::LockedSkill;

/// A skill in memory, with where it came from.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub name: SkillName,
    pub bundle: Bundle,
    pub origin: Origin,
    /// The hash of the packed files.
    pub archive: Digest,
    /// What the lock file will say was asked for.
    pub requested: String,
    /// Whether only this machine has the source.
    pub local: bool,
    /// The fingerprint of the key with which its owner signed it.
    pub signer: Option<String>,
    /// The fingerprints of the owner's keys that vouch for that one.
    pub vouchers: Vec<String>,
    /// The keys known before, where the release is signed with another that none of them vouches for.
    pub unknown_key: Vec<String>,
    /// Whether it comes only since others require it.
    pub is_dependency: bool,
    pub warnings: Vec<String>,
    /// The entry of the lock file that it was fetched for.
    pub locked: Option<LockedSkill>,
    /// The files of the release that is installed, where they are needed for a merge.
    pub base: Option<Bundle>,
    /// The folder that another tool made of it, where one is taken over.
    pub taken: Option<Taken>,
}

/// A folder that is taken over.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    /// The lock file that names it.
    pub named_in: PathBuf,
    /// Its files, which may have been changed since they were installed.
    pub files: Bundle,
}
