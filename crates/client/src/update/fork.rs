//! [`Installer::merge_fork`]: merges a fork of an installed skill, or its original, into the skill.
//!
//! The merge base is the newest content that both have: a release of the fork, or the origin of one, in the skill's
//! history; otherwise a release that one of the two records as its origin.

use library::RegistryRelease;
use registry_index::{Entry, ForkedFrom};
use skill::{Bundle, Digest, Limits, QualifiedName};

use super::{InstalledSkill, UpdateRequest, candidate::installed_release, installed};
use crate::{
    install::{Batch, Candidate, ForkMergeError, InstallError, InstallRequest, Installed, Installer, fetch_release},
    lock_file::{LastRead, LockFile},
    requires,
    resolve::{self, Resolved},
    spec::{Spec, VersionRequest},
};

impl Installer<'_> {
    /// Merges a release of `from` into the one skill of the request. The skill keeps its source.
    pub(super) fn merge_fork(
        &mut self,
        from: &Spec,
        request: &UpdateRequest,
        as_install: &InstallRequest,
    ) -> Result<Vec<Installed>, InstallError> {
        let lock = LastRead::of(self.lock_path)?;
        let mut batch = Batch::of(self.home, &lock)?;
        for skill in installed(self.library, &lock, &request.skills)? {
            match fork_candidate(self, &skill, from, as_install, &lock) {
                Ok(candidate) => self.plan_one(candidate, as_install, &mut batch),
                Err(error) => {
                    batch.settle(Installed::failed(skill.origin.name(), skill.origin.version(), error));
                }
            }
        }
        self.accept_blocked(as_install, &lock, &mut batch)?;
        self.finish(batch, lock, as_install, &[])
    }
}

/// Fetches the fork with the merge base.
fn fork_candidate(
    by: &Installer<'_>,
    skill: &InstalledSkill,
    from: &Spec,
    request: &InstallRequest,
    lock: &LockFile,
) -> Result<Candidate, InstallError> {
    let fork = resolve::resolve(&by.registries.offline_if(request.offline), from)?;
    let (name, other) = (skill.name.clone(), fork.name.to_string());
    if skill.origin.name() == other {
        return Err(ForkMergeError::OwnSource { name, other }.into());
    }
    let base = merge_base(by, skill, &fork, request)?;
    let base = base.ok_or_else(|| ForkMergeError::Unrelated { name: name.clone(), other })?;
    let found = fetch_release(by.inputs(), request, &fork, &VersionRequest::newest())?;
    let mut warnings = found.warnings;
    let is_missing = |required: &String| lock.get(required.split('@').next().unwrap_or_default()).is_none();
    for required in requires::of_bundle(&found.bundle).iter().filter(|required| is_missing(required)) {
        warnings.push(format!("it requires {required}; to install it: skillhub install \"{required}\""));
    }
    let is_dependency = skill.locked.as_ref().is_some_and(|locked| locked.dependency);
    let follows = Some(skill.origin.clone());
    Ok(Candidate { name, follows, base: Some(base), is_dependency, warnings, ..found })
}

/// Returns the files of the newest content that the skill and the fork have in common, under the skill's name.
fn merge_base(
    by: &Installer<'_>,
    skill: &InstalledSkill,
    fork: &Resolved,
    request: &InstallRequest,
) -> Result<Option<Bundle>, InstallError> {
    let mut releases = resolve::releases(&fork.registry, &fork.name)?;
    releases.retain(|entry| entry.version <= fork.entry.version);
    releases.sort_by(|a, b| b.version.cmp(&a.version));
    for digest in releases.iter().flat_map(common_digests) {
        if let Some((_, files)) = by.library.release(&skill.name, &digest)? {
            return Ok(named(files, skill));
        }
    }
    let Some(here) = skill.origin.as_registry() else { return Ok(None) };
    let here_from = installed_entry(by, here, request)?.and_then(|entry| entry.forked_from.clone());
    let fork_from = releases.iter().find_map(|entry| entry.forked_from.clone());
    // A fork of a newer release than the installed one was made from the installed one as well.
    if let Some(from) = fork_from.as_ref().filter(|from| from.name == here.name.to_string()) {
        let is_newer = |version: &String| version.parse().is_ok_and(|version: semver::Version| version > here.version);
        return match from.version.as_ref().is_some_and(is_newer) {
            true => installed_release(by, skill),
            false => recorded(by, from, skill, request),
        };
    }
    let is_sibling = |from: &ForkedFrom| {
        fork_from.as_ref().is_some_and(|other| (&other.name, &other.digest) == (&from.name, &from.digest))
    };
    let is_common = |from: &&ForkedFrom| from.name == fork.name.to_string() || is_sibling(from);
    here_from.as_ref().filter(is_common).map_or(Ok(None), |from| recorded(by, from, skill, request))
}

/// Returns the digest of a release, and that of its origin.
fn common_digests(entry: &Entry) -> impl Iterator<Item = Digest> + use<> {
    let from = entry.forked_from.as_ref().and_then(|from| from.digest.parse().ok());
    [Some(entry.digest), from].into_iter().flatten()
}

/// Returns the index entry of the installed release; `None` if its registry no longer has it.
fn installed_entry(
    by: &Installer<'_>,
    here: &RegistryRelease,
    request: &InstallRequest,
) -> Result<Option<Entry>, InstallError> {
    let registries = by.registries.offline_if(request.offline);
    let registry = registries.of_installed(&here.name.owner, &here.registry).map_err(resolve::ResolveError::from)?;
    let entries = resolve::releases(&registry, &here.name)?;
    Ok(entries.into_iter().find(|entry| entry.digest == here.digest))
}

/// Fetches the release that a fork records as its origin; `None` if the registry of its owner does not have it.
fn recorded(
    by: &Installer<'_>,
    from: &ForkedFrom,
    skill: &InstalledSkill,
    request: &InstallRequest,
) -> Result<Option<Bundle>, InstallError> {
    let Ok(name) = from.name.parse::<QualifiedName>() else { return Ok(None) };
    let registries = by.registries.offline_if(request.offline);
    let registry = registries.serving(&name.owner).map_err(resolve::ResolveError::from)?;
    let entries = resolve::releases(&registry, &name)?;
    let Some(entry) = entries.into_iter().find(|entry| entry.digest.to_string() == from.digest) else {
        return Ok(None);
    };
    let found = fetch_release(by.inputs(), request, &Resolved { registry, name, entry }, &VersionRequest::newest())?;
    Ok(named(found.bundle, skill))
}

fn named(files: Bundle, skill: &InstalledSkill) -> Option<Bundle> {
    files.renamed(&skill.name, &Limits::default())
}
