//! Opening and listing folders with a minimum of system calls, which dominate the time to read thousands of skills.

use std::{ffi::OsString, fs::File, io, path::Path};

use cap_std::fs::Dir;

/// Type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    File,
    Link,
    Other,
}

/// A name in a folder and its type.
#[derive(Debug)]
pub(super) struct Entry {
    pub name: OsString,
    pub kind: Kind,
}

/// Opens a folder for listing. Links on the way are followed.
#[cfg(unix)]
pub(super) fn open_at(path: &Path) -> io::Result<Dir> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(Dir::from_std_file(rustix::fs::open(path, flags, Mode::empty())?.into()))
}

#[cfg(not(unix))]
pub(super) fn open_at(path: &Path) -> io::Result<Dir> {
    Dir::open_ambient_dir(path, cap_std::ambient_authority())
}

/// Opens a subfolder, which must not be a link. `name` comes from a listing.
#[cfg(unix)]
pub(super) fn open_child(dir: &Dir, name: &str) -> io::Result<Dir> {
    use rustix::fs::{Mode, OFlags};
    if name.contains('/') || name == ".." {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(Dir::from_std_file(rustix::fs::openat(dir, name, flags, Mode::empty())?.into()))
}

#[cfg(not(unix))]
pub(super) fn open_child(dir: &Dir, name: &str) -> io::Result<Dir> {
    cap_fs_ext::DirExt::open_dir_nofollow(dir, name)
}

/// Opens a file in a folder for reading, without following a link or blocking on a pipe. `name` comes from a listing.
#[cfg(unix)]
pub(super) fn open_file(dir: &Dir, name: &str) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    if name.contains('/') {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(dir, name, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
pub(super) fn open_file(dir: &Dir, name: &str) -> io::Result<File> {
    use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
    let mut options = cap_std::fs::OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    Ok(dir.open_with(name, &options)?.into_std())
}

/// Syncs a file in a folder. `name` comes from a listing.
#[cfg(unix)]
pub(super) fn sync_file(dir: &Dir, name: &str) -> io::Result<()> {
    open_file(dir, name)?.sync_all()
}

#[cfg(not(unix))]
pub(super) fn sync_file(dir: &Dir, name: &str) -> io::Result<()> {
    crate::disk::sync_file(dir, name)
}

/// Returns whether a path in a folder exists, counting dangling links.
#[cfg(unix)]
pub(super) fn exists(dir: &Dir, path: &str) -> bool {
    use rustix::fs::{AtFlags, statat};
    statat(dir, path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

#[cfg(not(unix))]
pub(super) fn exists(dir: &Dir, path: &str) -> bool {
    dir.symlink_metadata(path).is_ok()
}

/// Returns the size of a file in bytes. Links are not followed.
#[cfg(unix)]
pub(super) fn file_size(dir: &Dir, name: &str) -> io::Result<u64> {
    use rustix::fs::{AtFlags, statat};
    Ok(u64::try_from(statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?.st_size).unwrap_or(0))
}

#[cfg(not(unix))]
pub(super) fn file_size(dir: &Dir, name: &str) -> io::Result<u64> {
    Ok(dir.symlink_metadata(name)?.len())
}

/// Hashes the metadata of a path in a folder, without following links. Returns its modification or change time,
/// whichever is later, in seconds.
#[cfg(unix)]
pub(super) fn add_stat(dir: &Dir, path: &str, hasher: &mut impl std::hash::Hasher) -> io::Result<i64> {
    use rustix::fs::{AtFlags, statat};
    let stat = statat(dir, path, AtFlags::SYMLINK_NOFOLLOW)?;
    let times = [stat.st_mtime.into(), i128::from(stat.st_mtime_nsec), stat.st_ctime.into(), stat.st_ctime_nsec.into()];
    let rest = [stat.st_size.into(), stat.st_ino.into(), i128::from(stat.st_mode)];
    // Two writes instead of seven, since a hasher's time depends on the number of writes.
    hasher.write(times.map(i128::to_ne_bytes).as_flattened());
    hasher.write(rest.map(i128::to_ne_bytes).as_flattened());
    Ok(stat.st_mtime.max(stat.st_ctime))
}

#[cfg(not(unix))]
pub(super) fn add_stat(_dir: &Dir, _path: &str, _hasher: &mut impl std::hash::Hasher) -> io::Result<i64> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Lists a folder that was opened for listing. A descriptor without read permission (`O_PATH`) is reopened.
pub(super) fn entries(dir: &Dir) -> io::Result<Vec<Entry>> {
    match read_names(dir) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => portable_entries(dir),
        Err(error) if error.raw_os_error() == Some(BAD_DESCRIPTOR) => portable_entries(dir),
        result => result,
    }
}

/// `EBADF`, the error of reading a descriptor opened with `O_PATH`.
const BAD_DESCRIPTOR: i32 = 9;

#[cfg(target_os = "linux")]
fn read_names(dir: &Dir) -> io::Result<Vec<Entry>> {
    use std::{mem::MaybeUninit, os::unix::ffi::OsStrExt};

    use rustix::fs::{AtFlags, FileType, RawDir, statat};
    let mut buffer = [MaybeUninit::uninit(); 16 << 10];
    let mut raw = RawDir::new(dir, &mut buffer);
    let mut entries = Vec::new();
    while let Some(entry) = raw.next() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let file_type = match entry.file_type() {
            FileType::Unknown => FileType::from_raw_mode(statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode),
            known => known,
        };
        let kind = match file_type {
            FileType::Directory => Kind::Folder,
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        entries.push(Entry { name: std::ffi::OsStr::from_bytes(name.to_bytes()).to_owned(), kind });
    }
    Ok(entries)
}

#[cfg(not(target_os = "linux"))]
fn read_names(_dir: &Dir) -> io::Result<Vec<Entry>> {
    Err(io::ErrorKind::Unsupported.into())
}

fn portable_entries(dir: &Dir) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in dir.entries()? {
        let entry = entry?;
        let file_type = entry.file_type()?;
        let kind = match () {
            () if file_type.is_symlink() => Kind::Link,
            () if file_type.is_dir() => Kind::Folder,
            () if file_type.is_file() => Kind::File,
            () => Kind::Other,
        };
        entries.push(Entry { name: entry.file_name(), kind });
    }
    Ok(entries)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn fast_and_portable_listings_agree() {
        let temp = tempfile::tempdir().unwrap();
        let dir = open_at(temp.path()).unwrap();
        for number in 0..1000 {
            dir.write(format!("a file with quite a long name, number {number}"), "").unwrap();
        }
        dir.create_dir("folder").unwrap();
        dir.symlink_contents("nowhere", "link").unwrap();
        let sorted = |mut entries: Vec<Entry>| {
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            entries.into_iter().map(|entry| (entry.name, entry.kind)).collect::<Vec<_>>()
        };
        let fast = sorted(read_names(&dir).unwrap());
        assert_eq!(fast.len(), 1002);
        assert_eq!(fast, sorted(portable_entries(&dir).unwrap()));
        let only_named = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        assert_eq!(fast, sorted(entries(&only_named).unwrap()));
    }

    #[test]
    fn links_are_never_opened() {
        let temp = tempfile::tempdir().unwrap();
        let dir = open_at(temp.path()).unwrap();
        dir.create_dir("folder").unwrap();
        dir.symlink_contents("folder", "link").unwrap();
        assert!(open_child(&dir, "folder").is_ok());
        for bad in ["link", "..", "folder/..", "missing"] {
            assert!(open_child(&dir, bad).is_err(), "{bad}");
        }
        dir.write("file", "x").unwrap();
        dir.symlink_contents("file", "other").unwrap();
        assert!(open_file(&dir, "file").is_ok());
        for bad in ["other", "folder/../file", "missing"] {
            assert!(open_file(&dir, bad).is_err(), "{bad}");
        }
    }
}
