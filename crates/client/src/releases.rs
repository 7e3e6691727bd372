//! [`info`], [`yank`] and [`deprecate`]: listing and flagging the releases of a skill.

use jiff::Timestamp;
use registry_index::{Deprecation, Entry, FlagError, ReleaseSelector, Stamp};
use semver::Version;
use skill::QualifiedName;
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use crate::{
    lock_file::LockFile,
    registry::{Registries, Registry, RegistryError},
    resolve::{self, Located, ResolveError},
    spec::Spec,
};

/// A skill in a registry, with its releases.
#[derive(Debug, Clone)]
pub struct Info {
    /// Full name of the skill.
    pub name: QualifiedName,
    /// Name of the registry in the configuration.
    pub registry: String,
    /// Location of the registry.
    pub location: String,
    /// Requested releases, newest version first, including yanked and withdrawn ones.
    pub releases: Vec<Entry>,
    /// Signature of each release, in the same order.
    pub signed: Vec<Signed>,
}

/// Result of verifying a release's signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// The release is not signed.
    Not,
    /// The release is signed by its owner, with the key of this fingerprint.
    With(String),
    /// The signature is not valid for the owner, for this reason.
    Badly(String),
}

impl Signed {
    /// Returns the reason why a signature is invalid.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        match self {
            Self::Badly(why) => Some(why),
            _ => None,
        }
    }
}

/// Returns the releases of a skill that match the version or range of a spec, or all. A skill in the lock file is
/// looked up in the registry from which it was installed.
///
/// # Errors
/// [`ResolveError`]
pub fn info(registries: &Registries, spec: &Spec, lock: &LockFile) -> Result<Info, ResolveError> {
    let Located { registry, name, request } = resolve::locate_known(registries, spec, lock)?;
    let all = resolve::releases(&registry, &name)?;
    let is_wanted = |entry: &Entry| match request.wanted() {
        ReleaseSelector::Newest => true,
        ReleaseSelector::Exact(version) => entry.version.cmp_precedence(version).is_eq(),
        ReleaseSelector::Range(range) => range.matches(&entry.version),
    };
    let mut releases: Vec<Entry> = all.iter().filter(|entry| is_wanted(entry)).cloned().collect();
    if releases.is_empty() {
        return Err(resolve::no_release(&registry, &name, &request, &all));
    }
    releases.sort_by(|a, b| b.version.cmp(&a.version));
    let signed = signed(&registry, &name, &releases)?;
    let (registry, location) = (registry.name().to_owned(), registry.location().to_owned());
    Ok(Info { name, registry, location, releases, signed })
}

fn signed(registry: &Registry, name: &QualifiedName, releases: &[Entry]) -> Result<Vec<Signed>, ResolveError> {
    if releases.iter().all(|entry| entry.signature.is_none()) {
        return Ok(releases.iter().map(|_| Signed::Not).collect());
    }
    let index = registry.with_owner(&name.owner)?;
    let of = |entry: &Entry| match index.signer(entry) {
        Ok(None) => Signed::Not,
        Ok(Some(key)) => Signed::With(key.fingerprint()),
        Err(error) => Signed::Badly(error.to_string()),
    };
    Ok(releases.iter().map(of).collect())
}

/// A release whose flag was changed.
#[derive(Debug, Clone)]
pub struct Yanked {
    /// Name of the registry in the configuration.
    pub registry: String,
    /// Location of the registry.
    pub location: String,
    /// Entry of the release after the change.
    pub entry: Entry,
}

/// Reasons why the flag of a release was not changed.
#[derive(Debug, Error)]
pub enum YankError {
    /// The release was not found.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The spec does not name an exact version.
    #[error("{0} does not name an exact version")]
    NotExact(String),
    /// The registry cannot be changed.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The registry rejected the flag.
    #[error(transparent)]
    Flag(#[from] FlagError),
}

impl Fails for YankError {
    fn failure(&self) -> Failure {
        match self {
            Self::Resolve(error) => error.failure(),
            Self::NotExact(spec) => {
                let name = spec.split('@').next().unwrap_or(spec);
                Failure::new(FailureKind::Usage, "invalid_spec").hint(format!("name one release, as in {name}@1.2.0"))
            }
            Self::Registry(error) => error.failure(),
            Self::Flag(error) => error.failure(),
        }
    }
}

/// Yanks one release, with an optional reason, or reverts that if the flag is false. `by` is the account that makes the
/// change.
///
/// # Errors
/// [`YankError`]
pub fn yank(
    registries: &Registries,
    spec: &Spec,
    yanked: bool,
    reason: Option<&str>,
    by: &str,
    now: Timestamp,
) -> Result<Yanked, YankError> {
    set_flag(registries, spec, by, now, |registry, name, version, stamp| {
        registry.set_yanked(name, version, yanked, reason, stamp)
    })
}

/// Marks one release as deprecated, or removes the mark if `deprecation` is `None`. `by` is the account that makes the
/// change.
///
/// # Errors
/// [`YankError`]
pub fn deprecate(
    registries: &Registries,
    spec: &Spec,
    deprecation: Option<&Deprecation>,
    by: &str,
    now: Timestamp,
) -> Result<Yanked, YankError> {
    set_flag(registries, spec, by, now, |registry, name, version, stamp| {
        registry.set_deprecated(name, version, deprecation, stamp)
    })
}

fn set_flag(
    registries: &Registries,
    spec: &Spec,
    by: &str,
    now: Timestamp,
    set: impl FnOnce(&mut Registry, &QualifiedName, &Version, &Stamp) -> Result<Entry, YankError>,
) -> Result<Yanked, YankError> {
    let Located { mut registry, name, request } = resolve::locate(registries, spec)?;
    let ReleaseSelector::Exact(version) = request.wanted() else { return Err(YankError::NotExact(spec.to_string())) };
    resolve::releases(&registry, &name)?;
    let stamp = Stamp { by: by.to_owned(), at: now };
    let entry = set(&mut registry, &name, version, &stamp)?;
    Ok(Yanked { registry: registry.name().to_owned(), location: registry.location().to_owned(), entry })
}
