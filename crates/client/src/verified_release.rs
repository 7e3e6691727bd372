//! [`fetch_verified`]: fetches a release of a registry for use in another one, verified against its index, its owner's keys and
//! the scanner.

use registry_index::{Entry, FetchError, OwnerKey, PublicKey};
use scan::{Baseline, Cleared, Scanner};
use skill::{
    Limits,
    archive::{self, Archive},
};

use crate::{
    http,
    install::{InstallError, check_digest, check_usable, signer_of},
    registry::Registries,
    resolve::{self, ResolveError, Resolved},
    spec::Spec,
};

/// A release that passed all checks.
#[derive(Debug)]
pub struct VerifiedRelease {
    /// Location of the registry that has it.
    pub registry: String,
    /// Entry of the release in that registry.
    pub entry: Entry,
    /// Files of the release, cleared by the scan.
    pub cleared: Cleared,
    /// Fingerprint of the key with which the owner signed the release.
    pub signer: Option<String>,
    /// Current keys of the owner in that registry, without retired ones.
    pub keys: Vec<PublicKey>,
}

/// Fetches the release that a spec names and checks it as an install would.
///
/// # Errors
/// [`InstallError`]: the release does not exist, was withdrawn, is not signed by its owner, does not match the index,
/// is not a usable skill, or is blocked by the scanner.
pub fn fetch_verified(registries: &Registries, spec: &Spec, scanner: Scanner) -> Result<VerifiedRelease, InstallError> {
    let Resolved { registry, name, entry } = resolve::resolve(registries, spec)?;
    entry.check_open()?;
    let signer = signer_of(registries, &registry, &entry)?;
    let packed = match registry.with_archive(&entry).map_err(ResolveError::from)?.bundle(&entry) {
        Err(FetchError::Elsewhere(url)) => {
            let archive = Archive::of_bytes(http::get(&url, entry.size)?);
            entry.check_archive(&archive)?;
            archive
        }
        done => done?,
    };
    let release = format!("{name} {}", entry.version);
    let unreadable = |source| InstallError::Archive { origin: release.clone(), source };
    let files = archive::unpack(&packed, &Limits::default()).map_err(unreadable)?;
    check_digest(&release, &entry.digest, &files)?;
    entry.check_files(&files)?;
    check_usable(&release, &name.name, &files)?;
    let owner = registry.with_owner(&name.owner).map_err(ResolveError::from)?.owner(&name.owner)?;
    let is_signing = |key: &&OwnerKey| key.retired_at.is_none();
    Ok(VerifiedRelease {
        registry: registry.location().to_owned(),
        keys: owner.keys().iter().filter(is_signing).map(|key| key.key).collect(),
        cleared: scan::clear_by(files, Baseline::None, &scanner)?,
        signer,
        entry,
    })
}
