//! Directories and small files of skillhub: opened, read, replaced atomically and synced.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    io,
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use cap_std::{
    ambient_authority,
    fs::{Dir, DirBuilder, OpenOptions},
};

use crate::{ownership::refuse_foreign, path_access_error::PathAccessError, resolved, system::System};

/// Initial buffer for reading a file, in bytes. Most files of skillhub are smaller.
const SMALL: usize = 4 << 10;

/// Opens a folder, creating it and its parents if missing.
///
/// # Errors
/// Returns [`PathAccessError`] with the I/O error, or if another user owns the folder.
pub fn ensure_dir(path: &Path) -> Result<Dir, PathAccessError> {
    if let Some(dir) = open_dir(path)? {
        return Ok(dir);
    }
    Dir::create_ambient_dir_all(path, ambient_authority()).map_err(PathAccessError::io(path))?;
    refuse_foreign(path)?;
    Dir::open_ambient_dir(path, ambient_authority()).map_err(PathAccessError::io(path))
}

/// Opens a folder like [`ensure_dir`], creating it accessible to its user only. The mode of an existing folder is not
/// changed.
///
/// # Errors
/// Fails like [`ensure_dir`].
pub fn ensure_private_dir(path: &Path) -> Result<Dir, PathAccessError> {
    if let Some(dir) = open_dir(path)? {
        return Ok(dir);
    }
    if let Some((parent, name)) = path.parent().zip(path.file_name()) {
        // The parent of a bare name is the empty path.
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        Dir::create_ambient_dir_all(parent, ambient_authority()).map_err(PathAccessError::io(path))?;
        let parent = Dir::open_ambient_dir(parent, ambient_authority()).map_err(PathAccessError::io(path))?;
        match parent.create_dir_with(name, &private()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(PathAccessError::io(path)(error)),
            _ => {}
        }
    }
    ensure_dir(path)
}

#[cfg(unix)]
fn private() -> DirBuilder {
    use cap_std::fs::DirBuilderExt;
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(not(unix))]
fn private() -> DirBuilder {
    DirBuilder::new()
}

/// Opens an existing folder. Returns `None` if it is missing.
///
/// # Errors
/// Returns [`PathAccessError`] with the I/O error, or if another user owns the folder.
pub fn open_dir(path: &Path) -> Result<Option<Dir>, PathAccessError> {
    refuse_foreign(path)?;
    match Dir::open_ambient_dir(path, ambient_authority()) {
        Ok(dir) => Ok(Some(dir)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PathAccessError::Io { path: path.to_owned(), source }),
    }
}

/// Opens a folder like [`open_dir`] at a path that was resolved before. If a component has since become a symbolic
/// link, the path is refused, because it would lead somewhere else.
pub(crate) fn open_resolved(path: &Path) -> Result<Option<Dir>, PathAccessError> {
    refuse_foreign(path)?;
    match resolved::open(path) {
        Ok(dir) => Ok(Some(dir)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PathAccessError::Io { path: path.to_owned(), source }),
    }
}

/// Opens a folder like [`open_resolved`], creating it and its parents if missing.
pub(crate) fn ensure_resolved(path: &Path) -> Result<Dir, PathAccessError> {
    let mut above = path.ancestors();
    let found = above.find_map(|ancestor| open_resolved(ancestor).transpose().map(|dir| (ancestor, dir)));
    let (ancestor, dir) = found.ok_or_else(|| PathAccessError::io(path)(io::ErrorKind::NotFound.into()))?;
    let below = path.strip_prefix(ancestor).unwrap_or(path);
    if below.as_os_str().is_empty() {
        return dir;
    }
    dir?.create_dir_all(below).map_err(PathAccessError::io(path))?;
    open_resolved(path)?.ok_or_else(|| PathAccessError::io(path)(io::ErrorKind::NotFound.into()))
}

