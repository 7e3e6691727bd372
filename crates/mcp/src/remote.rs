//! [`Remote`]: tools of other servers that speak the Model Context Protocol, for the steps of composed tools.
//!
//! A server is started when somebody asks for its tools, kept, and stopped when the [`Remote`] goes. Whatever it does
//! (hang, end, flood, change its tools, talk nonsense) is a [`ToolFault`] of the call at hand and holds nobody up
//! longer than the call's [`Bounds`].

mod answer;
mod connection;
mod engine;
mod http;
mod meter;
mod offered;
mod place;
mod process;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use compose::{Approval, Bounds, ToolFault, ToolHost, ToolSpec};
use serde_json::Value;

use self::{engine::Engine, place::Place};

/// The variable that a program is given which was started for its tools. A skillhub among them starts no servers of its own, for they
/// could be itself again.
pub const STARTED_FOR_TOOLS: &str = "SKILLHUB_STARTED_FOR_TOOLS";

/// How a server is reached, and what its tools need of a person. It has a command or an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteServer {
    /// The program and its arguments; it speaks over its standard streams.
    pub command: Vec<String>,
    /// Variables for the program, beside those that every program needs (`PATH`, `HOME` and the like). A server at an
    /// address is sent `AUTHORIZATION` as the header of this name, and nothing else of these.
    pub env: BTreeMap<String, String>,
    /// The address of a server that speaks streamable HTTP.
    pub url: Option<String>,
    /// What all its tools need, whatever it says of them.
    pub approval: Option<Approval>,
    /// What single tools need, by the server's own names.
    pub tools: BTreeMap<String, Approval>,
}

/// The servers of a configuration, each behind its name. Its tools are called `mcp__SERVER__TOOL`.
pub struct Remote {
    engine: Engine,
    places: BTreeMap<String, Place>,
}

impl Remote {
    /// Knows servers and starts none.
    #[must_use]
    pub fn new(servers: BTreeMap<String, RemoteServer>) -> Self {
        let place = |(name, server): (String, RemoteServer)| (name.clone(), Place::new(name, server));
        Self { engine: Engine::default(), places: servers.into_iter().map(place).collect() }
    }

    /// The servers whose tools are missing now, each with why.
    #[must_use]
    pub fn faults(&self) -> Vec<(String, String)> {
        let why = |(name, place): (&String, &Place)| place.fault().map(|fault| (name.clone(), fault.message));
        self.places.iter().filter_map(why).collect()
    }
}

impl Remote {
    /// The server of a tool, and its own name of it. A server's name has no `__`, so there is one way only to read this.
    fn place<'t>(&self, tool: &'t str) -> Option<(&Place, &'t str)> {
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
            ToolFault::lasting(
                "unknown_tool",
                format!("there is no tool {}", offered::plain(tool, offered::NAME_CHARS)),
            )
            .hint("tools of configured servers are called mcp__SERVER__TOOL; `[mcp_servers.NAME]` configures one")
        };
        let (place, own) = self.place(tool).ok_or_else(unknown)?;
        place.call(&self.engine, own, input, bounds)
    }
}

impl Drop for Remote {
    /// All servers are told at the same time that it is over, and killed if they do not go.
    fn drop(&mut self) {
        let open: Vec<Arc<connection::Connection>> = self.places.values().filter_map(Place::leave).collect();
        open.iter().for_each(|connection| connection.hang_up());
        open.iter().for_each(|connection| connection.end());
        self.engine.stop();
    }
}
