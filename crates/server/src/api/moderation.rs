//! Routes for moderators, such as reports, quarantine, withdrawal and the audit log.

use axum::{Json, extract::State};
use registry_index::Entry;
use serde::{Deserialize, Serialize};
use skill::{Digest, Owner};
use utoipa::{IntoParams, ToSchema};

use super::{
    HubState, Shared,
    documents::OneRelease,
    extract::{Body, Parameters, Path},
    name_of,
    reading::{ReleasePath, bad},
    run,
};
use crate::{
    access::{Action, Caller},
    decisions::{self, Decision, reason},
    error::ApiError,
    hub::Hub,
    store::{AuditLine, Downloader, HeldCopy, Quarantined, ReportOfRelease},
};

/// A list of reports.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReportsDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Reports that match. Open ones are oldest first, decided ones newest first.
    pub reports: Vec<ReportOfRelease>,
}

/// Query parameters of the list of reports.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ReportsParameters {
    /// Return decided reports instead of open ones.
    #[serde(default)]
    decided: bool,
}

/// List reports about releases.
#[utoipa::path(get, path = "/v1/reports", tag = "moderation", params(ReportsParameters),
    responses((status = 200, body = ReportsDocument)), security(("token" = [])))]
pub async fn reports(
    State(hub): HubState,
    caller: Caller,
    parameters: Parameters<ReportsParameters>,
) -> Result<Json<ReportsDocument>, ApiError> {
    let reports =
        administer(&hub, caller, move |hub, _| Ok(hub.stores.activity.reports(!parameters.0.decided)?)).await?;
    Ok(Json(ReportsDocument { ok: true, reports }))
}

/// A decision about a report, with its reason.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// Decision of the moderator, `dismissed` or `upheld`.
    pub decision: Decision,
    /// Reason of the decision.
    #[schema(min_length = 1, max_length = 4000)]
    pub reason: String,
}

/// A single report.
#[derive(Debug, Serialize, ToSchema)]
pub struct OneReport {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// The report with its decision.
    pub report: ReportOfRelease,
}

/// Decide a report.
#[utoipa::path(put, path = "/v1/reports/{id}", tag = "moderation", params(("id" = i64, Path)),
    request_body = DecisionRequest, responses((status = 200, body = OneReport)), security(("token" = [])))]
pub async fn decide(
    State(hub): HubState,
    caller: Caller,
    id: Path<String>,
    body: Body<DecisionRequest>,
) -> Result<Json<OneReport>, ApiError> {
    let report = administer(&hub, caller, move |hub, account| {
        let reason = reason(&body.0.reason)?;
        let none = |_| ApiError::bad_request(format!("{:?} is not a report number", id.0));
        decisions::decide(hub, account, id.0.parse().map_err(none)?, body.0.decision, &reason)
    });
    Ok(Json(OneReport { ok: true, report: report.await? }))
}

/// The reason of a moderator's action.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReasonRequest {
    /// Reason for the audit log, and for users who have installed the release.
    #[schema(min_length = 1, max_length = 4000)]
    pub reason: String,
}

/// Quarantine a release until it is reviewed. It is yanked, and its archive is not served.
#[utoipa::path(put, path = "/v1/skills/{owner}/{name}/{version}/quarantine", tag = "moderation",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path)),
    request_body = ReasonRequest, responses((status = 200, body = OneRelease)), security(("token" = [])))]
pub async fn quarantine(
    State(hub): HubState,
    caller: Caller,
    Path(at): Path<ReleasePath>,
    body: Body<ReasonRequest>,
) -> Result<Json<OneRelease>, ApiError> {
    decide_on(hub, caller, at, body.0, decisions::quarantine).await
}

/// Release a release from quarantine or hold. It stays yanked if it was yanked before.
#[utoipa::path(delete, path = "/v1/skills/{owner}/{name}/{version}/quarantine", tag = "moderation",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path)),
    request_body = ReasonRequest,
    responses((status = 200, body = OneRelease), (status = 409, description = "The release is withdrawn")),
    security(("token" = [])))]
pub async fn restore(
    State(hub): HubState,
    caller: Caller,
    Path(at): Path<ReleasePath>,
    body: Body<ReasonRequest>,
) -> Result<Json<OneRelease>, ApiError> {
    decide_on(hub, caller, at, body.0, decisions::restore).await
}

