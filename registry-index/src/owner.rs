//! [`OwnerFile`]: the signing keys of an owner, and verification of releases against them.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use skill::Owner;
use thiserror::Error;

use crate::{
    Entry, Index, PublicKey, ReadError, SignatureError, Stamp, StoreError, shard,
    signature::{key_statement, signed_with, statement},
    store::{Change, PlanOutcome, Snapshot, TreeEdit},
};

const FORMAT: u64 = 1;

/// The file of an owner. Unknown fields are preserved.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnerFile {
    raw: Map<String, Value>,
    keys: Vec<OwnerKey>,
}

/// A signing key of an owner.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnerKey {
    /// Public key for verification.
    pub key: PublicKey,
    /// Time at which it was added, if recorded.
    pub added_at: Option<Timestamp>,
    /// Time from which it can no longer sign releases. Releases published earlier remain valid.
    pub retired_at: Option<Timestamp>,
    /// Signature of an older key over the [`key_statement`] of this key.
    pub vouched_by: Option<String>,
    raw: Map<String, Value>,
}

/// Reasons why an owner's file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OwnerFileError {
    /// The file is not JSON, or has the wrong structure.
    #[error("the owner's file is damaged: {0}")]
    Damaged(String),
    /// The file has a later format.
    #[error("the owner's file has an unknown format, {0}")]
    Format(u64),
}

/// Reasons why a release's signature is not valid for its owner.
#[derive(Debug, Error)]
pub enum SignerError {
    /// The signature is invalid or not over this release.
    #[error("the signature of {release} is invalid: {reason}")]
    Bad {
        /// Full name and version of the release.
        release: String,
        /// Problem with the signature.
        reason: SignatureError,
    },
    /// The release is signed with a key that is not its owner's.
    #[error("{release} is signed with the key {key}, which is not a key of {owner}; {}", known_keys(known))]
    NotTheOwners {
        /// Full name and version of the release.
        release: String,
        /// Owner of the skill.
        owner: Owner,
        /// Fingerprint of the key that signed the release.
        key: String,
        /// Fingerprints of the owner's current keys.
        known: Vec<String>,
    },
    /// The release was published after its key was retired.
    #[error("{release} was published after its key {key} was retired on {at}")]
    Retired {
        /// Full name and version of the release.
        release: String,
        /// Fingerprint of the key that signed the release.
        key: String,
        /// Time at which the key was retired.
        at: Timestamp,
    },
    /// The owner's file cannot be read.
    #[error("cannot use {path} in the index: {reason}")]
    OwnerFile {
        /// Path of the file in the tree.
        path: String,
        /// Problem with the file.
        reason: OwnerFileError,
    },
    /// The index cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Reasons why a key was not added or retired.
#[derive(Debug, Error)]
pub enum KeyChangeError {
    /// The owner does not have the key.
    #[error("{owner} does not have the key {key}; {}", known_keys(known))]
    Unknown {
        /// Owner of the keys.
        owner: Owner,
        /// Fingerprint given by the caller.
        key: String,
        /// Fingerprints of the owner's keys.
        known: Vec<String>,
    },
    /// The key was retired, and a retired key cannot be added again.
    #[error("the key {key} of {owner} was retired, and a retired key cannot be added again")]
    WasRetired {
        /// Owner of the key.
        owner: Owner,
        /// Fingerprint of the retired key.
        key: String,
    },
    /// The voucher's signature was not made by a current key of the owner.
    #[error("no current key of {owner} vouches for {key}: {reason}")]
    NotVouched {
        /// Owner of the keys.
        owner: Owner,
        /// Fingerprint of the new key.
        key: String,
        /// Problem with the signature.
        reason: String,
    },
    /// The owner's file cannot be read.
    #[error("cannot use {path} in the index: {reason}")]
    OwnerFile {
        /// Path of the file in the tree.
        path: String,
        /// Problem with the file.
        reason: OwnerFileError,
    },
    /// The index cannot be changed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<git2::Error> for KeyChangeError {
    fn from(error: git2::Error) -> Self {
        Self::Store(error.into())
    }
}

fn known_keys(known: &[String]) -> String {
    match known {
        [] => "the registry has no keys of this owner".to_owned(),
        some => format!("the registry has {}", some.join(", ")),
    }
}

/// A change of an owner's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyChange {
    /// Adds a key that can sign releases from now on.
    Add {
        /// Public key to add.
        key: PublicKey,
        /// Signature of an older key over its [`key_statement`].
        vouched_by: Option<String>,
    },
    /// Retires the key with this fingerprint, which can then no longer sign releases.
    Retire(String),
}

