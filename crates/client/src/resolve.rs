//! [`resolve`]: finds the release for a name that a user entered.

use library::RegistryRelease;
use registry_index::{Entry, ReadError, ReleaseSelector, newest, select};
use skill::failure::{Fails, Failure, FailureKind, Hint, NextStep};
use skill::{QualifiedName, SkillName};
use thiserror::Error;

use crate::{
    lock_file::LockFile,
    registry::{Registries, Registry, RegistryError},
    release_state::ReleaseState,
    search,
    spec::{Spec, VersionRequest, repository_hint},
};

/// Most releases whose states an error names: those published last.
const STATES: usize = 3;

/// A release, with the registry that has it.
#[derive(Debug)]
pub struct Resolved {
    /// Registry that has the release.
    pub registry: Registry,
    /// Full name of the skill.
    pub name: QualifiedName,
    /// Entry of the release in the index.
    pub entry: Entry,
}

/// Reasons why a name cannot be resolved to a release.
#[derive(Debug, Error)]
pub enum ResolveError {
    /// The registry cannot be used.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The registry's index cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The spec is not the name of a skill in a registry, where only such a name is allowed.
    #[error("{0:?} is not the name of a skill in a registry; write owner/name")]
    NotAName(String),
    /// No registry has the skill.
    #[error("{name} was not found in {registry}")]
    NotFound {
        /// Name as the user gave it.
        name: String,
        /// Registries that were searched.
        registry: String,
        /// Full names of skills with a similar name.
        similar: Vec<String>,
        /// True if the working folder has a folder of that name.
        is_folder: bool,
    },
    /// Several owners have a skill of this name.
    #[error("several owners have a skill named {name}: {}", owners.join(", "))]
    AmbiguousName {
        /// Bare name of the skill.
        name: SkillName,
        /// Names of the owners, sorted.
        owners: Vec<String>,
    },
    /// The skill has no release that satisfies the request.
    #[error("{message}")]
    NoRelease {
        /// The skill, the request and the registry, with the states of the latest releases if none can be installed.
        message: String,
        /// The next step.
        hint: Hint,
    },
}

impl Fails for ResolveError {
    fn failure(&self) -> Failure {
        match self {
            Self::Registry(error) => error.failure(),
            Self::Read(error) => error.failure(),
            Self::NotAName(_) => Failure::new(FailureKind::Usage, "invalid_spec"),
            Self::NotFound { name, similar, .. } => {
                let failure = Failure::new(FailureKind::NotFound, "not_found");
                match similar.as_slice() {
                    [] => failure.hint(Hint::from("search for it: ").step(NextStep::Search(name.to_string()))),
                    some => failure.hint(similar_names(some)),
                }
            }
            Self::AmbiguousName { name, owners } => {
                let full = owners.first().map_or_else(|| name.to_string(), |owner| format!("{owner}/{name}"));
                Failure::new(FailureKind::Conflict, "ambiguous_name").hint(format!("name the owner, as in {full}"))
            }
            Self::NoRelease { hint, .. } => Failure::new(FailureKind::NotFound, "not_found").hint(hint.clone()),
        }
    }
}

impl ResolveError {
    /// Returns the failure for an install, where the name may be that of a folder or of a repository.
    pub(crate) fn failure_of_install(&self) -> Failure {
        match self {
            Self::NotFound { name, is_folder: true, .. } => {
                let install = NextStep::Install(format!("./{name}"));
                self.failure().hint(Hint::from("to install the folder: ").last(install))
            }
            Self::NotFound { name, similar, .. } if name.contains('/') => {
                let similar = if similar.is_empty() { String::new() } else { similar_names(similar) + " " };
                self.failure().hint(repository_hint(&similar, name))
            }
            _ => self.failure(),
        }
    }
}

fn similar_names(names: &[String]) -> String {
    format!("did you mean {}?", names.join(", "))
}

/// Finds the release for a spec that names a skill in a registry.
///
/// # Errors
/// [`ResolveError`]
pub fn resolve(registries: &Registries, spec: &Spec) -> Result<Resolved, ResolveError> {
    let Located { registry, name, request } = locate(registries, spec)?;
    release_in(registry, name, &request)
}

/// Finds the release that satisfies a request, in a known registry.
pub(crate) fn release_in(
    registry: Registry,
    name: QualifiedName,
    request: &VersionRequest,
) -> Result<Resolved, ResolveError> {
    let entries = releases(&registry, &name)?;
    let Some(entry) = select(&entries, request.wanted()).cloned() else {
        return Err(no_release(&registry, &name, request, &entries));
    };
    Ok(Resolved { registry, name, entry })
}

/// Place of a skill that a spec names.
pub(crate) struct Located {
    pub registry: Registry,
    pub name: QualifiedName,
    /// Version request of the spec.
    pub request: VersionRequest,
}

