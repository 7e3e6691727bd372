//! [`Signers`]: keys with which owners signed the releases that were installed before.
//!
//! The index lists the keys of an owner, but whoever can write to it can replace them. The home and the lock file
//! therefore record the key with which each owner signed. A different key is shown. Where signatures are required, it
//! is rejected until a person accepts it.

use std::collections::{BTreeMap, BTreeSet};

use library::Home;

use super::{RegistryError, records};

const FILE: &str = "signers.toml";

/// Keys recorded in the home, together with those of a lock file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Signers {
    /// Fingerprints seen, by the registry's location and the owner.
    seen: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

/// Key with which an owner signed a release.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignerKey<'a> {
    /// Location of the registry.
    pub registry: &'a str,
    pub owner: &'a str,
    /// Fingerprint of the key.
    pub key: &'a str,
}

/// Comparison of a release's signature with the keys that its owner used before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SignerStatus {
    /// A known key, or the first signature of this owner.
    AsBefore,
    /// A different key; the value lists the known ones.
    OtherKey(Vec<String>),
    /// No signature; the value lists the known keys.
    NoSignature(Vec<String>),
}

impl Signers {
    /// Reads the file. A missing file has no records.
    pub fn read(home: &Home) -> Result<Self, RegistryError> {
        Ok(Self { seen: records::read(home, FILE)? })
    }

    /// Adds a key of an owner. Returns whether it is new.
    pub fn add(&mut self, SignerKey { registry, owner, key }: SignerKey<'_>) -> bool {
        let owners = self.seen.entry(registry.to_owned()).or_default();
        owners.entry(owner.to_owned()).or_default().insert(key.to_owned())
    }

    /// Compares the key of a release, if it is signed, with the known keys of its owner.
    pub fn standing(&self, registry: &str, owner: &str, key: Option<&str>) -> SignerStatus {
        let Some(seen) = self.seen.get(registry).and_then(|owners| owners.get(owner)) else {
            return SignerStatus::AsBefore;
        };
        let before = || seen.iter().cloned().collect();
        match key {
            Some(key) if seen.contains(key) => SignerStatus::AsBefore,
            Some(_) => SignerStatus::OtherKey(before()),
            None => SignerStatus::NoSignature(before()),
        }
    }

    /// Records keys in addition to those that other processes have recorded meanwhile. A failure, as in a read-only
    /// home, is ignored.
    pub fn remember<'a>(home: &Home, keys: impl Iterator<Item = SignerKey<'a>>) {
        let Ok(mut file) = Self::read(home) else { return };
        let news = keys.filter(|key| file.add(*key)).count();
        if news > 0 {
            let _next_time = records::write(home, FILE, &file.seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_or_missing_key_is_detected() {
        let mut signers = Signers::default();
        assert_eq!(signers.standing("r", "acme", Some("SHA256:a")), SignerStatus::AsBefore);
        assert_eq!(signers.standing("r", "acme", None), SignerStatus::AsBefore);
        let key = SignerKey { registry: "r", owner: "acme", key: "SHA256:a" };
        assert!(signers.add(key) && !signers.add(key));
        let before = || vec!["SHA256:a".to_owned()];
        assert_eq!(signers.standing("r", "acme", Some("SHA256:a")), SignerStatus::AsBefore);
        assert_eq!(signers.standing("r", "acme", Some("SHA256:b")), SignerStatus::OtherKey(before()));
        assert_eq!(signers.standing("r", "acme", None), SignerStatus::NoSignature(before()));
        assert_eq!(signers.standing("other", "acme", None), SignerStatus::AsBefore);
    }

    /// A damaged file is an error, never an empty list.
    #[test]
    fn remembered_keys_are_read_back() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        for key in ["SHA256:a", "SHA256:b"] {
            Signers::remember(&home, std::iter::once(SignerKey { registry: "/r", owner: "acme", key }));
        }
        let seen = Signers::read(&home).unwrap();
        assert_eq!(seen.standing("/r", "acme", Some("SHA256:a")), SignerStatus::AsBefore);
        assert_eq!(seen.standing("/r", "acme", Some("SHA256:b")), SignerStatus::AsBefore);
        let dir = home.ensure().unwrap();
        for damaged in ["format = 2", "x", "format = 1\nseen = 1"] {
            dir.write(FILE, damaged).unwrap();
            assert!(matches!(Signers::read(&home), Err(RegistryError::Io { .. })), "{damaged}");
        }
    }
}
