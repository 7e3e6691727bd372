//! Pieces of several pages of the library: actors, actions, and notes about the last action.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{
        FromRequestParts, Query as Parameters,
        rejection::{ExtensionRejection, QueryRejection},
    },
    http::request::Parts,
};
use library::{Action, Actor, ActorKind, ProposalState, Revision};
use maud::{Markup, html};
use serde::Deserialize;
use web::pages::{CompareOptions, Judgements, LibraryTexts, Reader, Texts, time, verdict, visible};

/// Query parameters of the pages. All are text, so that a malformed one is not an error.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PageQuery {
    /// The action that was just completed.
    pub done: String,
    /// Words to search for.
    pub q: String,
    /// Filter for skills or proposals.
    pub only: String,
    /// Number of entries to skip.
    pub start: String,
    /// First revision of a comparison.
    pub from: String,
    /// Second revision of a comparison.
    pub to: String,
    /// The base that a proposal is compared with.
    pub onto: String,
}

impl PageQuery {
    /// Reads the parameters of a request. An unreadable query counts as empty.
    pub fn of(asked: Result<Parameters<Self>, QueryRejection>) -> Self {
        asked.map(|Parameters(asked)| asked).unwrap_or_default()
    }

    /// Returns the number of entries to skip.
    pub fn start(&self) -> usize {
        self.start.parse().unwrap_or(0)
    }
}

/// Parts of a request for a page with a comparison.
pub struct Comparison {
    /// Query of the page.
    pub asked: PageQuery,
    /// View of the comparison.
    pub wanted: CompareOptions,
    /// Judgements of recently shown files.
    pub judgements: Arc<Judgements>,
}

impl<S: Send + Sync> FromRequestParts<S> for Comparison {
    type Rejection = ExtensionRejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let Extension(judgements) = Extension::from_request_parts(parts, state).await?;
        let wanted = Parameters::try_from_uri(&parts.uri).map(|Parameters(wanted)| wanted).unwrap_or_default();
        Ok(Self { asked: PageQuery::of(Parameters::try_from_uri(&parts.uri)), wanted, judgements })
    }
}

/// Value of `done` after a decision about something that has changed in the meantime.
pub const CHANGED: &str = "changed";

/// Renders a note about the action that was just completed.
pub fn done(asked: &PageQuery, words: &LibraryTexts) -> Markup {
    let said = match asked.done.as_str() {
        "enabled" => words.done_enabled,
        "disabled" => words.done_disabled,
        "rolled-back" => words.done_rolled_back,
        "unchanged" => words.done_unchanged,
        "accepted" => words.done_accepted,
        "superseded" => words.done_superseded,
        "rejected" => words.done_rejected,
        "kept" => words.done_kept,
        CHANGED => return html! { p.note role="alert" { (words.done_changed) } },
        _ => return html! {},
    };
    html! { p.note.good role="status" { (said) } }
}

/// Renders an actor's name and kind.
pub fn actor(actor: &Actor, words: &LibraryTexts) -> Markup {
    let kind = match actor.kind {
        ActorKind::Agent => words.agent,
        ActorKind::Person => words.person,
        ActorKind::Optimizer => words.optimizer,
        ActorKind::External => words.by_hand,
    };
    html! { @if actor.id.is_empty() { (kind) } @else { b { (visible(&actor.id)) } " (" (kind) ")" } }
}

/// Returns the words for a completed action.
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
        Action::Merge => words.merged,
    }
}

/// Returns the words for a requested action.
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
        | Action::Rollback
        | Action::Merge => words.to_change,
    }
}

/// Renders the state of a proposal as a badge.
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

/// Renders the action, time and actor of a revision in one line.
pub fn line(reader: &Reader, revision: &Revision) -> Markup {
    let words = &reader.texts.library;
    html! {
        span { (action(revision.action, words)) }
        span { (time(reader, revision.stamp.time)) }
        span { (words.by) " " (actor(&revision.stamp.actor, words)) }
    }
}

/// Renders the scanner's verdict on a revision. A deletion has none.
pub fn verdict_of(revision: &Revision, texts: &Texts) -> Markup {
    html! { @if !revision.tombstone { (verdict(texts, revision.verdict)) } }
}

/// Renders the heading of a page about a skill with a history, with links to the others.
pub fn heading(name: &str, title: &str, reader: &Reader, here: &str) -> Markup {
    let words = &reader.texts.library;
    let ways = [("", words.skill), ("/history", words.history)];
    html! {
        (heading_alone(name, title, reader, here))
        nav.views aria-label=(name) {
            @for (at, word) in ways {
                a href={ "/skills/" (name) (at) } aria-current=[(at == here).then_some("true")] { (word) }
            }
        }
    }
}

/// Renders the heading of a page about a skill, which may have no history.
pub fn heading_alone(name: &str, title: &str, reader: &Reader, here: &str) -> Markup {
    html! {
        p.path-to { a href="/" { (reader.texts.library.skills) } " / " @if here.is_empty() { (name) } @else { a href={ "/skills/" (name) } { (name) } } }
        h1 { (title) }
    }
}
