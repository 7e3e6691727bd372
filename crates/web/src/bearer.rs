//! [`Token`]: the one token that opens a server of one user, and [`bearer`], the token that a request brings.

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use crate::random::random;

/// Characters that a token has at least.
const TOKEN_CHARS: usize = 16;

/// Random bytes of a token that we make.
const TOKEN_BYTES: usize = 32;

/// The token of a server.
#[derive(Clone)]
pub struct Token(String);

/// Why there is no token.
#[derive(Debug, Error)]
pub enum TokenError {
    /// It is too easy to guess, or is none that a header can hold.
    #[error("the token has to have {TOKEN_CHARS} characters at least, printable ASCII without spaces")]
    Unfit,
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(#[from] getrandom::Error),
}

impl Fails for TokenError {
    fn failure(&self) -> Failure {
        match self {
            Self::Unfit => Failure::new(FailureKind::Usage, "usage").hint("unset it, and a good one is made"),
            Self::Random(_) => Failure::io(),
        }
    }
}

impl Token {
    /// A given token, else one that is made.
    ///
    /// # Errors
    /// [`TokenError`]
    pub fn new(given: Option<String>) -> Result<Self, TokenError> {
        match given {
            Some(token) if token.len() >= TOKEN_CHARS && token.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Ok(Self(token))
            }
            Some(_) => Err(TokenError::Unfit),
            None => Ok(Self(random::<TOKEN_BYTES>()?)),
        }
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Compares a text with the token. How long that takes tells nothing of it.
    #[must_use]
    pub fn is(&self, given: &str) -> bool {
        Sha256::digest(given.trim().as_bytes()) == Sha256::digest(self.0.as_bytes())
    }

    /// Tests for a request that brings the token.
    #[must_use]
    pub fn is_in(&self, headers: &HeaderMap) -> bool {
        bearer(headers).is_some_and(|given| self.is(given))
    }
}

/// The bearer token that a request brings: empty where it brings something else in that place.
#[must_use]
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = given.split_once(' ').unwrap_or_default();
    Some(if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_made_anew_each_time() {
        let made = || Token::new(None).unwrap().0;
        assert_eq!(made().len(), 2 * TOKEN_BYTES);
        assert_ne!(made(), made());
        for bad in ["", "short", "sixteen letters and spaces", "zeilenumbruch-im-token\n"] {
            assert!(Token::new(Some(bad.to_owned())).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn only_the_bearer_scheme_brings_a_token() {
        let token = Token::new(Some("0123456789abcdef".to_owned())).unwrap();
        for (line, brought, is_known) in [
            ("Bearer 0123456789abcdef", "0123456789abcdef", true),
            ("bearer  0123456789abcdef ", "0123456789abcdef", true),
            ("Bearer 0123456789abcdeF", "0123456789abcdeF", false),
            ("Basic 0123456789abcdef", "", false),
            ("0123456789abcdef", "", false),
            ("Bearer ", "", false),
        ] {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, line.parse().unwrap())]);
            assert_eq!((bearer(&headers), token.is_in(&headers)), (Some(brought), is_known), "{line:?}");
        }
        assert_eq!(bearer(&HeaderMap::new()), None);
    }
}
