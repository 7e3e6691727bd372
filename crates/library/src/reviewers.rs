//! Hashes of the tokens by which people identify themselves when they do not use a terminal ([`Reviewers`]).

use std::{io, path::Path, time::Duration};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, OpenOptions};
use serde::{Deserialize, Serialize};
use skill::Limits;
use thiserror::Error;

use crate::{
    disk::{open_dir, write_private},
    home::Home,
    lock::{LibraryLock, LockError},
    path_access_error::PathAccessError,
    toml_text::from_toml,
};

const FILE: &str = "reviewers.toml";
const FORMAT: u32 = 1;
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// `reviewers.toml` of the home, readable only by its owner. Permissions and expiry of a token are enforced by a
/// higher layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reviewers {
    format: u32,
    /// Tokens of all reviewers, oldest first.
    #[serde(default)]
    pub reviewers: Vec<StoredReviewer>,
}

/// Hash and owner of one token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredReviewer {
    /// Identifier of the token: the first digits of its hash.
    pub id: String,
    /// Name of the reviewer, as it appears in the history.
    pub name: String,
    /// SHA-256 of the token in hexadecimal.
    pub hash: String,
    /// Creation time, RFC 3339 in UTC.
    pub created: String,
    /// Time from which it is invalid, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}

/// Reason why the reviewers cannot be used. An error is never treated as an empty list.
#[derive(Debug, Error)]
pub enum ReviewersError {
    /// The content is not in the format of this version.
    #[error("reviewers.toml is damaged: {0}")]
    Damaged(String),
    /// A later version wrote it.
    #[error(
        "reviewers.toml has format {0}, but this version of skillhub reads only {FORMAT}; use the version that wrote it"
    )]
    Format(u32),
    /// Other users may read or write the file, another user owns it, or it is not a regular file.
    #[error("reviewers.toml is not trusted: {0}")]
    Untrusted(String),
    /// The home cannot be used.
    #[error(transparent)]
    Place(#[from] PathAccessError),
    /// Another process is changing it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Any other I/O error.
    #[error("cannot use reviewers.toml: {0}")]
    Io(#[from] io::Error),
}

impl Default for Reviewers {
    fn default() -> Self {
        Self { format: FORMAT, reviewers: Vec::new() }
    }
}

impl Reviewers {
    /// Reads the reviewers of a home. Empty if the file does not exist.
    ///
    /// # Errors
    /// Returns [`ReviewersError`], also if anybody but the owner could read or change the file.
    pub fn read(home: &Home) -> Result<Self, ReviewersError> {
        match open_dir(home.path())? {
            Some(dir) => Self::read_in(&dir),
            None => Ok(Self::default()),
        }
    }

    /// Changes the reviewers of a home under a lock and returns the result of `change`. If that is an error, nothing
    /// is written.
    ///
    /// # Errors
    /// Returns [`ReviewersError`] or the error of `change`.
    pub fn change<T, E: From<ReviewersError>>(
        home: &Home,
        change: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let dir = home.ensure().map_err(ReviewersError::from)?;
        let _lock = LibraryLock::acquire(&dir, LOCK_WAIT).map_err(ReviewersError::from)?;
        let mut reviewers = Self::read_in(&dir)?;
        let result = change(&mut reviewers)?;
        reviewers.write(&dir)?;
        Ok(result)
    }

    fn read_in(dir: &Dir) -> Result<Self, ReviewersError> {
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        let file = match dir.open_with(FILE, &options) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(_) if dir.symlink_metadata(FILE).is_ok_and(|found| found.is_symlink()) => {
                return Err(ReviewersError::Untrusted("it is a link".to_owned()));
            }
            Err(error) => return Err(error.into()),
        };
        check_private(&file)?;
        let (mut text, limit) = (String::new(), Limits::default().state_bytes);
        let damaged = |error: &dyn std::fmt::Display| ReviewersError::Damaged(error.to_string());
        io::Read::read_to_string(&mut io::Read::take(file, limit + 1), &mut text).map_err(|error| damaged(&error))?;
        if text.len() as u64 > limit {
            return Err(damaged(&format!("it is larger than the limit of {limit} bytes")));
        }
        let reviewers: Self = from_toml(&text).map_err(|error| damaged(&error))?;
        match reviewers.format {
            FORMAT => Ok(reviewers),
            other => Err(ReviewersError::Format(other)),
        }
    }

    fn write(&self, dir: &Dir) -> Result<(), ReviewersError> {
        let text = toml::to_string(self).map_err(|error| ReviewersError::Damaged(error.to_string()))?;
        Ok(write_private(dir, FILE, text.as_bytes())?)
    }

    /// Returns the path of the file, for messages.
    pub fn path(home: &Home) -> std::path::PathBuf {
        Path::join(home.path(), FILE)
    }
}

