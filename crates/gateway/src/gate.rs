//! [`Gate`]: who is let in: who knows the token, or has signed in with it, and calls us by a name of ours.

use axum::{
    extract::Request,
    http::{HeaderName, StatusCode},
};
use library::{Actor, ActorKind};
use web::{
    ApiError, Token, TokenError,
    guard::{check_host, check_site},
};

/// Where a person proves to be one.
const REVIEWER_TOKEN: HeaderName = HeaderName::from_static("x-skillhub-reviewer-token");

/// Who is let in.
pub struct Gate {
    pub(crate) token: Token,
    hosts: Vec<String>,
}

/// What a request came through. It names the agent that whoever has the gateway's token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// The API.
    Api,
    /// The pages, in a browser.
    Pages,
}

impl Surface {
    /// How the history names whoever has not shown to be a person.
    pub fn actor(self) -> Actor {
        Actor::new(ActorKind::Agent, if self == Self::Api { "gateway" } else { "pages" })
    }
}

/// What a request brings besides the gateway's own token.
#[derive(Debug, Clone)]
pub struct Asker {
    /// What it came through.
    pub surface: Surface,
    /// Whether it changes nothing, so that a proof which is over only means that nobody is shown to be a person.
    pub reads: bool,
    /// Whether its method changes nothing.
    pub is_safe: bool,
    /// What a reviewer has to show.
    pub reviewer_token: Option<String>,
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

    pub(crate) fn admit(&self, request: &Request) -> Result<Asker, ApiError> {
        if !self.token.is_in(request.headers()) {
            let message = "the bearer token is missing or wrong";
            return Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
                .hint("the gateway showed it when it started; `Authorization: Bearer …`"));
        }
        let token = request.headers().get(REVIEWER_TOKEN).map(|value| value.to_str().map(str::to_owned));
        let unreadable = |_| ApiError::bad_request("the reviewer's token cannot be read");
        let (is_safe, reviewer_token) = (request.method().is_safe(), token.transpose().map_err(unreadable)?);
        Ok(Asker { surface: Surface::Api, reads: false, is_safe, reviewer_token })
    }
}
