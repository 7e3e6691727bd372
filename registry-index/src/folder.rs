//! Facts about a folder that libgit2 does not report: [`contents`] and [`borrows_objects`].
//!
//! The folders are named by the operator. They are nevertheless accessed through capabilities.

use std::{io, path::Path};

use cap_std::{ambient_authority, fs::Dir};

/// Content of a folder that may hold an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// The folder does not exist.
    Absent,
    /// The folder exists and is empty.
    Empty,
    /// The folder is not empty.
    Something,
}

/// Determines whether a folder exists and is empty.
pub(crate) fn contents(dir: &Path) -> io::Result<Contents> {
    let children = Dir::open_ambient_dir(dir, ambient_authority()).and_then(|dir| dir.entries());
    match children {
        Ok(mut children) => Ok(children.next().map_or(Contents::Empty, |_| Contents::Something)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Contents::Absent),
        Err(error) => Err(error),
    }
}

/// Returns whether a git folder refers to objects in other folders (`objects/info/alternates`). libgit2 would follow
/// such references anywhere.
pub(crate) fn borrows_objects(git_dir: &Path) -> bool {
    let git_dir = Dir::open_ambient_dir(git_dir, ambient_authority());
    git_dir.is_ok_and(|dir| dir.symlink_metadata("objects/info/alternates").is_ok())
}
