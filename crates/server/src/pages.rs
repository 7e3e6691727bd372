//! The marketplace's pages, on which people read an index and moderate it.
//!
//! The principal type is [`visitor::Visitor`]; [`visitor::answer`] renders a page or an error as a response.

mod chart;
mod diff;
mod files;
mod home;
mod install;
mod moderation;
mod opened;
mod owner;
mod report;
mod search;
mod sign_in;
mod skill;
mod skills;
#[cfg(test)]
mod tests;
mod visitor;

use std::fmt::Display;

use axum::{
    Router,
    routing::{get, post},
};
use maud::Markup;
use web::pages::{Reader, assets, encoded};

pub use visitor::nothing;

use crate::api::Shared;

/// Builds the routes of the pages. Names begin with a letter or a digit, so no owner has the prefix `/-/`.
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
}

/// Returns the address of a release's page. A version can have a `+`, which means a space in a query.
fn release_page(skill: &impl Display, version: &impl Display) -> String {
    format!("/{skill}?version={}", encoded(&version.to_string()))
}

/// Renders the search field. The large form is for pages about searching.
fn search_field(reader: &Reader, words: &str, is_large: bool) -> Markup {
    let texts = reader.texts;
    web::pages::search_field(texts, "/-/search", texts.search_label, texts.search_hint, words, is_large)
}
