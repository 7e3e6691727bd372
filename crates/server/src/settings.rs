//! [`Settings`]: how a server is to be run. Every limit is a field with its unit in its name.

use std::{net::SocketAddr, path::PathBuf};

use web::{ServerLimits, TrustedProxies};

use crate::access::Visibility;

/// How a server is to be run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to listen.
    pub address: SocketAddr,
    /// The folder with all that the server keeps.
    pub data: PathBuf,
    /// Who may read.
    pub visibility: Visibility,
    /// Whether nothing can be changed through it: a mirror.
    pub read_only: bool,
    /// Further names by which clients may call the server, without ports; `*` for any.
    pub hosts: Vec<String>,
    /// Proxies whose `X-Forwarded-For`, `X-Forwarded-Proto` and `Forwarded` are believed.
    pub trusted_proxies: TrustedProxies,
    /// A header in which a trusted proxy names the account that has signed in; without trusted proxies, one on loopback.
    /// The proxy has to set or clear it on every request.
    pub proxy_account_header: Option<String>,
    /// Takes the lines of the log, each a JSON object.
    pub log: fn(&str),
    /// Whether every request is a line of the log, not only what the server could not answer.
    pub logs_requests: bool,
    /// What scans the skills that are published, and those that are shown.
    pub scanner: scan::Scanner,
    /// What keeps one client from taking all.
    pub limits: ServerLimits,
}

#[cfg(test)]
impl Settings {
    /// The settings of a server that a test asks in memory.
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