/// Reads a file that should be small. Returns `None` if it does not exist.
///
/// # Errors
/// Returns the I/O error; `FileTooLarge` for a file of more than `limit` bytes.
pub fn read_bounded(dir: &Dir, name: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match dir.open(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let bytes = read_all(io::Read::take(file, limit + 1))?;
    if bytes.len() as u64 > limit {
        let message = format!("{name} is larger than the limit of {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(Some(bytes))
}

/// Reads a whole file written by skillhub. Returns `None` if it does not exist.
pub(crate) fn read_optional(dir: &Dir, name: &str) -> io::Result<Option<Vec<u8>>> {
    match dir.open(name) {
        Ok(file) => read_all(file).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads to the end of a file that is usually small, without a system call for its size.
fn read_all(mut file: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(SMALL);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Guarantee about the content of a replaced file after a power loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Always the new content. Costs two syncs.
    Durable,
    /// Either the new or the old content, complete. For files that can be rebuilt from the history. Costs one sync.
    Whole,
    /// Possibly empty or truncated. For files whose digest is checked when they are read. Costs no sync.
    Unsynced,
}

/// Replaces a small file atomically: writes a temporary file and renames it. Threads and processes may do so
/// concurrently; the last one wins.
///
/// # Errors
/// Returns the I/O error. The old file is then unchanged, unless only the last sync failed.
pub fn write_atomically(dir: &Dir, name: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    replace(dir, name, bytes, durability, &options)
}

/// Replaces a file like [`write_atomically`], durably and with mode 0600.
///
/// # Errors
/// Returns the I/O error; the file is then unchanged.
pub fn write_private(dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
    replace(dir, name, bytes, Durability::Durable, &options)
}

/// Inode, change time and size of a file that is replaced at each write.
pub(crate) type Written = [i64; 4];

/// Returns a fingerprint of the last write of a file. `None` if the file is missing, if the system has no inode
/// numbers, or if the file is so new that the next one could get the same number and time.
#[cfg(unix)]
pub(crate) fn written(dir: &Dir, name: &str) -> Option<Written> {
    use std::time::Duration;

    use cap_std::fs::MetadataExt;
    /// Age at which a fingerprint is reliable. Both exceed the timestamp granularity: of file systems with whole
    /// seconds, and of the others.
    const WHOLE_SECONDS: Duration = Duration::from_secs(3);
    const PARTS_OF_SECONDS: Duration = Duration::from_millis(100);
    let found = dir.symlink_metadata(name).ok()?;
    let age = found.modified().ok()?.into_std().elapsed().ok()?;
    let settled = if found.ctime_nsec() == 0 { WHOLE_SECONDS } else { PARTS_OF_SECONDS };
    (age > settled).then(|| [found.ino() as i64, found.ctime(), found.ctime_nsec(), found.size() as i64])
}

#[cfg(not(unix))]
pub(crate) fn written(_dir: &Dir, _name: &str) -> Option<Written> {
    None
}

/// Returns a random number that identifies this process. Process ids do not suffice, since containers that share a
/// home may use the same ones.
pub fn random_process_id() -> u64 {
    static ID: OnceLock<u64> = OnceLock::new();
    *ID.get_or_init(|| RandomState::new().build_hasher().finish() >> 16)
}

fn replace(dir: &Dir, name: &str, bytes: &[u8], durability: Durability, options: &OpenOptions) -> io::Result<()> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let temporary = format!("{name}.{}-{}.tmp", random_process_id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let written = write_new(dir, &temporary, bytes, durability, options);
    let replaced = written.and_then(|()| dir.rename(&temporary, dir, name));
    if replaced.is_err() {
        let _best_effort = dir.remove_file(&temporary);
    }
    replaced?;
    match durability {
        Durability::Durable => sync_folder(dir),
        Durability::Whole | Durability::Unsynced => Ok(()),
    }
}

fn write_new(dir: &Dir, name: &str, bytes: &[u8], durability: Durability, options: &OpenOptions) -> io::Result<()> {
    let mut file = dir.open_with(name, options)?;
    io::Write::write_all(&mut file, bytes)?;
    match durability {
        Durability::Durable | Durability::Whole => file.sync_data(),
        Durability::Unsynced => Ok(()),
    }
}

/// Removes a file. A missing one is no error.
pub(crate) fn remove_if_present(dir: &Dir, name: &str) -> io::Result<()> {
    match dir.remove_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Overwrites a small file in place, without a sync and without truncating it first: file systems flush a truncated
/// file when it is closed. A concurrent reader may see a mixture of old and new bytes.
pub(crate) fn overwrite(file: &mut std::fs::File, bytes: &[u8]) -> io::Result<()> {
    io::Seek::rewind(file)?;
    io::Write::write_all(file, bytes)?;
    let len = bytes.len() as u64;
    if file.metadata()?.len() > len { file.set_len(len) } else { Ok(()) }
}

/// Syncs a folder and all its ancestors, so that the path to new content in it survives a power loss. Ancestors that
/// this process may not open were not created by it and are skipped, as are file systems that cannot sync folders.
pub(crate) fn sync_folders_above(folder: &Path) -> io::Result<()> {
    for path in folder.ancestors().filter(|path| !path.as_os_str().is_empty()) {
        match Dir::open_ambient_dir(path, ambient_authority()).and_then(|dir| sync_folder(&dir)) {
            Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput) => {}
            synced => synced?,
        }
    }
    Ok(())
}

/// Syncs a folder, so that the names in it are durable. Does nothing where the system cannot.
pub(crate) fn sync_folder(dir: &Dir) -> io::Result<()> {
    if System::this().syncs_folders() { dir.open(".")?.sync_all() } else { Ok(()) }
}

/// Syncs a file. Windows can only sync a file that is open for writing, so it must not be read-only there.
pub(crate) fn sync_file(dir: &Dir, path: &str) -> io::Result<()> {
    dir.open_with(path, OpenOptions::new().read(true).write(cfg!(windows)))?.sync_all()
}

/// Opens a log for reading and for writing at its end, which [`append`] does. Creates it if it is missing.
pub(crate) fn open_log(dir: &Dir, name: &str) -> io::Result<std::fs::File> {
    let mut options = OpenOptions::new();
    // On Windows, a file that is open for appending cannot be cut.
    options.read(true).create(true).append(!cfg!(windows)).write(cfg!(windows));
    Ok(dir.open_with(name, &options)?.into_std())
}

/// Appends to a log that [`open_log`] opened. The caller holds a lock that keeps other writers out.
pub(crate) fn append(mut log: &std::fs::File, bytes: &[u8]) -> io::Result<()> {
    if cfg!(windows) {
        io::Seek::seek(&mut log, io::SeekFrom::End(0))?;
    }
    io::Write::write_all(&mut log, bytes)
}

/// Reads a log whose writers lock it. Returns `None` if it does not exist.
pub(crate) fn read_log(dir: &Dir, name: &str) -> io::Result<Option<Vec<u8>>> {
    let file = match dir.open(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?.into_std(),
    };
    if System::this().locks_keep_readers_out() {
        file.lock_shared()?;
    }
    read_all(&file).map(Some)
}
