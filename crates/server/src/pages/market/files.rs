//! [`file`]: one file of a release.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::Response,
};
use maud::html;
use skill::SkillPath;

use super::visitor::{Visitor, answer};
use crate::{
    api::{HubState, name_of},
    error::ApiError,
    pages::{judgements::Judgements, layout::Content, listing::listing, pieces::encoded},
};

/// The page of a file.
pub async fn file(
    State(hub): HubState,
    visitor: Visitor,
    Path((owner, name, version, path)): Path<(String, String, String, String)>,
    Extension(judgements): Extension<Arc<Judgements>>,
) -> Response {
    answer(&hub, visitor, move |hub, visitor| {
        let texts = visitor.texts;
        let entry = hub.release(&name_of(&owner, &name)?, &version)?;
        let bundle = hub.bundle_for(&visitor.caller, &entry)?;
        let none = || ApiError::not_found(format!("{} {} has no file {path:?}", entry.name, entry.version));
        let path = SkillPath::parse(&path).map_err(|_| none())?;
        let file = bundle.get(&path).ok_or_else(none)?;
        let judgement = judgements.of(entry.digest, &bundle);
        let files = format!("/{}/files/{}/", entry.name, entry.version);
        let raw = format!("/v1/skills/{}/{}/files/{}", entry.name, entry.version, encoded(path.as_str()));
        let above =
            html! { a href={ "/" (entry.name) "?version=" (entry.version) } { (entry.name) " " (entry.version) } };
        let beside = html! { a href=(raw) download { (texts.download) } };
        let body = listing((&path, file), &judgement.report.findings, &files, (&above, &beside), texts);
        Ok(Content::new(format!("{path} · {}", entry.name), body))
    })
    .await
}
