//! The moderation queue ([`queue`]), and the latest decisions of the moderators.

use axum::{
    extract::{Path, State},
    response::Response,
};
use maud::{Markup, html};
use registry_index::Entry;
use serde::Deserialize;
use web::pages::{Content, proof, reason_field, time_of, visible};

use super::{
    release_page,
    skills::release_fields,
    visitor::{Sent, Visitor, answer, refused},
};
use crate::{
    access::Action,
    api::{HubState, name_of, run},
    decisions::{self, Decision, reason},
    error::ApiError,
    hub::Hub,
    store::{AuditLine, HeldCopy, Quarantined, ReportOfRelease},
};

/// Number of decisions that are shown.
const SHOWN: usize = 50;

/// The fields of all forms on the moderation page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ModerationForm {
    report: String,
    skill: String,
    version: String,
    reason: String,
    is_sure: String,
}

/// Renders the moderation queue.
pub async fn queue(State(hub): HubState, visitor: Visitor) -> Response {
    answer(&hub, visitor, |hub, visitor| {
        hub.check(&visitor.caller, Action::Administer)?;
        let texts = visitor.texts;
        let (reports, held) = (hub.stores.activity.reports(true)?, hub.quarantined()?);
        let copies = hub.stores.releases.held_copies()?;
        let decisions = hub.stores.activity.audit(None)?;
        let body = html! {
            header.title { h1 { (texts.moderation) } }
            section {
                h2 { (texts.open_reports) " " span.quiet { (reports.len()) } }
                @if reports.is_empty() { p.empty { (texts.no_reports) } }
                ul.queue { @for report in &reports { (shown(visitor, report)) } }
            }
            section {
                h2 { (texts.quarantined) " " span.quiet { (held.len()) } }
                @if held.is_empty() { p.empty { (texts.no_quarantined) } }
                ul.queue { @for one in &held { (held_back(visitor, one)) } }
            }
            @if !copies.is_empty() {
                section {
                    h2 { (texts.held_copies) " " span.quiet { (copies.len()) } }
                    p.quiet { (texts.held_copies_mean) }
                    ul.queue { @for copy in &copies { (held_copy(visitor, copy)) } }
                }
            }
            section {
                h2 { (texts.hold_back) }
                p.quiet { (texts.hold_back_means) }
                form method="post" action="/-/moderation/quarantine" {
                    (proof(visitor))
                    label { (texts.skill) input name="skill" required placeholder="acme/release-notes" autocomplete="off"; }
                    label { (texts.version) input name="version" required placeholder="1.0.0" autocomplete="off"; }
                    (reason_field(visitor))
                    button { (texts.quarantine) }
                }
            }
            section {
                h2 { (texts.decisions) }
                @if decisions.is_empty() { p.empty { (texts.no_decisions) } }
                div.wide { table.list { @for line in decisions.iter().take(SHOWN) { (decision(visitor, line)) } } }
            }
        };
        Ok(Content::new(texts.moderation, body))
    })
    .await
}

fn shown(visitor: &Visitor, report: &ReportOfRelease) -> Markup {
    let texts = visitor.texts;
    html! {
        li id={ "report-" (report.id) } {
            h3 { a href=(release_page(&report.skill, &report.version)) { (report.skill) " " (report.version) } }
            p.facts { span { (visible(&report.account)) } span { (time_of(visitor, &report.created_at)) } }
            blockquote { (visible(&report.reason)) }
            form method="post" action="/-/moderation/uphold" {
                (proof(visitor))
                (release_fields(&report.skill, &report.version))
                input type="hidden" name="report" value=(report.id);
                (reason_field(visitor))
                div.actions {
                    button formaction="/-/moderation/dismiss" { (texts.dismiss) }
                    button { (texts.uphold) }
                    button.warn formaction="/-/moderation/uphold-and-quarantine" { (texts.uphold_and_quarantine) }
                }
            }
        }
    }
}

