//! [`PublicKey`] and [`SecretKey`]: signatures of releases, in the format of `ssh-keygen -Y sign` and `verify`.
//!
//! `ssh-key` reads and writes the SSH formats; `ring` implements ed25519.

use std::{fmt, str::FromStr};

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use semver::Version;
use skill::{Digest, Owner, QualifiedName};
use ssh_key::{
    Algorithm, HashAlg, LineEnding, PrivateKey, SshSig,
    private::KeypairData,
    public::{Ed25519PublicKey, KeyData},
};
use thiserror::Error;

/// First line of the statement about a release, and the namespace of its signature (`-n` of `ssh-keygen`).
const RELEASE: &str = "skillhub-release-v1";

/// First line of the statement about a new key, and the namespace of its signature.
const KEY: &str = "skillhub-key-v1";

/// Returns the text over which a release is signed.
pub fn statement(name: &QualifiedName, version: &Version, digest: &Digest) -> String {
    format!("{RELEASE}\n{name}\n{version}\n{digest}\n")
}

/// Returns the text that an owner signs with an old key to vouch for a new one.
pub fn key_statement(owner: &Owner, key: &PublicKey) -> String {
    format!("{KEY}\n{owner}\n{key}\n")
}

/// Returns the namespace of a statement's signature. It is the statement's first line, so that a signature cannot be
/// reused for another purpose.
pub fn namespace_of(statement: &str) -> &str {
    statement.lines().next().unwrap_or_default()
}

/// A public ed25519 key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey([u8; 32]);

/// A secret ed25519 key, from a file without a passphrase.
pub struct SecretKey(Ed25519KeyPair);

/// Reasons why a text is not a usable key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The text is not an SSH key.
    #[error("it is not an SSH key: {0}")]
    Damaged(String),
    /// The key is not an ed25519 key.
    #[error("it is a key of kind {0}, but only ssh-ed25519 keys can sign releases")]
    Kind(String),
    /// The secret key is protected by a passphrase; the value is its public half.
    #[error("it is protected by a passphrase")]
    Protected(PublicKey),
}

/// Reasons why a signature is not valid for a statement.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SignatureError {
    /// The text is not an SSH signature.
    #[error("it is not an SSH signature: {0}")]
    Damaged(String),
    /// The signature was made for another purpose.
    #[error("it was made for {found:?}, not for {wanted:?}")]
    Namespace {
        /// Namespace of the signature.
        found: String,
        /// Namespace of the statement.
        wanted: String,
    },
    /// The signature was not made with an ed25519 key.
    #[error("it was made with a key of kind {0}, but only ssh-ed25519 keys can sign releases")]
    Kind(String),
    /// The signature is over another text, or was not made by the key that it names.
    #[error("it does not cover this name, version and digest")]
    Other,
}

impl PublicKey {
    /// Returns the short form in which people compare keys: `SHA256:` and 43 characters, as `ssh-keygen -l` prints it.
    pub fn fingerprint(&self) -> String {
        self.data().fingerprint(HashAlg::Sha256).to_string()
    }

    fn data(self) -> KeyData {
        KeyData::Ed25519(Ed25519PublicKey(self.0))
    }

    fn of(data: &KeyData) -> Result<Self, String> {
        match data {
            KeyData::Ed25519(key) => Ok(Self(key.0)),
            other => Err(other.algorithm().to_string()),
        }
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = ssh_key::PublicKey::from(self.data()).to_openssh().map_err(|_| fmt::Error)?;
        f.write_str(text.trim_end())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fingerprint())
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    /// Parses the line of a `.pub` file. The comment after the key is ignored.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let key = ssh_key::PublicKey::from_openssh(text).map_err(|error| KeyError::Damaged(error.to_string()))?;
        Self::of(key.key_data()).map_err(KeyError::Kind)
    }
}

impl SecretKey {
    /// Parses a key file written by `ssh-keygen -t ed25519`.
    ///
    /// # Errors
    /// [`KeyError`]. For a key with a passphrase, the error contains the public half.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let damaged = |error: &dyn fmt::Display| KeyError::Damaged(error.to_string());
        let key = PrivateKey::from_openssh(text).map_err(|error| damaged(&error))?;
        let public = PublicKey::of(key.public_key().key_data()).map_err(KeyError::Kind)?;
        match key.key_data() {
            KeypairData::Encrypted(_) => Err(KeyError::Protected(public)),
            KeypairData::Ed25519(pair) => {
                let pair = Ed25519KeyPair::from_seed_and_public_key(pair.private.as_ref(), &public.0);
                pair.map(Self).map_err(|_| KeyError::Damaged("its two halves do not match".to_owned()))
            }
            _ => Err(KeyError::Kind(key.algorithm().to_string())),
        }
    }

    /// Returns the public half of the key.
    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(bytes)
    }

    /// Signs a statement. The result has the format that `ssh-keygen -Y sign` writes.
    ///
    /// # Errors
    /// [`SignatureError::Damaged`] if the signature cannot be encoded.
    pub fn sign(&self, statement: &str) -> Result<String, SignatureError> {
        let made = || -> Result<String, ssh_key::Error> {
            let namespace = namespace_of(statement);
            let text = SshSig::signed_data(namespace, HashAlg::Sha512, statement.as_bytes())?;
            let signature = ssh_key::Signature::new(Algorithm::Ed25519, self.0.sign(&text).as_ref())?;
            SshSig::new(self.public().data(), namespace, HashAlg::Sha512, signature)?.to_pem(LineEnding::LF)
        };
        made().map_err(|error| SignatureError::Damaged(error.to_string()))
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.public().fingerprint())
    }
}

