//! [`Settings`]: how a server is to be run. Every limit is a field with its unit in its name.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use crate::{access::Visibility, proxies::TrustedProxies};

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

/// What keeps one client from taking all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLimits {
    /// How long a client may take for the head of a request.
    pub head_time: Duration,
    /// How long a client may take nothing of an answer.
    pub stall_time: Duration,
    /// How long a request may take, its body included.
    pub request_time: Duration,
    /// Connections at the same time.
    pub connections: usize,
    /// Connections of one client at the same time. Trusted proxies and this machine may have them all.
    pub connections_of_client: usize,
    /// Requests of one client in a minute that change something or search; `0` for any number.
    pub costly_per_minute: u32,
    /// Attempts of one client in a minute to sign in on the pages; `0` for any number.
    pub sign_ins_per_minute: u32,
    /// How long requests may go on after the server was told to end.
    pub shutdown_time: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            head_time: Duration::from_secs(10),
            stall_time: Duration::from_secs(30),
            request_time: Duration::from_secs(60),
            connections: 1024,
            connections_of_client: 256,
            costly_per_minute: 600,
            sign_ins_per_minute: 30,
            shutdown_time: Duration::from_secs(20),
        }
    }
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
