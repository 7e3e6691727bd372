//! [`Servers`]: skillhub for hosts that speak the Model Context Protocol.
//!
//! A [`Server`] answers one connection, over the standard streams ([`serve_stdio`]) or HTTP ([`serve_http`]). Each request opens the
//! [`ops::Workplace`] anew, and who acts is the client as its connection names it, never what a request says.
//! [`hosts`] knows how programs that run agents are told to start us.
//!
//! The other way round, [`Remote`] is a client: the steps of composed tools call tools of other servers through it.

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