/// Refuses a file that is not owned by this user or that anybody else may read or write.
#[cfg(unix)]
fn check_private(file: &File) -> Result<(), ReviewersError> {
    use cap_std::fs::MetadataExt;
    let found = file.metadata()?;
    let untrusted = |why: String| Err(ReviewersError::Untrusted(why));
    if !found.is_file() {
        return untrusted("it is not a regular file".to_owned());
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return untrusted(format!("it belongs to another user (id {})", found.uid()));
    }
    match found.mode() & 0o077 {
        0 => Ok(()),
        _ => untrusted(format!("its mode is {:o}, but only its owner may have access", found.mode() & 0o777)),
    }
}

#[cfg(not(unix))]
fn check_private(_file: &File) -> Result<(), ReviewersError> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use cap_std::fs::PermissionsExt;

    use super::*;

    fn entry(id: &str) -> StoredReviewer {
        let (name, hash) = ("ann".to_owned(), "00".repeat(32));
        StoredReviewer { id: id.to_owned(), name, hash, created: "2026-01-01T00:00:00Z".to_owned(), expires: None }
    }

    fn add(home: &Home, id: &str) -> Result<(), ReviewersError> {
        Reviewers::change(home, |reviewers| {
            reviewers.reviewers.push(entry(id));
            Ok(())
        })
    }

    #[test]
    fn file_readable_by_others_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        assert_eq!(Reviewers::read(&home).unwrap(), Reviewers::default());
        add(&home, "a").unwrap();
        add(&home, "b").unwrap();
        let ids: Vec<_> = Reviewers::read(&home).unwrap().reviewers.into_iter().map(|one| one.id).collect();
        assert_eq!(ids, ["a", "b"]);
        let dir = open_dir(home.path()).unwrap().unwrap();
        assert_eq!(dir.dir_metadata().unwrap().permissions().mode() & 0o777, 0o700, "the home too");
        assert_eq!(dir.metadata(FILE).unwrap().permissions().mode() & 0o777, 0o600);
        for mode in [0o640, 0o604, 0o622, 0o666] {
            dir.set_permissions(FILE, cap_std::fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(Reviewers::read(&home), Err(ReviewersError::Untrusted(_))), "{mode:o}");
            assert!(add(&home, "c").is_err(), "{mode:o}");
        }
    }

    #[test]
    fn damaged_list_never_reads_as_empty() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        add(&home, "a").unwrap();
        let dir = open_dir(home.path()).unwrap().unwrap();
        dir.rename(FILE, &dir, "elsewhere.toml").unwrap();
        dir.symlink("elsewhere.toml", FILE).unwrap();
        assert!(matches!(Reviewers::read(&home), Err(ReviewersError::Untrusted(_))));
        dir.remove_file(FILE).unwrap();
        for damaged in ["", "format = 1\nmaster = true\n", "format = 1\n[[reviewers]]\nid = \"a\"\n", "\u{0}"] {
            write_private(&dir, FILE, damaged.as_bytes()).unwrap();
            assert!(matches!(Reviewers::read(&home), Err(ReviewersError::Damaged(_))), "{damaged:?}");
        }
        write_private(&dir, FILE, b"format = 2\n").unwrap();
        assert!(matches!(Reviewers::read(&home), Err(ReviewersError::Format(2))));
    }
}
