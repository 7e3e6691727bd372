//! The page of a proposal ([`proposal`]), and the form that decides it ([`decide`]).

use axum::{
    extract::{Path, State},
    response::Response,
};
use library::{DamagedProposal, Proposal, ProposalEntry, ProposalState};
use maud::{Markup, html};
use serde::Deserialize;
use skill_manage::{
    documents::{self, ShownProposal},
    review::{self, Difference, ProposalRef},
};
use web::{
    ApiError,
    pages::{CompareOptions, Compared, Content, Judgements, capabilities, encoded, findings, proof, time, visible},
};

use super::{
    pieces::{CHANGED, Comparison, actor, done, wanted},
    review::facts,
    rollback::notes,
    signed_in::{SignedIn, SignedInForm, answer},
};
use crate::{
    gateway::{Shared, Work, into_api_error},
    proposals::{accepted, rejected},
};

/// The data of the proposal page.
struct View<'a> {
    guest: &'a SignedIn,
    target: ProposalRef,
    shown: ShownProposal,
    /// True if the reader has proven to be a person.
    is_person: bool,
    is_onto_head: bool,
    /// Change that accepting would make, if it can still be computed.
    difference: Option<Difference>,
}

/// Renders the page of a proposal.
pub async fn proposal(
    State(gateway): State<Shared>,
    guest: SignedIn,
    Path(id): Path<String>,
    comparison: Comparison,
) -> Response {
    let Comparison { asked, wanted, judgements } = comparison;
    answer(&gateway, guest, move |work, guest| {
        let target = target(&id)?;
        let library = work.place.own_library_with_proposal(&target.id)?;
        let shown = documents::proposal(&library, &target).map_err(into_api_error)?;
        // By default the page shows the effect of accepting the proposal now; `onto=base` shows it as proposed.
        let is_onto_head = shown.moved && asked.onto != "base";
        // A decided or damaged proposal may have nothing left to compare.
        let difference = review::difference(&library, &target, is_onto_head).ok();
        let view = View { guest, target, shown, is_person: work.reviewer.is_some(), is_onto_head, difference };
        let body = html! { (done(&asked, guest.texts.library)) (view.page(&wanted, &judgements)) };
        Ok(Content::new(format!("{} · {id}", guest.texts.library.review), body))
    })
    .await
}

fn target(id: &str) -> Result<ProposalRef, ApiError> {
    id.parse().map_err(|error: review::ProposalRefError| ApiError::bad_request(error.to_string()))
}

impl View<'_> {
    fn page(&self, how: &CompareOptions, judgements: &Judgements) -> Markup {
        match &self.shown.entry {
            ProposalEntry::Whole(one) => self.whole(one, how, judgements),
            ProposalEntry::Damaged(one) => self.damaged(one),
        }
    }

    fn whole(&self, one: &Proposal, how: &CompareOptions, judgements: &Judgements) -> Markup {
        let (texts, words) = (self.guest.texts, &self.guest.texts.library);
        html! {
            header.title {
                p.path-to {
                    a href="/review" { (words.review) } " / "
                    // A new skill does not have a page yet.
                    @if one.base.is_some() { a href={ "/skills/" (one.skill) } { (one.skill) } } @else { (one.skill) }
                }
                h1 { (wanted(one.action, words)) ": " (one.skill) }
                (facts(self.guest, one))
            }
            dl.touches {
                dt { (words.proposed_because) }
                dd { @match &one.reason { Some(reason) => (visible(reason)), None => span.quiet { (words.no_reason) } } }
                @if !one.evidence.is_empty() {
                    dt { (words.evidence) }
                    dd { ul { @for evidence in &one.evidence { li { (visible(&evidence.to_string())) } } } }
                }
                dt { (words.held_because) }
                dd { (visible(&one.why)) }
                @if let Some(note) = &one.note { dt { (words.since_then_said) } dd { (visible(note)) } }
                @if let Some(edited) = &one.edited_by { dt { (words.edited_by) } dd { (actor(edited, words)) } }
                @if let Some(release) = &one.release { dt { (words.release) } dd { (visible(&release.origin.release())) } }
                @if let Some(decided) = &one.decided {
                    dt { (words.decided_by) }
                    dd { (actor(&decided.by, words)) " · " (time(self.guest, decided.time)) @if let Some(reason) = &decided.reason { " · " (visible(reason)) } }
                }
            }
            (self.moved(one))
            (self.changes(how, judgements))
            section { h2 { (texts.what_was_found) } (findings(&one.scan, None, texts)) }
            @if let Some(found) = &self.shown.capabilities {
                section { details { summary { (texts.what_it_touches) } (capabilities(found, texts)) } }
            }
            (self.decision(one))
        }
    }

    /// Renders a note if the skill has changed since the proposal was made.
    fn moved(&self, one: &Proposal) -> Markup {
        let words = &self.guest.texts.library;
        let conflicts = self.difference.as_ref().map(|difference| difference.conflicts.as_slice()).unwrap_or_default();
        html! {
            @if self.shown.moved && one.state.is_open() {
                div.note.bad[!conflicts.is_empty()] {
                    p {
                        (words.skill_moved) " "
                        @if self.is_onto_head { a href={ "/review/" (self.target.id) "?onto=base" } { (words.show_as_proposed) } }
                        @else { a href={ "/review/" (self.target.id) } { (words.show_onto_head) } }
                    }
                    @if !conflicts.is_empty() {
                        p { (words.conflicts) }
                        ul { @for conflict in conflicts.iter().take(20) { li { (visible(&conflict.to_string())) } } }
                    }
                }
            }
        }
    }

    /// Renders the form that decides, for a person. Other readers see how to sign in as one.
    fn decision(&self, one: &Proposal) -> Markup {
        let (texts, words) = (self.guest.texts, &self.guest.texts.library);
        let is_open = review::state_at(one, self.guest.now).is_open();
        let unresolved = one.release.as_ref().map(|release| release.unresolved.as_slice()).unwrap_or_default();
        html! {
            @if is_open && !unresolved.is_empty() {
                div.note {
                    p { (words.both_sides_stand) " " @for path in unresolved { code { (visible(path.as_str())) } " " } }
                    p { code { "skillhub review edit " (one.id) } }
                }
            }
            @if is_open && self.is_person {
                section.install aria-label=(words.decision) {
                    form method="post" action={ "/review/" (one.id) "/accept" } {
                        (proof(self.guest))
                        input type="hidden" name="revision" value=(one.revision);
                        @if let Some(reviewed) = self.difference.as_ref().map(|difference| &difference.reviewed) {
                            input type="hidden" name="target" value=(reviewed);
                        }
                        label { (texts.reason) " " span.quiet { (words.optional) } textarea name="reason" maxlength="4000" rows="2" {} }
                        div.actions {
                            @if unresolved.is_empty() { button.main data-key="a" { (words.accept) } }
                            button.warn data-key="r" formaction={ "/review/" (one.id) "/reject" } { (words.reject) }
                        }
                    }
                    @if unresolved.is_empty() { p.quiet.keys hidden data-keys { (words.decision_keys) } }
                }
            } @else if is_open {
                p.note { (words.takes_a_person) " " a href="/-/sign-in" rel="nofollow" { (words.as_person) } }
            }
        }
    }

    fn changes(&self, how: &CompareOptions, judgements: &Judgements) -> Markup {
        let texts = self.guest.texts;
        let Some(difference) = &self.difference else { return html! {} };
        let (before, after) = (&difference.before, &difference.after);
        let (was, is) = (judgements.of(before.digest(), before), judgements.of(after.digest(), after));
        let onto = if self.is_onto_head || !self.shown.moved { "" } else { "?onto=base" };
        let page = format!("/review/{}{onto}", self.target);
        let compared = Compared::new(texts, &page, None, how);
        html! {
            h2 { (texts.library.would_change) }
            (compared.views(&html! {}))
            (compared.shown(before, after, &was, &is))
        }
    }

    /// Renders a proposal whose content is unreadable. It can only be rejected.
    fn damaged(&self, one: &DamagedProposal) -> Markup {
        let (texts, words) = (self.guest.texts, &self.guest.texts.library);
        html! {
            header.title { h1 { (one.id) " " span.badge.bad { (words.damaged) } } }
            p.note.bad { (visible(&one.why)) }
            @if self.is_person && one.decided.is_none() {
                form method="post" action={ "/review/" (one.id) "/reject" } {
                    (proof(self.guest))
                    label { (texts.reason) " " span.quiet { (words.optional) } textarea name="reason" maxlength="4000" rows="2" {} }
                    button.warn { (words.reject) }
                }
            }
        }
    }
}