impl OwnerFile {
    /// Creates the file of an owner without keys.
    pub fn new(owner: &Owner) -> Self {
        let mut raw = Map::new();
        raw.insert("format".to_owned(), json!(FORMAT));
        raw.insert("owner".to_owned(), json!(owner.as_str()));
        Self { raw, keys: Vec::new() }
    }

    /// Parses an owner's file.
    ///
    /// # Errors
    /// [`OwnerFileError`]
    pub fn parse(bytes: &[u8]) -> Result<Self, OwnerFileError> {
        let damaged = |what: &str| OwnerFileError::Damaged(what.to_owned());
        let mut raw: Map<String, Value> =
            serde_json::from_slice(bytes).map_err(|error| OwnerFileError::Damaged(error.to_string()))?;
        match raw.get("format").and_then(Value::as_u64) {
            Some(FORMAT) => {}
            Some(other) => return Err(OwnerFileError::Format(other)),
            None => return Err(damaged("it has no `format`")),
        }
        let keys = match raw.shift_remove("keys") {
            None => Vec::new(),
            Some(Value::Array(keys)) => keys,
            Some(_) => return Err(damaged("`keys` is not a list")),
        };
        Ok(Self { keys: keys.into_iter().map(OwnerKey::parse).collect::<Result<_, _>>()?, raw })
    }

    /// Formats the file as JSON with a line feed.
    pub fn to_text(&self) -> String {
        let mut raw = self.raw.clone();
        let keys = self.keys.iter().map(|key| Value::Object(key.raw.clone())).collect();
        raw.insert("keys".to_owned(), Value::Array(keys));
        format!("{}\n", Value::Object(raw))
    }

    /// Returns all keys in the order in which they were added.
    pub fn keys(&self) -> &[OwnerKey] {
        &self.keys
    }

    /// Returns the fingerprints of the keys that are not retired.
    pub fn signing(&self) -> Vec<String> {
        self.keys.iter().filter(|key| key.retired_at.is_none()).map(|key| key.key.fingerprint()).collect()
    }

    /// Returns the fingerprints of all keys, including retired ones.
    pub fn all_fingerprints(&self) -> Vec<String> {
        self.keys.iter().map(|key| key.key.fingerprint()).collect()
    }

    /// Returns the owner's entry for a public key.
    pub fn find(&self, key: &PublicKey) -> Option<&OwnerKey> {
        self.keys.iter().find(|known| known.key == *key)
    }

    /// Returns whether every key of an older state is unchanged here, or was retired since.
    pub fn only_grew_from(&self, old: &Self) -> bool {
        let is_kept = |old: &OwnerKey| {
            let same = |now: &OwnerKey| old.retired_at.is_none() || now.retired_at == old.retired_at;
            self.find(&old.key).is_some_and(same)
        };
        old.keys.iter().all(is_kept)
    }

    pub(crate) fn add(&mut self, key: PublicKey, at: Timestamp) {
        let mut raw = Map::new();
        raw.insert("key".to_owned(), json!(key.to_string()));
        raw.insert("added_at".to_owned(), json!(at.to_string()));
        raw.insert("retired_at".to_owned(), Value::Null);
        self.keys.push(OwnerKey { key, added_at: Some(at), retired_at: None, vouched_by: None, raw });
    }

