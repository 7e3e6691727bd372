//! [`get`]: downloads one file over http or https into memory.

use std::{
    io::{ErrorKind, Read},
    time::Duration,
};

use rustls::CertificateError;
use skill::{
    failure::{Fails, Failure, FailureKind},
    uri::{self, authority, scheme, without_user},
};
use thiserror::Error;
use ureq::{
    Agent,
    http::{
        Response,
        header::{AUTHORIZATION, CONTENT_TYPE, IF_NONE_MATCH, LOCATION},
    },
    tls::TlsConfig,
};

use crate::transport::{self, Transport, TrustError};

/// Timeouts for a whole request and for establishing its connection.
const TIME_LIMIT: Duration = Duration::from_secs(120);
const CONNECT_LIMIT: Duration = Duration::from_secs(20);

/// Maximum number of redirects followed.
const MOST_REDIRECTS: u32 = 5;

/// Reasons why an HTTP request failed.
#[derive(Debug, Error)]
pub enum HttpError {
    /// The connection failed, broke off, or never returned a response.
    #[error("cannot fetch {url}: {message}")]
    Unreached {
        /// URL of the request.
        url: String,
        /// Message of the HTTP client.
        message: String,
    },
    /// The connection was refused, as from a server that is still starting.
    #[error("cannot reach {url}: the connection was refused")]
    Refused {
        /// URL of the request.
        url: String,
    },
    /// The server does not have the file.
    #[error("{url} was not found (HTTP status {status})")]
    NotFound {
        /// URL of the request.
        url: String,
        /// HTTP status of the response.
        status: u16,
    },
    /// The server responded with another status.
    #[error("cannot fetch {url}: HTTP status {status}")]
    Status {
        /// URL of the request.
        url: String,
        /// HTTP status of the response.
        status: u16,
    },
    /// The body is larger than allowed.
    #[error("{url} is larger than the limit of {limit} bytes")]
    TooLarge {
        /// URL of the request.
        url: String,
        /// Limit in bytes.
        limit: u64,
    },
    /// The server's certificate is not signed by a trusted authority, or not issued for this host.
    #[error("cannot trust the certificate of {url}: {message}")]
    Untrusted {
        /// URL of the request.
        url: String,
        /// Problem with the certificate.
        message: String,
    },
    /// The trusted root certificates cannot be read.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The token was not sent, because it would travel unencrypted to another machine.
    #[error("refused to send a token to {url} without encryption")]
    PlainToken {
        /// URL of the request.
        url: String,
    },
    /// The server redirects to a URL that is not followed.
    #[error("{url} redirects to {to:?}, which skillhub does not follow")]
    Redirect {
        /// URL that redirected.
        url: String,
        /// Target as given by the server.
        to: String,
    },
}

impl Fails for HttpError {
    fn failure(&self) -> Failure {
        match self {
            Self::Unreached { .. } | Self::Refused { .. } | Self::Status { .. } => {
                Failure::new(FailureKind::Unreachable, "network")
                    .hint("check the URL and the network and try again, or download the file yourself and install that")
            }
            Self::NotFound { .. } => Failure::new(FailureKind::NotFound, "not_found").hint("check the URL"),
            Self::TooLarge { .. } => {
                Failure::new(FailureKind::Invalid, "too_large").hint("check the URL: no skill is that large")
            }
            Self::Untrusted { .. } => untrusted(),
            Self::Trust(error) => error.failure(),
            Self::PlainToken { .. } => Failure::new(FailureKind::Refused, "insecure")
                .hint("use an https:// URL, or add --insecure if you trust the network"),
            Self::Redirect { .. } => Failure::new(FailureKind::Unreachable, "network")
                .hint("use the URL that it redirects to, if you trust it"),
        }
    }
}

