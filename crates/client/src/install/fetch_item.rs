//! [`FetchItem`]: one item that an install fetches.

use std::path::Path;

use registry_index::ReleaseSelector;
use semver::Version;
use skill::QualifiedName;

use super::{InstallError, InstallRequest};
use crate::{
    lock_file::{LockFile, LockedSkill},
    paths,
    spec::{Spec, VersionRequest},
};

/// One item to fetch.
pub(crate) enum FetchItem {
    /// A spec as the user requested it.
    Spec(Spec),
    /// A release chosen by the resolver.
    Chosen {
        /// Full name of the skill.
        name: QualifiedName,
        /// Version request of the user; the newest for a skill that is only a requirement.
        request: VersionRequest,
        /// Version that the resolver chose.
        version: Version,
        /// Location of the registry that has it, if known.
        source: Option<String>,
        /// True if only other skills require it.
        is_dependency: bool,
    },
    /// An entry of the lock file.
    Locked(Box<LockedSkill>),
}

impl FetchItem {
    /// Returns the label for results that have no skill.
    pub fn label(&self) -> String {
        match self {
            Self::Spec(Spec::Qualified { name, .. }) => name.to_string(),
            Self::Spec(Spec::Bare { name, .. }) => name.to_string(),
            Self::Spec(spec) => spec.to_string(),
            Self::Chosen { name, .. } => name.to_string(),
            Self::Locked(locked) => locked.name(),
        }
    }
}

/// Returns whether a locked version satisfies a request.
fn fits(request: &VersionRequest, version: Option<&str>) -> bool {
    let version = version.and_then(|version| Version::parse(version).ok());
    match (request.wanted(), version) {
        (ReleaseSelector::Newest, _) => true,
        (ReleaseSelector::Exact(wanted), Some(version)) => wanted.cmp_precedence(&version).is_eq(),
        (ReleaseSelector::Range(range), Some(version)) => range.matches(&version),
        (_, None) => false,
    }
}

/// Returns the items to fetch: the requested specs, or the entries of the lock file.
pub(super) fn orders(
    request: &InstallRequest,
    lock: &LockFile,
    user_home: Option<&Path>,
) -> Result<Vec<FetchItem>, InstallError> {
    if request.specs.is_empty() {
        if lock.is_empty() {
            return Err(InstallError::NothingLocked { path: lock.path().to_owned() });
        }
        return Ok(lock.skills().cloned().map(|skill| FetchItem::Locked(Box::new(skill))).collect());
    }
    if !request.frozen {
        return Ok(request.specs.iter().cloned().map(FetchItem::Spec).collect());
    }
    request.specs.iter().map(|spec| frozen_order(spec, lock, user_home)).collect()
}

/// Returns the lock file entry for a spec. It must exist and satisfy the request.
fn frozen_order(spec: &Spec, lock: &LockFile, user_home: Option<&Path>) -> Result<FetchItem, InstallError> {
    // A folder or archive is noted with its absolute path.
    let text = spec.to_string();
    let path = library::resolve(&paths::expanded(&text, user_home)).ok().map(|path| path.display().to_string());
    let is_of = |skill: &&LockedSkill| skill.requested == text || Some(&skill.requested) == path.as_ref();
    let (locked, request) = match spec {
        Spec::Qualified { name, request } => (lock.get(&name.to_string()), Some(request)),
        Spec::Bare { name, request } => (lock.find(name), Some(request)),
        _ => (lock.skills().find(is_of), None),
    };
    let differs = |what: &str| InstallError::lock_is_frozen(spec.to_string(), what.to_owned());
    let locked = locked.ok_or_else(|| differs("it is not in the lock file"))?;
    let version = locked.origin.version();
    if request.is_some_and(|request| !fits(request, version.as_deref())) {
        let version = version.as_deref().unwrap_or("none");
        return Err(differs(&format!("the lock file has version {version}")));
    }
    Ok(FetchItem::Locked(Box::new(locked.clone())))
}
