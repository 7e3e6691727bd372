//! State and options shared by all connections of a server.

use std::sync::atomic::AtomicBool;

use agent::CatalogueCache;
use ops::OpenWorkspace;
use tokio::sync::Notify;

use crate::watchers::Watchers;

/// Options of the server.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Agent whose permissions apply. Defaults to the name of the client.
    pub agent: Option<String>,
    /// True if the tool descriptions list the available skills.
    pub catalogue: bool,
    /// True if all of the server's tools are offered from the start, not only the principal ones.
    pub all_tools: bool,
    /// True if compiled tools are offered only once a skill that brings them has been read.
    pub defer_tools: bool,
}

/// State shared by all connections.
pub(crate) struct Shared {
    pub open: Box<OpenWorkspace>,
    pub options: Options,
    pub live: CatalogueCache,
    pub instructions: String,
    pub watchers: Watchers,
    /// Set once tools of other servers have joined the tool list of some connection. They leave it with their skills.
    pub has_joined: AtomicBool,
    /// Notified when a tool changed something, so that clients hear of it without a delay.
    pub changed: Notify,
}
