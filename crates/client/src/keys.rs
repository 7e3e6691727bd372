//! [`Keys`]: listing, adding and retiring the signing keys of an owner in a registry.

use jiff::Timestamp;
use registry_index::{KeyChange, KeyChangeError, OwnerFile, OwnerKey, PublicKey, SignerError, Stamp, key_statement};
use skill::Owner;
use skill::failure::{Fails, Failure};
use thiserror::Error;

use crate::{
    registry::{Registries, Registry, RegistryError},
    signing::{SigningError, SigningKey},
};

/// Signing keys of one owner.
#[derive(Debug, Clone)]
pub struct Keys {
    /// Owner of the keys.
    pub owner: Owner,
    /// Location of the registry.
    pub location: String,
    /// All keys in the order in which they were added, including retired ones.
    pub keys: Vec<OwnerKey>,
}

/// Reasons why the keys of an owner cannot be read or changed.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum KeyError {
    /// The registry cannot be used.
    Registry(#[from] RegistryError),
    /// The owner's file cannot be read.
    Signer(#[from] SignerError),
    /// The owner's file cannot be changed.
    Change(#[from] KeyChangeError),
    /// Signing with the voucher's key failed.
    Signing(#[from] SigningError),
}

impl Fails for KeyError {
    fn failure(&self) -> Failure {
        match self {
            Self::Registry(error) => error.failure(),
            Self::Signer(error) => error.failure(),
            Self::Change(error) => error.failure(),
            Self::Signing(error) => error.failure(),
        }
    }
}

/// Returns the keys of an owner in the registry that serves the owner.
///
/// # Errors
/// [`KeyError`]
pub fn keys(registries: &Registries, owner: &Owner) -> Result<Keys, KeyError> {
    let registry = registries.serving(owner)?;
    let file = registry.with_owner(owner)?.owner(owner)?;
    Ok(Keys::of(&registry, owner, &file))
}

/// Adds a key with which the owner can sign from now on. An optional `voucher`, an existing key of the owner, signs the
/// new key. Clients that know the voucher then accept the new key.
///
/// # Errors
/// [`KeyError`]; the registry is then unchanged.
pub fn add_key(
    registries: &Registries,
    owner: &Owner,
    key: PublicKey,
    voucher: Option<&SigningKey>,
    now: Timestamp,
) -> Result<Keys, KeyError> {
    let vouched_by = voucher.map(|voucher| voucher.sign(&key_statement(owner, &key))).transpose()?;
    change(registries, owner, &KeyChange::Add { key, vouched_by }, now)
}

/// Retires the key with this fingerprint. It can no longer sign releases, but its existing signatures remain valid.
///
/// # Errors
/// [`KeyError`]; the registry is then unchanged.
pub fn retire_key(registries: &Registries, owner: &Owner, key: &str, now: Timestamp) -> Result<Keys, KeyError> {
    change(registries, owner, &KeyChange::Retire(key.to_owned()), now)
}

fn change(registries: &Registries, owner: &Owner, change: &KeyChange, now: Timestamp) -> Result<Keys, KeyError> {
    let mut registry = registries.serving(owner)?;
    let stamp = Stamp { by: owner.to_string(), at: now };
    registry.change_key::<KeyError>(owner, change, &stamp)?;
    let file = registry.with_owner(owner)?.owner(owner)?;
    Ok(Keys::of(&registry, owner, &file))
}

impl Keys {
    fn of(registry: &Registry, owner: &Owner, file: &OwnerFile) -> Self {
        Self { owner: owner.clone(), location: registry.location().to_owned(), keys: file.keys().to_vec() }
    }
}
