//! [`sync`], [`sync_all`]: archives in a folder, made durable together with their names.

use std::{io, path::Path};

use cap_std::{ambient_authority, fs::Dir};

/// Syncs a file and the folders above it, up to `root`. `path` is relative to it.
///
/// # Errors
/// The error of the system.
pub fn sync(root: &Path, path: &str) -> io::Result<()> {
    let root = Dir::open_ambient_dir(root, ambient_authority())?;
    // The file first: a file system with a journal writes its name with it, and has nothing left to do for the folders.
    for place in Path::new(path).ancestors().filter(|place| !place.as_os_str().is_empty()) {
        root.open(place)?.sync_all()?;
    }
    root.open(".")?.sync_all()
}

/// Syncs many files and the folders above them.
///
/// # Errors
/// The error of the system.
pub fn sync_all(root: &Path, paths: &[String]) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if paths.len() > 1 {
        // The file system as a whole, which is less work than one file after the other.
        let root = Dir::open_ambient_dir(root, ambient_authority())?;
        return Ok(rustix::fs::syncfs(root.open(".")?)?);
    }
    paths.iter().try_for_each(|path| sync(root, path))
}
