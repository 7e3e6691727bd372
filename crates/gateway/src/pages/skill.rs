//! The page of one skill ([`skill`]), with its content, its state, and its visibility to agents.

use std::sync::Arc;

use agent::AgentError;
use axum::{
    Extension,
    extract::{Path, Query as Parameters, State, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use library::{FolderState, Library, Revision};
use maud::{Markup, html};
use ops::AgentViews;
use serde::Deserialize;
use skill::{
    Bundle, SkillName,
    diff::{self, Change},
};
use skill_manage::documents::waiting;
use web::{
    ApiError,
    pages::{Content, Judgements, capabilities, encoded, file_list, findings, lead, proof, readme, size, visible},
};

use super::{
    files::{NOW, files},
    home::ListStatus,
    pieces::{PageQuery, done, heading, heading_alone, line},
    runs::runs,
    signed_in::{SignedIn, SignedInForm, answer},
};
use crate::gateway::{Shared, Work, into_api_error};

/// Number of files that are listed of a hand edit.
const NAMED: usize = 12;

/// The data of the skill page.
struct View<'a> {
    guest: &'a SignedIn,
    name: &'a SkillName,
    title: Option<String>,
    description: String,
    standing: ListStatus,
    folder: Option<String>,
    head: Option<Revision>,
    /// Agents whose hosts read the skill, or other content under its name.
    hosts: AgentViews,
    /// Files that were edited by hand since the last revision.
    by_hand: Vec<(String, Change)>,
    /// Files that agents see, or the error that hides them.
    files: Result<Bundle, ApiError>,
}

/// Renders the page of a skill.
pub async fn skill(
    State(gateway): State<Shared>,
    guest: SignedIn,
    Path(name): Path<String>,
    asked: Result<Parameters<PageQuery>, QueryRejection>,
    Extension(judgements): Extension<Arc<Judgements>>,
) -> Response {
    let asked = PageQuery::of(asked);
    answer(&gateway, guest, move |work, guest| {
        let name = work.skill_called(&name)?;
        let body = match View::of(work, guest, &name) {
            Err(error) if error.status == StatusCode::NOT_FOUND => {
                match work.place.library_of(&name)?.head(&name).map_err(into_api_error)? {
                    Some(head) => gone(guest, &name, &head),
                    None => return Err(error),
                }
            }
            view => view?.page(work, &asked, &judgements)?,
        };
        Ok(Content::new(name.to_string(), body))
    })
    .await
}

/// Renders the page of a deleted skill, which links to the history that can restore it.
fn gone(guest: &SignedIn, name: &SkillName, head: &Revision) -> Markup {
    let words = &guest.texts.library;
    html! {
        header.title { (heading(name.as_str(), name.as_str(), guest, "")) }
        p.note { (words.is_gone) " " a href={ "/skills/" (name) "/history" } { (words.history) } }
        p.facts { (line(guest, head)) @if let Some(reason) = &head.stamp.reason { span { (visible(reason)) } } }
    }
}

impl<'a> View<'a> {
    fn of(work: &Work<'_>, guest: &'a SignedIn, name: &'a SkillName) -> Result<Self, ApiError> {
        let library = work.place.library_of(name)?;
        let waits = waiting(std::slice::from_ref(&library), work.place.now)
            .map_err(into_api_error)?
            .get(name)
            .copied()
            .unwrap_or(0);
        let state = library.state().map_err(into_api_error)?;
        let found = work.live.with(|catalogue| {
            let listed = catalogue.find(name)?;
            let folder = listed.path.as_ref().map(|path| path.display().to_string());
            let standing = ListStatus::of(catalogue, listed, &library, &state, waits);
            Ok((
                listed.title.clone(),
                listed.description.clone(),
                folder,
                standing,
                AgentViews::of(&work.place, catalogue, Some(name)),
            ))
        });
        let (title, description, folder, standing, hosts) =
            found.map_err(into_api_error)?.map_err(|error: AgentError| into_api_error(error))?;
        let head = match standing.is_own {
            true => library.head(name).map_err(into_api_error)?,
            false => None,
        };
        let by_hand = match &head {
            Some(head) => by_hand(&library, name, head)?,
            None => Vec::new(),
        };
        let files = files(work, name, NOW);
        Ok(Self { guest, name, title, description, standing, folder, head, hosts: hosts?, by_hand, files })
    }

    fn page(&self, work: &Work<'_>, asked: &PageQuery, judgements: &Judgements) -> Result<Markup, ApiError> {
        let (texts, words) = (self.guest.texts, &self.guest.texts.library);
        let at = format!("/skills/{}/files/{NOW}/", self.name);
        let waivers = match self.standing.is_own {
            true => Some(work.place.library_of(self.name)?.waivers(self.name).map_err(into_api_error)?),
            false => None,
        };
        Ok(html! {
            header.title {
                @if self.head.is_some() {
                    (heading(self.name.as_str(), self.name.as_str(), self.guest, ""))
                } @else {
                    (heading_alone(self.name.as_str(), self.name.as_str(), self.guest, ""))
                }
                p.facts { (self.standing.badges(texts)) }
                @if let Some(title) = &self.title { p { strong { (visible(title)) } } }
                (lead(&self.description))
            }
            (done(asked, words))
            (self.notes())
            div.aside {
                div.main {
                    @match &self.files {
                        Ok(bundle) => {
                            @let judgement = judgements.of(bundle.digest(), bundle);
                            @let report = { let mut report = judgement.report.clone(); if let Some(waivers) = &waivers { report.waive(bundle, waivers); } report };
                            (self.runs(work)?)
                            section { h2 { (texts.what_it_touches) } (capabilities(&judgement.capabilities, texts)) }
                            section #findings { h2 { (texts.what_was_found) } (findings(&report, Some(&at), texts)) }
                            (readme(bundle, &at, texts))
                            (file_list(bundle, &at, texts))
                        }
                        Err(why) => section.failure { h2 { (words.not_shown) } p { (visible(&why.message)) } }
                    }
                }
                (self.side())
            }
        })
    }

    /// Renders the outcomes of runs with a skill of this library.
    fn runs(&self, work: &Work<'_>) -> Result<Markup, ApiError> {
        match self.standing.is_own {
            true => runs(&work.place.library_of(self.name)?, self.name, work, self.guest),
            false => Ok(html! {}),
        }
    }

    /// Renders the warnings that come before everything else.
    fn notes(&self) -> Markup {
        let words = &self.guest.texts.library;
        html! {
            @if let Some(fault) = &self.standing.fault {
                div.note.bad {
                    p { (words.agents_do_not_see) " " (visible(fault)) }
                    @if self.head.is_some() && !self.standing.damaged {
                        p { a href={ "/skills/" (self.name) "/rollback?to=head" } rel="nofollow" { (words.put_back) } }
                    }
                }
            }
            @if self.standing.waits > 0 {
                p.note { a href={ "/review?q=" (self.name) } { ((words.wait_for_review)(self.standing.waits)) } }
            }
            @if !self.by_hand.is_empty() {
                div.note {
                    p { (words.edited_by_hand) }
                    ul.plain {
                        @for (path, change) in self.by_hand.iter().take(NAMED) { li { code { (visible(path)) } " " (self.word(*change)) } }
                        @if self.by_hand.len() > NAMED { li { ((self.guest.texts.and_more)(self.by_hand.len() - NAMED)) } }
                    }
                }
            }
        }
    }

    fn word(&self, change: Change) -> &'static str {
        match change {
            Change::Added => self.guest.texts.added,
            Change::Modified => self.guest.texts.modified,
            Change::Removed => self.guest.texts.removed,
        }
    }

    fn side(&self) -> Markup {
        let (texts, words) = (self.guest.texts, &self.guest.texts.library);
        let readers = self.hosts.readers.concat().join(", ");
        html! {
            aside {
                h2.unseen-title { (texts.facts) }
                (self.visibility())
                @for one in &self.hosts.differences { p.note { (visible(&format!("{}: {}", one.message, one.command))) } }
                dl.facts-list {
                    @if let Some(head) = &self.head {
                        dt { (words.last_change) }
                        dd {
                            p.facts { a href={ "/skills/" (self.name) "/history" } { ((words.revision)(head.number)) } (line(self.guest, head)) }
                            @if let Some(reason) = &head.stamp.reason { p { (visible(reason)) } }
                        }
                        dt { (words.came_from) }
                        dd { @match &head.origin { Some(origin) => { (visible(&origin.release())) " · " (visible(origin.location())) }, None => (words.written_here) } }
                    }
                    @if !readers.is_empty() { dt { (words.read_by) } dd { (readers) } }
                    @if let Some(folder) = &self.folder { dt { (words.folder) } dd { code.digest { (visible(folder)) } } }
                    @if let Ok(bundle) = &self.files {
                        dt { (texts.size) }
                        dd { (size(bundle.total_bytes())) }
                        dt { (texts.digest) }
                        dd { code.digest { (bundle.digest()) } }
                    }
                }
            }
        }
    }

    /// Renders the form that shows the skill to agents or hides it.
    fn visibility(&self) -> Markup {
        let words = &self.guest.texts.library;
        let (value, word, means) = match self.standing.enabled {
            true => ("no", words.disable, words.is_enabled),
            false => ("yes", words.enable, words.is_disabled),
        };
        html! {
            form.sight method="post" action={ "/skills/" (self.name) "/sight" } {
                (proof(self.guest))
                input type="hidden" name="enabled" value=(value);
                p { (means) }
                button { (word) }
            }
        }
    }
}