/// Returns the key that signed a statement. The caller checks to whom the key belongs.
///
/// # Errors
/// [`SignatureError`] if it is not a valid signature of this statement.
pub fn signed_with(signature: &str, statement: &str) -> Result<PublicKey, SignatureError> {
    let damaged = |error: ssh_key::Error| SignatureError::Damaged(error.to_string());
    let parsed = SshSig::from_pem(signature.trim()).map_err(damaged)?;
    let letters = |text: &str| text.split_whitespace().collect::<String>();
    let again = parsed.to_pem(LineEnding::LF).map_err(damaged)?;
    if letters(signature) != letters(&again) || parsed.version() != SshSig::VERSION {
        return Err(SignatureError::Damaged("it does not have the format that ssh-keygen writes".to_owned()));
    }
    let wanted = namespace_of(statement);
    if parsed.namespace() != wanted {
        return Err(SignatureError::Namespace { found: parsed.namespace().to_owned(), wanted: wanted.to_owned() });
    }
    let key = PublicKey::of(parsed.public_key()).map_err(SignatureError::Kind)?;
    if parsed.algorithm() != Algorithm::Ed25519 {
        return Err(SignatureError::Kind(parsed.algorithm().to_string()));
    }
    let text = SshSig::signed_data(wanted, parsed.hash_alg(), statement.as_bytes()).map_err(damaged)?;
    let verified = UnparsedPublicKey::new(&ED25519, key.0).verify(&text, parsed.signature_bytes());
    verified.map(|()| key).map_err(|_| SignatureError::Other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssh_key::private::{Ed25519Keypair, Ed25519PrivateKey};

    /// Builds the key file for this seed, as `ssh-keygen` would write it.
    fn file(seed: u8) -> String {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        let mut public = [0; 32];
        public.copy_from_slice(pair.public_key().as_ref());
        let pair =
            Ed25519Keypair { public: Ed25519PublicKey(public), private: Ed25519PrivateKey::from_bytes(&[seed; 32]) };
        PrivateKey::new(pair.into(), "ann@example.org").unwrap().to_openssh(LineEnding::LF).unwrap().to_string()
    }

    fn of(version: &str) -> String {
        let digest = Digest::of_bytes(version.as_bytes());
        statement(&"acme/pdf".parse().unwrap(), &version.parse().unwrap(), &digest)
    }

    #[test]
    fn signed_statement_has_four_lines() {
        let text = of("1.2.0");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..3], ["skillhub-release-v1", "acme/pdf", "1.2.0"]);
        assert!(lines[3].starts_with("sha256:") && lines.len() == 4 && text.ends_with('\n'));
    }

    #[test]
    fn signature_covers_one_statement_only() {
        let key = SecretKey::parse(&file(7)).unwrap();
        let signature = key.sign(&of("1.0.0")).unwrap();
        assert_eq!(signed_with(&signature, &of("1.0.0")), Ok(key.public()));
        assert_eq!(signed_with(&signature, &of("1.0.1")), Err(SignatureError::Other));
        let other = SecretKey::parse(&file(8)).unwrap();
        assert_ne!(signed_with(&other.sign(&of("1.0.0")).unwrap(), &of("1.0.0")), Ok(key.public()));
    }

    #[test]
    fn altered_signature_is_invalid() {
        let key = SecretKey::parse(&file(7)).unwrap();
        let signature = key.sign(&of("1.0.0")).unwrap();
        let body = signature.find('\n').unwrap() + 1..signature.rfind("\n-----END").unwrap();
        for at in body.filter(|at| signature.as_bytes()[*at] != b'\n') {
            let mut bytes = signature.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let found = signed_with(std::str::from_utf8(&bytes).unwrap(), &of("1.0.0"));
            assert_ne!(found, Ok(key.public()), "letter {at}");
        }
        for cut in 0..signature.trim_end().len() {
            assert!(signed_with(&signature[..cut], &of("1.0.0")).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn signature_for_other_purpose_is_invalid() {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let text = SshSig::signed_data("file", HashAlg::Sha512, of("1.0.0").as_bytes()).unwrap();
        let raw = ssh_key::Signature::new(Algorithm::Ed25519, pair.sign(&text).as_ref()).unwrap();
        let key = SecretKey::parse(&file(7)).unwrap().public();
        let signature = SshSig::new(key.data(), "file", HashAlg::Sha512, raw).unwrap();
        let found = signed_with(&signature.to_pem(LineEnding::LF).unwrap(), &of("1.0.0"));
        assert!(matches!(found, Err(SignatureError::Namespace { found, .. }) if found == "file"));
        let vouched = SecretKey::parse(&file(7)).unwrap();
        let statement = key_statement(&Owner::parse("acme").unwrap(), &key);
        let signature = vouched.sign(&statement).unwrap();
        assert_eq!(signed_with(&signature, &statement), Ok(vouched.public()));
        assert!(signed_with(&signature, &of("1.0.0")).is_err());
    }

    #[test]
    fn only_ed25519_keys_are_parsed() {
        let key = SecretKey::parse(&file(7)).unwrap().public();
        assert_eq!(key.to_string().parse(), Ok(key));
        assert_eq!(format!("{key} ann@example.org\n").parse(), Ok(key), "what stands behind it is a comment");
        assert!(key.fingerprint().starts_with("SHA256:") && key.fingerprint().len() == 50);
        for bad in ["", "ssh-ed25519", "ssh-ed25519 AAAA", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQ==", "\0"] {
            assert!(bad.parse::<PublicKey>().is_err(), "{bad:?}");
            assert!(SecretKey::parse(bad).is_err(), "{bad:?}");
        }
    }
}
