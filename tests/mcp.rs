//! `skillhub mcp`: configurations of hosts, and the server as seen by clients.

mod composing;
pub mod connection;
mod deciding;
mod edits;
mod hints;
mod hostile;
mod hosts;
mod http;
mod joining;
mod messages;
mod remote;
mod skills;
mod surface;
mod tools;
mod watching;
