//! The page of a skill ([`View`]), with its purpose, its safety, and the way to install it.

use std::collections::BTreeMap;

use axum::{
    extract::{Path, Query as Parameters, State, rejection::QueryRejection},
    response::Response,
};
use maud::{Markup, html};
use registry_index::{Entry, newest};
use serde::Deserialize;
use web::pages::{
    Content, Judgement, added, capabilities, file_list, findings, lead, number, readme, size, time, verdict, visible,
};

use super::{
    chart,
    install::install,
    opened::{Opened, opened},
    release_page, report, skills,
    visitor::{Visitor, answer},
};
use crate::{
    access::{Action, Caller},
    api::{HubState, Shared, lineage_of, name_of, run},
    error::ApiError,
    hub::Hub,
};

/// Number of versions and of related skills that are listed.
const LISTED: usize = 100;

/// Query parameters that select a release.
#[derive(Deserialize)]
pub struct Which {
    version: Option<String>,
    reported: Option<String>,
}

/// The release that is shown, and the releases around it.
struct Chosen {
    /// All releases, newest version first.
    entries: Vec<Entry>,
    /// The release that is shown.
    entry: Entry,
    is_newest: bool,
    /// Files of that release, or the error that withholds them.
    files: Result<Opened, ApiError>,
    /// The previous release, if its files are available.
    before: Option<Opened>,
}

/// The data of the skill page.
struct View<'a> {
    visitor: &'a Visitor,
    chosen: Chosen,
    was_reported: bool,
    by_version: BTreeMap<String, u64>,
}

/// Renders the page of a skill.
pub async fn skill(
    State(hub): HubState,
    visitor: Visitor,
    Path((owner, name)): Path<(String, String)>,
    which: Result<Parameters<Which>, QueryRejection>,
) -> Response {
    let (asked, reported) = which.map_or((None, None), |Parameters(which)| (which.version, which.reported));
    let chosen = chosen(&hub, &visitor.caller, owner, name, asked).await;
    let permit = hub.contents.lanes.permit(0).await;
    answer(&hub, visitor, move |hub, visitor| {
        let (_held, chosen) = (permit, chosen?);
        let by_version = hub.stores.activity.by_version(&chosen.entry.name.to_string())?;
        let title = format!("{} {}", chosen.entry.name, chosen.entry.version);
        let view = View { visitor, chosen, was_reported: reported.is_some(), by_version };
        Ok(Content::new(title, view.page(hub)?))
    })
    .await
}

/// Loads the releases of a skill and the requested one, by default the newest.
async fn chosen(
    hub: &Shared,
    caller: &Caller,
    owner: String,
    name: String,
    asked: Option<String>,
) -> Result<Chosen, ApiError> {
    let by = caller.clone();
    let found = run(hub, move |hub| {
        hub.check(&by, Action::Read)?;
        let name = name_of(&owner, &name)?;
        let mut entries = hub.releases(&name)?;
        entries.sort_by(|a, b| b.version.cmp(&a.version));
        let first = newest(&entries, false).or(entries.first()).map(|entry| entry.version.clone());
        let version = asked.or(first.as_ref().map(ToString::to_string)).unwrap_or_default();
        let entry = entries.iter().find(|entry| entry.version.to_string() == version).cloned();
        let entry = entry.ok_or_else(|| ApiError::not_found(format!("{name} has no release {version}")))?;
        Ok((first.as_ref() == Some(&entry.version), entries, entry))
    });
    let (is_newest, entries, entry) = found.await?;
    let older = entries.iter().find(|older| older.version < entry.version).cloned();
    let shown = entry.clone();
    let files = match opened(hub, caller, move |_| Ok(shown)).await {
        Err(error) if error.status.is_server_error() => return Err(error),
        files => files,
    };
    let before = match older.filter(|_| files.is_ok()) {
        Some(older) => opened(hub, caller, move |_| Ok(older)).await.ok(),
        None => None,
    };
    Ok(Chosen { entries, entry, is_newest, files, before })
}

