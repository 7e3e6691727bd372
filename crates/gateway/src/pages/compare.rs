//! The differences between two revisions of a skill ([`diff`]).

use axum::{
    extract::{Path, State},
    response::Response,
};
use library::Revision;
use maud::{Markup, html};
use skill::{Bundle, SkillName};
use skill_manage::documents;
use web::{
    ApiError,
    pages::{CompareOptions, Compared, Content, Judgements, encoded, visible},
};

use super::{
    pieces::{Comparison, PageQuery, heading, line, verdict_of},
    signed_in::{SignedIn, answer},
};
use crate::gateway::{Shared, Work, into_api_error};

/// Renders the comparison of two revisions. `from` defaults to the parent of `to`, and `to` to the newest revision.
pub async fn diff(
    State(gateway): State<Shared>,
    guest: SignedIn,
    Path(name): Path<String>,
    comparison: Comparison,
) -> Response {
    let Comparison { asked, wanted, judgements } = comparison;
    answer(&gateway, guest, move |work, guest| {
        let name = work.skill_called(&name)?;
        let body = shown(work, guest, &name, &asked, &wanted, &judgements)?;
        Ok(Content::new(format!("{} · {name}", guest.texts.library.changes), body))
    })
    .await
}

fn shown(
    work: &Work<'_>,
    guest: &SignedIn,
    name: &SkillName,
    asked: &PageQuery,
    wanted: &CompareOptions,
    judgements: &Judgements,
) -> Result<Markup, ApiError> {
    let (texts, words) = (guest.texts, &guest.texts.library);
    let library = work.place.library_of(name)?;
    let to = if asked.to.is_empty() { "head" } else { &asked.to };
    let (to, new) = documents::at(&library, name, to).map_err(into_api_error)?;
    let from = match (asked.from.as_str(), &to.parent) {
        ("", Some(parent)) => Some(parent.as_str()),
        ("", None) => None,
        (from, _) => Some(from),
    };
    let from = from.map(|from| documents::at(&library, name, from).map_err(into_api_error)).transpose()?;
    let (from, old) = from.map_or_else(|| (None, Bundle::default()), |(from, old)| (Some(from), old));
    let (was, is) = (judgements.of(old.digest(), &old), judgements.of(new.digest(), &new));
    let query = |from: &str, to: u64| format!("/skills/{name}/diff?from={}&to={to}", encoded(from));
    let number = from.as_ref().map(|from| from.number.to_string()).unwrap_or_default();
    let page = query(&number, to.number);
    let files = format!("/skills/{name}/files/{}/", to.number);
    let compared = Compared::new(texts, &page, Some(&files), wanted);
    let more = html! {
        @if let Some(from) = &from { a href=(query(&to.number.to_string(), from.number)) { (texts.other_way) } }
    };
    let title = match &from {
        Some(from) => (words.between)(from.number, to.number),
        None => (words.revision)(to.number),
    };
    Ok(html! {
        header.title {
            (heading(name.as_str(), &title, guest, "/diff"))
            @if let Some(from) = &from { (render_revision(guest, from)) }
            (render_revision(guest, &to))
            (compared.views(&more))
        }
        (compared.shown(&old, &new, &was, &is))
    })
}

/// Renders a revision's number, author, verdict and reason.
pub fn render_revision(guest: &SignedIn, one: &Revision) -> Markup {
    let words = &guest.texts.library;
    html! {
        p.facts {
            b { ((words.revision)(one.number)) }
            (line(guest, one)) (verdict_of(one, guest.texts))
            @if let Some(reason) = &one.stamp.reason { span { (visible(reason)) } }
        }
    }
}
