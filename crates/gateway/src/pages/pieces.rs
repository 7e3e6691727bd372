//! Pieces of several of the library's pages: who acted, what was done, notes on what was done a moment ago.

use axum::extract::{Query as Parameters, rejection::QueryRejection};
use library::{Action, Actor, ActorKind, ProposalState, Revision};
use maud::{Markup, html};
use serde::Deserialize;
use web::pages::{LibraryTexts, Reader, Texts, time, verdict, visible};

/// What the address of a page may bring, each part a text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// What was done a moment ago.
    pub done: String,
    /// Words to look for.
    pub q: String,
    /// Which of the skills or proposals.
    pub only: String,
    /// How many come before the first that is shown.
    pub start: String,
    /// A revision.
    pub from: String,
    /// Another one.
    pub to: String,
    /// Against what a proposal is shown.
    pub onto: String,
}

impl Asked {
    /// What a request brought; what cannot be read asks for nothing.
    pub fn of(asked: Result<Parameters<Self>, QueryRejection>) -> Self {
        asked.map(|Parameters(asked)| asked).unwrap_or_default()
    }

    /// How many come before the first that is shown.
    pub fn start(&self) -> usize {
        self.start.parse().unwrap_or(0)
    }
}

/// What [`done`] says of a decision about something that has changed since.
pub const CHANGED: &str = "changed";

/// A note on what was done a moment ago.
pub fn done(asked: &Asked, words: &LibraryTexts) -> Markup {
    let said = match asked.done.as_str() {
        "enabled" => words.done_enabled,
        "disabled" => words.done_disabled,
        "rolled-back" => words.done_rolled_back,
        "unchanged" => words.done_unchanged,
        "accepted" => words.done_accepted,
        "superseded" => words.done_superseded,
        "rejected" => words.done_rejected,
        CHANGED => return html! { p.note role="alert" { (words.done_changed) } },
        _ => return html! {},
    };
    html! { p.note.good role="status" { (said) } }
}

/// Who acted.
pub fn actor(actor: &Actor, words: &LibraryTexts) -> Markup {
    let kind = match actor.kind {
        ActorKind::Agent => words.agent,
        ActorKind::Person => words.person,
        ActorKind::Optimizer => words.optimizer,
        ActorKind::External => words.by_hand,
    };
    html! { @if actor.id.is_empty() { (kind) } @else { b { (visible(&actor.id)) } " (" (kind) ")" } }
}

/// What was done.
pub fn action(action: Action, words: &LibraryTexts) -> &'static str {
    match action {
        Action::Create => words.created,
        Action::Edit => words.edited,
        Action::Patch => words.patched,
        Action::WriteFile => words.file_written,
        Action::RemoveFile => words.file_removed,
        Action::Operations => words.several,
        Action::Delete => words.deleted,
        Action::Install => words.installed,
        Action::Update => words.updated,
        Action::Uninstall => words.uninstalled,
        Action::Adopt => words.adopted,
        Action::External => words.changed_by_hand,
        Action::Rollback => words.rolled_back,
    }
}

/// What is to be done.
pub fn wanted(wanted: Action, words: &LibraryTexts) -> &'static str {
    match wanted {
        Action::Create => words.to_create,
        Action::Edit => words.to_edit,
        Action::Patch => words.to_patch,
        Action::WriteFile => words.to_write_file,
        Action::RemoveFile => words.to_remove_file,
        Action::Delete => words.to_delete,
        Action::Update => words.to_update,
        Action::Operations
        | Action::Install
        | Action::Uninstall
        | Action::Adopt
        | Action::External
        | Action::Rollback => words.to_change,
    }
}

/// Where a proposal stands, with its word.
pub fn state(state: ProposalState, words: &LibraryTexts) -> Markup {
    let (class, word) = match state {
        ProposalState::Pending => ("fair", words.waiting),
        ProposalState::Stale => ("bad", words.stale),
        ProposalState::Quarantined => ("bad", words.quarantined),
        ProposalState::Accepted => ("good", words.accepted),
        ProposalState::Rejected => ("", words.rejected),
        ProposalState::Expired => ("", words.expired),
        ProposalState::Superseded => ("", words.superseded),
    };
    html! { span class={ "badge " (class) } { (word) } }
}

/// What a revision was made by, in one line.
pub fn line(reader: &Reader, revision: &Revision) -> Markup {
    let words = &reader.texts.library;
    html! {
        span { (action(revision.action, words)) }
        span { (time(reader, revision.stamp.time)) }
        span { (words.by) " " (actor(&revision.stamp.actor, words)) }
    }
}

/// What the scanner said of a revision; of a deletion it has nothing to say.
pub fn verdict_of(revision: &Revision, texts: &Texts) -> Markup {
    html! { @if !revision.tombstone { (verdict(texts, revision.verdict)) } }
}

/// The heading of the pages of one skill, with the ways between them.
pub fn heading(name: &str, title: &str, reader: &Reader, here: &str) -> Markup {
    let words = &reader.texts.library;
    let ways = [("", words.skill), ("/history", words.history)];
    html! {
        p.path-to { a href="/" { (words.skills) } " / " @if here.is_empty() { (name) } @else { a href={ "/skills/" (name) } { (name) } } }
        h1 { (title) }
        nav.views aria-label=(name) {
            @for (at, word) in ways {
                a href={ "/skills/" (name) (at) } aria-current=[(at == here).then_some("true")] { (word) }
            }
        }
    }
}
