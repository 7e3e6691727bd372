//! [`MirrorCheck`]: checks, repacks and deletes the mirrors of a home.
//!
//! A damaged or unused mirror can be deleted at any time: the objects are fetched again when needed, and the commit
//! seen last is recorded separately ([`super::seen`]).

use std::{
    collections::BTreeMap,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    time::Duration,
};

use cap_std::{ambient_authority, fs::Dir};
use git2::Repository;
use library::Home;

use super::{
    Location, Registries, RegistryError,
    mirror::{BRANCH, Mirror, lock_at},
};
use crate::{git, lock_file::LockFile};

/// Time for which a mirror is kept after its last use if neither the configuration nor the lock file refers to it.
/// Another project may refer to it.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// Size in bytes of the checksum at the end of a pack, and of each of the two at the end of its index.
const SUM: i64 = 20;

/// Result of checking one mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorCheck {
    /// Path of the mirror.
    pub path: PathBuf,
    /// URL of the registry, if the configuration or the lock file refers to it.
    pub url: Option<String>,
    /// Total size of its files in bytes.
    pub bytes: u64,
    /// True if it was used recently, or if the configuration or the lock file refers to it.
    pub is_used: bool,
    /// Description of damage, as a clause.
    pub fault: Option<String>,
}

/// Result of tidying all mirrors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MirrorsTidied {
    /// Total bytes of all mirrors before tidying.
    pub before: u64,
    /// Total bytes of all mirrors after tidying.
    pub after: u64,
    /// Paths of the deleted mirrors.
    pub dropped: Vec<PathBuf>,
}

impl Registries {
    /// Checks every mirror of the home. `lock` refers to registries besides the configured ones.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn mirrors(&self, lock: &LockFile) -> Result<Vec<MirrorCheck>, RegistryError> {
        let named = self.named_mirrors(lock);
        let look = |path: PathBuf| {
            let url = named.get(&path).map(|(url, _)| url.clone());
            let is_used = url.is_some() || is_of_late(&path);
            MirrorCheck { bytes: git::bytes_in(&path), fault: fault(&path), url, is_used, path }
        };
        Ok(folders(&self.home)?.into_iter().map(look).collect())
    }

    /// Deletes a mirror. The next use of its registry fetches what it needs.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn drop_mirror(&self, path: &Path) -> Result<(), RegistryError> {
        let io = |source| RegistryError::Io { path: path.to_owned(), source };
        let _locked = lock_at(path, &self.home)?;
        let dir = Dir::open_ambient_dir(self.home.mirrors(), ambient_authority()).map_err(io)?;
        dir.remove_dir_all(path.file_name().unwrap_or_default()).map_err(io)
    }

    /// Deletes unreferenced mirrors that were not used recently, and repacks the others into a single pack.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn tidy_mirrors(&self, lock: &LockFile) -> Result<MirrorsTidied, RegistryError> {
        let named = self.named_mirrors(lock);
        let mut tidied = MirrorsTidied::default();
        for found in self.mirrors(lock)? {
            tidied.before += found.bytes;
            match named.get(&found.path) {
                _ if !found.is_used => {
                    self.drop_mirror(&found.path)?;
                    tidied.dropped.push(found.path);
                    continue;
                }
                Some((_, mirror)) if found.fault.is_none() && packs(&found.path).len() > 1 => {
                    let locked = mirror.lock(&self.home)?;
                    mirror.pack(&locked)?;
                }
                _ => {}
            }
            tidied.after += git::bytes_in(&found.path);
        }
        Ok(tidied)
    }

    /// Returns the mirrors of all registries in the configuration, the flag and the lock file, by folder.
    fn named_mirrors(&self, lock: &LockFile) -> BTreeMap<PathBuf, (String, Mirror)> {
        let configured = self.config.registries.values().map(|registry| registry.location.as_str());
        let locked = lock.skills().filter_map(|skill| Some(skill.origin.as_registry()?.registry.as_str()));
        // For a repository on this machine, the lock file has a `file://` URL. As a location, that would mean the
        // folder itself.
        let of_lock = |source: &str| match source.starts_with("file://") {
            true => format!("git+{source}"),
            false => source.to_owned(),
        };
        let all = configured.chain(self.given.as_deref()).map(str::to_owned).chain(locked.map(of_lock));
        let named = all.filter_map(|text| match Location::read(&text, self.home.path()) {
            Ok(Location::Git(spec)) => {
                let mirror = Mirror::of(&spec, &self.home);
                Some((mirror.path().to_owned(), (spec.url(), mirror)))
            }
            _ => None,
        });
        named.collect()
    }
}

