//! [`Settings`]: the configuration of a server. Every limit is a field with its unit in its name.

use std::{net::SocketAddr, path::PathBuf};

use web::{ServerLimits, TrustedProxies};

use crate::access::Visibility;

/// Configuration of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Address to listen on.
    pub address: SocketAddr,
    /// The data folder, with index and database; unused by [`Hub::over`](crate::Hub::over).
    pub data: PathBuf,
    /// Accounts that may read the index.
    pub visibility: Visibility,
    /// True to refuse all changes, as for a mirror.
    pub read_only: bool,
    /// Further host names of the server, without ports; `*` accepts any.
    pub hosts: Vec<String>,
    /// Proxies whose `X-Forwarded-For`, `X-Forwarded-Proto` and `Forwarded` are trusted.
    pub trusted_proxies: TrustedProxies,
    /// Header in which a trusted proxy names the signed-in account. Without trusted proxies, a proxy on loopback is
    /// trusted. The proxy has to set or clear it on every request.
    pub proxy_account_header: Option<String>,
    /// Receives each line of the log, a JSON object.
    pub log: fn(&str),
    /// True to log every request, not only server errors.
    pub logs_requests: bool,
    /// Scanner for published and displayed skills.
    pub scanner: scan::Scanner,
    /// Rate limits and timeouts for clients.
    pub limits: ServerLimits,
}

#[cfg(test)]
impl Settings {
    /// Returns the settings of a server that a test queries in memory.
    pub(crate) fn in_memory(data: PathBuf, visibility: Visibility) -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            data,
            visibility,
            read_only: false,
            hosts: Vec::new(),
            trusted_proxies: TrustedProxies::default(),
            proxy_account_header: None,
            log: |_| {},
            logs_requests: false,
            scanner: scan::Scanner::default(),
            limits: ServerLimits::default(),
        }
    }
}