fn held_back(visitor: &Visitor, one: &Quarantined) -> Markup {
    let texts = visitor.texts;
    html! {
        li {
            h3 { a href=(release_page(&one.skill, &one.version)) { (one.skill) " " (one.version) } }
            p.facts { span { (visible(&one.account)) } span { (time_of(visitor, &one.at)) } }
            blockquote { (visible(&one.reason)) }
            form method="post" action="/-/moderation/restore" {
                (proof(visitor))
                (release_fields(&one.skill, &one.version))
                (reason_field(visitor))
                label.check { input type="checkbox" name="is_sure" value="1"; (texts.sure_to_withdraw) }
                div.actions {
                    button { (texts.restore) }
                    button.warn formaction="/-/moderation/withdraw" { (texts.withdraw) }
                }
            }
        }
    }
}

fn held_copy(visitor: &Visitor, copy: &HeldCopy) -> Markup {
    let texts = visitor.texts;
    html! {
        li {
            h3 { a href=(release_page(&copy.skill, &copy.version)) { (copy.skill) " " (copy.version) } }
            p.facts { span { "= " (visible(&copy.copy_of)) } span { (time_of(visitor, &copy.at)) } }
            form method="post" action="/-/moderation/restore" {
                (proof(visitor))
                (release_fields(&copy.skill, &copy.version))
                (reason_field(visitor))
                div.actions {
                    button { (texts.restore) }
                    button.warn formaction="/-/moderation/quarantine" { (texts.quarantine) }
                }
            }
        }
    }
}

fn decision(visitor: &Visitor, line: &AuditLine) -> Markup {
    html! {
        tr {
            td { (time_of(visitor, &line.at)) }
            td { (visible(&line.account)) }
            td { (visible(&line.action)) }
            td { (visible(&line.subject)) }
            td.long { (visible(&line.reason)) }
        }
    }
}

/// Carries out a decision of a moderator.
pub async fn decide(
    State(hub): HubState,
    Path(decision): Path<String>,
    Sent { visitor, fields }: Sent<ModerationForm>,
) -> Response {
    let (caller, texts) = (visitor.caller.clone(), visitor.texts);
    let done = run(&hub, move |hub| {
        hub.check(&caller, Action::Administer)?;
        let account = caller.account().ok_or_else(|| ApiError::bad_request("authentication required"))?;
        if decision == "withdraw" && fields.is_sure.is_empty() {
            return Err(ApiError::bad_request(texts.not_sure).hint(texts.back_and_again));
        }
        carry_out(hub, account, &decision, &fields)
    });
    match done.await {
        Ok(()) => visitor.to("/-/moderation"),
        Err(error) => refused(&visitor, error),
    }
}

/// Returns the release that a form names.
fn release(hub: &Hub, skill: &str, version: &str) -> Result<Entry, ApiError> {
    let (owner, name) = skill.split_once('/').unwrap_or((skill, ""));
    hub.release(&name_of(owner, name)?, version)
}

fn carry_out(hub: &Hub, account: &skill::Owner, decision: &str, fields: &ModerationForm) -> Result<(), ApiError> {
    let reason = reason(&fields.reason)?;
    let release = || release(hub, fields.skill.trim(), fields.version.trim());
    let report = |what| {
        let id = fields.report.parse().map_err(|_| ApiError::bad_request("the form has no report"))?;
        decisions::decide(hub, account, id, what, &reason).map(|_| ())
    };
    match decision {
        "dismiss" => report(Decision::Dismissed),
        "uphold" => report(Decision::Upheld),
        "uphold-and-quarantine" => {
            // Quarantine the release first. If that failed after the report was closed, nobody would look at it again.
            decisions::quarantine(hub, account, &release()?, &reason)?;
            report(Decision::Upheld)
        }
        "quarantine" => decisions::quarantine(hub, account, &release()?, &reason).map(|_| ()),
        "restore" => decisions::restore(hub, account, &release()?, &reason).map(|_| ()),
        "withdraw" => decisions::withdraw(hub, account, &release()?, &reason).map(|_| ()),
        _ => Err(ApiError::not_found(format!("{decision:?} is not a valid decision"))),
    }
}
