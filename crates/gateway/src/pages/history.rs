//! The history of a skill ([`history`]), which answers when it got worse and what to go back to.

use axum::{
    extract::{Path, Query as Parameters, State, rejection::QueryRejection},
    response::Response,
};
use library::{FindError, Revision};
use maud::{Markup, html};
use skill::SkillName;
use web::pages::{Content, number, visible};

use super::{
    pieces::{PageQuery, actor, done, heading, line, verdict_of},
    signed_in::{SignedIn, answer},
};
use crate::gateway::{Shared, into_api_error};

/// Number of revisions on a page.
const SHOWN: usize = 50;
/// Number of revisions that can be selected for a comparison.
const CHOSEN: usize = 500;

/// The data of the history page.
struct Timeline<'a> {
    guest: &'a SignedIn,
    name: &'a SkillName,
    /// All loaded revisions, newest first.
    revisions: &'a [Revision],
    start: usize,
}

/// Renders the history of a skill.
pub async fn history(
    State(gateway): State<Shared>,
    guest: SignedIn,
    Path(name): Path<String>,
    asked: Result<Parameters<PageQuery>, QueryRejection>,
) -> Response {
    let asked = PageQuery::of(asked);
    answer(&gateway, guest, move |work, guest| {
        let (name, start) = (work.skill_called(&name)?, asked.start());
        let most = start.saturating_add(SHOWN + 1).max(CHOSEN);
        let revisions = work.place.library_of(&name)?.revisions(&name, most).map_err(into_api_error)?;
        if revisions.is_empty() {
            return Err(into_api_error(FindError::NoSkill(name)));
        }
        let words = &guest.texts.library;
        let timeline = Timeline { guest, name: &name, revisions: &revisions, start };
        let body = html! {
            header.title { (heading(name.as_str(), words.history, guest, "/history")) }
            (done(&asked, words))
            (timeline.choice())
            (timeline.list())
        };
        Ok(Content::new(format!("{} · {name}", words.history), body))
    })
    .await
}

impl Timeline<'_> {
    /// Renders the form that compares any two revisions.
    fn choice(&self) -> Markup {
        let words = &self.guest.texts.library;
        let chosen = self.revisions.get(..self.revisions.len().min(CHOSEN)).unwrap_or_default();
        let select = |name: &str, label: &str, at: usize| {
            html! {
                label {
                    span { (label) }
                    select name=(name) {
                        @for (place, one) in chosen.iter().enumerate() {
                            option value=(one.number) selected[place == at] { (one.number) }
                        }
                    }
                }
            }
        };
        html! {
            @if chosen.len() > 1 {
                form.compare action={ "/skills/" (self.name) "/diff" } {
                    (select("from", words.from, 1))
                    (select("to", words.to, 0))
                    button { (words.compare) }
                }
            }
        }
    }

    fn list(&self) -> Markup {
        let texts = self.guest.texts;
        let at = |start: usize| format!("/skills/{}/history?start={start}", self.name);
        html! {
            ol.timeline { @for one in self.revisions.iter().skip(self.start).take(SHOWN) { (self.item(one)) } }
            @if self.start > 0 || self.revisions.len() > self.start + SHOWN {
                nav.pager aria-label=(texts.pages) {
                    @if self.start > 0 { a.button rel="prev" href=(at(self.start.saturating_sub(SHOWN))) { (texts.previous) } }
                    @if self.revisions.len() > self.start + SHOWN { a.button rel="next" href=(at(self.start + SHOWN)) { (texts.next) } }
                }
            }
        }
    }

    fn item(&self, one: &Revision) -> Markup {
        let (texts, words) = (self.guest.texts, &self.guest.texts.library);
        let head = self.revisions.first();
        let is_head = head.is_some_and(|head| head.id == one.id);
        let accepted = one.acceptance.as_ref();
        let notes = [(words.run, &one.stamp.run), (words.thread, &one.stamp.thread)];
        html! {
            li id={ "r" (one.number) } {
                h2 { ((words.revision)(one.number)) @if is_head { " " span.badge.good { (words.newest) } } }
                p.facts { (line(self.guest, one)) (verdict_of(one, texts)) code title=(one.id) { (one.id.short()) } }
                @if let Some(reason) = &one.stamp.reason { blockquote { (visible(reason)) } }
                @if accepted.is_some() || one.origin.is_some() || notes.iter().any(|(_, id)| id.is_some()) {
                    p.facts {
                        @if let Some(accepted) = accepted { span { (words.accepted_by) " " (actor(&accepted.reviewer, words)) } }
                        @for (word, id) in notes { @if let Some(id) = id { span { (word) " " code { (visible(id)) } } } }
                        @if let Some(origin) = &one.origin { span { (visible(&origin.release())) } }
                    }
                }
                p.actions {
                    a href={ "/skills/" (self.name) "/diff?to=" (one.number) } { ((texts.files_changed)(one.files_changed)) }
                    @if !is_head && !one.tombstone { a href={ "/skills/" (self.name) "/diff?from=" (one.number) } { (words.since_then) } }
                    @if !one.tombstone { a href={ "/skills/" (self.name) "/files/" (one.number) "/SKILL.md" } { "SKILL.md" } }
                    @if !is_head && !one.tombstone && one.was_cleared() {
                        a.button href={ "/skills/" (self.name) "/rollback?to=" (one.number) } rel="nofollow" { ((words.roll_back_to)(&number(one.number))) }
                    }
                }
            }
        }
    }
}
