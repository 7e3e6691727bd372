//! [`known`]: the known signing keys of owners, and checks of releases against them.

use std::collections::{BTreeMap, BTreeSet};

use library::{Home, RegistryRelease};
use registry_index::{Entry, Requirement};

use super::{Batch, Evolved, InstallError, InstallRequest, Installed, candidate::Candidate, planned::PlannedSkill};
use crate::{
    lock_file::{LockFile, LockedSkill},
    registry::{Registries, Registry, SignerKey, SignerStatus, Signers},
    requires,
    resolve::ResolveError,
};

/// Returns the keys that this home has seen. Keys in the lock file are used for owners of whom it has seen none.
pub(super) fn known(home: &Home, lock: &LockFile) -> Result<Signers, InstallError> {
    let seen = Signers::read(home).map_err(ResolveError::from)?;
    let mut signers = seen.clone();
    for skill in lock.skills() {
        let (Some(release), Some(key)) = (skill.origin.as_registry(), &skill.signer) else { continue };
        let owner = release.name.owner.as_str();
        if seen.standing(&release.registry, owner, None) == SignerStatus::AsBefore {
            signers.add(SignerKey { registry: &release.registry, owner, key });
        }
    }
    Ok(signers)
}

/// Returns the fingerprint of the owner's key that signed a release. A missing signature is an error if the
/// configuration requires one.
pub(crate) fn of_release(
    registries: &Registries,
    registry: &Registry,
    entry: &Entry,
) -> Result<Option<String>, InstallError> {
    let owner = &entry.name.owner;
    if entry.signature.is_some() {
        let index = registry.with_owner(owner).map_err(ResolveError::from)?;
        return Ok(index.signer(entry)?.map(|key| key.fingerprint()));
    }
    match registries.requires_signature(registry.location(), owner.as_str()) {
        true => Err(InstallError::Unsigned {
            release: format!("{} {}", entry.name, entry.version),
            owner: owner.clone(),
            registry: registry.to_string(),
            required_by: None,
        }),
        false => Ok(None),
    }
}

/// Rejects an unsigned release that was published when its owner already had a signing key.
pub(super) fn check_unsigned(registry: &Registry, entry: &Entry) -> Result<(), InstallError> {
    let owner = &entry.name.owner;
    let file = registry.with_owner(owner).map_err(ResolveError::from)?.owner(owner)?;
    if entry.signature.is_some() || !file.signed_at(entry.published_at) {
        return Ok(());
    }
    let (release, owner) = (format!("{} {}", entry.name, entry.version), owner.to_string());
    Err(InstallError::UnsignedUpdate { release, owner, known: file.all_fingerprints() })
}

/// Returns the owner's keys that vouch for the key that signed a release.
pub(super) fn vouchers(registry: &Registry, entry: &Entry, signer: Option<&str>) -> Vec<String> {
    let owner = &entry.name.owner;
    let file = registry.index().owner(owner);
    signer.zip(file.ok()).map(|(signer, file)| file.vouchers(owner, signer)).unwrap_or_default()
}

/// Returns whether a locked release requires a signature, so that its registry must be available to verify it.
pub(super) fn is_required(registries: &Registries, locked: &RegistryRelease) -> bool {
    registries.requires_signature(&locked.registry, locked.name.owner.as_str())
}

/// Checks the key of a release against the keys that its owner used before. Adds a warning to the candidate if they
/// differ.
pub(super) fn check_signer(
    registries: &Registries,
    candidate: &mut Candidate,
    request: &InstallRequest,
    signers: &Signers,
) -> Result<(), InstallError> {
    let Candidate { origin, signer, vouchers, .. } = &*candidate;
    let is_update = matches!(request.evolved, Evolved::Merge(_));
    let mut unknown_key = Vec::new();
    let is_as_locked = candidate.locked.as_ref().is_some_and(|locked| locked.signer == *signer);
    let Some(of) = origin.as_registry().filter(|_| !is_as_locked) else { return Ok(()) };
    let (registry, owner) = (of.registry.as_str(), of.name.owner.as_str());
    let told = match (signers.standing(registry, owner, signer.as_deref()), signer) {
        (SignerStatus::OtherKey(before), Some(key)) if vouchers.iter().any(|voucher| before.contains(voucher)) => {
            format!("{owner} now signs with another key, {key}; the earlier key vouches for it")
        }
        (SignerStatus::OtherKey(before), Some(key)) => {
            let is_accepted = request.accept_keys.contains(key);
            if !is_accepted && registries.requires_signature(registry, owner) {
                let (release, owner, key) = (origin.release(), owner.to_owned(), key.clone());
                return Err(InstallError::KeyChanged { release, owner, key, before });
            }
            if !is_accepted {
                unknown_key.clone_from(&before);
            }
            let before = before.join(", ");
            format!("{owner} now signs with another key, {key} instead of {before}; ask {owner} whether it is theirs")
        }
        (SignerStatus::NoSignature(known), _) if is_update => {
            let (release, owner) = (origin.release(), owner.to_owned());
            return Err(InstallError::UnsignedUpdate { release, owner, known });
        }
        (SignerStatus::NoSignature(before), _) => {
            format!("it is not signed, but {owner} signed earlier releases with {}", before.join(", "))
        }
        _ => return Ok(()),
    };
    candidate.unknown_key = unknown_key;
    candidate.warnings.insert(0, told);
    Ok(())
}

