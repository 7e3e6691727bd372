//! APIs for foreign clients, in the formats that they know ([`router`]).
//!
//! - `npx skills add URL` and OpenCode's `skills.urls`: [`well_known`].
//! - `/plugin marketplace add URL` of Claude Code: [`plugins`].
//! - `clawhub --registry URL`: [`clawhub`].
//!
//! Foreign clients see the same releases with the same permissions as our own. Releases that are yanked, withdrawn or
//! under quarantine are not offered, private indexes require a token, downloads are counted, and releases are published
//! through [`crate::publish`]. The routes below `/api/skills` that hosts use for a *library* are not part of this
//! module, because a registry cannot enable or disable skills.

mod clawhub;
mod facts_cache;
mod fingerprint;
mod names;
mod plugins;
mod rendered;
mod well_known;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::{
    Extension, Router,
    http::{HeaderMap, header},
};
use web::Client;

use crate::api::Shared;
use facts_cache::FactsCache;

/// Builds all routes for foreign clients.
pub fn router() -> Router<Shared> {
    let routers = well_known::router().merge(plugins::router()).merge(clawhub::router());
    routers.layer(Extension(Arc::new(FactsCache::default())))
}

/// Returns the base address of this server as the client used it, for responses with absolute URLs. The guard has
/// checked the host name.
fn own_url(client: Client, headers: &HeaderMap) -> String {
    let scheme = if client.is_https { "https" } else { "http" };
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    format!("{scheme}://{}", host.unwrap_or("localhost"))
}
