//! The form with which a signed-in visitor reports a release ([`report`]).

use axum::{extract::State, response::Response};
use jiff::Timestamp;
use maud::{Markup, html};
use registry_index::Entry;
use serde::Deserialize;
use web::pages::{proof, reason_field};

use super::{
    release_page,
    skills::release_fields,
    visitor::{Sent, Visitor, refused},
};
use crate::{
    access::Action,
    api::{HubState, name_of, reason, run},
    error::ApiError,
};

/// The fields of the report form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Fields {
    skill: String,
    version: String,
    reason: String,
}

/// Renders the report form, for visitors who are signed in.
pub fn form(visitor: &Visitor, entry: &Entry) -> Markup {
    let texts = visitor.texts;
    html! {
        @if visitor.caller.account().is_some() {
            details {
                summary { (texts.report) }
                form method="post" action="/-/report" {
                    (proof(visitor))
                    (release_fields(&entry.name.to_string(), &entry.version.to_string()))
                    (reason_field(visitor))
                    button { (texts.report_send) }
                }
            }
        }
    }
}

/// Stores a report for the moderators.
pub async fn report(State(hub): HubState, Sent { visitor, fields }: Sent<Fields>) -> Response {
    let caller = visitor.caller.clone();
    let noted = run(&hub, move |hub| {
        hub.check(&caller, Action::TakePart)?;
        let account = caller.account().ok_or_else(|| ApiError::bad_request("authentication required"))?;
        let (owner, name) = fields.skill.split_once('/').unwrap_or((&fields.skill, ""));
        let entry = hub.release(&name_of(owner, name)?, &fields.version)?;
        let (skill, version) = (entry.name.to_string(), entry.version.to_string());
        hub.stores.activity.report(&skill, &version, &reason(&fields.reason)?, account, Timestamp::now())?;
        Ok(format!("{}&reported=1", release_page(&skill, &version)))
    });
    match noted.await {
        Ok(place) => visitor.to(&place),
        Err(error) => refused(&visitor, error),
    }
}
