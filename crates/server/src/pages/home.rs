//! The first page ([`home`]), with a search field and lists of skills.

use axum::{extract::State, response::Response};
use maud::html;
use web::pages::Content;

use super::{
    search_field,
    skills::skills,
    visitor::{Visitor, answer},
};
use crate::{
    api::HubState,
    store::catalogue::{Order, Query},
};

/// Number of skills in each list.
const SHOWN: usize = 8;

/// Renders the first page.
pub async fn home(State(hub): HubState, visitor: Visitor) -> Response {
    answer(&hub, visitor, |hub, visitor| {
        let texts = visitor.texts;
        let list = |order| hub.stores.catalogue.find(&Query { order: Some(order), limit: SHOWN, ..Query::default() });
        let (updated, most) = (list(Order::Updated)?, list(Order::Downloads)?);
        let count = hub.stores.catalogue.count()?;
        let body = html! {
            section.hero {
                h1 { (texts.home_question) }
                (search_field(visitor, "", true))
                p.quiet { ((texts.skills_here)(count)) }
            }
            @if updated.skills.is_empty() {
                section.empty {
                    h2 { (texts.nothing_published) }
                    p { (texts.nothing_published_next) }
                    pre tabindex="0" { code { "skillhub --registry " (visitor.base) " publish my-skill --owner acme" } }
                }
            } @else {
                div.halves {
                    section {
                        h2 { (texts.lately_updated) }
                        (skills(visitor, &updated.skills, ""))
                        p { a href="/-/search" { (texts.all_skills) } }
                    }
                    section {
                        h2 { (texts.most_installed) }
                        (skills(visitor, &most.skills, ""))
                        p { a href="/-/search?sort=downloads" { (texts.all_skills) } }
                    }
                }
            }
        };
        Ok(Content { title: "skillhub".to_owned(), body, has_search: true })
    })
    .await
}
