//! [`Terms`] of an answer, and what is asked of a request before its handler sees it: who sent it, and by which name.

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

/// How a server answers any request.
pub struct Terms {
    /// The cookie by which its pages know who has signed in.
    pub session: &'static str,
    /// How long an answer may take.
    pub time: Duration,
    /// What to do after a request that took longer.
    pub slow_hint: Option<&'static str>,
}

impl Terms {
    /// Answers a request that was admitted, or says why it was not.
    pub async fn answer(&self, admitted: Result<(), ApiError>, request: Request, next: Next) -> Response {
        let (request, page) = Refusal::split(request, self.session);
        let mut response = match admitted {
            Err(refused) => page.of(refused),
            Ok(()) => match tokio::time::timeout(self.time, next.run(request)).await {
                Ok(response) => response,
                Err(_) => page.of(ApiError {
                    hint: self.slow_hint.map(str::to_owned),
                    ..ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the request took too long")
                }),
            },
        };
        let headers = response.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        response
    }
}

/// Finds out who sent a request, and leaves that with it for handlers.
pub fn identify(proxies: &TrustedProxies, request: &mut Request) -> Client {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let client = proxies.client(peer, request.headers());
    request.extensions_mut().insert(client);
    client
}

/// Refuses what is meant for a server of other names; `hint` is how this one gets a name.
///
/// # Errors
/// [`ApiError`] with 421.
pub fn check_host(hosts: &[String], request: &Request, hint: &str) -> Result<(), ApiError> {
    match is_for(hosts, request) {
        true => Ok(()),
        false => {
            let message = "this server has another name";
            Err(ApiError::new(StatusCode::MISDIRECTED_REQUEST, "wrong_host", message).hint(hint))
        }
    }
}

/// Refuses a change that a browser says another site's page makes it ask for.
///
/// # Errors
/// [`ApiError`] with 403.
pub fn check_site(request: &Request) -> Result<(), ApiError> {
    let site = request.headers().get("sec-fetch-site");
    if !is_change(request) || site.is_none_or(|site| site == "same-origin" || site == "none") {
        return Ok(());
    }
    let message = "a page of another site may change nothing here";
    Err(ApiError::new(StatusCode::FORBIDDEN, "other_site", message).hint("open the page on this server"))
}

/// Whether a request may change something.
#[must_use]
pub fn is_change(request: &Request) -> bool {
    !matches!(*request.method(), Method::GET | Method::HEAD)
}

/// Whether a request is meant for a server of these names. A page of somebody else that leads a name of its own to this
/// machine's address is stopped here: an address is no name.
fn is_for(hosts: &[String], request: &Request) -> bool {
    let Some(name) = asked_for(request) else { return false };
    name.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost") || is_named(hosts, name)
}

/// Whether a server of these names has this one.
#[must_use]
pub fn is_named(hosts: &[String], name: &str) -> bool {
    hosts.iter().any(|known| known == "*" || known.eq_ignore_ascii_case(name))
}

/// The name or address that a request asks for, without its port; `None` for a `Host` that is missing, sent twice, or
/// more than a name and a port (RFC 9110, 7.2).
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
}
