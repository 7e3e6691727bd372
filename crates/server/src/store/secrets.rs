//! [`MintedToken`]: new tokens and sessions. Backends store the hashes of their secrets only.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use skill::hex;

use super::records::{AccountError, NewToken, Token, to_the_second};

/// Prefix of our tokens, by which secret scanners recognise them.
const PREFIX: &str = "skh_";

/// Random bytes of a token and of a session's name.
const SECRET_BYTES: usize = 32;

/// Maximum lifetime of a session. It ends earlier with its token, or when the user signs out.
pub const SESSION_LASTS: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Most concurrent sessions of one token. A further one ends the oldest.
pub const SESSIONS_OF_TOKEN: i64 = 50;

/// A new token with its secret, which is shown once.
#[derive(Debug)]
pub struct MintedToken {
    /// Metadata of the token.
    pub token: Token,
    /// The secret, which authenticates its account.
    pub secret: String,
    /// Hash of the secret.
    pub hash: [u8; 32],
}

impl MintedToken {
    /// Creates a token that is not yet stored.
    ///
    /// # Errors
    /// [`AccountError::Random`]
    pub fn new(new: &NewToken, now: Timestamp) -> Result<Self, AccountError> {
        let secret = format!("{PREFIX}{}", random()?);
        let hash = hash_of(&secret);
        let token = Token {
            id: hex(hash.get(..6).unwrap_or_default()),
            account: new.account.to_string(),
            scope: new.scope,
            label: new.label.clone(),
            created_at: to_the_second(now),
            expires_at: new.expires_at.map(to_the_second),
            revoked_at: None,
        };
        Ok(Self { token, secret, hash })
    }

    /// Returns action and subject of its line in the audit log.
    #[must_use]
    pub fn audited(&self, is_admin: bool) -> (&'static str, String) {
        let action = if is_admin { "new admin token" } else { "new token" };
        let Token { id, account, scope, .. } = &self.token;
        (action, format!("token {id} of {account} for {}", scope.as_str()))
    }
}

/// Creates the secret name of a session.
///
/// # Errors
/// [`AccountError::Random`]
pub fn session_name() -> Result<String, AccountError> {
    random()
}

/// Returns the hash under which a secret is stored. Secrets are long and random, so nothing slower is needed.
#[must_use]
pub fn hash_of(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

fn random() -> Result<String, AccountError> {
    web::random::<SECRET_BYTES>().map_err(AccountError::Random)
}
