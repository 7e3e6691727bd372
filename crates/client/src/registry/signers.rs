//! [`Signers`]: with which keys owners signed what was installed before.
//!
//! The index says which keys an owner has, and whoever can write to it can exchange them. So the home remembers, and
//! the lock file says, with which key each owner signed; another one is shown, and refused where signatures are
//! required, until a person accepts it.

use std::collections::{BTreeMap, BTreeSet};

use library::Home;

use super::{RegistryError, noted};

const FILE: &str = "signers.toml";

/// The file of the home, with what a lock file adds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Signers {
    /// The fingerprints seen, by the registry's place and the owner.
    seen: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

/// How a release's signature stands to what its owner signed before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// As before, or for the first time.
    AsBefore,
    /// With another key than these.
    OtherKey(Vec<String>),
    /// Not at all, and with these before.
    NoSignature(Vec<String>),
}

impl Signers {
    /// Reads the file; nothing was seen when there is none.
    pub fn read(home: &Home) -> Result<Self, RegistryError> {
        Ok(Self { seen: noted::read(home, FILE)? })
    }

    /// Takes a key of an owner for known; says whether it is new.
    pub fn add(&mut self, registry: &str, owner: &str, key: &str) -> bool {
        let owners = self.seen.entry(registry.to_owned()).or_default();
        owners.entry(owner.to_owned()).or_default().insert(key.to_owned())
    }

    /// How the key with which an owner signed a release, if with any, stands to those seen before.
    pub fn standing(&self, registry: &str, owner: &str, key: Option<&str>) -> Standing {
        let Some(seen) = self.seen.get(registry).and_then(|owners| owners.get(owner)) else {
            return Standing::AsBefore;
        };
        let before = || seen.iter().cloned().collect();
        match key {
            Some(key) if seen.contains(key) => Standing::AsBefore,
            Some(_) => Standing::OtherKey(before()),
            None => Standing::NoSignature(before()),
        }
    }

    /// Remembers keys besides those that other processes have noted meanwhile. That it cannot be done, as in a home that
    /// cannot be written, refuses nothing.
    pub fn remember<'a>(home: &Home, keys: impl Iterator<Item = (&'a str, &'a str, &'a str)>) {
        let Ok(mut file) = Self::read(home) else { return };
        let news = keys.filter(|(registry, owner, key)| file.add(registry, owner, key)).count();
        if news > 0 {
            let _next_time = noted::write(home, FILE, &file.seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_is_taken_and_another_or_none_is_told() {
        let mut signers = Signers::default();
        assert_eq!(signers.standing("r", "acme", Some("SHA256:a")), Standing::AsBefore);
        assert_eq!(signers.standing("r", "acme", None), Standing::AsBefore);
        assert!(signers.add("r", "acme", "SHA256:a") && !signers.add("r", "acme", "SHA256:a"));
        let before = || vec!["SHA256:a".to_owned()];
        assert_eq!(signers.standing("r", "acme", Some("SHA256:a")), Standing::AsBefore);
        assert_eq!(signers.standing("r", "acme", Some("SHA256:b")), Standing::OtherKey(before()));
        assert_eq!(signers.standing("r", "acme", None), Standing::NoSignature(before()));
        assert_eq!(signers.standing("other", "acme", None), Standing::AsBefore);
    }

    #[test]
    fn the_home_remembers_and_a_damaged_file_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("home")).unwrap();
        Signers::remember(&home, [("/r", "acme", "SHA256:a")].into_iter());
        Signers::remember(&home, [("/r", "acme", "SHA256:b")].into_iter());
        let seen = Signers::read(&home).unwrap();
        assert_eq!(seen.standing("/r", "acme", Some("SHA256:a")), Standing::AsBefore);
        assert_eq!(seen.standing("/r", "acme", Some("SHA256:b")), Standing::AsBefore);
        let dir = home.ensure().unwrap();
        for damaged in ["format = 2", "x", "format = 1\nseen = 1"] {
            dir.write(FILE, damaged).unwrap();
            assert!(matches!(Signers::read(&home), Err(RegistryError::Io { .. })), "{damaged}");
        }
    }
}