/// The fields of the decision form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct DecisionForm {
    revision: String,
    /// The proposal, its revision, and the head of the diff that was shown.
    target: String,
    reason: String,
}

/// Accepts or rejects a proposal.
pub async fn decide(
    State(gateway): State<Shared>,
    Path((id, decision)): Path<(String, String)>,
    SignedInForm { guest, fields }: SignedInForm<DecisionForm>,
) -> Response {
    let back = format!("/review/{}", encoded(&id));
    let done = guest.change(&gateway, move |work| {
        let revision = match fields.revision.as_str() {
            "" => None,
            text => Some(text.parse().map_err(|_| ApiError::bad_request("the form has no revision"))?),
        };
        let id = target(&id)?.id;
        let target = match fields.target.as_str() {
            "" => ProposalRef { revision, ..ProposalRef::to(id) },
            text => target(text)
                .ok()
                .filter(|target| target.id == id)
                .ok_or_else(|| ApiError::bad_request("the form is for another proposal"))?,
        };
        let done = carry_out(work, target, &decision, fields.reason)?;
        Ok(format!("{}?done={done}", next(work)?))
    });
    match done.await {
        Ok(place) => guest.to(&place),
        // The page shows the current state, which the person can then decide.
        Err(error) if error.code == "stale_revision" => guest.to(&format!("{back}?done={CHANGED}")),
        Err(error) => guest.refuse(error, Some(&back)),
    }
}

fn carry_out(work: &Work<'_>, target: ProposalRef, decision: &str, reason: String) -> Result<&'static str, ApiError> {
    match decision {
        "accept" => {
            let report = accepted(work, target, notes(reason, "accepted in the browser")?.reason)?;
            Ok(if report["status"] == "unchanged" { "superseded" } else { "accepted" })
        }
        "reject" => {
            rejected(work, target, notes(reason, "rejected in the browser")?.reason)?;
            Ok("rejected")
        }
        _ => Err(ApiError::not_found(format!("{decision:?} is not a valid decision"))),
    }
}

/// Returns the address of the oldest pending proposal, else of the queue.
fn next(work: &Work<'_>) -> Result<String, ApiError> {
    let waits = review::list(&work.place.libraries()?, false, None).map_err(into_api_error)?;
    let first = waits.iter().find_map(|entry| match entry {
        ProposalEntry::Whole(one) if review::state_at(one, work.place.now) == ProposalState::Pending => Some(&one.id),
        _ => None,
    });
    Ok(first.map_or_else(|| "/review".to_owned(), |id| format!("/review/{id}")))
}
