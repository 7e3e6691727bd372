//! [`ServerLimits`]: what keeps one client from taking all of a server.

use std::time::Duration;

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
