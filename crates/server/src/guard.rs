//! [`guard`]: host check, rate limits, request timeout, response headers and access log.

use std::{net::IpAddr, time::Instant};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::Response,
};
use jiff::Timestamp;
use serde_json::json;
use skill::Limits;

use web::{
    Client, ErrorCause,
    guard::{Terms, check_host, check_site, identify, is_change},
    pages::session::MARKET,
};

use crate::{
    access::Visibility,
    api::{Shared, run},
    error::ApiError,
    store::{Limited, TooMany},
};

/// Path of the sign-in form.
const SIGN_IN: &str = "/-/sign-in";

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Handles a request within its timeout, or refuses it, and writes the access log.
pub async fn guard(State(hub): State<Shared>, mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    // Without random bytes the request has no id, but its line in the log still has a time.
    let id = web::random::<8>().unwrap_or_default();
    let client = identify(&hub.settings.trusted_proxies, &mut request);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let terms = Terms { session: MARKET, time: hub.settings.limits.request_time, slow_hint: None };
    let limited = admitted(&hub, &request, client);
    let admitted = match limited {
        Ok(Some((kind, client))) => within_rate(&hub, kind, client).await,
        other => other.map(drop),
    };
    let mut response = terms.answer(admitted, request, next).await;
    if hub.settings.visibility == Visibility::Private && !path.starts_with("/-/static/") {
        keep_private(response.headers_mut());
    }
    response.headers_mut().extend(HeaderValue::from_str(&id).ok().map(|id| (REQUEST_ID, id)));
    let (status, took) = (response.status(), began.elapsed());
    hub.metrics.count(method.as_str(), status.as_u16(), took);
    if hub.settings.logs_requests || status.is_server_error() {
        let line = json!({
            "time": Timestamp::now().to_string(), "id": id, "client": client.address, "method": method.as_str(), "path": path,
            "status": status.as_u16(), "ms": took.as_secs_f64() * 1000.0,
            "why": response.extensions().get::<ErrorCause>().map(|why| why.0.as_str()),
        });
        (hub.settings.log)(&line.to_string());
    }
    response
}

/// Keeps shared caches from storing responses of a private index. Archives are never stored; an index file may be
/// stored if it is revalidated.
fn keep_private(headers: &mut HeaderMap) {
    let caching = headers.get(header::CACHE_CONTROL).and_then(|value| value.to_str().ok()).unwrap_or("no-store");
    if caching.contains("private") {
        return;
    }
    let is_checked = caching.contains("no-cache") && !caching.contains("immutable");
    let caching = if is_checked { "private, no-cache" } else { "private, no-store" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
}

/// Refuses requests for another host, from another site, or with too large a body. Returns the rate limit that applies
/// to an admitted one, with the client's address.
fn admitted(hub: &Shared, request: &Request, client: Client) -> Result<Option<(Limited, IpAddr)>, ApiError> {
    check_host(
        &hub.settings.hosts,
        request,
        "ask the server's operator to allow the name with `skillhub serve --host \
                                              NAME`",
    )?;
    check_length(request)?;
    check_site(request)?;
    let (path, is_change) = (request.uri().path(), is_change(request));
    let is_search = matches!(path, "/v1/skills" | "/-/search" | "/api/v1/search" | "/api/v1/skills");
    // Clients fetch every skill that such an index lists.
    let is_index = path.contains("/.well-known/") && path.ends_with("/index.json")
        || path.ends_with("/.claude-plugin/marketplace.json");
    let is_costly = is_change || is_search || is_index || path.contains("/diff/");
    let kind = if is_change && path == SIGN_IN { Limited::SignIn } else { Limited::Costly };
    Ok(client.site().filter(|_| is_costly).map(|client| (kind, client)))
}

/// Refuses a request above the rate limit of its client.
async fn within_rate(hub: &Shared, kind: Limited, client: IpAddr) -> Result<(), ApiError> {
    run(hub, move |hub| {
        hub.stores.rates.admit(kind, client, Instant::now()).map_err(|TooMany { retry_after }| ApiError {
            retry_after: Some(retry_after),
            ..ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", "too many requests from this address")
                .hint(format!("try again in {retry_after} seconds"))
        })
    })
    .await
}

/// Refuses a body whose declared length is too large, before any of it is read.
fn check_length(request: &Request) -> Result<(), ApiError> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let most = Limits::default().archive_bytes;
    if length.is_some_and(|length| length.parse::<u64>().is_ok_and(|length| length > most)) {
        let message = format!("the body must have at most {most} bytes");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
            .hint("remove files that agents do not need"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_answers_stay_out_of_shared_caches() {
        let kept = |before: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.extend(before.map(|value| (header::CACHE_CONTROL, HeaderValue::from_static(value))));
            keep_private(&mut headers);
            headers[header::CACHE_CONTROL].to_str().unwrap().to_owned()
        };
        assert_eq!(kept(Some("max-age=31536000, immutable")), "private, no-store");
        assert_eq!(kept(Some("no-cache, immutable")), "private, no-store");
        assert_eq!(kept(Some("no-cache")), "private, no-cache");
        assert_eq!(kept(Some("no-store")), "private, no-store");
        assert_eq!(kept(Some("private, no-cache")), "private, no-cache");
        assert_eq!(kept(None), "private, no-store");
    }
}
