//! [`diff`]: what changed between two releases of a skill.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, Query as Parameters, State, rejection::QueryRejection},
    response::Response,
};
use maud::html;

use super::visitor::{Visitor, answer};
use crate::{
    api::{HubState, name_of},
    pages::{
        compared::{Compared, Wanted},
        judgements::Judgements,
        layout::Content,
    },
};

/// The page of two releases.
pub async fn diff(
    State(hub): HubState,
    visitor: Visitor,
    Path((owner, name, from, to)): Path<(String, String, String, String)>,
    wanted: Result<Parameters<Wanted>, QueryRejection>,
    Extension(judgements): Extension<Arc<Judgements>>,
) -> Response {
    answer(&hub, visitor, move |hub, visitor| {
        let texts = visitor.texts;
        let name = name_of(&owner, &name)?;
        let (from, to) = (hub.release(&name, &from)?, hub.release(&name, &to)?);
        let (old, new) = (hub.bundle_for(&visitor.caller, &from)?, hub.bundle_for(&visitor.caller, &to)?);
        let wanted = wanted.map(|Parameters(wanted)| wanted).unwrap_or_default();
        let judged = (judgements.of(from.digest, &old), judgements.of(to.digest, &new));
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
            (compared.shown((&old, &new), (&judged.0, &judged.1)))
        };
        Ok(Content::new(format!("{name} {} → {}", from.version, to.version), body))
    })
    .await
}
