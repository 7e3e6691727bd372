//! [`Shared`]: what the connections of one server share.

use std::sync::atomic::AtomicBool;

use agent::Live;
use ops::Open;
use tokio::sync::Notify;

use crate::watchers::Watchers;

/// How the server presents itself.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The agent, as permissions name it; the name of its client otherwise.
    pub agent: Option<String>,
    /// Whether the agent is told which skills there are.
    pub catalogue: bool,
    /// Whether tools that few need are offered only after a skill was read that brings them.
    pub defer_tools: bool,
}

/// What all connections share.
pub(crate) struct Shared {
    pub open: Box<Open>,
    pub options: Options,
    pub live: Live,
    pub instructions: String,
    pub watchers: Watchers,
    /// Tools of servers have joined the list of some connection, and leave it with their skills.
    pub has_joined: AtomicBool,
    /// Called when a tool changed something, so that clients are told at once.
    pub changed: Notify,
}
