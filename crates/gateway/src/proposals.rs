//! Held changes, and what a person decides about them.

use axum::{
    Extension, Json,
    body::Bytes,
    extract::{Path, State},
    http::StatusCode,
};
use library::Library;
use serde::Deserialize;
use serde_json::{Value, json};
use skill_manage::{
    Reviewer, documents,
    review::{self, Accept, Decider, ProposalRef, ProposalRefError, Reject},
};
use web::{ApiError, Parameters};

use crate::{
    custom::change,
    gate::Asker,
    gateway::{Shared, Work, at_work, read, told},
};

/// Which proposals are asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    /// Only those about this skill.
    name: Option<String>,
    /// Those that were decided as well.
    all: bool,
}

/// What waits, the oldest first.
pub async fn list(
    State(gateway): State<Shared>,
    Extension(asker): Extension<Asker>,
    Parameters(wanted): Parameters<Wanted>,
) -> Result<Json<Value>, ApiError> {
    at_work(&gateway, asker, move |work| {
        let name = wanted.name.as_deref().map(|name| work.skill_called(name)).transpose()?;
        let libraries = work.place.libraries()?;
        let mut entries = review::list(&libraries, wanted.all, name.as_ref()).map_err(told)?;
        entries.retain(|entry| entry.skill().is_none_or(|skill| work.sees(skill)));
        Ok(Json(documents::proposals(&entries, &documents::deltas(&libraries, &entries), work.now)))
    })
    .await
}

/// Against what a proposal is shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Against {
    /// The skill as it is now, in place of the revision that it was made on.
    onto_head: bool,
}

/// One proposal: who, why, the findings, the diff.
pub async fn one(
    State(gateway): State<Shared>,
    Extension(asker): Extension<Asker>,
    Path(id): Path<String>,
    Parameters(against): Parameters<Against>,
) -> Result<Json<Value>, ApiError> {
    at_work(&gateway, asker, move |work| {
        let target = target(&id)?;
        let library = library_with(work, &target)?;
        let mut document = documents::proposal(&library, &target).map_err(told)?.document(work.now);
        // Of one that was decided, or is damaged, there may be nothing left to compare.
        let difference = review::difference(&library, &target, against.onto_head).ok();
        if let Some(difference) = &difference {
            document["proposal"]["reviewed"] = json!(difference.reviewed.to_string());
        }
        document["diff"] = json!(difference.as_ref().map(|difference| &difference.text));
        document["conflicts"] = json!(difference.map(|difference| difference.conflicts).unwrap_or_default());
        Ok(Json(document))
    })
    .await
}

/// A decision.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Decision {
    /// Why, for the history.
    reason: Option<String>,
}

/// Makes a proposal the newest revision of its skill.
pub async fn accept(
    State(gateway): State<Shared>,
    Extension(asker): Extension<Asker>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    at_work(&gateway, asker, move |work| {
        let accept = Accept { target: target(&id)?, reason: read::<Decision>(&body)?.reason, trial: None };
        let reviewer = reviewer(work, "accepting")?;
        Ok(Json(change(work, library_with(work, &accept.target)?, |library, context| {
            review::accept(library, &accept, reviewer, context)
        })?))
    })
    .await
}

/// Turns a proposal down.
pub async fn reject(
    State(gateway): State<Shared>,
    Extension(asker): Extension<Asker>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<Value>, ApiError> {
    at_work(&gateway, asker, move |work| {
        let reject = Reject { target: target(&id)?, reason: read::<Decision>(&body)?.reason };
        let decider = Decider::Person(reviewer(work, "rejecting")?);
        let done =
            review::reject(&mut library_with(work, &reject.target)?, &reject, decider, work.now).map_err(told)?;
        Ok(Json(json!({"ok": true, "status": "rejected", "id": done.id.as_str(), "name": done.skill})))
    })
    .await
}

/// The library with a proposal: that which is written to, or the folder of a group below it.
///
/// # Errors
/// None has it.
pub(crate) fn library_with(work: &Work<'_>, target: &ProposalRef) -> Result<Library, ApiError> {
    review::library_with(work.place.libraries()?, &target.id).map_err(told)
}

/// The person who asks.
///
/// # Errors
/// Nobody has shown to be one.
pub(crate) fn reviewer<'a>(work: &'a Work<'_>, what: &str) -> Result<&'a Reviewer, ApiError> {
    work.reviewer.as_ref().ok_or_else(|| {
        ApiError::new(StatusCode::FORBIDDEN, "policy_denied", format!("{what} a proposal takes a person")).hint(
            "use a token that `skillhub reviewer new` made: as X-Skillhub-Reviewer-Token, or signing in to the pages",
        )
    })
}

fn target(id: &str) -> Result<ProposalRef, ApiError> {
    id.parse().map_err(|error: ProposalRefError| {
        ApiError::bad_request(error.to_string()).hint("GET /api/proposals shows the ids")
    })
}
