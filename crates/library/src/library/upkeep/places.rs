//! [`Places`]: whose the files of the home are, and who may write them.

use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, Metadata};

use super::super::LibraryError;
use crate::{disk::open_dir, place_error::PlaceError};

/// Files that are looked at, so that a home of any size comes to an end.
const MOST_FILES: usize = 500_000;

/// The rights of others to write.
#[cfg(unix)]
const WRITABLE: u32 = 0o022;

/// What stands in some folders of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// Files and folders of other users, with the number of each user.
    pub foreign: Vec<(PathBuf, u32)>,
    /// Files and folders that others may write.
    pub writable: Vec<PathBuf>,
    /// Whether nobody else can enter the first folder, so that rights below it matter to nobody.
    pub is_private: bool,
    /// Files and folders looked at.
    pub looked_at: usize,
}

/// Looks at all files and folders below some folders, which need not exist.
///
/// # Errors
/// A folder itself cannot be opened, or another user owns it.
pub fn look_at_places(folders: &[&Path]) -> Result<Places, LibraryError> {
    let mut places = Places::default();
    for (number, path) in folders.iter().enumerate() {
        let Some(dir) = open_dir(path)? else { continue };
        let own = dir.dir_metadata().map_err(PlaceError::io(*path))?;
        if number == 0 {
            places.is_private = is_private(&own);
        }
        places.note(path, &own);
        places.walk(&dir, path);
    }
    Ok(places)
}

/// Takes the rights of others to write from files and folders, and closes a folder for others.
///
/// # Errors
/// What the system said of the first that it refused.
#[cfg(unix)]
pub fn make_private(folder: &Path, writable: &[PathBuf]) -> Result<(), LibraryError> {
    use cap_std::fs::{Permissions, PermissionsExt};
    for path in writable.iter().filter(|path| path.as_path() != folder) {
        let Some((parent, name)) = path.parent().zip(path.file_name()) else { continue };
        let Some(dir) = open_dir(parent)? else { continue };
        let io = || PlaceError::io(path.clone());
        let metadata = dir.symlink_metadata(name).map_err(io())?;
        if !metadata.is_symlink() {
            let mode = mode_of(&metadata) & 0o7777 & !WRITABLE;
            dir.set_permissions(name, Permissions::from_mode(mode)).map_err(io())?;
        }
    }
    if let Some(dir) = open_dir(folder)? {
        dir.set_permissions(".", Permissions::from_mode(0o700)).map_err(PlaceError::io(folder))?;
    }
    Ok(())
}

/// Takes the rights of others to write from files and folders, where the system has such rights.
///
/// # Errors
/// None here.
#[cfg(not(unix))]
pub fn make_private(_folder: &Path, _writable: &[PathBuf]) -> Result<(), LibraryError> {
    Ok(())
}

impl Places {
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
fn foreign_owner(_metadata: &Metadata) -> Option<u32> {
    None
}
