//! HTTP client of the native tools, restricted to allowed hosts ([`Fetcher`]).

use std::{
    fmt,
    io::{self, Read},
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json};
use ureq::{
    Agent,
    config::Config,
    http::{Response, Uri},
    unversioned::{
        resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver},
        transport::{DefaultConnector, NextTimeout},
    },
};

use super::{address::is_public, gives, html, spec as tool, text};
use crate::host::{Approval, Bounds, ToolFault, ToolSpec};

/// Maximum number of redirects.
const REDIRECTS: usize = 5;
/// Buffer for reading, in bytes.
const PART: usize = 16 * 1024;

/// Maximum delay until a cancellation is noticed.
const NAP: Duration = Duration::from_millis(20);

/// Custom resolver from host names to addresses.
pub type Resolve = dyn Fn(&str) -> Vec<IpAddr> + Send + Sync;

/// Header of a request.
pub(super) struct Header {
    pub name: String,
    pub value: String,
}

pub(super) fn spec() -> ToolSpec {
    tool(
        "web_fetch",
        "Fetch a page from an allowed host.",
        json!({
            "url": text("http or https URL"),
            "max_bytes": {"type": "integer", "minimum": 1, "description": "Size limit; a larger page is an error"},
            "format": {"enum": ["raw", "text"], "default": "raw", "description": "`text` removes HTML markup"},
        }),
        &["url"],
        gives(json!({
            "url": {"type": "string"}, "status": {"type": "integer"}, "content_type": {"type": "string"}, "text": {"type": "string"},
            "content": {"type": "string", "description": "Same as `text`"},
        })),
        Approval::None,
    )
}

#[derive(Deserialize)]
pub(super) struct Fetch {
    url: String,
    max_bytes: Option<u64>,
    format: Option<String>,
}

/// Predicate for allowed addresses.
pub(super) type AddressFilter = Box<dyn Fn(&Uri) -> bool + Send>;

/// HTTP client restricted to an allow list of hosts, which resolves and checks addresses itself.
#[derive(Clone)]
pub(super) struct Fetcher {
    hosts: Vec<String>,
    private: bool,
    most: u64,
    resolve: Option<Arc<Resolve>>,
}

/// Answer of a host.
pub(super) struct Page {
    pub url: String,
    pub status: u16,
    pub content_type: String,
    pub bytes: Vec<u8>,
}

impl Fetcher {
    pub fn new(hosts: Vec<String>, private: bool, most: u64, resolve: Option<Arc<Resolve>>) -> Self {
        Self { hosts, private, most, resolve }
    }

    /// Runs the tool `web_fetch`.
    pub fn fetch(&self, wanted: &Fetch, bounds: &Bounds<'_>) -> Result<Value, ToolFault> {
        let most = self.most.min(wanted.max_bytes.unwrap_or(u64::MAX));
        let fetcher = Self { most, ..self.clone() };
        let listed = self.clone();
        let page = fetcher.get(&wanted.url, Vec::new(), Box::new(move |uri| listed.is_listed(uri)), bounds)?;
        let text = String::from_utf8_lossy(&page.bytes).into_owned();
        let is_html = page.content_type.starts_with("text/html") || page.content_type.starts_with("application/xhtml");
        let text = if wanted.format.as_deref() == Some("text") && is_html { html::page_text(&text) } else { text };
        Ok(json!({
            "url": page.url, "status": page.status, "content_type": page.content_type, "content": text, "text": text,
        }))
    }

