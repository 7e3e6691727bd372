//! [`Cache`]: downloaded archives, addressed by their hash.

use std::{
    io::{self, Read},
    path::PathBuf,
    time::Duration,
};

use cap_std::fs::Dir;
use library::{Durability, Home, PathAccessError, ensure_dir, interrupt, open_dir, write_atomically};
use skill::failure::{Fails, Failure};
use skill::{Digest, Limits, archive::Archive};
use thiserror::Error;

/// The cache, `cache/` in the home. It can be deleted at any time.
#[derive(Debug, Clone)]
pub struct Cache {
    home: Home,
    path: PathBuf,
}

/// Size limit of the cache, in bytes.
pub const CACHE_BYTES: u64 = 256 << 20;

/// Prefix of temporary folders' names.
const FETCH: &str = "fetch-";

/// Age from which a temporary folder counts as left behind by a stopped fetch.
const LONGEST_FETCH: Duration = Duration::from_secs(24 * 3600);

/// Size of the cache before and after trimming, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trimmed {
    /// Bytes before trimming.
    pub before: u64,
    /// Bytes after trimming.
    pub after: u64,
}

/// Result of verifying every archive in the cache.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheCheck {
    /// Number of archives verified.
    pub archives: usize,
    /// Sorted paths of files whose content does not match the hash in their name.
    pub wrong: Vec<PathBuf>,
}

/// Reasons why the cache cannot be used.
#[derive(Debug, Error)]
pub enum CacheError {
    /// The folder of the cache or home is unusable.
    #[error(transparent)]
    Place(#[from] PathAccessError),
    /// An I/O operation failed.
    #[error("cannot use the cache {}: {source}", path.display())]
    Io {
        /// Folder of the cache.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl Fails for CacheError {
    fn failure(&self) -> Failure {
        match self {
            Self::Place(error) => error.failure(),
            Self::Io { .. } => Failure::io(),
        }
    }
}

impl Cache {
    /// Returns the cache of a home; nothing is created.
    pub fn of(home: &Home) -> Self {
        Self { home: home.clone(), path: home.cache() }
    }

    /// Returns the archive with this hash, if cached. An archive whose content no longer matches the hash is deleted.
    ///
    /// # Errors
    /// [`CacheError`]
    pub fn get(&self, hash: &Digest) -> Result<Option<Archive>, CacheError> {
        let Some(dir) = open_dir(&self.path)? else { return Ok(None) };
        let name = file_of(hash);
        let Some(archive) = self.read_file(&dir, &name)?.map(Archive::of_bytes) else { return Ok(None) };
        let is_right = archive.hash() == *hash;
        if !is_right {
            let _best_effort = dir.remove_file(&name);
        }
        Ok(Some(archive).filter(|_| is_right))
    }

    /// Returns whether there is a file for the archive with this hash. Its content is not looked at.
    pub(crate) fn has(&self, hash: &Digest) -> bool {
        open_dir(&self.path).is_ok_and(|dir| dir.is_some_and(|dir| dir.is_file(file_of(hash))))
    }

    /// Stores an archive and returns its hash. A damaged file of it is replaced.
    ///
    /// # Errors
    /// [`CacheError`]
    pub fn put(&self, archive: &Archive) -> Result<Digest, CacheError> {
        let hash = archive.hash();
        let dir = self.ensure()?;
        let name = file_of(&hash);
        if self.read_file(&dir, &name)?.is_none_or(|cached| cached[..] != archive[..]) {
            self.write(&dir, &name, archive).map_err(|source| self.io(source))?;
        }
        Ok(hash)
    }

    fn read_file(&self, dir: &Dir, name: &str) -> Result<Option<Vec<u8>>, CacheError> {
        match dir.read(name) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.io(source)),
        }
    }

    /// Creates a temporary folder, deleted on drop.
    ///
    /// # Errors
    /// [`CacheError`]
    pub(crate) fn temporary(&self) -> Result<tempfile::TempDir, CacheError> {
        self.ensure()?;
        let folder = tempfile::Builder::new().prefix(FETCH).tempdir_in(&self.path);
        folder.inspect(|folder| interrupt::note_temporary(folder.path())).map_err(|source| self.io(source))
    }

    /// Evicts the oldest archives when the cache exceeds `limit` bytes, until half of `limit` is left. Also deletes
    /// folders of stopped fetches.
    ///
    /// # Errors
    /// [`CacheError`]
    pub fn trim(&self, limit: u64) -> Result<Trimmed, CacheError> {
        let Some(dir) = open_dir(&self.path)? else { return Ok(Trimmed::default()) };
        let mut archives = archives(&dir).map_err(|source| self.io(source))?;
        let before = archives.iter().map(|archive| archive.bytes).sum();
        let mut after = before;
        if before > limit {
            archives.sort_by_key(|archive| archive.made);
            for archive in archives {
                if after > limit / 2 && dir.remove_file(&archive.name).is_ok() {
                    after -= archive.bytes;
                }
            }
        }
        Ok(Trimmed { before, after })
    }

