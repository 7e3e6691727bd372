//! `skillhub mcp`: hosts' configurations, and the server as clients meet it.

mod connection;
mod hosts;
mod tools;
