//! Checks of every request ([`guard`]), and of the token of an API request ([`bearer`]).

use axum::{
    extract::{Request, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde_json::json;
use web::{
    ApiError, ErrorCause,
    guard::{Terms, identify},
    pages::session::LIBRARY,
};

use crate::{
    gateway::{RequestCredentials, Shared, Surface},
    http_auth::HttpAuth,
};

/// Header with the token of a reviewer, which proves a person.
const REVIEWER_TOKEN: HeaderName = HeaderName::from_static("x-skillhub-reviewer-token");

/// Admits requests that carry the gateway's token.
pub async fn bearer(State(gateway): State<Shared>, mut request: Request, next: Next) -> Response {
    match admit(&gateway.gate, &request) {
        Err(refused) => refused.into_response(),
        Ok(asker) => {
            request.extensions_mut().insert(asker);
            next.run(request).await
        }
    }
}

fn admit(gate: &HttpAuth, request: &Request) -> Result<RequestCredentials, ApiError> {
    if !gate.token.is_in(request.headers()) {
        let message = "missing or wrong bearer token";
        return Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
            .hint("send the token that the gateway printed at startup as `Authorization: Bearer …`"));
    }
    let token = request.headers().get(REVIEWER_TOKEN).map(|value| value.to_str().map(str::to_owned));
    let unreadable = |_| ApiError::bad_request("the reviewer's token is malformed");
    let (is_safe, reviewer_token) = (request.method().is_safe(), token.transpose().map_err(unreadable)?);
    Ok(RequestCredentials { surface: Surface::Api, reads: false, is_safe, reviewer_token })
}

/// Checks a request, and runs its handler within the time limit.
pub async fn guard(State(gateway): State<Shared>, mut request: Request, next: Next) -> Response {
    identify(&gateway.proxies, &mut request);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let slow_hint = Some("check the skill before you retry; the change may have been made");
    let terms = Terms { session: LIBRARY, time: gateway.limits.request_time, slow_hint };
    let mut response = terms.answer(gateway.gate.check(&request), request, next).await;
    if response.status().is_server_error() {
        let why = response.extensions().get::<ErrorCause>().map(|why| why.0.as_str());
        let time = jiff::Timestamp::now().to_string();
        let line = json!({"time": time, "method": method.as_str(), "path": path, "why": why});
        (gateway.log)(&line.to_string());
    }
    // Pages set their own cache policy.
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
