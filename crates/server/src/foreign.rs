//! [`router`]: what clients that others wrote ask for, in the forms that they know.
//!
//! - `npx skills add URL` and OpenCode's `skills.urls`: [`well_known`].
//! - `clawhub --registry URL`: [`clawhub`].
//!
//! They see the same releases by the same rights: nothing that is yanked, withdrawn or under quarantine is offered, reading
//! asks for what reading asks for everywhere, downloads are counted, and what is published goes through
//! [`crate::publish`]. What a host asks of a *library* under `/api/skills` is no part of this: a registry has no skills
//! that are switched on and off.

mod clawhub;
mod fingerprint;
mod kept;
mod names;
mod rendered;
mod uploads;
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
use kept::Kept;
pub use uploads::Uploads;

/// All routes for clients of others.
pub fn router() -> Router<Shared> {
    Router::new().merge(well_known::router()).merge(clawhub::router()).layer(Extension(Arc::new(Kept::default())))
}

/// Where the client reaches this server, for answers that must be whole addresses. The guard let the name pass.
fn own_url(client: Client, headers: &HeaderMap) -> String {
    let scheme = if client.is_https { "https" } else { "http" };
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    format!("{scheme}://{}", host.unwrap_or("localhost"))
}
