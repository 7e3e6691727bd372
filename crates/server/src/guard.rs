//! [`guard`]: host check, limits, time limit, headers and access log of every request.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    time::Instant,
};

use axum::{
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::Response,
};
use jiff::Timestamp;
use serde_json::json;
use skill::Limits;

use crate::{
    access::Visibility,
    api::Shared,
    error::{ApiError, Why},
    pages::{reader::Refusal, session::MARKET},
    proxies::{Client, TrustedProxies},
    rate::TooMany,
};

/// The path of the form for signing in.
const SIGN_IN: &str = "/-/sign-in";

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Answers a request, or says why not, within its time; and writes a line for it.
pub async fn guard(State(hub): State<Shared>, mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id = request_id();
    let client = identify(&hub.settings.trusted_proxies, &mut request);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let (request, page) = Refusal::split(request, MARKET);
    let mut response = match admitted(&hub, &request, client) {
        Err(refused) => page.of(refused),
        Ok(()) => match tokio::time::timeout(hub.settings.limits.request_time, next.run(request)).await {
            Ok(response) => response,
            Err(_) => page.of(ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the request took too long")),
        },
    };
    if hub.settings.visibility == Visibility::Private && !path.starts_with("/-/static/") {
        keep_private(response.headers_mut());
    }
    let headers = response.headers_mut();
    headers.extend(HeaderValue::from_str(&id).ok().map(|id| (REQUEST_ID, id)));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    let (status, took) = (response.status(), began.elapsed());
    hub.metrics.count(method.as_str(), status.as_u16(), took);
    if hub.settings.logs_requests || status.is_server_error() {
        let line = json!({
            "time": Timestamp::now().to_string(), "id": id, "client": client.address, "method": method.as_str(), "path": path,
            "status": status.as_u16(), "ms": took.as_secs_f64() * 1000.0,
            "why": response.extensions().get::<Why>().map(|why| why.0.as_str()),
        });
        (hub.settings.log)(&line.to_string());
    }
    response
}

/// Finds out who sent a request, and leaves that with it for handlers.
pub fn identify(proxies: &TrustedProxies, request: &mut Request) -> Client {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let client = proxies.client(peer, request.headers());
    request.extensions_mut().insert(client);
    client
}

/// Keeps shared caches from storing what only some may read. Archives are not stored at all; an index file may be, if it
/// is asked for again.
fn keep_private(headers: &mut HeaderMap) {
    let caching = headers.get(header::CACHE_CONTROL).and_then(|value| value.to_str().ok()).unwrap_or("no-store");
    if caching.contains("private") {
        return;
    }
    let is_checked = caching.contains("no-cache") && !caching.contains("immutable");
    let caching = if is_checked { "private, no-cache" } else { "private, no-store" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
}

/// Refuses what is meant for another server, and what comes too often.
fn admitted(hub: &Shared, request: &Request, client: Client) -> Result<(), ApiError> {
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
    // Clients fetch every skill that such an index names.
    let is_index = path.contains("/.well-known/") && path.ends_with("/index.json");
    let is_costly = is_change || is_search || is_index || path.contains("/diff/");
    let rate = if is_change && path == SIGN_IN { &hub.rates.sign_ins } else { &hub.rates.costly };
    let (true, Some(client)) = (is_costly, client.site()) else { return Ok(()) };
    rate.admit(client, Instant::now()).map_err(|TooMany { retry_after }| ApiError {
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

/// The name or address that a request asks for, without its port; `None` for a `Host` that is missing, sent twice, or
/// more than a name and a port (RFC 9110, 7.2).
pub fn asked_for(request: &Request) -> Option<&str> {
    let mut given = request.headers().get_all(header::HOST).iter();
    let host = match (given.next(), given.next()) {
        (Some(host), None) => host.to_str().ok()?,
        (None, _) => request.uri().authority()?.as_str(),
        (Some(_), Some(_)) => return None,
    };
    name_of_host(host)
}

fn name_of_host(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            address.parse::<Ipv6Addr>().ok()?;
            (address, port)
        }
        None => {
            let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            if name.is_empty() || !name.bytes().all(is_plain) {
                return None;
            }
            (name, port)
        }
    };
    match port.strip_prefix(':') {
        None if port.is_empty() => Some(name),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok() => Some(name),
        _ => None,
    }
}

fn request_id() -> String {
    let mut bytes = [0; 8];
    // Without random bytes there is still a time in the log.
    let _none = getrandom::fill(&mut bytes);
    skill::hex(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_a_name_and_a_port() {
        for (host, name) in [
            ("localhost", "localhost"),
            ("127.0.0.1:8700", "127.0.0.1"),
            ("[::1]:80", "::1"),
            ("[::1]", "::1"),
            ("skills.example.org:443", "skills.example.org"),
        ] {
            assert_eq!(name_of_host(host), Some(name), "{host}");
        }
        for host in [
            "",
            ":80",
            "127.0.0.1:1@evil.example",
            "localhost@evil.example",
            "localhost:80@evil.example:80",
            "localhost/evil.example",
            "localhost:",
            "localhost:x",
            "localhost:99999",
            "localhost:+1",
            "localhost?x",
            "local host",
            "[::1",
            "[::1]x",
            "[::1]:80@evil.example",
            "[evil.example]",
        ] {
            assert_eq!(name_of_host(host), None, "{host}");
        }
    }

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
