//! The library's pages, on which people read one library and decide its proposals.
//!
//! The principal type is [`guest::SignedIn`], a reader who has signed in with the gateway's token and may have proven to
//! be a person. Like the gateway's API, these pages change nothing themselves. Each form goes through `skill_manage` or
//! the workplace, with their lock, history, policy and events.
//!
//! | path | content |
//! |---|---|
//! | `/` | the skills with their state, and recent changes |
//! | `/skills/{name}` | one skill: its text, capabilities, findings, and visibility to agents |
//! | `/skills/{name}/files/{revision}/{path}` | one file of a revision |
//! | `/skills/{name}/history`, `/diff` | its revisions, and the difference between two |
//! | `/skills/{name}/rollback` | preview of a rollback, with the form that confirms it |
//! | `/skills/{name}/changes` | what changed since the review checkpoint, with the form that keeps it |
//! | `/review`, `/review/{id}` | the inbox, and a pending proposal with the form that decides |

mod changes;
mod compare;
mod files;
mod history;
mod home;
mod pieces;
mod proposal;
mod review;
mod rollback;
mod runs;
mod sign_in;
mod signed_in;
mod skill;
mod visitor;

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};
use scan::Scanner;
use web::pages::{Judgements, assets};

pub use signed_in::{nothing, refused, reviewer_token_of};

use crate::gateway::Shared;

/// Size limit of a form, in bytes.
const FORM_BYTES: usize = 64 << 10;

/// Builds the routes of the pages. None of them is below `/api/`.
pub fn router(scanner: Scanner) -> Router<Shared> {
    Router::new()
        .route("/", get(home::home))
        .route("/skills/{name}", get(skill::skill))
        .route("/skills/{name}/sight", post(skill::set_visibility))
        .route("/skills/{name}/files/{revision}/{*path}", get(files::file))
        .route("/skills/{name}/history", get(history::history))
        .route("/skills/{name}/diff", get(compare::diff))
        .route("/skills/{name}/rollback", get(rollback::preview).post(rollback::roll_back))
        .route("/skills/{name}/changes", get(changes::changes))
        .route("/skills/{name}/keep", post(changes::keep))
        .route("/review", get(review::queue))
        .route("/review/{id}", get(proposal::proposal))
        .route("/review/{id}/{decision}", post(proposal::decide))
        .route("/-/sign-in", get(sign_in::form).post(sign_in::sign_in))
        .route("/-/sign-out", post(sign_in::sign_out))
        .route("/-/static/{file}", get(assets::file))
        .layer(Extension(Arc::new(Judgements::by(scanner))))
        .layer(DefaultBodyLimit::max(FORM_BYTES))
}
