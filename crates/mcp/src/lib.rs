//! An MCP (Model Context Protocol) server and client for skillhub.
//!
//! [`Servers`] creates a [`Server`] for each connection, over the standard streams ([`serve_stdio`]) or HTTP
//! ([`serve_http`]). Each request opens the [`ops::Workspace`] anew. The acting client is identified by its connection,
//! never by the contents of a request. [`hosts`] edits the configuration of programs that start the server.
//!
//! [`Remote`] is the client: the steps of composed tools call other servers' tools through it.
//!
//! # A request, step by step
//!
//! 1. `Server::call_tool` (`server.rs`) finds the tool and runs the call on a thread that may block (`work`). A panic
//!    ends this request only. A request that is cancelled before it begins is not executed.
//! 2. There the [`ops::Workspace`] is opened anew for the actor of the connection, with the current flags,
//!    configuration and policy. `Spec::call` (`tools.rs`) checks permissions and the decision table. If a person has to
//!    agree, the refusal has a question: `consent::ask` puts it to the client and the call is repeated, or it stays
//!    refused. A question with choices (`tools/deciding.rs`) gets a `consent::Answer`, which the repeated call applies.
//! 3. The tool does what the command does, and returns the same document (`skill_manage::documents`).
//! 4. `Server::conclude` records the tools that the skill declares in the `Session`, wakes `change_watch::watch`, which
//!    notifies the `Watchers` whose lists changed, and returns the document as structured content and as text.
//!
//! All connections share one `agent::CatalogueCache`. While somebody is subscribed, `change_watch::watch` polls for changes by other
//! programs, so that requests find a fresh catalogue in memory. `offer.rs` chooses the tools that a connection is
//! offered, and `joining.rs` those that join once they are needed. `resources.rs` and `prompts.rs` show the same skills
//! as resources and prompts. Over HTTP, each request
//! first passes the [`HttpAuth`].

mod change_watch;
mod composed;
mod consent;
pub mod hosts;
mod http;
mod interrupt;
mod joining;
mod log;
mod malformed;
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

pub use http::{HttpAuth, serve_http};
pub use interrupt::interrupt;
pub use remote::{Remote, STARTED_FOR_TOOLS};
pub use server::{Server, Servers};
pub use shared::Options;
pub use stdio::{ServeError, serve_stdio};
