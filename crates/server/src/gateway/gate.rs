//! [`Gate`]: who is let in: who knows the token, and calls us by a name of ours.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
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
    guard::is_for,
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

/// What a request brings besides the gateway's own token.
#[derive(Debug, Clone, Default)]
pub struct Asker {
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

    /// Whether a request brings the token. How long that takes tells nothing of it.
    fn knows(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let (scheme, given) = given.and_then(|value| value.split_once(' ')).unwrap_or_default();
        let same = Sha256::digest(given.trim().as_bytes()) == Sha256::digest(self.token.as_bytes());
        scheme.eq_ignore_ascii_case("bearer") && same
    }

    fn admit(&self, request: &Request) -> Result<Asker, ApiError> {
        if !is_for(&self.hosts, request) {
            return Err(ApiError::new(StatusCode::MISDIRECTED_REQUEST, "wrong_host", "this server has another name")
                .hint("who runs it names it: `skillhub serve --gateway --host NAME`"));
        }
        if !self.knows(request.headers()) {
            let message = "the bearer token is missing or wrong";
            return Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
                .hint("the gateway showed it when it started; `Authorization: Bearer …`"));
        }
        let token = request.headers().get(REVIEWER_TOKEN).map(|value| value.to_str().map(str::to_owned));
        let unreadable = |_| ApiError::bad_request("the reviewer's token cannot be read");
        Ok(Asker { reviewer_token: token.transpose().map_err(unreadable)? })
    }
}

/// Answers a request that is let in, within its time.
pub async fn guard(State(gateway): State<Shared>, mut request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut response = match gateway.gate.admit(&request) {
        Err(refused) => refused.into_response(),
        Ok(asker) => {
            request.extensions_mut().insert(asker);
            match tokio::time::timeout(gateway.limits.request_time, next.run(request)).await {
                Ok(response) => response,
                Err(_) => ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the request took too long")
                    .hint("look at the skill before you try again: a change may be done by now")
                    .into_response(),
            }
        }
    };
    if response.status().is_server_error() {
        let why = response.extensions().get::<Why>().map(|why| why.0.as_str());
        let time = jiff::Timestamp::now().to_string();
        let line = json!({"time": time, "method": method.as_str(), "path": path, "why": why});
        (gateway.log)(&line.to_string());
    }
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
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
