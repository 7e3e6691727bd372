//! A person's inbox: pending proposals and changed skills ([`queue`]).

use axum::{
    extract::{Query as Parameters, State, rejection::QueryRejection},
    response::Response,
};
use library::{Proposal, ProposalEntry};
use maud::{Markup, html};
use ops::InboxSkill;
use scan::CapabilityDelta;
use skill::SkillName;
use skill_manage::{documents::deltas, review};
use web::pages::{Content, added_in_short, number, time, verdict, visible};

use super::{
    changes::{alarm_note, facts as facts_of_change},
    pieces::{PageQuery, actor, done, state, wanted},
    signed_in::{SignedIn, answer},
};
use crate::gateway::{Shared, into_api_error};

/// Number of proposals on a page.
const SHOWN: usize = 50;

/// Renders the inbox, or all proposals.
pub async fn queue(
    State(gateway): State<Shared>,
    guest: SignedIn,
    asked: Result<Parameters<PageQuery>, QueryRejection>,
) -> Response {
    let asked = PageQuery::of(asked);
    answer(&gateway, guest, move |work, guest| {
        let words = &guest.texts.library;
        let name = Some(asked.q.trim()).filter(|name| !name.is_empty()).map(|name| work.skill_called(name)).transpose()?;
        let all = asked.only == "all";
        let (inbox, is_seen) = (work.place.inbox()?, work.seen()?);
        let libraries = &inbox.libraries;
        let mut entries = review::list(libraries, all, name.as_ref()).map_err(into_api_error)?;
        entries.retain(|entry| entry.skill().is_none_or(&is_seen));
        if all {
            entries.reverse();
        }
        let is_inbox = !all && name.is_none();
        let changed = if is_inbox { inbox.read_skills(work.place.now)? } else { Vec::new() };
        let is_shown = |name: &SkillName| changed.iter().any(|skill| skill.change.skill == *name);
        let alarms: Vec<_> = inbox.alarms.iter().filter(|(found, _)| is_inbox && !is_shown(&found.name)).collect();
        let shown = entries.iter().skip(asked.start()).take(SHOWN).cloned().collect::<Vec<_>>();
        let deltas = deltas(libraries, &shown);
        let body = html! {
            header.title {
                h1 { (words.review) @if let Some(name) = &name { " · " (name) } }
                nav.views aria-label=(words.review) {
                    a href="/review" aria-current=[is_inbox.then_some("true")] { (words.waiting) }
                    a href="/review?only=all" aria-current=[all.then_some("true")] { (words.all_proposals) }
                }
            }
            (done(&asked, words))
            @for (found, alarm) in &alarms { h2 { a href={ "/skills/" (found.name) "#runs" } { (found.name) } } (alarm_note(guest, alarm)) }
            @if entries.is_empty() && changed.is_empty() && alarms.is_empty() { section.empty { h2 { (words.nothing_waits) } p { (words.nothing_waits_next) } } }
            ol.queue { @for (entry, delta) in shown.iter().zip(&deltas) { (item(guest, entry, delta.as_ref())) } }
            @if !changed.is_empty() {
                h2 { (words.since_you_looked) }
                ol.queue.changed { @for skill in &changed { (changed_item(guest, skill)) } }
            }
            @if entries.len() > asked.start() + SHOWN {
                nav.pager aria-label=(guest.texts.pages) {
                    a.button rel="next" href={ "/review?only=" (if all { "all" } else { "" }) "&start=" (asked.start() + SHOWN) } { (guest.texts.next) }
                    span.quiet { (number(entries.len() as u64)) }
                }
            }
        };
        Ok(Content::new(words.review, body))
    })
    .await
}

fn item(guest: &SignedIn, entry: &ProposalEntry, delta: Option<&CapabilityDelta>) -> Markup {
    let words = &guest.texts.library;
    html! {
        @match entry {
            ProposalEntry::Whole(one) => li id={ "p-" (one.id) } {
                h2 { a href={ "/review/" (one.id) } { (wanted(one.action, words)) ": " (one.skill) } }
                (facts(guest, one))
                @if let Some(delta) = delta { (added_in_short(delta, guest.texts)) }
                @if let Some(reason) = &one.reason { blockquote { (visible(reason)) } }
            },
            ProposalEntry::Damaged(one) => li id={ "p-" (one.id) } {
                h2 { a href={ "/review/" (one.id) } { (one.id) } " " span.badge.bad { (words.damaged) } }
                p { (visible(&one.why)) }
            },
        }
    }
}

fn changed_item(guest: &SignedIn, skill: &InboxSkill) -> Markup {
    let name = &skill.change.skill;
    let reason = skill.change.head().and_then(|head| head.stamp.reason.as_ref());
    html! {
        li id={ "s-" (name) } {
            h2 { a href={ "/skills/" (name) "/changes" } { (name) } }
            (facts_of_change(guest, skill))
            @if let Some(delta) = &skill.change.delta { (added_in_short(delta, guest.texts)) }
            @if let Some(reason) = reason { blockquote { (visible(reason)) } }
        }
    }
}

/// Renders the author, time and state of a proposal.
pub fn facts(guest: &SignedIn, one: &Proposal) -> Markup {
    let (texts, words) = (guest.texts, &guest.texts.library);
    html! {
        p.facts {
            (state(review::state_at(one, guest.now), words))
            (verdict(texts, one.scan.verdict()))
            span { (words.by) " " (actor(&one.actor, words)) }
            span { (time(guest, one.created)) }
            @if one.state.is_open() { span { (words.until) " " time datetime=(one.expires) title=(one.expires) { (one.expires.strftime("%Y-%m-%d").to_string()) } } }
            code { (one.id) @if one.revision > 1 { "@" (one.revision) } }
        }
    }
}
