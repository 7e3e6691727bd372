//! [`init_registry`]: creates an empty registry, in a folder or in an empty remote repository.

use std::path::{Path, PathBuf};

use library::Home;
use registry_index::{Index, InitError, Stamp};

use super::{
    Location, RegistryError,
    mirror::BRANCH,
    remote::{Heads, Remote},
};
use crate::{
    cache::{Cache, CacheError},
    git::{self, ProgramError},
    spec::GitSpec,
};

/// Returns whether a text refers to a registry accessed through git rather than to a folder on this machine.
pub fn is_git_location(text: &str) -> bool {
    matches!(Location::read(text, Path::new("")), Ok(Location::Git(_)))
}

/// Returns the folder of a registry on this machine, named by a path relative to `base` or by a `file://` URL.
///
/// # Errors
/// [`RegistryError::NotHere`] for a registry that is accessed through git.
pub fn registry_folder(text: &str, base: &Path) -> Result<PathBuf, RegistryError> {
    match Location::read(text, base)? {
        Location::Folder(path) => Ok(path),
        Location::Git(_) => Err(RegistryError::NotHere(text.to_owned())),
    }
}

/// A registry that [`init_registry`] created or found.
#[derive(Debug)]
pub struct InitializedRegistry {
    /// Location of the registry.
    pub location: String,
    /// True if it did not exist before.
    pub is_new: bool,
}

/// Creates an empty registry, in an empty or new folder, or in an empty git repository. `text` is a git URL, or a
/// folder relative to `base`. An existing registry is left unchanged.
///
/// # Errors
/// [`RegistryError`] if the location contains anything else, or cannot be written.
pub fn init_registry(
    text: &str,
    base: &Path,
    home: &Home,
    stamp: &Stamp,
) -> Result<InitializedRegistry, RegistryError> {
    match Location::read(text, base)? {
        Location::Folder(path) => {
            let is_new = Index::open(&path).is_err();
            Index::init(&path, stamp)?;
            Ok(InitializedRegistry { location: path.display().to_string(), is_new })
        }
        Location::Git(spec) => {
            let is_new = references(&spec, home)?.is_empty();
            if is_new {
                push_first(&spec, home, stamp)?;
            }
            let registry = Remote::new(&spec, home, &Heads::default(), false);
            match registry.newest() {
                Ok(_) => Ok(InitializedRegistry { location: registry.url().to_owned(), is_new }),
                Err(RegistryError::NotARegistry { url, .. }) => Err(InitError::NotEmpty(url.into()).into()),
                Err(error) => Err(error),
            }
        }
    }
}

/// Lists the references of a repository, one on each line. The result is empty for an empty repository.
fn references(spec: &GitSpec, home: &Home) -> Result<String, RegistryError> {
    let folder = Cache::of(home).temporary().map_err(of_cache)?;
    let url = spec.url();
    let mut list = git::program(folder.path());
    git::allow(&mut list, spec.transport());
    list.args(["ls-remote", "--quiet", "--", &url]);
    git::run(list, Vec::new(), folder.path(), &url, u64::MAX).map_err(|source| RegistryError::Unreached { url, source })
}

/// Pushes the first commit. If another process pushed first, this succeeds, and the caller detects it afterwards.
fn push_first(spec: &GitSpec, home: &Home, stamp: &Stamp) -> Result<(), RegistryError> {
    let folder = Cache::of(home).temporary().map_err(of_cache)?;
    let index = Index::init(folder.path(), stamp)?;
    let url = spec.url();
    let mut push = git::program(folder.path());
    git::allow(&mut push, spec.transport());
    push.arg("--git-dir").arg(index.dir());
    push.args(["push", "--porcelain", "--no-verify", "--no-recurse-submodules", "--", &url]);
    push.arg(format!("{BRANCH}:{BRANCH}"));
    match git::run(push, Vec::new(), folder.path(), &url, u64::MAX) {
        Ok(_) => Ok(()),
        Err(ProgramError::Failed { message }) if references(spec, home)?.is_empty() => {
            Err(RegistryError::NotTaken { url, message })
        }
        Err(ProgramError::Failed { .. }) => Ok(()),
        Err(source) => Err(RegistryError::Unreached { url, source }),
    }
}

fn of_cache(error: CacheError) -> RegistryError {
    match error {
        CacheError::Place(error) => error.into(),
        CacheError::Io { path, source } => RegistryError::Io { path, source },
    }
}
