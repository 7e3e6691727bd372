//! [`info`], [`yank`] and [`deprecate`]: the releases of one skill.

use jiff::Timestamp;
use registry_index::{Deprecation, Entry, FlagError, Stamp, Wanted};
use semver::Version;
use skill::QualifiedName;
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use crate::{
    lock_file::LockFile,
    registry::{Registries, Registry, RegistryError},
    resolve::{self, ResolveError},
    spec::Spec,
};

/// A skill in a registry.
#[derive(Debug, Clone)]
pub struct Info {
    /// `owner/name`.
    pub name: QualifiedName,
    /// The registry's name.
    pub registry: String,
    /// Where the registry is.
    pub location: String,
    /// The releases that were asked for, newest version first; yanked and withdrawn ones say so.
    pub releases: Vec<Entry>,
    /// Who signed each of them, in the same order.
    pub signed: Vec<Signed>,
}

/// Who signed a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signed {
    /// Nobody.
    Not,
    /// Its owner, with the key of this fingerprint.
    With(String),
    /// Not its owner, although it has a signature; why.
    Badly(String),
}

impl Signed {
    /// Why a signature is not its owner's.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        match self {
            Self::Badly(why) => Some(why),
            _ => None,
        }
    }
}

/// The releases of the skill that a spec names: all of them, or those that its version or range
/// matches. A skill of the lock file is looked for in the registry that it came from.
///
/// # Errors
/// [`ResolveError`]
pub fn info(registries: &Registries, spec: &Spec, lock: &LockFile) -> Result<Info, ResolveError> {
    let (registry, name, request) = resolve::locate_known(registries, spec, lock)?;
    let all = resolve::releases(&registry, &name)?;
    let is_wanted = |entry: &Entry| match request.wanted() {
        Wanted::Newest => true,
        Wanted::Exact(version) => entry.version.cmp_precedence(version).is_eq(),
        Wanted::Range(range) => range.matches(&entry.version),
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

/// A release whose flag was set.
#[derive(Debug, Clone)]
pub struct Yanked {
    /// The registry's name.
    pub registry: String,
    /// Where the registry is.
    pub location: String,
    /// The release as it is now.
    pub entry: Entry,
}

/// Why a release was not yanked.
#[derive(Debug, Error)]
pub enum YankError {
    /// The release was not found.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// No exact version was named.
    #[error("{0} names no exact version")]
    NotExact(String),
    /// The registry cannot be changed.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The registry did not set the flag.
    #[error(transparent)]
    Flag(#[from] FlagError),
}

impl Fails for YankError {
    fn failure(&self) -> Failure {
        match self {
            Self::Resolve(error) => error.failure(),
            Self::NotExact(spec) => {
                let name = spec.split('@').next().unwrap_or(spec);
                Failure::new(FailureKind::Usage, "invalid_spec").hint(format!("name one release: {name}@1.2.0"))
            }
            Self::Registry(error) => error.failure(),
            Self::Flag(error) => error.failure(),
        }
    }
}

/// Keeps one release out of new installs, for a reason if one is given, or lets it back in where `yanked` is false. `by`
/// is the account that does so.
///
/// # Errors
/// [`YankError`]
pub fn yank(
    registries: &Registries,
    spec: &Spec,
    flag: (bool, Option<&str>),
    by: &str,
    now: Timestamp,
) -> Result<Yanked, YankError> {
    set_flag(registries, spec, (by, now), |registry, name, version, stamp| {
        registry.set_yanked(name, version, flag, stamp)
    })
}

/// Marks one release as deprecated, or takes the mark back with `None`. `by` is the account that does so.
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
    set_flag(registries, spec, (by, now), |registry, name, version, stamp| {
        registry.set_deprecated(name, version, deprecation, stamp)
    })
}

fn set_flag(
    registries: &Registries,
    spec: &Spec,
    (by, now): (&str, Timestamp),
    set: impl FnOnce(&mut Registry, &QualifiedName, &Version, &Stamp) -> Result<Entry, YankError>,
) -> Result<Yanked, YankError> {
    let (mut registry, name, request) = resolve::locate(registries, spec)?;
    let Wanted::Exact(version) = request.wanted() else { return Err(YankError::NotExact(spec.to_string())) };
    resolve::releases(&registry, &name)?;
    let stamp = Stamp { by: by.to_owned(), at: now };
    let entry = set(&mut registry, &name, version, &stamp)?;
    Ok(Yanked { registry: registry.name().to_owned(), location: registry.location().to_owned(), entry })
}
