//! Checks of a request before its handler runs (host, site, client), and the [`Terms`] of every response.
//!
//! `tower-http` has no layer for it: every refusal, that of the time limit included, is an [`ApiError`], shown as a page
//! or a document by what the client reads.

use std::{
    net::{IpAddr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use axum::{
    extract::{ConnectInfo, Request},
    http::{HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::Response,
};

use crate::{
    error::ApiError,
    pages::Refusal,
    proxies::{Client, TrustedProxies},
};

/// Settings for every response of a server: session cookie and time limit.
pub struct Terms {
    /// Name of the cookie that identifies a session of the server's pages.
    pub session: &'static str,
    /// Time limit for a response.
    pub time: Duration,
    /// Hint for clients whose request exceeded the time limit.
    pub slow_hint: Option<&'static str>,
}

impl Terms {
    /// Runs the handler of an admitted request, within the time limit, or answers with the refusal.
    /// Adds the security headers that all responses have.
    pub async fn answer(&self, admitted: Result<(), ApiError>, request: Request, next: Next) -> Response {
        let (request, page) = Refusal::split(request, self.session);
        let mut response = match admitted {
            Err(refused) => page.of(refused),
            Ok(()) => match tokio::time::timeout(self.time, next.run(request)).await {
                Ok(response) => response,
                Err(_) => page.of(ApiError {
                    hint: self.slow_hint.map(str::to_owned),
                    ..ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the request timed out")
                }),
            },
        };
        let headers = response.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        response
    }
}

/// Determines the client of a request, and stores it in the request's extensions for handlers.
pub fn identify(proxies: &TrustedProxies, request: &mut Request) -> Client {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let client = proxies.client(peer, request.headers());
    request.extensions_mut().insert(client);
    client
}

/// Rejects a request for another host name; `hint` explains how to configure one.
///
/// # Errors
/// [`ApiError`] with 421.
pub fn check_host(hosts: &[String], request: &Request, hint: &str) -> Result<(), ApiError> {
    match is_for(hosts, request) {
        true => Ok(()),
        false => {
            let message = "this server does not have that host name";
            Err(ApiError::new(StatusCode::MISDIRECTED_REQUEST, "wrong_host", message).hint(hint))
        }
    }
}

/// Rejects a state-changing request that, according to the browser, another site's page initiated.
///
/// # Errors
/// [`ApiError`] with 403.
pub fn check_site(request: &Request) -> Result<(), ApiError> {
    let site = request.headers().get("sec-fetch-site");
    if !is_change(request) || site.is_none_or(|site| site == "same-origin" || site == "none") {
        return Ok(());
    }
    let message = "a page of another site may not change anything here";
    Err(ApiError::new(StatusCode::FORBIDDEN, "other_site", message).hint("open the page on this server"))
}

/// Returns whether the method of a request may change something.
#[must_use]
pub fn is_change(request: &Request) -> bool {
    !matches!(*request.method(), Method::GET | Method::HEAD)
}

/// Returns whether a request is meant for a server with these names.
/// This blocks DNS rebinding, in which a foreign page points its own name at this machine. IP addresses are safe, as
/// they cannot be rebound.
fn is_for(hosts: &[String], request: &Request) -> bool {
    let Some(name) = asked_for(request) else { return false };
    name.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost") || is_named(hosts, name)
}

/// Returns whether a server with these names has the given one. The name `*` matches all.
#[must_use]
pub fn is_named(hosts: &[String], name: &str) -> bool {
    hosts.iter().any(|known| known == "*" || known.eq_ignore_ascii_case(name))
}

/// Returns the host name or address that a request is for, without its port.
/// `None` if the `Host` header is missing, repeated, or more than a name and a port (RFC 9110, 7.2).
#[must_use]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_name_and_port() {
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
            "", ":80", "127.0.0.1:1@evil.example", "localhost@evil.example", "localhost:80@evil.example:80",
            "localhost/evil.example", "localhost:", "localhost:x", "localhost:99999", "localhost:+1", "localhost?x",
            "local host", "[::1", "[::1]x", "[::1]:80@evil.example", "[evil.example]",
        ] {
            assert_eq!(name_of_host(host), None, "{host}");
        }
    }
}