/// Delete the archive of a release permanently. Its index entry stays and has the reason.
#[utoipa::path(post, path = "/v1/skills/{owner}/{name}/{version}/withdraw", tag = "moderation",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path)),
    request_body = ReasonRequest, responses((status = 200, body = OneRelease)), security(("token" = [])))]
pub async fn withdraw(
    State(hub): HubState,
    caller: Caller,
    Path(at): Path<ReleasePath>,
    body: Body<ReasonRequest>,
) -> Result<Json<OneRelease>, ApiError> {
    decide_on(hub, caller, at, body.0, decisions::withdraw).await
}

/// Releases that are withheld.
#[derive(Debug, Serialize, ToSchema)]
pub struct QuarantineDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Releases under quarantine, newest first.
    pub releases: Vec<Quarantined>,
    /// Releases with the content of a quarantined or withdrawn one, which are on hold until a decision, newest first.
    pub copies: Vec<HeldCopy>,
}

/// List the releases that are under quarantine or on hold.
#[utoipa::path(get, path = "/v1/quarantine", tag = "moderation",
    responses((status = 200, body = QuarantineDocument)), security(("token" = [])))]
pub async fn quarantined(State(hub): HubState, caller: Caller) -> Result<Json<QuarantineDocument>, ApiError> {
    let queue = |hub: &Hub, _: &Owner| {
        let (releases, copies) = (hub.quarantined()?, hub.stores.releases.held_copies()?);
        Ok(Json(QuarantineDocument { ok: true, releases, copies }))
    };
    administer(&hub, caller, queue).await
}

/// The downloads of some content.
#[derive(Debug, Serialize, ToSchema)]
pub struct DownloadersDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Downloads by day, newest first.
    pub downloads: Vec<Downloader>,
}

/// List the accounts that downloaded the content with a digest.
#[utoipa::path(get, path = "/v1/downloads/{digest}", tag = "moderation", params(("digest" = String, Path)),
    responses((status = 200, body = DownloadersDocument)), security(("token" = [])))]
pub async fn downloaders(
    State(hub): HubState,
    caller: Caller,
    Path(digest): Path<String>,
) -> Result<Json<DownloadersDocument>, ApiError> {
    let downloads = administer(&hub, caller, move |hub, _| {
        let digest: Digest = digest.parse().map_err(|error: skill::DigestError| bad(&error))?;
        Ok(hub.stores.activity.downloaders(&digest)?)
    });
    Ok(Json(DownloadersDocument { ok: true, downloads: downloads.await? }))
}

/// A part of the audit log.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditDocument {
    /// Always `true` in a successful response.
    pub ok: bool,
    /// Decisions, newest first, at most 200.
    pub decisions: Vec<AuditLine>,
}

/// Query parameters of the audit log.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AuditParameters {
    /// Number of a decision, to return only earlier ones.
    #[param(nullable = false)]
    before: Option<i64>,
}

/// Read the audit log: releases that were published, yanked or decided, by which account and for which reason.
#[utoipa::path(get, path = "/v1/audit", tag = "moderation", params(AuditParameters),
    responses((status = 200, body = AuditDocument)), security(("token" = [])))]
pub async fn audit(
    State(hub): HubState,
    caller: Caller,
    parameters: Parameters<AuditParameters>,
) -> Result<Json<AuditDocument>, ApiError> {
    let decisions = administer(&hub, caller, move |hub, _| Ok(hub.stores.activity.audit(parameters.0.before)?)).await?;
    Ok(Json(AuditDocument { ok: true, decisions }))
}

/// Runs a function for an admin.
async fn administer<T: Send + 'static>(
    hub: &Shared,
    caller: Caller,
    work: impl FnOnce(&Hub, &Owner) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    run(hub, move |hub| {
        hub.check(&caller, Action::Administer)?;
        let account = caller.account().ok_or_else(|| ApiError::bad_request("authentication required"))?;
        work(hub, account)
    })
    .await
}

/// Decides about a release, with a reason.
async fn decide_on(
    hub: Shared,
    caller: Caller,
    at: ReleasePath,
    body: ReasonRequest,
    decision: fn(&Hub, &Owner, &Entry, &str) -> Result<Entry, ApiError>,
) -> Result<Json<OneRelease>, ApiError> {
    administer(&hub, caller, move |hub, account| {
        let entry = hub.release(&name_of(&at.owner, &at.name)?, &at.version)?;
        let entry = decision(hub, account, &entry, &reason(&body.reason)?)?;
        Ok(Json(OneRelease::of(&entry, hub.barrier(&entry)?)))
    })
    .await
}