    /// Returns whether the owner had a current key at a time, according to the recorded times.
    pub fn signed_at(&self, at: Timestamp) -> bool {
        let was_added = |key: &&OwnerKey| key.added_at.is_none_or(|added| added < at);
        self.keys.iter().filter(was_added).any(|key| key.retired_at.is_none_or(|retired| retired > at))
    }

    /// Returns the fingerprints of the keys that vouch for a key, directly or through other keys. A key that was
    /// retired before the other was added cannot vouch for it.
    pub fn vouchers(&self, owner: &Owner, key: &str) -> Vec<String> {
        let by_fingerprint = |wanted: &str| self.keys.iter().find(|key| key.key.fingerprint() == wanted);
        let mut found: Vec<String> = Vec::new();
        let mut next = by_fingerprint(key);
        while let Some(voucher) = next.and_then(|key| self.voucher(owner, key)) {
            let fingerprint = voucher.key.fingerprint();
            if fingerprint == key || found.contains(&fingerprint) {
                break;
            }
            found.push(fingerprint);
            next = Some(voucher);
        }
        found
    }

    /// Returns the older key that vouches directly for a key.
    fn voucher(&self, owner: &Owner, key: &OwnerKey) -> Option<&OwnerKey> {
        let by = signed_with(key.vouched_by.as_deref()?, &key_statement(owner, &key.key)).ok()?;
        let was_signing = |by: &&OwnerKey| match (by.retired_at, key.added_at) {
            (None, _) => true,
            (Some(retired), Some(added)) => added <= retired,
            (Some(_), None) => false,
        };
        self.find(&by).filter(was_signing)
    }

    /// Checks that a signature vouches for a key.
    fn check_voucher(&self, owner: &Owner, key: &PublicKey, signature: &str) -> Result<(), KeyChangeError> {
        let not = |reason: String| KeyChangeError::NotVouched { owner: owner.clone(), key: key.fingerprint(), reason };
        let by = signed_with(signature, &key_statement(owner, key)).map_err(|error| not(error.to_string()))?;
        match self.find(&by) {
            Some(found) if found.retired_at.is_none() && by != *key => Ok(()),
            _ => Err(not(format!("it was signed with {}", by.fingerprint()))),
        }
    }
}

impl OwnerKey {
    fn parse(value: Value) -> Result<Self, OwnerFileError> {
        let damaged = |what: String| OwnerFileError::Damaged(what);
        let Value::Object(raw) = value else { return Err(damaged("a key is not an object".to_owned())) };
        let text = raw.get("key").and_then(Value::as_str).ok_or_else(|| damaged("a key has no `key`".to_owned()))?;
        let key = text.parse().map_err(|error| damaged(format!("a key is invalid: {error}")))?;
        let time = |name: &str| match raw.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => text.parse().map(Some).map_err(|_| damaged(format!("`{name}` is not a time"))),
            Some(_) => Err(damaged(format!("`{name}` is not a time"))),
        };
        let (added_at, retired_at) = (time("added_at")?, time("retired_at")?);
        let vouched_by = raw.get("vouched_by").and_then(Value::as_str).map(str::to_owned);
        Ok(Self { key, added_at, retired_at, vouched_by, raw })
    }

    fn vouch(&mut self, signature: &str) {
        self.vouched_by = Some(signature.to_owned());
        self.raw.insert("vouched_by".to_owned(), json!(signature));
    }

    fn retire(&mut self, at: Timestamp) {
        self.retired_at = Some(at);
        self.raw.insert("retired_at".to_owned(), json!(at.to_string()));
    }
}

