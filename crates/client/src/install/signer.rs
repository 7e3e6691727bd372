//! [`known`]: the keys with which owners signed what was installed before, and releases held to them.

use library::Home;
use registry_index::Entry;

use super::{InstallError, InstallRequest, Installer, source::Candidate};
use crate::{
    lock_file::{LockFile, LockedSkill},
    registry::{Registries, Registry, Signers, Standing},
    resolve::ResolveError,
};

/// The keys that the home has seen. What the lock file says counts for owners of whom it has seen none.
pub(super) fn known(home: &Home, lock: &LockFile) -> Result<Signers, InstallError> {
    let seen = Signers::read(home).map_err(ResolveError::from)?;
    let mut signers = seen.clone();
    for skill in lock.skills().filter(|skill| skill.kind == "registry") {
        let (Some((owner, _)), Some(key)) = (skill.name.split_once('/'), &skill.signer) else { continue };
        if seen.standing(&skill.source, owner, None) == Standing::AsBefore {
            signers.add(&skill.source, owner, key);
        }
    }
    Ok(signers)
}

/// The key of its owner with which a release is signed.
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
        }),
        false => Ok(None),
    }
}

/// Whether a locked release is only taken when its registry can be asked who signed it.
pub(super) fn is_required(registries: &Registries, locked: &LockedSkill) -> bool {
    let owner = locked.name.split('/').next().unwrap_or_default();
    registries.requires_signature(&locked.source, owner)
}

impl Installer<'_> {
    /// Holds the key of a release to those with which its owner signed before.
    pub(super) fn check_signer(
        &self,
        candidate: &mut Candidate,
        request: &InstallRequest,
        signers: &Signers,
    ) -> Result<(), InstallError> {
        let Candidate { origin, signer, .. } = &*candidate;
        let is_as_locked = candidate.locked.as_ref().is_some_and(|locked| locked.signer == *signer);
        let Some((owner, _)) = origin.name.split_once('/').filter(|_| origin.kind == "registry" && !is_as_locked)
        else {
            return Ok(());
        };
        let told = match (signers.standing(&origin.source, owner, signer.as_deref()), signer) {
            (Standing::OtherKey(before), Some(key)) => {
                let is_accepted = request.accept_keys.contains(key);
                if !is_accepted && self.registries.requires_signature(&origin.source, owner) {
                    let (release, owner, key) = (origin.release(), owner.to_owned(), key.clone());
                    return Err(InstallError::KeyChanged { release, owner, key, before });
                }
                let before = before.join(", ");
                format!(
                    "{owner} signs with another key now, {key}; before it was {before}: ask {owner} whether it is theirs"
                )
            }
            (Standing::NoSignature(before), _) => {
                format!("it is not signed, and {owner} signed what came before with {}", before.join(", "))
            }
            _ => return Ok(()),
        };
        candidate.warnings.insert(0, told);
        Ok(())
    }
}