impl HttpError {
    /// Returns the failure of a request whose answer is not a file, so that a download by hand would not help.
    pub(crate) fn of_server(&self) -> Failure {
        let failure = self.failure();
        match self {
            Self::Unreached { url, .. } | Self::Refused { url } => failure.hint(format!(
                "check that the server at {}://{} is running and that its URL is right, then run the command again",
                scheme(url),
                authority(&without_user(url))
            )),
            _ => failure,
        }
    }
}

/// Returns the failure for a server, or a git server, whose certificate is not trusted.
pub(crate) fn untrusted() -> Failure {
    Failure::new(FailureKind::Unreachable, "untrusted_certificate").hint(
        "if your own CA issued it, add --ca-file FILE with the CA's certificate in PEM format, or set SSL_CERT_FILE; \
         a server must not use the CA's certificate as its own",
    )
}

/// Creates a client for one URL. Loopback addresses bypass the proxy. Root certificates are loaded for https only.
fn agent(url: &str) -> Result<Agent, TrustError> {
    agent_within(url, TIME_LIMIT, CONNECT_LIMIT)
}

/// Creates a client for URLs of one origin, which follows no redirects and returns responses of any status, with time
/// limits for a whole request and for establishing its connection.
///
/// # Errors
/// [`TrustError`] when the root certificates cannot be read.
pub fn agent_within(url: &str, time_limit: Duration, connect_limit: Duration) -> Result<Agent, TrustError> {
    let config = Agent::config_builder()
        .timeout_global(Some(time_limit))
        .timeout_connect(Some(connect_limit))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .user_agent(concat!("skillhub/", env!("CARGO_PKG_VERSION")));
    let config = if transport::is_loopback(url) { config.proxy(None) } else { config };
    let config = match scheme(url) {
        "https" => config.tls_config(TlsConfig::builder().root_certs(transport::roots()?).build()),
        _ => config,
    };
    Ok(config.build().into())
}

fn unreached(url: &str, error: &ureq::Error) -> HttpError {
    let (url, message) = (url.to_owned(), error.to_string());
    let of_tls = match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref().and_then(|inner| inner.downcast_ref()),
        _ => None,
    };
    match (of_tls, error) {
        (Some(rustls::Error::InvalidCertificate(fault)), _) => HttpError::Untrusted { url, message: fault_of(fault) },
        (_, ureq::Error::Io(io)) if io.kind() == ErrorKind::ConnectionRefused => HttpError::Refused { url },
        _ => HttpError::Unreached { url, message },
    }
}

/// Describes the problem with a certificate.
fn fault_of(fault: &CertificateError) -> String {
    match fault {
        CertificateError::UnknownIssuer => "its issuer is not trusted on this machine".to_owned(),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it was issued for another host".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired".to_owned(),
        other => match other.to_string() {
            text if text.contains("CaUsedAsEndEntity") => "it is a CA's own certificate".to_owned(),
            text => text,
        },
    }
}

/// Downloads the file at an `http://` or `https://` URL, of at most `limit` bytes. Redirects are followed to URLs of
/// the same scheme.
pub(crate) fn get(url: &str, limit: u64) -> Result<Vec<u8>, HttpError> {
    let mut url = url.to_owned();
    for _ in 0..=MOST_REDIRECTS {
        let answer = agent(&url)?.get(&url).call().map_err(|error| unreached(&url, &error))?;
        let status = answer.status().as_u16();
        url = match status {
            200 => return read(answer, &url, limit),
            301 | 302 | 303 | 307 | 308 => next(&url, &answer)?,
            404 | 410 => return Err(HttpError::NotFound { url, status }),
            _ => return Err(HttpError::Status { url, status }),
        };
    }
    Err(HttpError::Redirect { to: "another URL, after too many redirects".to_owned(), url })
}