/// Lists the folders of the mirrors, sorted.
fn folders(home: &Home) -> Result<Vec<PathBuf>, RegistryError> {
    let path = home.mirrors();
    let io = |source| RegistryError::Io { path: path.clone(), source };
    let dir = match Dir::open_ambient_dir(&path, ambient_authority()) {
        Ok(dir) => dir,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io(error)),
    };
    let mut found = Vec::new();
    for entry in dir.entries().map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name();
        let is_mirror = name.to_str().is_some_and(|name| name.ends_with(".git"));
        if is_mirror && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.push(path.join(name));
        }
    }
    found.sort();
    Ok(found)
}

/// Returns whether a mirror was used recently, according to its lock file. A mirror without a lock file was just
/// created.
fn is_of_late(path: &Path) -> bool {
    let lock = path.with_extension("lock");
    let Some((folder, name)) = lock.parent().zip(lock.file_name()) else { return true };
    let modified = Dir::open_ambient_dir(folder, ambient_authority())
        .and_then(|dir| dir.metadata(name))
        .and_then(|metadata| metadata.modified());
    modified.map_or(true, |at| at.into_std().elapsed().map_or(true, |age| age < KEPT))
}

/// Describes damage of a mirror: a truncated pack, a missing pack index, or a branch without a commit. Objects are not
/// read, so that the cost does not grow with the registry.
fn fault(path: &Path) -> Option<String> {
    let pack = packs(path).into_iter().find_map(|pack| broken_pack(path, &pack).err().map(|why| (pack, why)));
    if let Some((pack, why)) = pack {
        return Some(format!("its pack {pack} is damaged: {why}"));
    }
    let repository = match Repository::open_bare(path) {
        Ok(repository) => repository,
        Err(error) => return Some(format!("it is not a git repository: {}", error.message())),
    };
    let Ok(branch) = repository.find_reference(BRANCH) else {
        let is_empty = packs(path).is_empty();
        return (!is_empty).then(|| "it has no branch".to_owned());
    };
    let tree = branch.peel_to_commit().and_then(|commit| commit.tree());
    tree.err().map(|error| format!("its branch has no readable commit: {}", error.message()))
}

/// Lists the names of the packs, without extensions.
fn packs(path: &Path) -> Vec<String> {
    let entries = Dir::open_ambient_dir(path.join("objects/pack"), ambient_authority()).and_then(|dir| dir.entries());
    let names = entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some(name.strip_suffix(".pack")?.to_owned())).collect()
}

/// Checks that the checksum of a pack matches the one in its index.
fn broken_pack(path: &Path, pack: &str) -> Result<(), String> {
    let said = |error: io::Error| error.to_string();
    let dir = Dir::open_ambient_dir(path.join("objects/pack"), ambient_authority()).map_err(said)?;
    let [of_pack, of_index] = [("pack", SUM), ("idx", 2 * SUM)].map(|(end, from_end)| {
        let mut sum = [0; 20];
        let mut file = dir.open(format!("{pack}.{end}"))?;
        file.seek(SeekFrom::End(-from_end))?;
        file.read_exact(&mut sum).map(|()| sum)
    });
    match (of_pack, of_index) {
        (Ok(pack), Ok(index)) if pack == index => Ok(()),
        (Ok(_), Ok(_)) => Err("it does not match its index".to_owned()),
        (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
    }
}
