//! [`file`]: one file of a release, with a name for every line.

use std::{collections::HashSet, sync::Arc};

use axum::{
    Extension,
    extract::{Path, State},
    response::Response,
};
use maud::{Markup, PreEscaped, html};
use registry_index::Entry;
use skill::{Bundle, SkillPath};

use super::{
    code::{Language, lines},
    findings::finding,
    judgements::Judgements,
    pieces,
    visible::visible,
    visitor::{Content, Visitor, answer},
};
use crate::{
    api::{HubState, name_of},
    error::ApiError,
};

/// Lines that are shown.
const LINES: usize = 5000;
/// Bytes that are shown.
const BYTES: usize = 600_000;

/// The page of a file.
pub async fn file(
    State(hub): HubState,
    visitor: Visitor,
    Path((owner, name, version, path)): Path<(String, String, String, String)>,
    Extension(judgements): Extension<Arc<Judgements>>,
) -> Response {
    answer(&hub, visitor, move |hub, visitor| {
        let entry = hub.release(&name_of(&owner, &name)?, &version)?;
        let bundle = hub.bundle(&entry)?;
        let none = || ApiError::not_found(format!("{} {} has no file {path:?}", entry.name, entry.version));
        let path = SkillPath::parse(&path).map_err(|_| none())?;
        let body = shown(visitor, &entry, &bundle, &path, &judgements).ok_or_else(none)?;
        Ok(Content::new(format!("{path} · {}", entry.name), body))
    })
    .await
}

fn shown(
    visitor: &Visitor,
    entry: &Entry,
    bundle: &Bundle,
    path: &SkillPath,
    judgements: &Judgements,
) -> Option<Markup> {
    let texts = visitor.texts;
    let file = bundle.get(path)?;
    let judgement = judgements.of(entry, bundle);
    let here: Vec<_> = judgement.report.findings.iter().filter(|one| one.path == path.as_str()).collect();
    let found: HashSet<usize> = here.iter().map(|one| one.line).collect();
    let files = format!("/{}/files/{}/", entry.name, entry.version);
    let raw = format!("/v1/skills/{}/{}/files/{path}", entry.name, entry.version);
    Some(html! {
        header.title {
            p { a href={ "/" (entry.name) "?version=" (entry.version) } { (entry.name) " " (entry.version) } }
            h1.path { (visible(path.as_str())) }
            p.facts {
                span { (pieces::size(file.bytes.len() as u64)) }
                @if file.executable { span.badge { (texts.executable) } }
                a href=(raw) download { (texts.download) }
            }
        }
        @if !here.is_empty() {
            section { h2 { (texts.what_was_found) } ul.findings { @for one in here.iter().take(50) { (finding(one, &files, texts)) } } }
        }
        @match file.text() {
            None => p.note { (texts.is_binary) },
            Some(text) => (numbered(visitor, text, path, &found)),
        }
    })
}

fn numbered(visitor: &Visitor, text: &str, path: &SkillPath, found: &HashSet<usize>) -> Markup {
    let texts = visitor.texts;
    let head = text.get(..text.floor_char_boundary(BYTES)).unwrap_or(text);
    let all = lines(head, Language::named(path.as_str()));
    let is_cut = head.len() < text.len() || all.len() > LINES;
    html! {
        pre.numbered tabindex="0" {
            @for (at, line) in all.iter().take(LINES).enumerate() {
                @let number = at + 1;
                span.line.found[found.contains(&number)] id={ "L" (number) } {
                    a href={ "#L" (number) } data-n=(number) aria-label=(number) {} span { (PreEscaped(line)) "\n" }
                }
            }
        }
        @if is_cut { p.note { (texts.text_is_cut) } }
    }
}
