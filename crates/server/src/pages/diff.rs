//! The differences between two releases of a skill ([`diff`]).

use axum::{
    extract::{Path, Query as Parameters, State, rejection::QueryRejection},
    response::Response,
};
use maud::html;
use web::pages::{CompareOptions, Compared, Content};

use super::{
    opened::{Opened, opened},
    visitor::{Visitor, answer},
};
use crate::api::{HubState, name_of};

/// Renders the comparison of two releases.
pub async fn diff(
    State(hub): HubState,
    visitor: Visitor,
    Path((owner, name, from, to)): Path<(String, String, String, String)>,
    wanted: Result<Parameters<CompareOptions>, QueryRejection>,
) -> Response {
    let version = |version: String| {
        let (owner, name) = (owner.clone(), name.clone());
        opened(&hub, &visitor.caller, move |hub| hub.release(&name_of(&owner, &name)?, &version))
    };
    let (old, new) = (version(from).await, version(to).await);
    let bytes = [&old, &new].into_iter().flatten().map(|one| one.bundle.total_bytes()).max();
    let permit = hub.contents.lanes.permit(bytes.unwrap_or_default()).await;
    answer(&hub, visitor, move |_, visitor| {
        let (_held, texts) = (permit, visitor.texts);
        let (
            Opened { entry: from, bundle: old, judgement: before },
            Opened { entry: to, bundle: new, judgement: after },
        ) = (old?, new?);
        let name = &from.name;
        let wanted = wanted.map(|Parameters(wanted)| wanted).unwrap_or_default();
        let page = format!("/{name}/diff/{}/{}", from.version, to.version);
        let files = format!("/{name}/files/{}/", to.version);
        let compared = Compared::new(texts, &page, Some(&files), &wanted);
        let other = html! { a href={ "/" (name) "/diff/" (to.version) "/" (from.version) } { (texts.other_way) } };
        let body = html! {
            header.title {
                p { a href={ "/" (name) } { (name) } }
                h1 { (from.version) " → " (to.version) }
                (compared.views(&other))
            }
            (compared.shown(&old, &new, &before, &after))
        };
        Ok(Content::new(format!("{name} {} → {}", from.version, to.version), body))
    })
    .await
}
