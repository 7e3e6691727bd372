//! [`MirrorCheck`]: the mirrors of a home, looked at, packed and dropped.
//!
//! A mirror that is broken, or that nothing has used for long, can go at any time: what is needed is fetched again, and
//! what was seen of its registry is remembered elsewhere ([`super::seen`]).

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
    Registries, RegistryError,
    location::Location,
    mirror::{BRANCH, Mirror, lock_at},
};
use crate::{git, lock_file::LockFile};

/// How long a mirror that nothing here names is kept after its last use: another project may name it.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// Bytes of the sum at the end of a pack, and of each of the two at the end of its index.
const SUM: i64 = 20;

/// One mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorCheck {
    /// Its folder.
    pub path: PathBuf,
    /// The registry, where the configuration or the lock file names it.
    pub url: Option<String>,
    /// Bytes of its files.
    pub bytes: u64,
    /// Whether it was used of late, or is named.
    pub is_used: bool,
    /// What is wrong with it, as a clause.
    pub fault: Option<String>,
}

/// What became of the mirrors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MirrorsTidied {
    /// Bytes of all before.
    pub before: u64,
    /// Bytes of all after.
    pub after: u64,
    /// Those that are gone.
    pub dropped: Vec<PathBuf>,
}

impl Registries {
    /// Looks at every mirror of the home; `lock` names registries besides the configuration.
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

    /// Removes a mirror; the next use of its registry fetches what it needs.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn drop_mirror(&self, path: &Path) -> Result<(), RegistryError> {
        let io = |source| RegistryError::Io { path: path.to_owned(), source };
        let _locked = lock_at(path, &self.home)?;
        let dir = Dir::open_ambient_dir(self.home.mirrors(), ambient_authority()).map_err(io)?;
        dir.remove_dir_all(path.file_name().unwrap_or_default()).map_err(io)
    }

    /// Drops mirrors that nothing names and nothing used of late, and makes one pack of each of the others.
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

    /// The mirrors of the registries that are named, with the URL of each, by their folders.
    fn named_mirrors(&self, lock: &LockFile) -> BTreeMap<PathBuf, (String, Mirror)> {
        let configured = self.config.registries.values().map(|registry| registry.location.as_str());
        let locked = lock.skills().filter(|skill| skill.kind == "registry").map(|skill| skill.source.as_str());
        // What a lock file has of a repository on this machine is its URL, which as a location means its folder.
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

/// The folders of the mirrors, sorted.
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

/// Whether a mirror was used in the last weeks, by its lock; one without a lock was made just now.
fn is_of_late(path: &Path) -> bool {
    let lock = path.with_extension("lock");
    let Some((folder, name)) = lock.parent().zip(lock.file_name()) else { return true };
    let modified = Dir::open_ambient_dir(folder, ambient_authority())
        .and_then(|dir| dir.metadata(name))
        .and_then(|metadata| metadata.modified());
    modified.map_or(true, |at| at.into_std().elapsed().map_or(true, |age| age < KEPT))
}

/// What is wrong with a mirror: packs that were cut off or lack their index, a branch that leads nowhere. Not every
/// object is read, so that it takes no longer with the registry.
fn fault(path: &Path) -> Option<String> {
    let pack = packs(path).into_iter().find_map(|pack| broken_pack(path, &pack).err().map(|why| (pack, why)));
    if let Some((pack, why)) = pack {
        return Some(format!("its pack {pack} is damaged: {why}"));
    }
    let repository = match Repository::open_bare(path) {
        Ok(repository) => repository,
        Err(error) => return Some(format!("it is no repository: {}", error.message())),
    };
    let Ok(branch) = repository.find_reference(BRANCH) else {
        let is_empty = packs(path).is_empty();
        return (!is_empty).then(|| "it has no branch".to_owned());
    };
    let tree = branch.peel_to_commit().and_then(|commit| commit.tree());
    tree.err().map(|error| format!("its branch leads nowhere: {}", error.message()))
}

/// The names of the packs, without their ends.
fn packs(path: &Path) -> Vec<String> {
    let entries = Dir::open_ambient_dir(path.join("objects/pack"), ambient_authority()).and_then(|dir| dir.entries());
    let names = entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some(name.strip_suffix(".pack")?.to_owned())).collect()
}

/// Whether a pack ends with the sum that its index has of it.
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
        (Ok(_), Ok(_)) => Err("it is not the one that its index is of".to_owned()),
        (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
    }
}
