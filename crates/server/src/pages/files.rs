//! One file of a release ([`file`]).

use axum::{
    extract::{Path, State},
    response::Response,
};
use maud::html;
use skill::SkillPath;
use web::pages::{Content, encoded, listing};

use super::{
    opened::{Opened, opened},
    release_page,
    visitor::{Visitor, answer},
};
use crate::{
    api::{HubState, name_of},
    error::ApiError,
};

/// Renders the page of a file.
pub async fn file(
    State(hub): HubState,
    visitor: Visitor,
    Path((owner, name, version, path)): Path<(String, String, String, String)>,
) -> Response {
    let found = opened(&hub, &visitor.caller, move |hub| hub.release(&name_of(&owner, &name)?, &version)).await;
    let permit = hub.contents.lanes.permit(0).await;
    answer(&hub, visitor, move |_, visitor| {
        let (_held, texts) = (permit, visitor.texts);
        let Opened { entry, bundle, judgement } = found?;
        let none = || ApiError::not_found(format!("{} {} has no file {path:?}", entry.name, entry.version));
        let path = SkillPath::parse(&path).map_err(|_| none())?;
        let file = bundle.get(&path).ok_or_else(none)?;
        let files = format!("/{}/files/{}/", entry.name, entry.version);
        let raw = format!("/v1/skills/{}/{}/files/{}", entry.name, entry.version, encoded(path.as_str()));
        let above = html! { a href=(release_page(&entry.name, &entry.version)) { (entry.name) " " (entry.version) } };
        let beside = html! { a href=(raw) download { (texts.download) } };
        let body = listing(&path, file, &judgement.report.findings, &files, &above, &beside, texts);
        Ok(Content::new(format!("{path} · {}", entry.name), body))
    })
    .await
}
