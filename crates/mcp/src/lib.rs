//! An MCP (Model Context Protocol) server and client for skillhub.
//!
//! [`Servers`] creates a [`Server`] for each connection, over the standard streams ([`serve_stdio`]) or HTTP
//! ([`serve_http`]). Each request opens the [`ops::Workplace`] anew. The acting client is identified by its connection,
//! never by the contents of a request. [`hosts`] edits the configuration of programs that start the server.
//!
//! [`Remote`] is the client: the steps of composed tools call other servers' tools through it.

mod composed;
mod consent;
pub mod hosts;
mod http;
mod interrupt;
mod log;
mod lookout;
mod offer;
mod plain;
mod prompts;
mod remote;
mod resources;
mod server;
mod shared;
mod stdio;
mod systems;
mod tool;
mod tools;
mod watchers;

pub use http::{Gate, serve_http};
pub use interrupt::interrupt;
pub use remote::{Remote, RemoteServer, STARTED_FOR_TOOLS};
pub use server::{Server, Servers};
pub use shared::Options;
pub use stdio::{ServeError, serve_stdio};