impl Index {
    /// Reads the file of an owner. A missing file is an owner without keys.
    ///
    /// # Errors
    /// [`SignerError::OwnerFile`] if it is damaged, [`SignerError::Read`] if git fails.
    pub fn owner(&self, owner: &Owner) -> Result<OwnerFile, SignerError> {
        let snapshot = self.store.snapshot().map_err(ReadError::from)?;
        let parsed = read(&snapshot, owner).map_err(ReadError::from)?;
        parsed.map_err(|reason| SignerError::OwnerFile { path: shard::owner_file(owner), reason })
    }

    /// Returns the owner's key that signed a release; `None` if it is not signed.
    ///
    /// # Errors
    /// [`SignerError`] if the signature is not valid for its owner.
    pub fn signer(&self, entry: &Entry) -> Result<Option<PublicKey>, SignerError> {
        if entry.signature.is_none() { Ok(None) } else { self.owner(&entry.name.owner)?.signer(entry) }
    }

    /// Adds or retires a key of an owner. A change that is already in effect makes no commit.
    ///
    /// # Errors
    /// [`KeyChangeError`]; nothing has changed then.
    pub fn change_key(&self, owner: &Owner, change: &KeyChange, stamp: &Stamp) -> Result<OwnerFile, KeyChangeError> {
        let path = shard::owner_file(owner);
        let at = stamp.to_the_second().at;
        self.update(|base| {
            let damaged = |reason| KeyChangeError::OwnerFile { path: path.clone(), reason };
            let mut file = read(base, owner)?.map_err(damaged)?;
            let Some(message) = file.change(owner, change, at)? else { return Ok(PlanOutcome::Done(file)) };
            let edits = vec![TreeEdit::Put(path.clone(), file.to_text().into_bytes())];
            Ok(PlanOutcome::Commit(Change { edits, message, stamp: stamp.clone() }, file))
        })
    }
}

/// Reads the file of an owner in a snapshot.
pub(crate) fn read(base: &Snapshot<'_>, owner: &Owner) -> Result<Result<OwnerFile, OwnerFileError>, git2::Error> {
    let bytes = base.read(&shard::owner_file(owner))?;
    Ok(bytes.map_or_else(|| Ok(OwnerFile::new(owner)), |bytes| OwnerFile::parse(&bytes)))
}

impl OwnerFile {
    /// Returns the key of this owner that signed a release; `None` if it is not signed.
    ///
    /// # Errors
    /// [`SignerError`] if the signature is not valid for this owner.
    pub fn signer(&self, entry: &Entry) -> Result<Option<PublicKey>, SignerError> {
        let Some(signature) = &entry.signature else { return Ok(None) };
        let release = format!("{} {}", entry.name, entry.version);
        let text = statement(&entry.name, &entry.version, &entry.digest);
        let key = match signed_with(signature, &text) {
            Ok(key) => key,
            Err(reason) => return Err(SignerError::Bad { release, reason }),
        };
        let fingerprint = key.fingerprint();
        match self.find(&key).map(|known| known.retired_at) {
            None => {
                let (owner, known) = (entry.name.owner.clone(), self.signing());
                Err(SignerError::NotTheOwners { release, owner, key: fingerprint, known })
            }
            Some(Some(at)) if entry.published_at > at => Err(SignerError::Retired { release, key: fingerprint, at }),
            Some(_) => Ok(Some(key)),
        }
    }

