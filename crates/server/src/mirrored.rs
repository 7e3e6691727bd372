//! [`mirror`]: copies a release of another registry into the index of a data folder, with its signature.

use std::{path::Path, sync::Arc};

use client::VerifiedRelease;
use jiff::Timestamp;
use registry_index::{
    AppendError, Appended, Index, InitError, KeyChange, KeyChangeError, NewRelease, PublicKey, SignerError, Stamp,
    shard,
};
use skill::{
    Owner,
    failure::{Fails, Failure, FailureKind},
};
use thiserror::Error;

use crate::{
    data_dir::{DataDir, DataError, INDEX},
    route_names,
    store::{
        AccountError, Activity as _, People as _, StoreError,
        embedded::{
            HoldError, accounts::SqliteAccounts, activity::SqliteActivity, hold_copy, quarantines::SqliteQuarantines,
        },
    },
};

/// Reasons why a release is not mirrored.
#[derive(Debug, Error)]
pub enum MirrorError {
    /// The data folder cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The index cannot be created.
    #[error(transparent)]
    Init(#[from] InitError),
    /// The accounts cannot be read.
    #[error(transparent)]
    SqliteAccounts(#[from] AccountError),
    /// The audit log cannot be written.
    #[error(transparent)]
    Audit(#[from] StoreError),
    /// The namespace has members on this server.
    #[error("{owner} is a namespace of this server, where {} may publish", members.join(", "))]
    Taken {
        /// Owner that names the namespace.
        owner: Owner,
        /// Accounts that may publish there.
        members: Vec<String>,
    },
    /// The owner has the name of a route.
    #[error("{0} is reserved for a path of the server and cannot be an owner")]
    Reserved(Owner),
    /// The index cannot be read.
    #[error(transparent)]
    Read(#[from] registry_index::ReadError),
    /// The owner's keys in this index cannot be read.
    #[error(transparent)]
    Signer(#[from] SignerError),
    /// The other registry lacks an active key that the owner has here.
    #[error("the other registry lacks the key {key} of {owner}, which signed releases here")]
    OtherKeys {
        /// Owner of the release.
        owner: Owner,
        /// Fingerprint of the key.
        key: String,
    },
    /// A key cannot be added.
    #[error(transparent)]
    Key(#[from] KeyChangeError),
    /// The release cannot be added.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The release has the content of one under quarantine, but could not be put on hold.
    #[error(transparent)]
    Hold(#[from] HoldError),
}

impl Fails for MirrorError {
    fn failure(&self) -> Failure {
        match self {
            Self::Data(error) => error.failure(),
            Self::Init(error) => error.failure(),
            Self::SqliteAccounts(_) | Self::Audit(_) => Failure::io(),
            Self::Taken { .. } => Failure::new(FailureKind::Conflict, "namespace_taken")
                .hint("publish it under another owner; `forked_from` records its source"),
            Self::Reserved(_) => {
                Failure::new(FailureKind::Invalid, "reserved_name").hint("publish it under another owner")
            }
            Self::Read(error) => error.failure(),
            Self::Signer(error) => error.failure(),
            Self::OtherKeys { owner, .. } => Failure::new(FailureKind::Integrity, "key_changed")
                .hint(format!("ask {owner} if the other registry is theirs")),
            Self::Key(error) => error.failure(),
            Self::Append(error) => error.failure(),
            Self::Hold(error) => error.failure(),
        }
    }
}

/// Adds a release of another registry with its name, version, publisher and signature there.
///
/// A server that runs on the folder shows it within a second. A namespace with members here is refused. Known keys of
/// an owner are never removed, and others are added only if the registry has all active keys known here.
///
/// # Errors
/// [`MirrorError`]; the index is then unchanged, except that keys may have been added.
pub fn mirror(data: &Path, release: &VerifiedRelease, now: Timestamp) -> Result<Appended, MirrorError> {
    let folder = DataDir::ensure(data)?;
    let stamp = Stamp { by: release.entry.publisher.clone(), at: now };
    let index = Index::init(&data.join(INDEX), &Stamp { by: "skillhub".to_owned(), at: now })?;
    let database = folder.database()?;
    let name = &release.entry.name;
    let members = SqliteAccounts::new(Arc::clone(&database)).members(&name.owner)?;
    if !members.is_empty() {
        let members = members.into_iter().map(|member| member.account).collect();
        return Err(MirrorError::Taken { owner: name.owner.clone(), members });
    }
    if route_names::is_reserved(&name.owner) && index.file(&shard::owner_file(&name.owner))?.is_none() {
        return Err(MirrorError::Reserved(name.owner.clone()));
    }
    take_keys_over(&index, &name.owner, &release.keys, &stamp)?;
    let new = NewRelease {
        name: name.clone(),
        version: release.entry.version.clone(),
        changelog: release.entry.changelog.clone().unwrap_or_default(),
        signature: release.entry.signature.clone(),
        forked_from: release.entry.forked_from.clone(),
        stamp,
    };
    let appended = index.append(&new, &release.cleared, &skill::archive::pack(release.cleared.bundle()))?;
    if matches!(appended, Appended::Published(_)) {
        hold_copy(&SqliteQuarantines::new(Arc::clone(&database)), &index, appended.entry(), &new.stamp)?;
        let subject = format!("{name} {}", new.version);
        SqliteActivity::new(database).note(Some(&name.owner), now, "mirror", &subject, &release.registry)?;
    }
    Ok(appended)
}

/// Adds the owner's keys of the other registry. An owner without keys here gets them with the first signed release.
fn take_keys_over(index: &Index, owner: &Owner, keys: &[PublicKey], stamp: &Stamp) -> Result<(), MirrorError> {
    let known = index.owner(owner)?;
    if known.keys().is_empty() {
        return Ok(());
    }
    let is_gone = |key: &PublicKey| !keys.contains(key);
    if let Some(gone) = known.keys().iter().find(|key| key.retired_at.is_none() && is_gone(&key.key)) {
        return Err(MirrorError::OtherKeys { owner: owner.clone(), key: gone.key.fingerprint() });
    }
    for key in keys.iter().filter(|key| known.find(key).is_none()) {
        index.change_key(owner, &KeyChange::Add { key: *key, vouched_by: None }, stamp)?;
    }
    Ok(())
}
