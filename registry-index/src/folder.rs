//! What libgit2 does not say about a folder: [`contents`] and [`borrows_objects`].
//!
//! The folders are those that the operator names; they are asked through a capability all the same.

use std::{io, path::Path};

use cap_std::{ambient_authority, fs::Dir};

/// What stands at the place of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// No such folder.
    Absent,
    /// A folder without anything in it.
    Empty,
    /// A folder with something in it.
    Something,
}

/// Looks at a folder.
pub(crate) fn contents(dir: &Path) -> io::Result<Contents> {
    let children = Dir::open_ambient_dir(dir, ambient_authority()).and_then(|dir| dir.entries());
    match children {
        Ok(mut children) => Ok(children.next().map_or(Contents::Empty, |_| Contents::Something)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Contents::Absent),
        Err(error) => Err(error),
    }
}

/// Whether a git folder takes objects from other folders (`objects/info/alternates`), which libgit2 would
/// follow to wherever they lead.
pub(crate) fn borrows_objects(git_dir: &Path) -> bool {
    let git_dir = Dir::open_ambient_dir(git_dir, ambient_authority());
    git_dir.is_ok_and(|dir| dir.symlink_metadata("objects/info/alternates").is_ok())
}
