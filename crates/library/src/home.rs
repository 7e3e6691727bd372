//! [`Home`]: the folder where skillhub keeps what no skill folder may hold.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    io,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use cap_std::{
    ambient_authority,
    fs::{Dir, DirBuilder, OpenOptions},
};
use scan::Scanner;
use skill::Digest;
use thiserror::Error;

use crate::{
    edit_policy::EditPolicy,
    folder,
    links::Linker,
    ownership::{self, refuse_foreign},
    watcher::Watcher,
};

/// `SKILLHUB_HOME`: history, state and events of every library, configuration, the embedded
/// registry and the cache. Created when first written to.
#[derive(Debug, Clone)]
pub struct Home {
    path: PathBuf,
    watcher: Option<Watcher>,
    linker: Option<Linker>,
    edit_policy: Option<EditPolicy>,
    scanner: Scanner,
}

/// Bytes that most files of ours do not have.
const SMALL: usize = 4 << 10;

/// Why a folder of ours cannot be used.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// Its files could be changed by that user at any time.
    #[error("{path:?} belongs to another user (id {owner})")]
    Foreign {
        /// The folder or file.
        path: PathBuf,
        /// The numeric id of its owner.
        owner: u32,
    },
    /// Its files could be changed by other users at any time.
    #[error("other users can write to {path:?} (mode {mode:03o})")]
    Shared {
        /// The folder or file whose mode has to change.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The system refused.
    #[error("cannot use {path:?}: {source}")]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl PlaceError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}

impl Home {
    /// The home at a path, which need not exist yet.
    ///
    /// # Errors
    /// [`PlaceError::Foreign`] and [`PlaceError::Shared`] when another user owns it or can write to it.
    pub fn at(path: impl Into<PathBuf>) -> Result<Self, PlaceError> {
        let home = Self::unchecked(path);
        ownership::check_home(&home.path)?;
        Ok(home)
    }

    /// The home at a path whose owner and mode were not checked: to print paths and repair it, never to follow its
    /// configuration.
    pub fn unchecked(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), watcher: None, linker: None, edit_policy: None, scanner: Scanner::default() }
    }

    /// The same, with somebody who is told what becomes of proposals in libraries that are opened by it.
    #[must_use]
    pub fn watched_by(self, watcher: Watcher) -> Self {
        Self { watcher: Some(watcher), ..self }
    }

    /// The same, with rules for hand edits in libraries that are opened by it. Without them only pins hold edits.
    #[must_use]
    pub fn with_edit_policy(self, policy: EditPolicy) -> Self {
        Self { edit_policy: Some(policy), ..self }
    }

    pub(crate) fn edit_policy(&self) -> Option<EditPolicy> {
        self.edit_policy.clone()
    }

    /// The same, with a scanner for skills of libraries that are opened by it, and for what comes into them.
    #[must_use]
    pub fn scanned_by(self, scanner: Scanner) -> Self {
        Self { scanner, ..self }
    }

    /// What scans skills here.
    #[must_use]
    pub fn scanner(&self) -> Scanner {
        self.scanner
    }

    pub(crate) fn watcher(&self) -> Option<Watcher> {
        self.watcher.clone()
    }

    /// The same, with a linker for new skills of libraries that are opened by it.
    #[must_use]
    pub fn linked_by(self, linker: Linker) -> Self {
        Self { linker: Some(linker), ..self }
    }

    pub(crate) fn linker(&self) -> Option<Linker> {
        self.linker.clone()
    }

    /// The home's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the home, making it when missing, for its user alone where the system knows that.
    ///
    /// # Errors
    /// [`PlaceError`] with what the system said, or that another user owns it.
    pub fn ensure(&self) -> Result<Dir, PlaceError> {
        ensure_private_dir(&self.path)
    }

    /// `config.toml`.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// The embedded registry.
    #[must_use]
    pub fn registry(&self) -> PathBuf {
        self.path.join("registry")
    }

    /// What this machine has of registries that only git reaches; it can be thrown away at any time.
    #[must_use]
    pub fn mirrors(&self) -> PathBuf {
        self.path.join("registries")
    }

    /// Bundles by digest.
    #[must_use]
    pub fn cache(&self) -> PathBuf {
        self.path.join("cache")
    }

    /// Where history and state of the library at `library` (an absolute, resolved path) are kept:
    /// `libraries/<first 16 digits of the path's sha256>`.
    #[must_use]
    pub fn library(&self, library: &Path) -> PathBuf {
        let digest = Digest::of_bytes(library.as_os_str().as_encoded_bytes()).hex();
        self.path.join("libraries").join(digest.get(..16).unwrap_or(&digest))
    }
}

/// Opens a folder, creating it and its parents when missing.
///
/// # Errors
/// [`PlaceError`] with what the system said, or that another user owns it.
pub fn ensure_dir(path: &Path) -> Result<Dir, PlaceError> {
    if let Some(dir) = open_dir(path)? {
        return Ok(dir);
    }
    Dir::create_ambient_dir_all(path, ambient_authority()).map_err(PlaceError::io(path))?;
    refuse_foreign(path)?;
    Dir::open_ambient_dir(path, ambient_authority()).map_err(PlaceError::io(path))
}

