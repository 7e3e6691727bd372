//! What those who run the server decide about releases, and what they can look up.

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
    activity::{AuditLine, Downloader, ReportOfRelease},
    decisions::{self, Decision, reason},
    error::ApiError,
    hub::Hub,
    quarantines::{HeldCopy, Quarantined},
};

/// Reports.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReportsDocument {
    /// Always `true`.
    pub ok: bool,
    /// The reports: open ones oldest first, decided ones newest first.
    pub reports: Vec<ReportOfRelease>,
}

/// Which reports.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ReportsParameters {
    /// Those that were decided, not those that wait.
    #[serde(default)]
    decided: bool,
}

/// What was told of releases.
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

/// A decision and why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// `dismissed` or `upheld`.
    pub decision: Decision,
    /// Why.
    #[schema(min_length = 1, max_length = 4000)]
    pub reason: String,
}

/// One report.
#[derive(Debug, Serialize, ToSchema)]
pub struct OneReport {
    /// Always `true`.
    pub ok: bool,
    /// The report.
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
        let none = |_| ApiError::bad_request(format!("{:?} is no number of a report", id.0));
        decisions::decide(hub, account, id.0.parse().map_err(none)?, body.0.decision, &reason)
    });
    Ok(Json(OneReport { ok: true, report: report.await? }))
}

/// Why something is done.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReasonRequest {
    /// For the record, and for those who had the release.
    #[schema(min_length = 1, max_length = 4000)]
    pub reason: String,
}

/// Hold a release back until it was looked at: it is yanked, and its archive is not handed out.
#[utoipa::path(put, path = "/v1/skills/{owner}/{name}/{version}/quarantine", tag = "moderation",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path)),
    request_body = ReasonRequest, responses((status = 200, body = OneRelease)), security(("token" = [])))]
pub async fn quarantine(
    State(hub): HubState,
    caller: Caller,
    Path(at): Path<ReleasePath>,
    body: Body<ReasonRequest>,
) -> Result<Json<OneRelease>, ApiError> {
    administer(&hub, caller, move |hub, account| {
        let reason = reason(&body.0.reason)?;
        let entry = hub.release(&name_of(&at.owner, &at.name)?, &at.version)?;
        decided(hub, &decisions::quarantine(hub, account, &entry, &reason)?)
    })
    .await
}

/// Let a release go that is under quarantine, yanked only if it was before, or one that is on hold.
#[utoipa::path(delete, path = "/v1/skills/{owner}/{name}/{version}/quarantine", tag = "moderation",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path)),
    request_body = ReasonRequest, responses((status = 200, body = OneRelease)), security(("token" = [])))]
pub async fn restore(
    State(hub): HubState,
    caller: Caller,
    Path(at): Path<ReleasePath>,
    body: Body<ReasonRequest>,
) -> Result<Json<OneRelease>, ApiError> {
    administer(&hub, caller, move |hub, account| {
        let reason = reason(&body.0.reason)?;
        let entry = hub.release(&name_of(&at.owner, &at.name)?, &at.version)?;
        decided(hub, &decisions::restore(hub, account, &entry, &reason)?)
    })
    .await
}

/// Take the archive of a release away for good. Its line stays and says why.
#[utoipa::path(post, path = "/v1/skills/{owner}/{name}/{version}/withdraw", tag = "moderation",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path)),
    request_body = ReasonRequest, responses((status = 200, body = OneRelease)), security(("token" = [])))]
pub async fn withdraw(
    State(hub): HubState,
    caller: Caller,
    Path(at): Path<ReleasePath>,
    body: Body<ReasonRequest>,
) -> Result<Json<OneRelease>, ApiError> {
    administer(&hub, caller, move |hub, account| {
        let reason = reason(&body.0.reason)?;
        let entry = hub.release(&name_of(&at.owner, &at.name)?, &at.version)?;
        decided(hub, &decisions::withdraw(hub, account, &entry, &reason)?)
    })
    .await
}

/// Releases under quarantine.
#[derive(Debug, Serialize, ToSchema)]
pub struct QuarantineDocument {
    /// Always `true`.
    pub ok: bool,
    /// The releases under quarantine, newest first.
    pub releases: Vec<Quarantined>,
    /// Releases with the content of one of these, which wait for a decision, newest first.
    pub copies: Vec<HeldCopy>,
}

/// What is held back.
#[utoipa::path(get, path = "/v1/quarantine", tag = "moderation",
    responses((status = 200, body = QuarantineDocument)), security(("token" = [])))]
pub async fn quarantined(State(hub): HubState, caller: Caller) -> Result<Json<QuarantineDocument>, ApiError> {
    let queue = |hub: &Hub, _: &Owner| {
        let (releases, copies) = (hub.stores.releases.quarantined()?, hub.stores.releases.held_copies()?);
        Ok(Json(QuarantineDocument { ok: true, releases, copies }))
    };
    administer(&hub, caller, queue).await
}

/// Who downloaded some content.
#[derive(Debug, Serialize, ToSchema)]
pub struct DownloadersDocument {
    /// Always `true`.
    pub ok: bool,
    /// By day, newest first.
    pub downloads: Vec<Downloader>,
}

/// Who downloaded the content of this digest.
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

/// Decisions.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditDocument {
    /// Always `true`.
    pub ok: bool,
    /// The decisions, newest first, at most 200.
    pub decisions: Vec<AuditLine>,
}

/// Which decisions.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AuditParameters {
    /// Those made before the one of this number.
    #[param(nullable = false)]
    before: Option<i64>,
}

/// What was published, yanked and decided, by whom and why.
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

/// Does what only those who run the server may.
async fn administer<T: Send + 'static>(
    hub: &Shared,
    caller: Caller,
    work: impl FnOnce(&Hub, &Owner) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    run(hub, move |hub| {
        hub.check(&caller, Action::Administer)?;
        let account = caller.account().ok_or_else(|| ApiError::bad_request("nobody decides"))?;
        work(hub, account)
    })
    .await
}

fn decided(hub: &Hub, entry: &Entry) -> Result<Json<OneRelease>, ApiError> {
    Ok(Json(OneRelease::of(entry, hub.barrier(entry)?)))
}
