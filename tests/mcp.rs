//! `skillhub mcp`: hosts' configurations, and the server as clients meet it.

mod composing;
pub mod connection;
mod edits;
mod hostile;
mod hosts;
mod http;
mod joining;
mod messages;
mod remote;
mod skills;
mod tools;
mod watching;
