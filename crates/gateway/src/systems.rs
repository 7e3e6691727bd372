//! Dialects of other systems' hosts ([`DIALECTS`]). Each is a module that the rest knows only by its entry here.

mod deerflow;

use axum::Router;

use crate::gateway::Shared;

/// The requests and responses of another system on the same routes.
pub(crate) struct Dialect {
    /// Adds a layer that converts request bodies to ours, before the handlers of the API.
    pub bodies: fn(Router<Shared>, &Shared) -> Router<Shared>,
    /// Adds a layer that converts all responses to the system's form.
    pub answers: fn(Router<Shared>) -> Router<Shared>,
}

/// All supported dialects, applied in order.
pub(crate) const DIALECTS: &[Dialect] = &[deerflow::DIALECT];
