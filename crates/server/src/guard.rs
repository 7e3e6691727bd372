//! [`guard`]: what holds for every request: whom it may be meant for, how long it may take, and what the log says of it.

use std::{
    net::{IpAddr, SocketAddr},
    time::Instant,
};

use axum::{
    extract::{ConnectInfo, Request, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use serde_json::json;
use skill::Limits;

use crate::{
    api::Shared,
    error::{ApiError, Why},
    rate::TooMany,
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Answers a request, or says why not, within its time; and writes a line for it.
pub async fn guard(State(hub): State<Shared>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id = request_id();
    let client = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut response = match admitted(&hub, &request, client) {
        Err(refused) => refused.into_response(),
        Ok(()) => match tokio::time::timeout(hub.settings.limits.request_time, next.run(request)).await {
            Ok(response) => response,
            Err(_) => {
                ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the request took too long").into_response()
            }
        },
    };
    let headers = response.headers_mut();
    headers.extend(HeaderValue::from_str(&id).ok().map(|id| (REQUEST_ID, id)));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    let (status, took) = (response.status(), began.elapsed());
    hub.metrics.count(method.as_str(), status.as_u16(), took);
    if hub.settings.logs_requests || status.is_server_error() {
        let line = json!({
            "time": Timestamp::now().to_string(), "id": id, "client": client, "method": method.as_str(), "path": path,
            "status": status.as_u16(), "ms": took.as_secs_f64() * 1000.0,
            "why": response.extensions().get::<Why>().map(|why| why.0.as_str()),
        });
        (hub.settings.log)(&line.to_string());
    }
    response
}

/// Refuses what is meant for another server, and what comes too often.
fn admitted(hub: &Shared, request: &Request, client: Option<IpAddr>) -> Result<(), ApiError> {
    if !is_for(&hub.settings.hosts, request) {
        return Err(ApiError::new(StatusCode::MISDIRECTED_REQUEST, "wrong_host", "this server has another name")
            .hint("who runs it names it: `skillhub serve --host NAME`"));
    }
    check_length(request)?;
    let (path, is_change) = (request.uri().path(), !matches!(*request.method(), Method::GET | Method::HEAD));
    if is_change && is_of_another_site(request) {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "other_site",
            "a page of another site may change nothing here",
        )
        .hint("open the page on this server"));
    }
    let is_search = matches!(path, "/v1/skills" | "/-/search" | "/api/v1/search" | "/api/v1/skills");
    let is_costly = is_change || is_search || path.contains("/diff/");
    let (true, Some(client)) = (is_costly, client) else { return Ok(()) };
    hub.rate.admit(client, Instant::now()).map_err(|TooMany { retry_after }| ApiError {
        retry_after: Some(retry_after),
        ..ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", "too many requests from this address")
            .hint(format!("try again in {retry_after} s"))
    })
}

/// Refuses a body that says itself that it is too large, before any of it is read.
fn check_length(request: &Request) -> Result<(), ApiError> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let most = Limits::default().archive_bytes;
    if length.is_some_and(|length| length.parse::<u64>().is_ok_and(|length| length > most)) {
        let message = format!("a body has {most} bytes at most");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
            .hint("leave out what agents do not need"));
    }
    Ok(())
}

/// Whether a browser says that another site's page makes it ask.
pub fn is_of_another_site(request: &Request) -> bool {
    request.headers().get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none")
}

/// Whether a request is meant for a server of these names. A page of somebody else that leads a name of its own to this
/// machine's address is stopped here: an address is no name.
pub fn is_for(hosts: &[String], request: &Request) -> bool {
    let Some(name) = asked_for(request) else { return false };
    name.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost") || is_named(hosts, name)
}

/// Whether a server of these names has this one.
pub fn is_named(hosts: &[String], name: &str) -> bool {
    hosts.iter().any(|known| known == "*" || known.eq_ignore_ascii_case(name))
}

/// The name or address that a request asks for, without its port.
pub fn asked_for(request: &Request) -> Option<&str> {
    let given = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host = given.or_else(|| request.uri().host())?;
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    }
}

fn request_id() -> String {
    let mut bytes = [0; 8];
    // Without random bytes there is still a time in the log.
    let _none = getrandom::fill(&mut bytes);
    skill::hex(&bytes)
}
