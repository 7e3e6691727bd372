//! Limits that keep one client from exhausting a server ([`ServerLimits`]).

use std::time::Duration;

/// Time limits, connection limits and rate limits of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLimits {
    /// Time limit for receiving the head of a request.
    pub head_time: Duration,
    /// Time after which a client that accepts no data is disconnected.
    pub stall_time: Duration,
    /// Time limit for a whole request, including its body.
    pub request_time: Duration,
    /// Number of simultaneous connections in total.
    pub connections: usize,
    /// Number of simultaneous connections per client. Trusted proxies and loopback are exempt.
    pub connections_of_client: usize,
    /// Requests per minute and client that change something or search; `0` disables the limit.
    pub costly_per_minute: u32,
    /// Attempts per minute and client to sign in on the pages; `0` disables the limit.
    pub sign_ins_per_minute: u32,
    /// Grace period for requests in progress at shutdown.
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