/// Parts of an HTTP request besides the URL.
#[derive(Debug, Default)]
pub(crate) struct HttpRequest<'a> {
    /// HTTP method; empty for `GET`.
    pub method: &'a str,
    /// Bearer token, sent as the `Authorization` header.
    pub token: Option<&'a str>,
    /// ETag of the local copy, for a conditional request.
    pub etag: Option<&'a str>,
    /// Content type and bytes of the body.
    pub body: Option<(&'a str, &'a [u8])>,
}

/// Response to a request.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    /// HTTP status of the response.
    pub status: u16,
    /// URL to which the server redirects, without credentials.
    pub redirect: Option<String>,
    /// Body, complete and within the limit.
    pub bytes: Vec<u8>,
}

/// Sends a request and returns the response whatever its status, with a body of at most `limit` bytes. Redirects are
/// not followed, because the token is meant for this URL. Without TLS, a token is sent only to loopback addresses,
/// unless the chosen [`Transport`] allows more.
pub(crate) fn ask(url: &str, ask: &HttpRequest<'_>, limit: u64) -> Result<HttpResponse, HttpError> {
    let invalid =
        |error: &dyn std::fmt::Display| HttpError::Unreached { url: url.to_owned(), message: error.to_string() };
    let mut request =
        ureq::http::Request::builder().uri(url).method(if ask.method.is_empty() { "GET" } else { ask.method });
    if let Some(token) = ask.token {
        check_token_may_go(url)?;
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    if let Some(etag) = ask.etag {
        request = request.header(IF_NONE_MATCH, etag);
    }
    if let Some((kind, _)) = ask.body {
        request = request.header(CONTENT_TYPE, kind);
    }
    let request = request.body(ask.body.map_or_else(Vec::new, |(_, bytes)| bytes.to_vec()));
    let request = request.map_err(|error| invalid(&error))?;
    let answer = agent(url)?.run(request).map_err(|error| unreached(url, &error))?;
    let (status, redirect) = (answer.status().as_u16(), target_of(url, &answer));
    Ok(HttpResponse { status, redirect, bytes: read(answer, url, limit)? })
}

/// Checks that a token may be sent to a URL.
///
/// # Errors
/// [`HttpError::PlainToken`]
pub fn check_token_may_go(url: &str) -> Result<(), HttpError> {
    if Transport::chosen().may_carry_token(url) { Ok(()) } else { Err(HttpError::PlainToken { url: url.to_owned() }) }
}

fn read(answer: Response<ureq::Body>, url: &str, limit: u64) -> Result<Vec<u8>, HttpError> {
    let mut bytes = Vec::new();
    let read = answer.into_body().into_reader().take(limit.saturating_add(1)).read_to_end(&mut bytes);
    match read {
        Ok(_) if bytes.len() as u64 > limit => Err(HttpError::TooLarge { url: url.to_owned(), limit }),
        Ok(_) => Ok(bytes),
        Err(error) => Err(HttpError::Unreached { url: url.to_owned(), message: error.to_string() }),
    }
}

/// Returns the target of a redirect, if it may be followed.
fn next(url: &str, answer: &Response<ureq::Body>) -> Result<String, HttpError> {
    let to = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let next = uri::join(url, to);
    let shown = without_user(next.as_deref().unwrap_or(to));
    let refused = || HttpError::Redirect { url: url.to_owned(), to: shown.clone() };
    let next = next.ok_or_else(refused)?;
    let is_same = scheme(&next) == scheme(url) && !authority(&next).contains('@');
    if is_same { Ok(next) } else { Err(refused()) }
}

/// Returns the URL to which a server redirects, with the credentials removed. `None` if it does not redirect to a URL.
pub(crate) fn redirect_target(url: &str) -> Option<String> {
    target_of(url, &agent(url).ok()?.get(url).call().ok()?)
}

fn target_of(url: &str, answer: &Response<ureq::Body>) -> Option<String> {
    let to = answer.headers().get(LOCATION)?.to_str().ok()?;
    uri::join(url, to).map(|to| without_user(&to).replacen("…@", "", 1))
}

#[cfg(test)]
mod tests;
