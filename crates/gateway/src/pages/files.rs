//! One file of a revision ([`file`]).

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::Response,
};
use maud::html;
use skill::{Bundle, SkillName, SkillPath};
use skill_manage::documents;
use web::{
    ApiError,
    pages::{Content, Judgements, encoded, listing, visible},
};

use super::signed_in::{SignedIn, answer};
use crate::gateway::{Shared, Work, into_api_error};

/// Placeholder for a revision's id that selects the skill as agents see it.
pub const NOW: &str = "now";

/// Renders the page of a file.
pub async fn file(
    State(gateway): State<Shared>,
    guest: SignedIn,
    Path((name, revision, path)): Path<(String, String, String)>,
    Extension(judgements): Extension<Arc<Judgements>>,
) -> Response {
    answer(&gateway, guest, move |work, guest| {
        let (texts, name) = (guest.texts, work.skill_called(&name)?);
        let bundle = files(work, &name, &revision)?;
        let none = || ApiError::not_found(format!("{name} has no file {path:?} in this revision"));
        let path = SkillPath::parse(&path).map_err(|_| none())?;
        let file = bundle.get(&path).ok_or_else(none)?;
        let judgement = judgements.of(bundle.digest(), &bundle);
        let is_now = revision == NOW;
        let above = html! {
            a href={ "/skills/" (name) } { (name) }
            @if !is_now { " · " (texts.library.revision_word) " " (visible(&revision)) }
        };
        let at = format!("/skills/{name}/files/{}/", encoded(&revision));
        let body = listing(&path, file, &judgement.report.findings, &at, &above, &html! {}, texts);
        Ok(Content::new(format!("{path} · {name}"), body))
    })
    .await
}

/// Returns the files of a revision, or for [`NOW`] those that agents see.
pub fn files(work: &Work<'_>, name: &SkillName, revision: &str) -> Result<Bundle, ApiError> {
    let at =
        |revision: &str| Ok(documents::at(&work.place.library_of(name)?, name, revision).map_err(into_api_error)?.1);
    if revision != NOW {
        return at(revision);
    }
    match work.live.with(|catalogue| catalogue.given(catalogue.find(name)?, None)).map_err(into_api_error)? {
        Ok(given) => Ok(given.files),
        // An unknown name gets the same answer as for each of its revisions.
        Err(error) => at("head").and(Err(into_api_error(error))),
    }
}