/// Returns the registry and the full name for a spec.
pub(crate) fn locate(registries: &Registries, spec: &Spec) -> Result<Located, ResolveError> {
    match spec {
        Spec::Qualified { name, request } => {
            let registry = registries.serving(&name.owner)?;
            Ok(Located { registry, name: name.clone(), request: request.clone() })
        }
        Spec::Bare { name, request } => {
            let (registry, name) = locate_bare(registries, name)?;
            Ok(Located { registry, name, request: request.clone() })
        }
        other => Err(ResolveError::NotAName(other.to_string())),
    }
}

/// Like [`locate`], but looks up a skill of the lock file in the registry from which it was installed. This requires
/// that this home trusts the registry and that the library has skills from it. In a fresh clone, the configuration
/// decides.
pub(crate) fn locate_known(registries: &Registries, spec: &Spec, lock: &LockFile) -> Result<Located, ResolveError> {
    let known = match spec {
        Spec::Qualified { name, request } => lock.get(&name.to_string()).map(|locked| (locked, request)),
        Spec::Bare { name, request } => lock.find(name).map(|locked| (locked, request)),
        _ => None,
    };
    if let Some((locked, request)) = known
        && let Some(RegistryRelease { registry, name, .. }) = locked.origin.as_registry()
        && registries.asks_installed_source(registry)?
    {
        let registry = registries.of_installed(&name.owner, registry)?;
        return Ok(Located { registry, name: name.clone(), request: request.clone() });
    }
    locate(registries, spec)
}

fn locate_bare(registries: &Registries, name: &SkillName) -> Result<(Registry, QualifiedName), ResolveError> {
    let mut found = Vec::new();
    let (mut asked, mut similar) = (Vec::new(), Vec::new());
    for registry in registries.all()? {
        asked.push(registry.to_string());
        let mut owners = registry.with_owners_of(name)?.owners_of(name)?;
        owners.retain(|owner| registries.is_asked_for(&registry, owner));
        if owners.is_empty() {
            similar.extend(search::similar(&registry, name)?);
        }
        let owners = owners.into_iter().map(|owner| QualifiedName { owner, name: name.clone() });
        found.push((registry, owners.collect::<Vec<_>>()));
    }
    let mut owners: Vec<String> = found.iter().flat_map(|(_, names)| names).map(|n| n.owner.to_string()).collect();
    if owners.len() > 1 {
        owners.sort();
        return Err(ResolveError::AmbiguousName { name: name.clone(), owners });
    }
    let one = found.into_iter().find_map(|(registry, names)| Some((registry, names.into_iter().next()?)));
    one.ok_or_else(|| {
        let similar = search::titled(registries, name.as_str()).into_iter().chain(similar).collect();
        ResolveError::NotFound { name: name.to_string(), registry: asked.join(", "), similar, is_folder: false }
    })
}

/// Returns the releases of a skill. It is an error if the registry does not have the skill.
pub(crate) fn releases(registry: &Registry, name: &QualifiedName) -> Result<Vec<Entry>, ResolveError> {
    let entries = registry.with_skill(name)?.releases(name)?;
    if entries.is_empty() {
        let similar = search::similar(registry, &name.name)?;
        let (name, registry) = (name.to_string(), registry.to_string());
        return Err(ResolveError::NotFound { name, registry, similar, is_folder: false });
    }
    Ok(entries)
}

pub(crate) fn no_release(
    registry: &Registry,
    name: &QualifiedName,
    request: &VersionRequest,
    entries: &[Entry],
) -> ResolveError {
    let request = match request.wanted() {
        ReleaseSelector::Newest => "that can be installed",
        _ => request.as_str(),
    };
    let message = format!("{name} has no release {request} in {registry}");
    if let Some(open) = newest(entries, false) {
        return ResolveError::NoRelease { message, hint: format!("the newest release is {}", open.version).into() };
    }
    let mut found: Vec<_> = entries.iter().rev().take(STATES).map(|entry| (entry, registry.state_of(entry))).collect();
    found.sort_by(|(a, _), (b, _)| b.version.cmp(&a.version));
    let hint = match found.iter().find(|(_, state)| state.is_none()) {
        Some((yanked, _)) => {
            let install = NextStep::Install(format!("{name}@{}", yanked.version));
            Hint::from("to install a yanked release: ").last(install)
        }
        None => format!("see its releases: skillhub info {name}").into(),
    };
    let states = found.iter().map(|(entry, state)| {
        let sentence = state.as_ref().map_or_else(|| "was yanked".to_owned(), ReleaseState::sentence);
        format!("{} {sentence}", entry.version)
    });
    let message = format!("{message}: {}", states.collect::<Vec<_>>().join("; "));
    ResolveError::NoRelease { message, hint }
}
