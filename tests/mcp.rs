//! `skillhub mcp`: hosts' configurations, and the server as clients meet it.

mod connection;
mod hosts;
mod http;
mod official;
mod skills;
mod tools;
