//! [`info`], [`yank`] and [`deprecate`]: listing and flagging the releases of a skill.

use jiff::Timestamp;
use registry_index::{CHANGELOG_CHARS, Deprecation, Entry, FlagError, ReleaseSelector, Stamp};
use scan::Capabilities;
use schemars::JsonSchema;
use semver::Version;
use serde::Serialize;
use skill::failure::{Fails, Failure, FailureKind};
use skill::{Limits, QualifiedName, archive::unpack};
use thiserror::Error;

use crate::{
    lock_file::LockFile,
    registry::{Registries, Registry, RegistryError},
    resolve::{self, Located, ResolveError},
    spec::Spec,
};

/// Maximum number of owners of the same name that are searched for forks.
const OWNERS: usize = 100;

/// Maximum number of releases whose changelogs are listed.
const NOTED: usize = 50;

/// The changelog of one release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReleaseNotes {
    /// Version of the release.
    pub version: String,
    /// The publisher's description of its changes, as plain text.
    pub changelog: String,
}

/// Returns the changelogs of the releases after one version, up to and including another, newest first. Withdrawn
/// releases are left out.
pub(crate) fn release_notes(entries: &[Entry], after: &Version, until: &Version) -> Vec<ReleaseNotes> {
    let is_between = |entry: &&Entry| entry.version > *after && entry.version <= *until && entry.withdrawn.is_none();
    let mut between: Vec<&Entry> = entries.iter().filter(is_between).collect();
    between.sort_by(|a, b| b.version.cmp(&a.version));
    notes_of(between.into_iter())
}

fn notes_of<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<ReleaseNotes> {
    let notes = entries.filter_map(|entry| {
        let changelog = entry.changelog.as_ref()?.chars().take(CHANGELOG_CHARS).collect();
        Some(ReleaseNotes { version: entry.version.to_string(), changelog })
    });
    notes.take(NOTED).collect()
}

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
    /// Releases of other owners that name this skill as their origin, sorted by owner and version.
    pub forks: Vec<Entry>,
    /// Capabilities of the newest of these releases; `None` unless its archive is on this machine.
    pub capabilities: Option<Capabilities>,
}

impl Info {
    /// Returns the changelogs of the releases, newest first.
    pub fn notes(&self) -> Vec<ReleaseNotes> {
        notes_of(self.releases.iter())
    }
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
    // A registry that cannot list the owners of a name still has the releases.
    let forks = forks_of(&registry, &name).unwrap_or_default();
    let capabilities = releases.first().and_then(|entry| capabilities_of(&registry, entry));
    let (registry, location) = (registry.name().to_owned(), registry.location().to_owned());
    Ok(Info { name, registry, location, releases, signed, forks, capabilities })
}

/// Finds the releases in a registry that were forked from a skill. A fork keeps the skill's name, so only other owners
/// of the name are read.
fn forks_of(registry: &Registry, name: &QualifiedName) -> Result<Vec<Entry>, ResolveError> {
    let owners = registry.with_owners_of(&name.name)?.owners_of(&name.name)?;
    let others = owners.into_iter().filter(|owner| *owner != name.owner).take(OWNERS);
    let others: Vec<QualifiedName> = others.map(|owner| QualifiedName { owner, name: name.name.clone() }).collect();
    let index = registry.with_skills(&others)?;
    let mut forks = Vec::new();
    for other in &others {
        let is_fork = |entry: &Entry| entry.forked_from.as_ref().is_some_and(|from| from.name == name.to_string());
        // A damaged file of another owner does not hide this skill.
        let Ok(entries) = index.releases(other) else { continue };
        forks.extend(entries.into_iter().filter(|entry| is_fork(entry) && entry.withdrawn.is_none()));
    }
    forks.sort_by(|a, b| (a.name.to_string(), &a.version).cmp(&(b.name.to_string(), &b.version)));
    Ok(forks)
}

/// Returns the capabilities of a release in a registry on this machine.
fn capabilities_of(registry: &Registry, entry: &Entry) -> Option<Capabilities> {
    let archive = registry.is_local().then(|| registry.index().bundle(entry).ok())??;
    let files = unpack(&archive, &Limits::default()).ok()?;
    (files.digest() == entry.digest).then(|| scan::capabilities(&files))
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
    /// Entry of the release after the change; of several, the newest.
    pub entry: Entry,
    /// Number of releases that have the flag now, or no longer.
    pub releases: usize,
}

/// Reasons why the flag of a release was not changed.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum YankError {
    /// The release was not found.
    Resolve(#[from] ResolveError),
    /// The spec does not name an exact version.
    #[error("{0} does not name an exact version")]
    NotExact(String),
    /// The registry cannot be changed.
    Registry(#[from] RegistryError),
    /// The registry rejected the flag.
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
            Self::Flag(FlagError::NotFound { name, .. }) => Failure::new(FailureKind::NotFound, "not_found")
                .hint(format!("list its releases: `skillhub info {name}`")),
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
    let Located { mut registry, name, request } = resolve::locate(registries, spec)?;
    let ReleaseSelector::Exact(version) = request.wanted() else { return Err(YankError::NotExact(spec.to_string())) };
    resolve::releases(&registry, &name)?;
    let stamp = Stamp { by: by.to_owned(), at: now };
    let entry = registry.set_yanked::<YankError>(&name, version, yanked, reason, &stamp)?;
    let (registry, location) = (registry.name().to_owned(), registry.location().to_owned());
    Ok(Yanked { registry, location, entry, releases: 1 })
}

/// Returns the end of a sentence with the command that installs the replacement of a deprecated release; empty unless
/// the same registry has the replacement.
pub(crate) fn install_instead(registry: &Registry, advice: &Deprecation) -> String {
    let name = advice.replacement.as_deref().and_then(|name| name.parse::<QualifiedName>().ok());
    let offered = |name: &QualifiedName| registry.with_skill(name).ok()?.releases(name).ok();
    let is_offered = |name: &QualifiedName| offered(name).is_some_and(|all| all.iter().any(Entry::is_offered));
    let name = name.filter(is_offered);
    name.map(|name| format!("; to install the other: skillhub install {name}")).unwrap_or_default()
}

/// Marks one release as deprecated, or removes the mark if `deprecation` is `None`. A spec without a version means every
/// release that was not withdrawn; the newest is returned. `by` is the account that makes the change.
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
    let Located { mut registry, name, request } = resolve::locate(registries, spec)?;
    let entries = resolve::releases(&registry, &name)?;
    let mut versions: Vec<Version> = match request.wanted() {
        ReleaseSelector::Exact(version) => vec![version.clone()],
        ReleaseSelector::Newest => {
            entries.into_iter().filter(|e| e.withdrawn.is_none()).map(|e| e.version.clone()).collect()
        }
        ReleaseSelector::Range(_) => return Err(YankError::NotExact(spec.to_string())),
    };
    versions.sort();
    let stamp = Stamp { by: by.to_owned(), at: now };
    let mut changed = None;
    for version in &versions {
        changed = Some(registry.set_deprecated::<YankError>(&name, version, deprecation, &stamp)?);
    }
    let entry = changed.ok_or_else(|| YankError::NotExact(spec.to_string()))?;
    let (registry, location) = (registry.name().to_owned(), registry.location().to_owned());
    Ok(Yanked { registry, location, entry, releases: versions.len() })
}
