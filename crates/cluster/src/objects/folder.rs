//! [`sync_all`]: archives in a folder, made durable together with their names.

use std::{io, path::Path};

/// Syncs files and the folders above them, up to `root`. The paths are relative to it.
///
/// # Errors
/// The error of the system.
#[cfg(unix)]
pub fn sync_all(root: &Path, paths: &[String]) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if paths.len() > 1 {
        // The file system as a whole, which is less work than one file after the other.
        return Ok(rustix::fs::syncfs(open(root)?)?);
    }
    for path in paths.iter().map(Path::new) {
        // The file first: a file system with a journal writes its name with it, and has nothing left to do for the folders.
        for place in path.ancestors() {
            rustix::fs::fsync(open(&root.join(place))?)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn open(place: &Path) -> io::Result<rustix::fd::OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    Ok(rustix::fs::open(place, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Does nothing: elsewhere than on Unix, the store syncs each file itself.
#[cfg(not(unix))]
pub fn sync_all(_root: &Path, _paths: &[String]) -> io::Result<()> {
    Ok(())
}
