//! [`Gate`]: who is let in: who knows the token, or has signed in with it, and calls us by a name of ours.

use axum::extract::Request;
use web::{
    ApiError, Token, TokenError,
    guard::{check_host, check_site},
};

/// Who is let in.
pub struct Gate {
    pub(crate) token: Token,
    hosts: Vec<String>,
}

impl Gate {
    /// A gate with a given token, else with one that is made; `hosts` are names by which clients call besides addresses and
    /// `localhost`.
    ///
    /// # Errors
    /// [`TokenError`]
    pub fn new(token: Option<String>, hosts: Vec<String>) -> Result<Self, TokenError> {
        Ok(Self { token: Token::new(token)?, hosts })
    }

    /// The token.
    #[must_use]
    pub fn token(&self) -> &str {
        self.token.text()
    }

    /// Refuses what is meant for another server, or sent by a page of one.
    pub(crate) fn check(&self, request: &Request) -> Result<(), ApiError> {
        check_host(&self.hosts, request, "who runs it names it: `skillhub serve --gateway --host NAME`")?;
        check_site(request)
    }
}
