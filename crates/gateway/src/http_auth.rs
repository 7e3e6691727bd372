//! Access control of the gateway ([`HttpAuth`]): its token or a session, and the host names that it answers to.

use axum::extract::Request;
use web::{
    ApiError, Token, TokenError,
    guard::{check_host, check_site},
};

/// The token and the host names of a gateway.
pub struct HttpAuth {
    pub(crate) token: Token,
    hosts: Vec<String>,
}

impl HttpAuth {
    /// Creates a gate with the given token, or with a generated one.
    /// `hosts` are accepted host names, in addition to IP addresses and `localhost`.
    ///
    /// # Errors
    /// [`TokenError`]
    pub fn new(token: Option<String>, hosts: Vec<String>) -> Result<Self, TokenError> {
        Ok(Self { token: Token::new(token)?, hosts })
    }

    /// Returns the token as text.
    pub fn token(&self) -> &str {
        self.token.text()
    }

    /// Rejects requests for another host, and changes that another site's page initiates.
    pub(crate) fn check(&self, request: &Request) -> Result<(), ApiError> {
        check_host(
            &self.hosts,
            request,
            "ask the gateway's operator to allow the name with `skillhub serve --gateway \
                                          --host NAME`",
        )?;
        check_site(request)
    }
}
