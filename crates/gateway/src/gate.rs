//! [`Gate`]: who is let in: who knows the token, or has signed in with it, and calls us by a name of ours.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use library::{Actor, ActorKind};
use serde_json::json;
use sha2::{Digest, Sha256};
use skill::{
    failure::{Fails, Failure, FailureKind},
    hex,
};
use thiserror::Error;

use super::Shared;
use crate::{
    error::{ApiError, Why},
    guard::{identify, is_for, is_of_another_site},
    pages::{reader::Refusal, session::LIBRARY},
};

/// Characters that a token has at least.
const TOKEN_CHARS: usize = 16;

/// Random bytes of a token that we make.
const TOKEN_BYTES: usize = 32;

/// Where a person proves to be one.
const REVIEWER_TOKEN: HeaderName = HeaderName::from_static("x-skillhub-reviewer-token");

/// Who is let in.
pub struct Gate {
    token: String,
    hosts: Vec<String>,
}

/// Why there is no gate.
#[derive(Debug, Error)]
pub enum GateError {
    /// The token is too easy to guess, or is none that a header can hold.
    #[error("the token has to have {TOKEN_CHARS} characters at least, printable ASCII without spaces")]
    Token,
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
}

impl Fails for GateError {
    fn failure(&self) -> Failure {
        match self {
            Self::Token => Failure::new(FailureKind::Usage, "usage").hint("unset it, and a good one is made"),
            Self::Random(_) => Failure::io(),
        }
    }
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
    /// [`GateError`]
    pub fn new(token: Option<String>, hosts: Vec<String>) -> Result<Self, GateError> {
        let token = match token {
            Some(token) if token.len() >= TOKEN_CHARS && token.bytes().all(|byte| byte.is_ascii_graphic()) => token,
            Some(_) => return Err(GateError::Token),
            None => {
                let mut bytes = [0; TOKEN_BYTES];
                getrandom::fill(&mut bytes).map_err(GateError::Random)?;
                hex(&bytes)
            }
        };
        Ok(Self { token, hosts })
    }

    /// The token.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Whether this is the token. How long that takes tells nothing of it.
    pub fn is_token(&self, given: &str) -> bool {
        Sha256::digest(given.trim().as_bytes()) == Sha256::digest(self.token.as_bytes())
    }

    /// Whether a request brings the token.
    fn knows(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let (scheme, given) = given.and_then(|value| value.split_once(' ')).unwrap_or_default();
        scheme.eq_ignore_ascii_case("bearer") && self.is_token(given)
    }

    /// Refuses what is meant for another server, or sent by a page of one.
    fn check(&self, request: &Request) -> Result<(), ApiError> {
        if !is_for(&self.hosts, request) {
            return Err(ApiError::new(StatusCode::MISDIRECTED_REQUEST, "wrong_host", "this server has another name")
                .hint("who runs it names it: `skillhub serve --gateway --host NAME`"));
        }
        let is_change = !matches!(*request.method(), Method::GET | Method::HEAD);
        if is_change && is_of_another_site(request) {
            let message = "a page of another site may change nothing here";
            return Err(
                ApiError::new(StatusCode::FORBIDDEN, "other_site", message).hint("open the page on this server")
            );
        }
        Ok(())
    }

    fn admit(&self, request: &Request) -> Result<Asker, ApiError> {
        if !self.knows(request.headers()) {
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

/// Lets in who brings the token.
pub async fn bearer(State(gateway): State<Shared>, mut request: Request, next: Next) -> Response {
    match gateway.gate.admit(&request) {
        Err(refused) => refused.into_response(),
        Ok(asker) => {
            request.extensions_mut().insert(asker);
            next.run(request).await
        }
    }
}

/// Answers a request that is meant for us, within its time.
pub async fn guard(State(gateway): State<Shared>, mut request: Request, next: Next) -> Response {
    identify(&gateway.proxies, &mut request);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let (request, page) = Refusal::split(request, LIBRARY);
    let mut response = match gateway.gate.check(&request) {
        Err(refused) => page.of(refused),
        Ok(()) => match tokio::time::timeout(gateway.limits.request_time, next.run(request)).await {
            Ok(response) => response,
            Err(_) => page.of(ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the request took too long")
                .hint("look at the skill before you try again: a change may be done by now")),
        },
    };
    if response.status().is_server_error() {
        let why = response.extensions().get::<Why>().map(|why| why.0.as_str());
        let time = jiff::Timestamp::now().to_string();
        let line = json!({"time": time, "method": method.as_str(), "path": path, "why": why});
        (gateway.log)(&line.to_string());
    }
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    // Pages say themselves what may be kept of them.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_made_anew_each_time() {
        let made = || Gate::new(None, Vec::new()).unwrap().token;
        assert_eq!(made().len(), 2 * TOKEN_BYTES);
        assert_ne!(made(), made());
        for bad in ["", "short", "sixteen letters and spaces", "zeilenumbruch-im-token\n"] {
            assert!(Gate::new(Some(bad.to_owned()), Vec::new()).is_err(), "{bad:?}");
        }
    }
}
