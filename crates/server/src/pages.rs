//! The pages: what people read of an index and decide over it, as HTML that needs no script.
//!
//! The principal type is [`visitor::Visitor`]: who looks at a page, in which language, and by which cookie.
//!
//! - [`visitor::answer`] turns what a page has to show, or why it cannot, into a response; the policy that keeps foreign
//!   content from doing anything goes with each ([`layout::POLICY`]).
//! - A skill's text is hostile. [`prose`] builds HTML from a closed list of elements, and what is no Markdown is shown as
//!   the text that it is; no text of a skill becomes markup, an address that is loaded, or a character that nobody sees.
//! - Every text stands in [`texts::Texts`], once for each language.
//! - A form is taken only with the proof that one of these pages made it ([`session`]).

mod assets;
mod capabilities;
mod chart;
mod code;
mod diff;
mod diff_rows;
mod files;
mod findings;
mod home;
mod install;
mod judgements;
mod layout;
mod moderation;
mod owner;
mod pieces;
mod prose;
mod report;
mod search;
pub mod session;
mod sign_in;
mod skill;
#[cfg(test)]
mod tests;
mod texts;
mod visible;
mod visitor;

use std::sync::Arc;

use axum::{
    Extension, Router,
    routing::{get, post},
};

pub use visitor::nothing;

use crate::api::Shared;

/// The routes. Names begin with a letter or a digit, so what lies below `/-/` is no owner's.
pub fn router() -> Router<Shared> {
    Router::new()
        .route("/", get(home::home))
        .route("/-/search", get(search::search))
        .route("/-/sign-in", get(sign_in::form).post(sign_in::sign_in))
        .route("/-/sign-out", post(sign_in::sign_out))
        .route("/-/moderation", get(moderation::queue))
        .route("/-/moderation/{decision}", post(moderation::decide))
        .route("/-/report", post(report::report))
        .route("/-/static/{file}", get(assets::file))
        .route("/{owner}", get(owner::owner))
        .route("/{owner}/{name}", get(skill::skill))
        .route("/{owner}/{name}/files/{version}/{*path}", get(files::file))
        .route("/{owner}/{name}/diff/{from}/{to}", get(diff::diff))
        .layer(Extension(Arc::new(judgements::Judgements::default())))
}
