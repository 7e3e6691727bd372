//! [`guard`] and [`bearer`]: what a request has to bring.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde_json::json;
use web::{
    Why,
    guard::{Terms, identify},
    pages::session::LIBRARY,
};

use crate::gateway::Shared;

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
    let slow_hint = Some("look at the skill before you try again: a change may be done by now");
    let terms = Terms { session: LIBRARY, time: gateway.limits.request_time, slow_hint };
    let mut response = terms.answer(gateway.gate.check(&request), request, next).await;
    if response.status().is_server_error() {
        let why = response.extensions().get::<Why>().map(|why| why.0.as_str());
        let time = jiff::Timestamp::now().to_string();
        let line = json!({"time": time, "method": method.as_str(), "path": path, "why": why});
        (gateway.log)(&line.to_string());
    }
    // Pages say themselves what may be kept of them.
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