/// Signature and requirements of a skill in the batch or in the lock file.
struct Signing<'a> {
    requires: Vec<String>,
    /// True if the configuration requires a signature from its owner or registry.
    is_strict: bool,
    is_unsigned: bool,
    release: &'a RegistryRelease,
}

impl Batch {
    /// Fails releases that are unsigned, or signed with an unknown key, if a skill whose owner must sign requires them.
    /// A requirement runs next to that skill and has the same power.
    pub(crate) fn refuse_unsigned_requirements(&mut self, registries: &Registries, lock: &LockFile) {
        while let Some((at, error)) = self.first_unsigned(registries, lock) {
            let planned = self.planned.remove(at);
            self.turns.remove(at);
            let origin = planned.candidate.origin;
            self.settle(Installed::failed(origin.name(), origin.version(), error));
        }
    }

    fn first_unsigned(&self, registries: &Registries, lock: &LockFile) -> Option<(usize, InstallError)> {
        let of_lock = lock.skills().filter_map(|skill| Signing::of_locked(skill, registries));
        let of_planned = self.planned.iter().filter_map(|planned| Signing::of_planned(planned, registries));
        let all = of_lock.chain(of_planned).map(|signing| (signing.release.name.to_string(), signing));
        let all: BTreeMap<String, Signing<'_>> = all.collect();
        let strict = reached(&all);
        self.planned.iter().enumerate().find_map(|(at, planned)| {
            let candidate = &planned.candidate;
            let of = candidate.origin.as_registry()?;
            let name = of.name.to_string();
            let required_by = strict.get(name.as_str())?;
            if let (Some(_), false, Some(key)) = (required_by, candidate.unknown_key.is_empty(), &candidate.signer) {
                let (release, owner) = (candidate.origin.release(), of.name.owner.to_string());
                let (key, before) = (key.clone(), candidate.unknown_key.clone());
                return Some((at, InstallError::KeyChanged { release, owner, key, before }));
            }
            let own = required_by.as_ref().map(|requirer| (name.as_str(), (*requirer).to_owned()));
            let is_here_only =
                |other: &&str| !self.planned.iter().any(|planned| planned.candidate.origin.name() == **other);
            let needed = all.get(&name)?.requires.iter().map(String::as_str).filter(is_here_only);
            let needed = needed.map(|other| (other, name.clone()));
            own.into_iter().chain(needed).find_map(|(other, requirer)| {
                let signing = all.get(other).filter(|signing| signing.is_unsigned)?;
                Some((at, signing.refusal(requirer)))
            })
        })
    }
}

/// Returns the skills that must be signed, each with the skill that requires it and whose owner must sign. The value is
/// `None` for the skills of such an owner.
fn reached<'a>(all: &'a BTreeMap<String, Signing<'a>>) -> BTreeMap<&'a str, Option<&'a str>> {
    let mut found: BTreeMap<&str, Option<&str>> =
        all.iter().filter(|(_, signing)| signing.is_strict).map(|(name, _)| (name.as_str(), None)).collect();
    let mut open: Vec<(&str, &str)> = found.keys().map(|name| (*name, *name)).collect();
    let mut seen = BTreeSet::new();
    while let Some((name, root)) = open.pop() {
        if !seen.insert(name) {
            continue;
        }
        for other in all.get(name).into_iter().flat_map(|signing| &signing.requires) {
            found.entry(other).or_insert(Some(root));
            open.push((other, root));
        }
    }
    found
}

impl<'a> Signing<'a> {
    fn of_locked(skill: &'a LockedSkill, registries: &Registries) -> Option<Self> {
        let (release, requires) = (skill.origin.as_registry()?, names_in(&skill.requires));
        let (is_strict, is_unsigned) = (is_required(registries, release), skill.signer.is_none());
        Some(Self { requires, is_strict, is_unsigned, release })
    }

    fn of_planned(planned: &'a PlannedSkill, registries: &Registries) -> Option<Self> {
        let Candidate { origin, signer, bundle, .. } = &planned.candidate;
        let (release, requires) = (origin.as_registry()?, names_in(&requires::of_bundle(bundle)));
        Some(Self { requires, is_strict: is_required(registries, release), is_unsigned: signer.is_none(), release })
    }

    fn refusal(&self, requirer: String) -> InstallError {
        let RegistryRelease { registry, name, version, .. } = self.release;
        InstallError::Unsigned {
            release: format!("{name} {version}"),
            owner: name.owner.clone(),
            registry: registry.clone(),
            required_by: Some(requirer),
        }
    }
}

fn names_in(requires: &[String]) -> Vec<String> {
    requires.iter().filter_map(|text| text.parse::<Requirement>().ok()).map(|needed| needed.name.to_string()).collect()
}
