//! Identifiers of proposals ([`ProposalId`]).

use std::fmt;

use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// Digits of a new id, without look-alikes.
const DIGITS: &[u8; 31] = b"23456789abcdefghjkmnpqrstuvwxyz";

/// Number of digits of a new id.
const ID_DIGITS: usize = 6;

/// Maximum length of an id in bytes, since it becomes a file name.
const ID_BYTES: usize = 64;

/// Identifier of a proposal: six digits and letters, unique in its library.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProposalId(String);

/// Error for a text that is not a valid [`ProposalId`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a proposal id; an id has six letters and digits, such as k7m3qx")]
pub struct ProposalIdError(pub String);

impl ProposalId {
    /// Parses an id.
    ///
    /// # Errors
    /// Returns [`ProposalIdError`] for a text that cannot be the file name of a proposal.
    pub fn parse(text: &str) -> Result<Self, ProposalIdError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        match !text.is_empty() && text.len() <= ID_BYTES && text.bytes().all(fits) {
            true => Ok(Self(text.to_owned())),
            false => Err(ProposalIdError(text.to_owned())),
        }
    }

    /// Derives a new id from that of an operation ([`crate::operation_id`]).
    pub fn of_operation(operation: &str) -> Self {
        let sum: [u8; 32] = Sha256::digest(operation.as_bytes()).into();
        let mut number = sum.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let mut id = String::with_capacity(ID_DIGITS);
        for _ in 0..ID_DIGITS {
            let digit = usize::try_from(number % DIGITS.len() as u64).unwrap_or_default();
            id.push(DIGITS.get(digit).copied().map_or('2', char::from));
            number /= DIGITS.len() as u64;
        }
        Self(id)
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProposalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