    /// Applies a change and returns the message of its commit; `None` if it is already in effect.
    ///
    /// # Errors
    /// [`KeyChangeError`] if the keys do not allow it.
    pub fn change(
        &mut self,
        owner: &Owner,
        change: &KeyChange,
        at: Timestamp,
    ) -> Result<Option<String>, KeyChangeError> {
        match change {
            KeyChange::Add { key, vouched_by } => {
                if let Some(signature) = vouched_by {
                    self.check_voucher(owner, key, signature)?;
                }
                let known = self.find(key).cloned();
                if known.as_ref().is_some_and(|known| known.retired_at.is_some()) {
                    return Err(KeyChangeError::WasRetired { owner: owner.clone(), key: key.fingerprint() });
                }
                let is_news = vouched_by.is_some() && known.as_ref().is_none_or(|known| known.vouched_by.is_none());
                if known.is_some() && !is_news {
                    return Ok(None);
                }
                if known.is_none() {
                    self.add(*key, at);
                }
                let added = self.keys.iter_mut().find(|known| known.key == *key);
                if let (Some(added), Some(signature)) = (added, vouched_by) {
                    added.vouch(signature);
                }
                let word = if known.is_some() { "vouch for" } else { "add" };
                Ok(Some(format!("{word} key {owner} {}\n", key.fingerprint())))
            }
            KeyChange::Retire(wanted) => {
                let known = self.all_fingerprints();
                let unknown = || KeyChangeError::Unknown { owner: owner.clone(), key: wanted.clone(), known };
                let key = self.keys.iter_mut().find(|key| key.key.fingerprint() == *wanted).ok_or_else(unknown)?;
                if key.retired_at.is_some() {
                    return Ok(None);
                }
                key.retire(at);
                Ok(Some(format!("retire key {owner} {wanted}\n")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

    fn with_key() -> OwnerFile {
        let mut file = OwnerFile::new(&Owner::parse("acme").unwrap());
        file.add(KEY.parse().unwrap(), "2026-11-02T08:30:00Z".parse().unwrap());
        file
    }

    #[test]
    fn owner_file_keeps_unknown_fields() {
        let file = with_key();
        let text = file.to_text();
        assert!(text.starts_with(r#"{"format":1,"owner":"acme","keys":[{"key":"ssh-ed25519 AAAA"#), "{text}");
        assert_eq!(OwnerFile::parse(text.as_bytes()).unwrap(), file);
        let later =
            text.replace(r#""owner""#, r#""url":"x","owner""#).replace(r#""added_at""#, r#""by":"x","added_at""#);
        assert_eq!(OwnerFile::parse(later.as_bytes()).unwrap().to_text(), later);
        let empty = "{\"format\":1,\"owner\":\"acme\",\"keys\":[]}\n";
        assert_eq!(OwnerFile::new(&Owner::parse("acme").unwrap()).to_text(), empty);
    }

    /// Reading it as an owner without keys would accept unsigned releases.
    #[test]
    fn damaged_owner_file_is_refused() {
        for bad in ["", "[]", "{}", r#"{"format":1,"keys":{}}"#, r#"{"format":1,"keys":["x"]}"#] {
            assert!(matches!(OwnerFile::parse(bad.as_bytes()), Err(OwnerFileError::Damaged(_))), "{bad}");
        }
        assert_eq!(OwnerFile::parse(br#"{"format":2}"#), Err(OwnerFileError::Format(2)));
        let time = with_key().to_text().replace(":null", ":7");
        assert!(OwnerFile::parse(time.as_bytes()).is_err());
    }

    #[test]
    fn keys_are_retired_never_removed() {
        let owner = Owner::parse("acme").unwrap();
        let old = with_key();
        let mut file = old.clone();
        let at = "2026-11-03T00:00:00Z".parse().unwrap();
        let key: PublicKey = KEY.parse().unwrap();
        assert_eq!(file.change(&owner, &KeyChange::Add { key, vouched_by: None }, at).unwrap(), None);
        let retired = file.change(&owner, &KeyChange::Retire(key.fingerprint()), at).unwrap();
        assert!(retired.unwrap().starts_with("retire key acme SHA256:"));
        assert!(file.only_grew_from(&old) && !old.only_grew_from(&file));
        assert!(!OwnerFile::new(&owner).only_grew_from(&old));
        assert!(matches!(
            file.change(&owner, &KeyChange::Add { key, vouched_by: None }, at),
            Err(KeyChangeError::WasRetired { .. })
        ));
        let unknown = file.change(&owner, &KeyChange::Retire("SHA256:x".to_owned()), at);
        assert!(matches!(unknown, Err(KeyChangeError::Unknown { .. })));
    }
}