    /// Fetches a page in a separate thread, so that a cancelled call does not wait for the server.
    pub fn get(
        &self,
        url: &str,
        headers: Vec<Header>,
        may_ask: AddressFilter,
        bounds: &Bounds<'_>,
    ) -> Result<Page, ToolFault> {
        let (deadline, answer_bytes) = (bounds.deadline, bounds.answer_bytes);
        let (fetcher, url, left) = (self.clone(), url.to_owned(), Arc::new(AtomicBool::new(false)));
        let (tell, told) = mpsc::sync_channel(1);
        let is_left = Arc::clone(&left);
        let work = move || {
            let bounds = Bounds { deadline, cancelled: &is_left, answer_bytes, level: Approval::None };
            let _nobody_waits = tell.send(fetcher.follow(&url, &headers, &may_ask, &bounds));
        };
        let no_thread = |error| ToolFault::transient("io", format!("cannot start a thread: {error}"));
        thread::Builder::new().spawn(work).map_err(no_thread)?;
        loop {
            let wait = bounds.remaining().inspect_err(|_| left.store(true, Ordering::Relaxed))?;
            match told.recv_timeout(wait.min(NAP)) {
                Ok(page) => return page,
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(ToolFault::transient("unreachable", "the page could not be fetched"));
                }
            }
        }
    }

    /// Sends the request and follows redirects to allowed addresses.
    fn follow(
        &self,
        url: &str,
        headers: &[Header],
        may_ask: &AddressFilter,
        bounds: &Bounds<'_>,
    ) -> Result<Page, ToolFault> {
        let mut at = parse(url)?;
        for hop in 0..=REDIRECTS {
            if !may_ask(&at) {
                let place = at.authority().map(ToString::to_string).unwrap_or_default();
                let message = if hop == 0 {
                    format!("{place} is not an allowed host")
                } else {
                    format!("{url} redirects to {place}, which is not an allowed host")
                };
                return Err(ToolFault::permanent("not_allowed", message)
                    .hint("ask a person to allow the host with `hosts = [\"HOST\"]` under [tools] in config.toml"));
            }
            // The headers are only for the first host, since they may contain a secret.
            let sent = if hop == 0 { headers } else { &[] };
            let mut answer = self.ask(&at, sent, bounds)?;
            let status = answer.status().as_u16();
            if !(300..400).contains(&status) || status == 304 {
                // Half of the limit, since the answer contains the page twice.
                return page(&at, status, &mut answer, self.most.min(bounds.answer_bytes as u64 / 2), bounds);
            }
            at = next(&at, &answer)?;
        }
        Err(ToolFault::permanent("too_many_redirects", format!("{url} redirects more than {REDIRECTS} times")))
    }

    fn ask(&self, uri: &Uri, headers: &[Header], bounds: &Bounds<'_>) -> Result<Response<ureq::Body>, ToolFault> {
        let config = Agent::config_builder()
            .timeout_global(Some(bounds.remaining()?))
            .max_redirects(0)
            .http_status_as_error(false)
            .proxy(None)
            .save_redirect_history(false)
            .build();
        let resolver =
            Guarded { private: self.private, resolve: self.resolve.clone(), inner: DefaultResolver::default() };
        let agent = Agent::with_parts(config, DefaultConnector::default(), resolver);
        let mut request = agent.get(uri).header("accept-encoding", "identity").header("user-agent", "skillhub");
        for Header { name, value } in headers {
            request = request.header(name, value);
        }
        request.call().map_err(|error| fault(uri, &error, bounds))
    }

    /// Returns whether the host of an address is on the allow list.
    fn is_listed(&self, uri: &Uri) -> bool {
        let Some(host) = uri.host().map(|host| host.trim_end_matches('.').to_ascii_lowercase()) else { return false };
        let own_port = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        let port = uri.port_u16().unwrap_or(own_port);
        self.hosts.iter().any(|listed| {
            let listed = listed.to_ascii_lowercase();
            let (name, wanted) =
                match listed.rsplit_once(':').and_then(|(name, port)| Some((name.to_owned(), port.parse().ok()?))) {
                    Some((name, port)) => (name, Some(port)),
                    None => (listed.clone(), None),
                };
            let is_host = match name.strip_prefix("*.") {
                Some(above) => host.strip_suffix(above).is_some_and(|sub| sub.ends_with('.')),
                None => name == "*" || name == host,
            };
            is_host && wanted.map_or(port == own_port || name == "*", |wanted: u16| wanted == port)
        })
    }
}

fn parse(url: &str) -> Result<Uri, ToolFault> {
    let fault = |why: &str| {
        ToolFault::permanent("invalid_url", format!("{:?} {why}", url.chars().take(200).collect::<String>()))
    };
    let uri: Uri = url.parse().map_err(|_| fault("is not a valid URL"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(fault("is not an http or https URL"));
    }
    match uri.authority() {
        Some(authority) if authority.as_str().contains('@') => Err(fault("contains a user name, which is never sent")),
        Some(authority) if authority.port_u16().is_none() && has_port(authority.as_str()) => {
            Err(fault("is not a valid URL: the port must be a number up to 65535"))
        }
        Some(authority) if !authority.host().is_empty() => plain_path(&uri).ok_or_else(|| fault("is not a valid URL")),
        _ => Err(fault("has no host")),
    }
}

fn has_port(authority: &str) -> bool {
    authority.rsplit_once(':').is_some_and(|(_, port)| !port.is_empty() && !port.ends_with(']'))
}

/// Removes `.` and `..` from the path of an address.
fn plain_path(uri: &Uri) -> Option<Uri> {
    let path = without_dots(uri.path());
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}://{}{path}{query}", uri.scheme_str()?, uri.authority()?).parse().ok()
}

