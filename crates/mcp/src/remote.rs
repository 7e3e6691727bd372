//! MCP client through which steps of composed tools call other servers' tools.
//!
//! A server is started on the first request for its tools, kept running, and stopped when the [`Remote`] is dropped.
//! Any misbehaviour (hanging, exiting, flooding, changing its tools, invalid messages) is a [`ToolFault`] of the
//! current call and never delays a caller beyond the call's [`Bounds`].

mod answer;
mod byte_budget;
mod connection;
mod engine;
mod http;
mod process;
mod remote_tool;
mod server_slot;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use compose::{Bounds, ServerSettings, ToolFault, ToolHost, ToolSpec};
use serde_json::Value;

use self::{engine::Engine, server_slot::ServerSlot};

/// Environment variable set for programs that are started for their tools. A skillhub that finds it set starts no
/// servers itself, which prevents endless recursion.
pub const STARTED_FOR_TOOLS: &str = "SKILLHUB_STARTED_FOR_TOOLS";

/// All configured servers, by name. Their tools are called `mcp__SERVER__TOOL`.
pub struct Remote {
    engine: Engine,
    places: BTreeMap<String, ServerSlot>,
}

impl Remote {
    /// Creates a client for these servers without starting any of them.
    pub fn new(servers: BTreeMap<String, ServerSettings>) -> Self {
        let place = |(name, server): (String, ServerSettings)| (name.clone(), ServerSlot::new(name, server));
        Self { engine: Engine::default(), places: servers.into_iter().map(place).collect() }
    }

    /// Returns the servers whose tools are currently unavailable, each with its error message.
    pub fn faults(&self) -> Vec<(String, String)> {
        let why = |(name, place): (&String, &ServerSlot)| place.fault().map(|fault| (name.clone(), fault.message));
        self.places.iter().filter_map(why).collect()
    }
}

impl Remote {
    /// Splits a tool's name into its server and the server's own tool name. Server names contain no `__`, so the split
    /// is unambiguous.
    fn place<'t>(&self, tool: &'t str) -> Option<(&ServerSlot, &'t str)> {
        let (server, own) = tool.strip_prefix("mcp__")?.split_once("__")?;
        Some((self.places.get(server)?, own))
    }
}

impl ToolHost for Remote {
    fn tools(&self) -> Vec<ToolSpec> {
        let listed: Vec<Vec<ToolSpec>> = std::thread::scope(|scope| {
            let asked: Vec<_> =
                self.places.values().map(|place| scope.spawn(move || place.tools(&self.engine))).collect();
            asked.into_iter().map(|one| one.join().unwrap_or_default()).collect()
        });
        let mut seen = BTreeSet::new();
        listed.into_iter().flatten().filter(|spec| seen.insert(spec.name.clone())).collect()
    }

    fn has(&self, tool: &str) -> bool {
        self.place(tool).is_some()
    }

    fn faults(&self) -> Vec<(String, String)> {
        Self::faults(self)
    }

    fn call(&self, tool: &str, input: &Value, bounds: &Bounds<'_>) -> Result<Value, ToolFault> {
        let unknown = || {
            ToolFault::permanent(
                "unknown_tool",
                format!("no tool is named {}", remote_tool::plain(tool, remote_tool::NAME_CHARS)),
            )
            .hint("name it mcp__SERVER__TOOL, with a server from [mcp_servers.NAME] in config.toml")
        };
        let (place, own) = self.place(tool).ok_or_else(unknown)?;
        place.call(&self.engine, own, input, bounds)
    }
}

impl Drop for Remote {
    /// Closes all connections first and then waits for each, so that the servers shut down in parallel. Those that do
    /// not exit are killed.
    fn drop(&mut self) {
        let open: Vec<Arc<connection::Connection>> = self.places.values().filter_map(ServerSlot::leave).collect();
        open.iter().for_each(|connection| connection.disconnect());
        open.iter().for_each(|connection| connection.end());
        self.engine.stop();
    }
}
