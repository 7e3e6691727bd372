//! MCP server over the standard streams, for one connection, until the client closes it.

use rmcp::{ServiceExt, service::ServerInitializeError};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use crate::server::Servers;

/// Errors that end the server.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The runtime could not be started, or an address not be used.
    #[error(transparent)]
    Io(#[from] web::ServeError),
    /// The client did not speak the protocol.
    #[error("the client does not speak MCP: {0}")]
    Client(String),
}

impl Fails for ServeError {
    fn failure(&self) -> Failure {
        match self {
            Self::Io(_) => Failure::io(),
            Self::Client(_) => Failure::new(FailureKind::Usage, "usage")
                .hint("let an MCP host start this command; set one up with `skillhub mcp install --agent ID`"),
        }
    }
}

/// Serves the standard streams. Work that has begun when the client goes is finished.
///
/// # Errors
/// [`ServeError`]
pub fn serve_stdio(servers: &Servers) -> Result<(), ServeError> {
    web::runtime()?.block_on(async {
        let server = servers.connect();
        let watching = servers.clone();
        tokio::spawn(async move { watching.watch().await });
        match server.serve(rmcp::transport::io::stdio_pipes()).await {
            Ok(running) => running.waiting().await.map(drop).map_err(|error| ServeError::Client(error.to_string())),
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(ServeError::Client(error.to_string())),
        }
    })
}
