//! Permissions of files and folders with secrets ([`make_file_private`], [`make_dir_private`]).

use std::io;

use cap_std::fs::{Dir, OpenOptions};

/// Creates a file with mode 0600, or restricts an existing file to that mode. Links are left alone.
///
/// # Errors
/// Returns the I/O error, for example for another user's file that others can read.
pub fn make_file_private(dir: &Dir, name: &str) -> io::Result<()> {
    match dir.symlink_metadata(name) {
        Ok(metadata) if metadata.is_file() && is_open(&metadata) => set_mode(dir, name, 0o600),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut options = OpenOptions::new();
            options.write(true).create(true);
            #[cfg(unix)]
            cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
            dir.open_with(name, &options).map(drop)
        }
        Err(error) => Err(error),
    }
}

/// Restricts a folder to mode 0700 if others have any permission.
///
/// # Errors
/// Returns the I/O error.
pub fn make_dir_private(dir: &Dir) -> io::Result<()> {
    if is_open(&dir.dir_metadata()?) { set_mode(dir, ".", 0o700) } else { Ok(()) }
}

#[cfg(unix)]
fn is_open(metadata: &cap_std::fs::Metadata) -> bool {
    cap_std::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0
}

#[cfg(unix)]
fn set_mode(dir: &Dir, name: &str, mode: u32) -> io::Result<()> {
    dir.set_permissions(name, cap_std::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn is_open(_: &cap_std::fs::Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn set_mode(_: &Dir, _: &str, _: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

    use std::{fs, os::unix::fs::PermissionsExt, path::Path};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_get_owner_only_mode() {
        let folder = tempfile::tempdir().unwrap();
        let dir = crate::ensure_dir(folder.path()).unwrap();
        make_file_private(&dir, "new").unwrap();
        assert_eq!(mode(&folder.path().join("new")), 0o600);
        let old = folder.path().join("old");
        fs::write(&old, "content").unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(0o644)).unwrap();
        make_file_private(&dir, "old").unwrap();
        assert_eq!((mode(&old), fs::read_to_string(&old).unwrap().as_str()), (0o600, "content"));
    }

    #[test]
    fn folders_get_owner_only_mode() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        make_dir_private(&crate::ensure_dir(folder.path()).unwrap()).unwrap();
        assert_eq!(mode(folder.path()), 0o700);
    }
}
