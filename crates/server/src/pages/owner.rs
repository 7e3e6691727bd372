//! The page of a namespace ([`owner`]), with its members and skills.

use axum::{
    extract::{Path, Query as Parameters, State, rejection::QueryRejection},
    response::Response,
};
use maud::html;
use serde::Deserialize;
use skill::Owner;
use web::pages::Content;

use super::{
    skills::skills,
    visitor::{Visitor, answer},
};
use crate::{
    access::Role,
    api::HubState,
    error::ApiError,
    store::catalogue::{Order, Query},
};

/// Number of skills on a page.
const SHOWN: usize = 50;

/// Query parameter with the offset of the list.
#[derive(Deserialize)]
pub struct From {
    #[serde(default)]
    from: String,
}

/// Renders the page of a namespace.
pub async fn owner(
    State(hub): HubState,
    visitor: Visitor,
    Path(owner): Path<String>,
    from: Result<Parameters<From>, QueryRejection>,
) -> Response {
    answer(&hub, visitor, move |hub, visitor| {
        let texts = visitor.texts;
        let none = || ApiError::not_found(format!("{owner} has not published any skills"));
        let owner = Owner::parse(&owner).map_err(|_| none())?;
        let offset = from.ok().and_then(|Parameters(From { from })| from.parse().ok()).unwrap_or(0);
        let query =
            Query { owner: Some(owner.clone()), order: Some(Order::Updated), offset, limit: SHOWN, ..Query::default() };
        let page = hub.stores.catalogue.find(&query)?;
        let members = hub.stores.people.members(&owner)?;
        let file = hub.stores.releases.owner(&owner)?;
        if page.skills.is_empty() && members.is_empty() && file.keys().is_empty() {
            return Err(none());
        }
        let body = html! {
            header.title {
                h1 { (owner) }
            }
            div.aside {
                section.main {
                    h2 { (texts.skills) }
                    @if page.skills.is_empty() { p { (texts.nothing_published) } }
                    @else { (skills(visitor, &page.skills, "")) }
                    nav.pager aria-label=(texts.pages) {
                        @if offset > 0 { a.button rel="prev" href={ "/" (owner) "?from=" (offset.saturating_sub(SHOWN)) } { (texts.previous) } }
                        @if page.has_more { a.button rel="next" href={ "/" (owner) "?from=" (offset + SHOWN) } { (texts.next) } }
                    }
                }
                aside {
                    h2 { (texts.members) }
                    @if members.is_empty() { p.quiet { (texts.no_members) } }
                    ul.plain {
                        @for member in &members {
                            li { (member.account) " " span.quiet { @match member.role { Role::Maintainer => (texts.maintainer), Role::Publisher => (texts.publisher) } } }
                        }
                    }
                    h2 { (texts.keys_of_owner) }
                    @let keys = file.signing();
                    @if keys.is_empty() { p.quiet { (texts.no_keys) } }
                    ul.plain { @for key in &keys { li { code.digest { (key) } } } }
                }
            }
        };
        Ok(Content::new(owner.to_string(), body))
    })
    .await
}