    /// Verifies that the content of every archive has the hash in its name.
    ///
    /// # Errors
    /// [`CacheError`]
    pub fn check(&self) -> Result<CacheCheck, CacheError> {
        let mut found = CacheCheck::default();
        let Some(dir) = open_dir(&self.path)? else { return Ok(found) };
        let io = |source| self.io(source);
        for shard in dir.entries().map_err(io)? {
            let shard = shard.map_err(io)?;
            if !shard.file_type().map_err(io)?.is_dir() || shard.file_name().len() != 2 {
                continue;
            }
            let folder = shard.open_dir().map_err(io)?;
            for entry in folder.entries().map_err(io)? {
                let file = entry.map_err(io)?.file_name();
                let Some(hex) = file.to_str().and_then(|name| name.strip_suffix(".skill")) else { continue };
                found.archives += 1;
                let is_right = self.read(&folder, &file).is_ok_and(|bytes| Digest::of_bytes(&bytes).hex() == hex);
                if !is_right {
                    found.wrong.push(self.path.join(shard.file_name()).join(&file));
                }
            }
        }
        found.wrong.sort();
        Ok(found)
    }

    fn read(&self, folder: &Dir, name: &std::ffi::OsStr) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        folder.open(name)?.take(Limits::default().archive_bytes + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn ensure(&self) -> Result<Dir, CacheError> {
        self.home.ensure()?;
        Ok(ensure_dir(&self.path)?)
    }

    fn write(&self, dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (folder, file) = name.split_once('/').unwrap_or((".", name));
        dir.create_dir_all(folder)?;
        write_atomically(&dir.open_dir(folder)?, file, bytes, Durability::Unsynced)
    }

    fn io(&self, source: io::Error) -> CacheError {
        CacheError::Io { path: self.path.clone(), source }
    }
}

struct CachedFile {
    name: String,
    bytes: u64,
    made: std::time::SystemTime,
}

/// Lists the archives in the cache. Deletes temporary folders too old to be in use.
fn archives(dir: &Dir) -> io::Result<Vec<CachedFile>> {
    let mut archives = Vec::new();
    for folder in dir.entries()? {
        let folder = folder?;
        let name = folder.file_name().to_string_lossy().into_owned();
        if name.starts_with(FETCH) {
            let made = folder.metadata()?.modified()?.into_std();
            if made.elapsed().is_ok_and(|age| age > LONGEST_FETCH) {
                let _best_effort = dir.remove_dir_all(&name);
            }
        } else if folder.file_type()?.is_dir() {
            for file in dir.open_dir(&name)?.entries()? {
                let file = file?;
                let metadata = file.metadata()?;
                let name = format!("{name}/{}", file.file_name().to_string_lossy());
                archives.push(CachedFile { name, bytes: metadata.len(), made: metadata.modified()?.into_std() });
            }
        }
    }
    Ok(archives)
}

/// Returns the path within the cache: `<first two digits>/<64 digits>.skill`.
fn file_of(archive: &Digest) -> String {
    let hex = archive.hex();
    format!("{}/{hex}.skill", hex.get(..2).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trim_removes_oldest_archives() {
        let temp = tempfile::tempdir().unwrap();
        let cache = Cache::of(&Home::at(temp.path().join("home")).unwrap());
        assert_eq!(cache.trim(10).unwrap(), Trimmed::default());
        let dir = ensure_dir(&cache.path).unwrap();
        let archives: Vec<Digest> = (0..4u8).map(|n| cache.put(&Archive::of_bytes(vec![n; 100])).unwrap()).collect();
        for (age, archive) in archives.iter().enumerate() {
            let made = std::time::SystemTime::now() - Duration::from_secs(1000 - age as u64);
            dir.open_with(file_of(archive), cap_std::fs::OpenOptions::new().write(true))
                .unwrap()
                .into_std()
                .set_modified(made)
                .unwrap();
        }
        assert_eq!(cache.trim(400).unwrap(), Trimmed { before: 400, after: 400 });
        assert_eq!(cache.trim(399).unwrap(), Trimmed { before: 400, after: 100 });
        let left: Vec<bool> = archives.iter().map(|archive| cache.get(archive).unwrap().is_some()).collect();
        assert_eq!(left, [false, false, false, true]);
    }

    #[test]
    fn damaged_archive_is_discarded() {
        let temp = tempfile::tempdir().unwrap();
        let cache = Cache::of(&Home::at(temp.path().join("home")).unwrap());
        assert!(cache.get(&Digest::of_bytes(b"x")).unwrap().is_none());
        let cached = |archive: &Digest| cache.get(archive).unwrap().map(Archive::into_bytes);
        let x = Archive::of_bytes(b"x".to_vec());
        let archive = cache.put(&x).unwrap();
        assert_eq!(cached(&archive), Some(b"x".to_vec()));
        let dir = open_dir(&cache.path).unwrap().unwrap();
        dir.write(file_of(&archive), "y").unwrap();
        assert_eq!(cached(&archive), None);
        assert!(!dir.exists(file_of(&archive)), "a damaged archive is thrown away");
        dir.write(file_of(&archive), "z").unwrap();
        assert_eq!(cache.put(&x).unwrap(), archive);
        assert_eq!(cached(&archive), Some(b"x".to_vec()), "it was replaced");
    }
}
