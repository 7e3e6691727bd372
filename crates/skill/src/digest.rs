//! [`Digest`]: the identity of a skill's content.

use std::{fmt, str::FromStr};

use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// SHA-256 digest, written `sha256:<64 hexadecimal digits>`.
///
/// The digest of a skill covers the list of (path, executable bit, SHA-256 of the content), sorted by the bytes of the
/// path. `registry-index/FORMAT.md` specifies the framing. It does not depend on the packaging.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// Text that is not a valid [`Digest`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a digest of the form sha256:<64 hexadecimal digits>")]
pub struct DigestError(pub String);

impl Digest {
    /// Hashes bytes with SHA-256.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        #[cfg(debug_assertions)]
        crate::work::note("hash", bytes);
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the 64 hexadecimal digits without the prefix.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// Wraps 32 raw bytes, the inverse of [`Digest::as_bytes`].
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 raw bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Formats bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(if half < 10 { b'0' + half } else { b'a' - 10 + half });
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl FromStr for Digest {
    type Err = DigestError;
    fn from_str(text: &str) -> Result<Self, DigestError> {
        let error = || DigestError(text.to_owned());
        let hex = text.strip_prefix("sha256:").ok_or_else(error)?;
        if hex.len() != 64 || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(error());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| error())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| error())?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        let digest = Digest::of_bytes(b"abc");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for bad in ["", "sha256:", &digest.hex(), "sha256:zz", &digest.to_string().to_uppercase()] {
            assert!(bad.parse::<Digest>().is_err());
        }
    }
}
