//! HTTP routes for proposals, and the decisions of people about them.

use axum::{Json, http::StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use skill_manage::{
    Reviewer, documents,
    review::{self, Accept, Decider, ProposalRef, ProposalRefError, Reject, Rejected},
};
use web::{
    ApiError, Parameters,
    extract::{Path, RawBody},
};

use crate::{
    custom::change,
    gateway::{ApiResult, Caller, Work, into_api_error, read, work_for},
};

/// Query parameters that select proposals.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ProposalFilter {
    /// Name of a skill, to list only its proposals.
    name: Option<String>,
    /// True to include decided proposals.
    all: bool,
}

/// Lists the pending proposals, oldest first.
pub async fn list(caller: Caller, Parameters(wanted): Parameters<ProposalFilter>) -> ApiResult {
    work_for(caller, move |work| {
        let name = wanted.name.as_deref().map(|name| work.skill_called(name)).transpose()?;
        let (libraries, is_seen) = (work.place.libraries()?, work.seen()?);
        let mut entries = review::list(&libraries, wanted.all, name.as_ref()).map_err(into_api_error)?;
        entries.retain(|entry| entry.skill().is_none_or(&is_seen));
        Ok(Json(documents::proposals(&entries, &documents::deltas(&libraries, &entries), work.place.now)))
    })
    .await
}

/// Query parameters that select the base of a proposal's diff.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct DiffQuery {
    /// True to compare with the current head instead of the revision on which the proposal was made.
    onto_head: bool,
}

/// Returns one proposal with its author and reason, its findings and its diff.
pub async fn one(caller: Caller, Path(id): Path<String>, Parameters(against): Parameters<DiffQuery>) -> ApiResult {
    work_for(caller, move |work| {
        let target = target(&id)?;
        let library = work.place.own_library_with_proposal(&target.id)?;
        Ok(Json(work.place.proposal_document(&library, &target, against.onto_head)?))
    })
    .await
}

/// The body of a decision.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DecisionBody {
    /// Reason of the decision, for the history.
    reason: Option<String>,
}

/// Accepts a proposal, which becomes the newest revision of its skill.
pub async fn accept(caller: Caller, Path(id): Path<String>, RawBody(body): RawBody) -> ApiResult {
    work_for(caller, move |work| Ok(Json(accepted(work, target(&id)?, read::<DecisionBody>(&body)?.reason)?))).await
}

/// Rejects a proposal, which is kept with the reason.
pub async fn reject(caller: Caller, Path(id): Path<String>, RawBody(body): RawBody) -> ApiResult {
    work_for(caller, move |work| {
        let done = rejected(work, target(&id)?, read::<DecisionBody>(&body)?.reason)?;
        Ok(Json(json!({"ok": true, "status": "rejected", "id": done.id.as_str(), "name": done.skill})))
    })
    .await
}

/// Accepts a proposal and returns the report of the change.
///
/// # Errors
/// The caller has not proven to be a person, or the change is refused.
pub(crate) fn accepted(work: &Work<'_>, target: ProposalRef, reason: Option<String>) -> Result<Value, ApiError> {
    let (accept, reviewer) = (Accept { target, reason, trial: None }, reviewer(work, "accept a proposal")?);
    let library = work.place.own_library_with_proposal(&accept.target.id)?;
    change(work, library, |library, context| review::accept(library, &accept, reviewer, context))
}

/// Rejects a proposal and returns it.
///
/// # Errors
/// The caller has not proven to be a person, or the proposal cannot be decided.
pub(crate) fn rejected(work: &Work<'_>, target: ProposalRef, reason: Option<String>) -> Result<Rejected, ApiError> {
    let (reject, decider) = (Reject { target, reason }, Decider::Person(reviewer(work, "reject a proposal")?));
    let mut library = work.place.own_library_with_proposal(&reject.target.id)?;
    review::reject(&mut library, &reject, decider, work.place.now).map_err(into_api_error)
}

/// Returns the person who makes the request; `what` names the operation in the error.
///
/// # Errors
/// The caller has not proven to be a person.
pub(crate) fn reviewer<'a>(work: &'a Work<'_>, what: &str) -> Result<&'a Reviewer, ApiError> {
    work.reviewer.as_ref().ok_or_else(|| {
        ApiError::new(StatusCode::FORBIDDEN, "policy_denied", format!("only a person can {what}")).hint(
            "send a reviewer's token as X-Skillhub-Reviewer-Token, or sign in to the pages with it; a person makes one \
             in a terminal with `skillhub reviewer new`",
        )
    })
}

fn target(id: &str) -> Result<ProposalRef, ApiError> {
    id.parse().map_err(|error: ProposalRefError| {
        ApiError::bad_request(error.to_string()).hint("list the ids with `GET /api/proposals`")
    })
}
