//! [`DIALECTS`]: what hosts of other systems send and read. Each is a module that hangs on the rest by its entry alone.

mod deerflow;

use axum::Router;

use crate::gateway::Shared;

/// What hosts of another system send and read on the same routes.
pub(crate) struct Dialect {
    /// Makes its bodies ours, before the handlers of the API see them.
    pub bodies: fn(Router<Shared>, &Shared) -> Router<Shared>,
    /// Makes all answers what it reads.
    pub answers: fn(Router<Shared>) -> Router<Shared>,
}

/// The systems.
pub(crate) const DIALECTS: &[Dialect] = &[deerflow::DIALECT];
