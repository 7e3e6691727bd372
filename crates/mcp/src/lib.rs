//! [`Servers`]: skillhub for hosts that speak the Model Context Protocol.
//!
//! A [`Server`] answers one connection, over the standard streams ([`serve_stdio`]). Each request opens the
//! [`Workplace`] anew, and who acts is the client as its connection names it, never what a request says.
//! [`hosts`] knows how programs that run agents are told to start us.

pub mod hosts;
mod log;
mod refusal;
mod server;
mod stdio;
mod tools;
mod watchers;
mod workplace;

pub use refusal::Refusal;
pub use server::{Server, Servers};
pub use stdio::{ServeError, serve_stdio};
pub use workplace::{Open, Workplace};
