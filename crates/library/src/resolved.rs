//! Opens a folder at a path that was resolved before.

use std::{io, path::Path};

use cap_std::fs::Dir;

/// Opens a folder at an absolute path without following links. Where the system cannot enforce that for every
/// component, only the last one is checked.
#[cfg(target_os = "linux")]
pub(crate) fn open(path: &Path) -> io::Result<Dir> {
    use rustix::{
        fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
        io::Errno,
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(Errno::NOSYS | Errno::PERM) => open_last(path),
        result => Ok(Dir::from_std_file(result?.into())),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn open(path: &Path) -> io::Result<Dir> {
    open_last(path)
}

#[cfg(unix)]
fn open_last(path: &Path) -> io::Result<Dir> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(Dir::from_std_file(rustix::fs::open(path, flags, Mode::empty())?.into()))
}

#[cfg(not(unix))]
fn open_last(path: &Path) -> io::Result<Dir> {
    Dir::open_ambient_dir(path, cap_std::ambient_authority())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn path_through_link_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let real = crate::resolve(temp.path()).unwrap();
        let open_at = |path: &Path| Dir::open_ambient_dir(path, cap_std::ambient_authority());
        let dir = open_at(&real).unwrap();
        dir.create_dir_all("a/b").unwrap();
        dir.symlink_contents("a", "link").unwrap();
        dir.symlink_contents("b", "a/link").unwrap();
        assert!(open(&real.join("a/b")).is_ok() && open_last(&real.join("a/b")).is_ok());
        for bad in ["link", "link/b", "a/link"] {
            assert!(open_at(&real.join(bad)).is_ok() && open(&real.join(bad)).is_err(), "{bad}");
        }
        assert!(open_last(&real.join("a/link")).is_err());
        assert_eq!(open(&real.join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