/// As [`ensure_dir`]; a folder that is made is for its user alone. One that is there stays as it is.
///
/// # Errors
/// As [`ensure_dir`].
pub fn ensure_private_dir(path: &Path) -> Result<Dir, PlaceError> {
    if let Some(dir) = open_dir(path)? {
        return Ok(dir);
    }
    if let Some((parent, name)) = path.parent().zip(path.file_name()) {
        // The parent of a bare name is the empty path.
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        Dir::create_ambient_dir_all(parent, ambient_authority()).map_err(PlaceError::io(path))?;
        let parent = Dir::open_ambient_dir(parent, ambient_authority()).map_err(PlaceError::io(path))?;
        match parent.create_dir_with(name, &private()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(PlaceError::io(path)(error)),
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

/// Opens a folder; `None` when there is none.
///
/// # Errors
/// [`PlaceError`] with what the system said, or that another user owns it.
pub fn open_dir(path: &Path) -> Result<Option<Dir>, PlaceError> {
    refuse_foreign(path)?;
    match Dir::open_ambient_dir(path, ambient_authority()) {
        Ok(dir) => Ok(Some(dir)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PlaceError::Io { path: path.to_owned(), source }),
    }
}

/// As [`open_dir`] for a path that was resolved before: where a name on it has become a link since, it
/// leads elsewhere, and is refused.
pub(crate) fn open_resolved(path: &Path) -> Result<Option<Dir>, PlaceError> {
    refuse_foreign(path)?;
    match folder::open_resolved(path) {
        Ok(dir) => Ok(Some(dir)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PlaceError::Io { path: path.to_owned(), source }),
    }
}

/// As [`open_resolved`], creating the folder and its parents when missing.
pub(crate) fn ensure_resolved(path: &Path) -> Result<Dir, PlaceError> {
    let mut above = path.ancestors();
    let found = above.find_map(|ancestor| open_resolved(ancestor).transpose().map(|dir| (ancestor, dir)));
    let (ancestor, dir) = found.ok_or_else(|| PlaceError::io(path)(io::ErrorKind::NotFound.into()))?;
    let below = path.strip_prefix(ancestor).unwrap_or(path);
    if below.as_os_str().is_empty() {
        return dir;
    }
    dir?.create_dir_all(below).map_err(PlaceError::io(path))?;
    open_resolved(path)?.ok_or_else(|| PlaceError::io(path)(io::ErrorKind::NotFound.into()))
}

/// Reads a file that is known to be small; `None` when there is none.
///
/// # Errors
/// What the system said; one that is larger than `limit` bytes is `FileTooLarge`.
pub fn read_bounded(dir: &Dir, name: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match dir.open(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let bytes = read_all(io::Read::take(file, limit + 1))?;
    if bytes.len() as u64 > limit {
        let message = format!("{name} has more than {limit} bytes, which no skillhub writes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(Some(bytes))
}

/// Reads a whole file of ours; `None` when there is none.
pub(crate) fn read_optional(dir: &Dir, name: &str) -> io::Result<Option<Vec<u8>>> {
    match dir.open(name) {
        Ok(file) => read_all(file).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads to the end of a file that is small as a rule, without asking for its size.
fn read_all(mut file: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(SMALL);
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What a file that was replaced is after a power loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The new one. Two syncs.
    Durable,
    /// The new one or the old one, and whole: for what can be made again from the history. One sync.
    Whole,
    /// Perhaps empty or cut: for what is held to its digest when it is read. No sync.
    Unsynced,
}

/// Replaces a small file of ours in one step: written beside and renamed over. Threads and processes
/// may do so at the same time; the last one stands.
///
/// # Errors
/// What the system said; the old file is then as it was, unless only the last sync failed.
pub fn write_atomically(dir: &Dir, name: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    replace(dir, name, bytes, durability, &options)
}

/// As [`write_atomically`], durable, for a file that only its owner may read and write.
///
/// # Errors
/// What the system says; the file is then as it was.
pub fn write_private(dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
    replace(dir, name, bytes, Durability::Durable, &options)
}

/// Inode, change time and size of a file that each writing replaces by a new one.
pub(crate) type Written = [i64; 4];

/// Identifies the last writing of a file; `None` without a file, where the system does not number files, and for a file
/// so new that the next one might have the same number and time.
#[cfg(unix)]
pub(crate) fn written(dir: &Dir, name: &str) -> Option<Written> {
    use cap_std::fs::MetadataExt;
    /// More than what file systems round times to: those that know whole seconds at best, and the others.
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

/// A random number of this process. Containers that share a home may give several processes one number.
#[must_use]
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

/// Puts other bytes in place of what a small file holds, not synced, and without emptying it in between:
/// file systems write one that was emptied out at once when it is closed. Who reads meanwhile may see
/// some of both.
pub(crate) fn overwrite(file: &mut std::fs::File, bytes: &[u8]) -> io::Result<()> {
    io::Seek::rewind(file)?;
    io::Write::write_all(file, bytes)?;
    let len = bytes.len() as u64;
    if file.metadata()?.len() > len { file.set_len(len) } else { Ok(()) }
}

/// Syncs a folder and all above it, so that a power loss takes away none on the way to what is new in it.
/// Those that we may not open were not made by us, and some file systems sync no folders.
pub(crate) fn sync_folders_above(folder: &Path) -> io::Result<()> {
    for path in folder.ancestors().filter(|path| !path.as_os_str().is_empty()) {
        match Dir::open_ambient_dir(path, ambient_authority()).and_then(|dir| sync_folder(&dir)) {
            Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput) => {}
            synced => synced?,
        }
    }
    Ok(())
}

/// Syncs a folder, so that the names in it are durable.
pub(crate) fn sync_folder(dir: &Dir) -> io::Result<()> {
    dir.open(".")?.sync_all()
}