/// Normalises a path by RFC 3986: drops `.`, and resolves `..` without leaving the root.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut parts = path.trim_start_matches('/').split('/').peekable();
    let slashes = path.len() - path.trim_start_matches('/').len();
    kept.extend(std::iter::repeat_n("", slashes.saturating_sub(1)));
    while let Some(part) = parts.next() {
        if !matches!(part, "." | "..") {
            kept.push(part);
            continue;
        }
        if part == ".." {
            kept.pop();
        }
        if parts.peek().is_none() {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

/// Returns the target of a redirect.
fn next(at: &Uri, answer: &Response<ureq::Body>) -> Result<Uri, ToolFault> {
    let location = answer.headers().get("location").and_then(|value| value.to_str().ok());
    let location =
        location.ok_or_else(|| ToolFault::transient("bad_answer", format!("{at} redirects without a location")))?;
    let origin = format!(
        "{}://{}",
        at.scheme_str().unwrap_or("http"),
        at.authority().map_or("", |authority| authority.as_str())
    );
    let location = location.split('#').next().unwrap_or_default();
    let is_whole = location.split(['/', '?']).next().is_some_and(|first| first.contains(':'));
    let target = match location {
        "" => return Err(ToolFault::transient("bad_answer", format!("{at} redirects to itself"))),
        whole if is_whole => whole.to_owned(),
        other if other.starts_with("//") => format!("{}:{other}", at.scheme_str().unwrap_or("http")),
        path if path.starts_with('/') => format!("{origin}{path}"),
        query if query.starts_with('?') => format!("{origin}{}{query}", at.path()),
        relative => {
            let folder = at.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            format!("{origin}{folder}/{relative}")
        }
    };
    let target = parse(&target)?;
    match (at.scheme_str(), target.scheme_str()) {
        (Some("https"), Some("http")) => {
            Err(ToolFault::permanent("not_allowed", format!("{at} redirects to {target}, which is not encrypted")))
        }
        _ => Ok(target),
    }
}

fn page(
    at: &Uri,
    status: u16,
    answer: &mut Response<ureq::Body>,
    most: u64,
    bounds: &Bounds<'_>,
) -> Result<Page, ToolFault> {
    if status >= 400 {
        let message = format!("{at} returned HTTP status {status}");
        let passes = status >= 500 || matches!(status, 408 | 425 | 429);
        return Err(if passes {
            ToolFault::transient("bad_status", message)
        } else {
            ToolFault::permanent("bad_status", message)
        });
    }
    let header =
        |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let (content_type, coding) = (header("content-type"), header("content-encoding"));
    if !matches!(coding.as_str(), "" | "identity") {
        return Err(ToolFault::permanent(
            "bad_answer",
            format!("{at} sent the encoding {coding}, which was not requested"),
        ));
    }
    let mut bytes = Vec::new();
    let mut body = answer.body_mut().as_reader();
    let mut part = [0; PART];
    loop {
        bounds.remaining()?;
        let count = match body.read(&mut part) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                bounds.remaining()?;
                return Err(ToolFault::transient("unreachable", format!("{at}: {error}")));
            }
        };
        bytes.extend_from_slice(&part[..count]);
        if bytes.len() as u64 > most {
            return Err(ToolFault::permanent("too_large", format!("{at} sent more than {most} bytes")));
        }
    }
    Ok(Page { url: at.to_string(), status, content_type, bytes })
}

fn fault(uri: &Uri, error: &ureq::Error, bounds: &Bounds<'_>) -> ToolFault {
    if let ureq::Error::Io(inner) = error
        && inner.kind() == io::ErrorKind::PermissionDenied
    {
        return ToolFault::permanent("not_allowed", format!("{uri}: {inner}")).hint(
            "ask a person to allow private addresses with `private_addresses = true` under [tools] in \
                   config.toml",
        );
    }
    match (bounds.remaining(), error) {
        (Err(over), _) => over,
        (Ok(_), ureq::Error::Timeout(_)) => ToolFault::transient("timeout", format!("{uri} did not respond in time")),
        (Ok(_), error) => ToolFault::transient("unreachable", format!("{uri}: {error}")),
    }
}

/// Resolver that drops addresses that are not allowed. The connection uses its result, so that a changed DNS answer
/// has no effect (DNS rebinding).
struct Guarded {
    private: bool,
    resolve: Option<Arc<Resolve>>,
    inner: DefaultResolver,
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("private", &self.private).finish_non_exhaustive()
    }
}

impl Resolver for Guarded {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let host = uri.host().unwrap_or_default();
        let found: Vec<SocketAddr> = match &self.resolve {
            Some(resolve) => {
                let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
                resolve(host).into_iter().map(|address| SocketAddr::new(address, port)).collect()
            }
            None => self.inner.resolve(uri, config, timeout)?.iter().copied().collect(),
        };
        let mut allowed = self.empty();
        for address in found.into_iter().filter(|address| self.private || is_public(address.ip())).take(16) {
            allowed.push(address);
        }
        match allowed.is_empty() {
            true => {
                let message = format!("{host} has only addresses of this machine or its network");
                Err(ureq::Error::Io(io::Error::new(io::ErrorKind::PermissionDenied, message)))
            }
            false => Ok(allowed),
        }
    }
}
