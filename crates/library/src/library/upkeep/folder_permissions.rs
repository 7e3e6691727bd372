//! Owners and permissions of the files in the home ([`FolderPermissions`]).

use std::path::{Path, PathBuf};

use cap_std::{
    ambient_authority,
    fs::{Dir, Metadata},
};

use super::super::LibraryError;
use crate::{disk::open_dir, path_access_error::PathAccessError};

/// Limit of the number of files to check, so that the walk ends for a home of any size.
const MOST_FILES: usize = 500_000;

/// Mode bits for writing by group and others.
#[cfg(unix)]
const WRITABLE: u32 = 0o022;

/// Owners and permissions of the files in some folders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FolderPermissions {
    /// Files and folders of other users, with the user id.
    pub foreign: Vec<(PathBuf, u32)>,
    /// Files and folders that others may write.
    pub writable: Vec<PathBuf>,
    /// Folders that the user may not write. If the first folder does not exist, the folder in which it would be created.
    pub read_only: Vec<PathBuf>,
    /// True if nobody else can enter the first folder, so that permissions below it are irrelevant.
    pub is_private: bool,
    /// Number of files and folders checked.
    pub looked_at: usize,
}

/// Checks all files and folders below some folders, which need not exist.
///
/// # Errors
/// A folder itself cannot be opened, or another user owns it.
pub fn look_at_places(folders: &[&Path]) -> Result<FolderPermissions, LibraryError> {
    let mut places = FolderPermissions::default();
    for (number, path) in folders.iter().enumerate() {
        let Some(dir) = open_dir(path)? else {
            let exists = |folder: &&Path| Dir::open_ambient_dir(folder, ambient_authority()).is_ok();
            let above = path.ancestors().skip(1).find(exists);
            places.read_only.extend(above.filter(|above| number == 0 && is_read_only(above)).map(Path::to_owned));
            continue;
        };
        let own = dir.dir_metadata().map_err(PathAccessError::io(*path))?;
        if number == 0 {
            places.is_private = is_private(&own);
        }
        places.note(path, &own);
        places.walk(&dir, path);
    }
    Ok(places)
}

/// Removes write permission for group and others from files and folders, and all their permissions from `folder`.
///
/// # Errors
/// Returns the first I/O error.
#[cfg(unix)]
pub fn make_private(folder: &Path, writable: &[PathBuf]) -> Result<(), LibraryError> {
    use cap_std::fs::{Permissions, PermissionsExt};
    for path in writable.iter().filter(|path| path.as_path() != folder) {
        let Some((parent, name)) = path.parent().zip(path.file_name()) else { continue };
        let Some(dir) = open_dir(parent)? else { continue };
        let io = || PathAccessError::io(path.clone());
        let metadata = dir.symlink_metadata(name).map_err(io())?;
        if !metadata.is_symlink() {
            let mode = mode_of(&metadata) & 0o7777 & !WRITABLE;
            dir.set_permissions(name, Permissions::from_mode(mode)).map_err(io())?;
        }
    }
    if let Some(dir) = open_dir(folder)? {
        dir.set_permissions(".", Permissions::from_mode(0o700)).map_err(PathAccessError::io(folder))?;
    }
    Ok(())
}

/// Does nothing on systems without such permissions.
///
/// # Errors
/// Never fails.
#[cfg(not(unix))]
pub fn make_private(_folder: &Path, _writable: &[PathBuf]) -> Result<(), LibraryError> {
    Ok(())
}

impl FolderPermissions {
    fn walk(&mut self, dir: &Dir, path: &Path) {
        for entry in dir.entries().into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            let below = path.join(entry.file_name());
            self.note(&below, &metadata);
            if self.looked_at > MOST_FILES {
                return;
            }
            if metadata.is_dir()
                && let Ok(child) = cap_fs_ext::DirExt::open_dir_nofollow(dir, entry.file_name())
            {
                self.walk(&child, &below);
            }
        }
    }

    fn note(&mut self, path: &Path, metadata: &Metadata) {
        self.looked_at += 1;
        if let Some(owner) = foreign_owner(metadata) {
            self.foreign.push((path.to_owned(), owner));
        }
        if is_writable(metadata) {
            self.writable.push(path.to_owned());
        }
        if metadata.is_dir() && is_read_only(path) {
            self.read_only.push(path.to_owned());
        }
    }
}

#[cfg(unix)]
fn mode_of(metadata: &Metadata) -> u32 {
    cap_std::fs::PermissionsExt::mode(&metadata.permissions())
}

#[cfg(unix)]
fn is_private(metadata: &Metadata) -> bool {
    mode_of(metadata) & 0o077 == 0
}

#[cfg(unix)]
fn is_writable(metadata: &Metadata) -> bool {
    let gid = cap_std::fs::MetadataExt::gid(metadata);
    !metadata.is_symlink() && crate::ownership::is_writable_by_others(mode_of(metadata), gid)
}

/// Returns whether the permissions, or a mount, prevent this user from writing to a folder.
#[cfg(unix)]
fn is_read_only(folder: &Path) -> bool {
    use rustix::{
        fs::{Access, access},
        io::Errno,
    };
    access(folder, Access::WRITE_OK).is_err_and(|error| [Errno::ACCESS, Errno::ROFS].contains(&error))
}

#[cfg(unix)]
fn foreign_owner(metadata: &Metadata) -> Option<u32> {
    let owner = cap_std::fs::MetadataExt::uid(metadata);
    (owner != rustix::process::geteuid().as_raw()).then_some(owner)
}

#[cfg(not(unix))]
fn is_private(_metadata: &Metadata) -> bool {
    true
}

#[cfg(not(unix))]
fn is_writable(_metadata: &Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn is_read_only(_folder: &Path) -> bool {
    false
}

#[cfg(not(unix))]
fn foreign_owner(_metadata: &Metadata) -> Option<u32> {
    None
}
