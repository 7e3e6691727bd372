//! [`init_registry`]: creates an empty registry, in a folder or in an empty remote repository.

use std::path::Path;

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
#[must_use]
pub fn is_git_location(text: &str) -> bool {
    matches!(Location::read(text, Path::new("")), Ok(Location::Git(_)))
}

/// Creates an empty registry, in an empty or new folder, or in an empty git repository. `text` is a git URL, or a
/// folder relative to `base`. An existing registry is left unchanged. Returns its location.
///
/// # Errors
/// [`RegistryError`] if the location contains anything else, or cannot be written.
pub fn init_registry(text: &str, base: &Path, home: &Home, stamp: &Stamp) -> Result<String, RegistryError> {
    match Location::read(text, base)? {
        Location::Folder(path) => {
            Index::init(&path, stamp)?;
            Ok(path.display().to_string())
        }
        Location::Git(spec) => {
            if references(&spec, home)?.is_empty() {
                push_first(&spec, home, stamp)?;
            }
            let registry = Remote::new(&spec, home, &Heads::default(), false);
            match registry.newest() {
                Ok(_) => Ok(registry.url().to_owned()),
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