/// Returns the files that were edited by hand since the last revision.
fn by_hand(library: &Library, name: &SkillName, head: &Revision) -> Result<Vec<(String, Change)>, ApiError> {
    let state = library.folder_state(name).map_err(into_api_error)?;
    let found = match &state {
        FolderState::Modified(cleared) | FolderState::Earlier { cleared, .. } => Some(cleared.bundle()),
        FolderState::Blocked(fault) => fault.bundle(),
        FolderState::Absent | FolderState::Clean | FolderState::Missing => None,
    };
    let Some(found) = found else { return Ok(Vec::new()) };
    let changes = diff::diff(&library.bundle(&head.id).map_err(into_api_error)?, found).files;
    Ok(changes.into_iter().map(|one| (one.path.to_string(), one.change)).collect())
}

/// The fields of the visibility form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct VisibilityForm {
    enabled: String,
}

/// Shows a skill to agents, or hides it.
pub async fn set_visibility(
    State(gateway): State<Shared>,
    Path(name): Path<String>,
    SignedInForm { guest, fields }: SignedInForm<VisibilityForm>,
) -> Response {
    let back = format!("/skills/{}", encoded(&name));
    let set = guest.change(&gateway, move |work| {
        let name = work.skill_called(&name)?;
        let enabled = match fields.enabled.as_str() {
            "yes" => true,
            "no" => false,
            _ => return Err(ApiError::bad_request("the form does not say whether to show or hide the skill")),
        };
        work.place.set_enabled(&name, enabled)?;
        work.live.reload();
        Ok(format!("/skills/{name}?done={}", if enabled { "enabled" } else { "disabled" }))
    });
    match set.await {
        Ok(place) => guest.to(&place),
        Err(error) => guest.refuse(error, Some(&back)),
    }
}
