//! [`Token`] is the secret of a single-user server, and [`bearer`] reads the token of a request.

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use crate::random::random;

/// Minimum length of a token, in characters.
const TOKEN_CHARS: usize = 16;

/// Random bytes in a generated token.
const TOKEN_BYTES: usize = 32;

/// A bearer token that grants access to a whole server.
#[derive(Clone)]
pub struct Token(String);

/// Errors that [`Token::new`] returns.
#[derive(Debug, Error)]
pub enum TokenError {
    /// The given token is too short, or has characters that an HTTP header cannot hold.
    #[error("the token must have at least {TOKEN_CHARS} characters of printable ASCII, without spaces")]
    Unfit,
    /// The operating system's random number generator failed.
    #[error("cannot get random bytes from the system: {0}")]
    Random(#[from] getrandom::Error),
}

impl Fails for TokenError {
    fn failure(&self) -> Failure {
        match self {
            Self::Unfit => Failure::new(FailureKind::Usage, "usage").hint("unset it to have a token generated"),
            Self::Random(_) => Failure::io(),
        }
    }
}

impl Token {
    /// Returns the given token, or generates one.
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

    /// Returns the token as text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Compares a text with the token, in a time that reveals nothing about the token.
    #[must_use]
    pub fn is(&self, given: &str) -> bool {
        Sha256::digest(given.trim().as_bytes()) == Sha256::digest(self.0.as_bytes())
    }

    /// Returns whether a request carries the token.
    #[must_use]
    pub fn is_in(&self, headers: &HeaderMap) -> bool {
        bearer(headers).is_some_and(|given| self.is(given))
    }
}

/// Returns the bearer token of a request, or `None` without a readable `Authorization` header.
/// The token is empty if the header has another scheme.
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
    fn generated_tokens_are_long_and_unique() {
        let made = || Token::new(None).unwrap().0;
        assert_eq!(made().len(), 2 * TOKEN_BYTES);
        assert_ne!(made(), made());
        for bad in ["", "short", "sixteen letters and spaces", "zeilenumbruch-im-token\n"] {
            assert!(Token::new(Some(bad.to_owned())).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn other_schemes_have_an_empty_token() {
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