impl View<'_> {
    fn page(&self, hub: &Hub) -> Result<Markup, ApiError> {
        let (texts, entry) = (self.visitor.texts, &self.chosen.entry);
        let barrier = hub.barrier(entry)?;
        Ok(html! {
            header.title {
                h1 { a.owner href={ "/" (entry.name.owner) } { (entry.name.owner) } "/" wbr; (entry.name.name) }
                p.facts {
                    span { (entry.version) }
                    (verdict(texts, skills::verdict_of(entry)))
                    (skills::flags(texts, entry))
                    span { (time(self.visitor, entry.published_at)) }
                }
                @if let Some(title) = &entry.title { p { strong { (visible(title)) } } }
                (lead(&entry.description))
            }
            @if self.was_reported { p.note.good role="status" { (texts.reported) } }
            @if let Some(barrier) = &barrier { p.note { (visible(&barrier.message_for(entry))) } }
            @if let Some(reason) = entry.yanked_reason() { p.note { (texts.yanked) ": " (visible(reason)) } }
            @if let Some(deprecated) = entry.deprecated() { p.note { (visible(&deprecated.to_string())) } }
            @if !self.chosen.is_newest { p.note { (texts.not_newest) " " a href={ "/" (entry.name) } { (texts.to_newest) } } }
            div.aside {
                div.main {
                    (self.changelog())
                    @match &self.chosen.files {
                        Ok(Opened { bundle, judgement, .. }) => {
                            @if barrier.is_none() { (install(self.visitor, entry, self.chosen.is_newest)) }
                            @if let Some(before) = &self.chosen.before { (self.since(before, judgement)) }
                            section {
                                h2 { (texts.what_it_touches) }
                                (capabilities(&judgement.capabilities, texts))
                            }
                            section #findings {
                                h2 { (texts.what_was_found) }
                                (findings(&judgement.report, Some(&self.files_at()), texts))
                            }
                            (readme(bundle, &self.files_at(), texts))
                            (file_list(bundle, &self.files_at(), texts))
                        }
                        Err(why) => section.failure { h2 { (texts.held_back) } p { (visible(&why.message)) } }
                    }
                    (self.versions())
                    (self.lineage(hub)?)
                }
                (self.side(hub)?)
            }
        })
    }

    /// Renders the publisher's description of the changes.
    fn changelog(&self) -> Markup {
        let Some(changelog) = &self.chosen.entry.changelog else { return html! {} };
        html! {
            section #changelog {
                h2 { (self.visitor.texts.changelog) }
                p { @for line in changelog.lines() { (visible(line)) br; } }
            }
        }
    }

    /// Renders the capabilities that were added since the previous release.
    fn since(&self, before: &Opened, after: &Judgement) -> Markup {
        let (texts, entry) = (self.visitor.texts, &self.chosen.entry);
        let (delta, older) = (after.capabilities.since(&before.judgement.capabilities), &before.entry.version);
        let changes = html! { a href={ "/" (entry.name) "/diff/" (older) "/" (entry.version) } { ((texts.changes_since)(&older.to_string())) } };
        added(&delta, &html! { p { (changes) } }, texts)
    }

    fn files_at(&self) -> String {
        format!("/{}/files/{}/", self.chosen.entry.name, self.chosen.entry.version)
    }

    fn versions(&self) -> Markup {
        let texts = self.visitor.texts;
        let name = &self.chosen.entry.name;
        let older = |at: usize| self.chosen.entries.get(at + 1);
        html! {
            section #versions {
                h2 { (texts.versions) " " span.quiet { (number(self.chosen.entries.len() as u64)) } }
                div.wide {
                    table.list {
                        @for (at, entry) in self.chosen.entries.iter().take(LISTED).enumerate() {
                            tr {
                                td {
                                    a href=(release_page(name, &entry.version)) aria-current=[(entry.version == self.chosen.entry.version).then_some("true")] {
                                        (entry.version)
                                    }
                                }
                                td { (verdict(texts, skills::verdict_of(entry))) " " (skills::flags(texts, entry)) }
                                td { (time(self.visitor, entry.published_at)) }
                                td.right { ((texts.downloads)(self.by_version.get(&entry.version.to_string()).copied().unwrap_or(0))) }
                                td {
                                    @if let Some(older) = older(at) {
                                        a href={ "/" (name) "/diff/" (older.version) "/" (entry.version) } { ((texts.changes_since)(&older.version.to_string())) }
                                    }
                                }
                            }
                        }
                    }
                }
                @if self.chosen.entries.len() > LISTED { p.quiet { ((texts.and_more)(self.chosen.entries.len() - LISTED)) } }
            }
        }
    }

    fn lineage(&self, hub: &Hub) -> Result<Markup, ApiError> {
        let texts = self.visitor.texts;
        let lineage = lineage_of(hub, &self.chosen.entry.name)?;
        if lineage.made_from.is_empty() && lineage.made_into.is_empty() && lineage.dependents.is_empty() {
            return Ok(html! {});
        }
        Ok(html! {
            section #lineage {
                h2 { (texts.lineage) }
                dl.touches {
                    @if !lineage.made_from.is_empty() {
                        dt { (texts.made_from) }
                        @for made in lineage.made_from.iter().take(LISTED) { dd { (visible(&made.release)) " ← " (visible(&made.from)) } }
                    }
                    @if !lineage.made_into.is_empty() {
                        dt { (texts.made_into) }
                        @for made in lineage.made_into.iter().take(LISTED) {
                            @let name = made.release.split(' ').next().unwrap_or_default();
                            dd { a href={ "/" (name) } { (made.release) } " ← " (visible(&made.from)) }
                        }
                    }
                    @if !lineage.dependents.is_empty() {
                        dt { (texts.needed_by) }
                        @for other in lineage.dependents.iter().take(LISTED) { dd { a href={ "/" (other) } { (other) } } }
                    }
                }
            }
        })
    }

    fn side(&self, hub: &Hub) -> Result<Markup, ApiError> {
        let (texts, entry) = (self.visitor.texts, &self.chosen.entry);
        let name = entry.name.to_string();
        let days = hub.stores.activity.by_day(&name, &chart::first_day(self.visitor.now))?;
        let total: u64 = self.by_version.values().sum();
        let signer = hub.stores.releases.signer(entry)?;
        Ok(html! {
            aside {
                h2.unseen-title { (texts.facts) }
                p.count { ((texts.downloads)(total)) " · " ((texts.stars)(hub.stores.activity.stars(&name)?)) }
                @if !days.is_empty() { (chart::chart(&days, self.visitor.now, texts)) }
                dl.facts-list {
                    dt { (texts.signature) }
                    dd {
                        @match &signer {
                            Ok(Some(key)) => { (texts.signed_by) " " code { (key.fingerprint()) } }
                            Ok(None) => (texts.not_signed),
                            Err(why) => { span.badge.bad { (texts.signature_bad) } " " (visible(&why.to_string())) }
                        }
                    }
                    dt { (texts.licence) }
                    dd { @match &entry.license { Some(licence) => (visible(licence)), None => (texts.no_licence) } }
                    dt { (texts.published_by) }
                    dd { (visible(&entry.publisher)) }
                    dt { (texts.size) }
                    dd { (size(entry.size)) }
                    @if !entry.keywords.is_empty() {
                        dt { (texts.keywords) }
                        dd { @for word in &entry.keywords { span.badge { (visible(word)) } " " } }
                    }
                    @if !entry.requires.is_empty() {
                        dt { (texts.needs) }
                        @for need in &entry.requires {
                            @let name = need.split('@').next().unwrap_or_default();
                            dd { a href={ "/" (name) } { (visible(need)) } }
                        }
                    }
                    dt { (texts.digest) }
                    dd { code.digest { (entry.digest) } }
                }
                (report::form(self.visitor, entry))
            }
        })
    }
}
