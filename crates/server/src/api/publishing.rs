//! Routes for publishing, yanking, deprecating, starring and reporting.

use axum::{Json, body::Bytes, extract::State};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use registry_index::{Deprecation, ForkedFrom};
use semver::Version;
use serde::Deserialize;
use serde_json::json;
use skill::{Owner, QualifiedName, SkillName};
use utoipa::{IntoParams, ToSchema};

use super::{
    HubState,
    documents::{Done, OneRelease, PublishedDocument, StarsDocument},
    extract::{Body, Parameters, Path, RawBody},
    name_of,
    reading::{ReleasePath, bad, of_release},
    run,
};
use crate::{
    access::{Action, Caller},
    error::ApiError,
    hub::Hub,
    publish::{Submission, publish as publish_archive},
    store::{Flag, ReportOfRelease},
};

/// Maximum length of a changelog and of a reason, in characters.
pub const TEXT_CHARS: usize = 4000;

/// Query parameters of a published release.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PublishParameters {
    /// Changes in this release, for people.
    #[serde(default)]
    #[param(max_length = 4000)]
    changelog: String,
    /// SSHSIG signature over the release's statement, in unpadded URL-safe base64.
    #[param(nullable = false)]
    signature: Option<String>,
    /// Origin of a fork, as JSON.
    #[param(nullable = false)]
    forked_from: Option<String>,
}

/// Publish a release. The body is the archive that `skillhub pack` creates.
///
/// The server unpacks, validates and scans it. Publishing the same content under the same version again is `unchanged`.
#[utoipa::path(put, path = "/v1/skills/{owner}/{name}/{version}", tag = "publishing",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path), PublishParameters),
    request_body(content = Vec<u8>, content_type = "application/zip"),
    responses((status = 200, body = PublishedDocument), (status = 409, description = "The version exists with other content")), security(("token" = [])))]
pub async fn publish(
    State(hub): HubState,
    caller: Caller,
    Path(at): Path<ReleasePath>,
    parameters: Parameters<PublishParameters>,
    archive: RawBody,
) -> Result<Json<PublishedDocument>, ApiError> {
    let permit = hub.contents.lanes.permit(archive.0.len() as u64).await;
    let published = run(&hub, move |hub| {
        let _held = permit;
        // Callers without any right to take part are refused first.
        hub.check(&caller, Action::TakePart)?;
        publish_archive(hub, &caller, &submission(&at, parameters.0, archive.0)?)
    });
    let release = published.await?;
    Ok(Json(PublishedDocument {
        ok: true,
        status: if release.is_new { "published" } else { "unchanged" },
        name: release.entry.name.to_string(),
        version: release.entry.version.to_string(),
        digest: release.entry.digest.to_string(),
        size: release.entry.size,
        verdict: release.entry.verdict.clone(),
        held: release.held,
        findings: json!(release.report.findings),
    }))
}

fn submission(at: &ReleasePath, said: PublishParameters, archive: Bytes) -> Result<Submission, ApiError> {
    if said.changelog.chars().count() > TEXT_CHARS {
        return Err(ApiError::bad_request(format!("the changelog must have at most {TEXT_CHARS} characters")));
    }
    let signature = said.signature.map(|text| {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|error| bad(&error))?;
        String::from_utf8(bytes).map_err(|error| bad(&error))
    });
    let forked_from =
        said.forked_from.map(|text| serde_json::from_str::<ForkedFrom>(&text).map_err(|error| bad(&error)));
    Ok(Submission {
        name: new_name(&at.owner, &at.name)?,
        version: exact(&at.version)?,
        changelog: said.changelog,
        signature: signature.transpose()?,
        forked_from: forked_from.transpose()?,
        archive,
    })
}

/// Parses the name of a release to be published. Unlike a name that is looked up, an invalid one is explained.
fn new_name(owner: &str, name: &str) -> Result<QualifiedName, ApiError> {
    let unfit = |why: &str| {
        ApiError::bad_request(format!("cannot publish a skill named {name:?}: {why}")).hint(
            "use 1 to 64 lower-case ASCII letters, digits and single hyphens, as in pdf-forms; keep a title in \
             `metadata.title` of the frontmatter",
        )
    };
    let owner = Owner::parse(owner).map_err(|error| bad(&error))?;
    let name = SkillName::parse_standard(name).map_err(|error| unfit(&error.to_string()))?;
    match name.unpublishable() {
        Some(why) => Err(unfit(why)),
        None => Ok(QualifiedName { owner, name }),
    }
}

fn exact(version: &str) -> Result<Version, ApiError> {
    Version::parse(version)
        .map_err(|_| ApiError::bad_request(format!("{version:?} is not a valid version; use one such as 1.2.0")))
}

/// Query parameters of a yank.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct YankParameters {
    /// Reason, for users who have installed the release.
    #[serde(default)]
    #[param(max_length = 4000)]
    reason: String,
}

/// Yank a release, so that new installs do not choose it.
#[utoipa::path(put, path = "/v1/skills/{owner}/{name}/{version}/yank", tag = "publishing",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path), YankParameters),
    responses((status = 200, body = OneRelease), (status = 409, description = "The release is withdrawn or under quarantine")),
    security(("token" = [])))]
pub async fn yank(
    State(hub): HubState,
    caller: Caller,
    Path(at): Path<ReleasePath>,
    parameters: Parameters<YankParameters>,
) -> Result<Json<OneRelease>, ApiError> {
    run(&hub, move |hub| {
        let given = parameters.0.reason.trim();
        let reason = if given.is_empty() { None } else { Some(reason(given)?) };
        set_yanked(hub, &caller, &at, true, reason.as_deref())
    })
    .await
}

/// Make a yanked release available to new installs again.
#[utoipa::path(delete, path = "/v1/skills/{owner}/{name}/{version}/yank", tag = "publishing",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = OneRelease), (status = 409, description = "The release is withdrawn or under quarantine")),
    security(("token" = [])))]
pub async fn unyank(
    State(hub): HubState,
    caller: Caller,
    Path(at): Path<ReleasePath>,
) -> Result<Json<OneRelease>, ApiError> {
    run(&hub, move |hub| set_yanked(hub, &caller, &at, false, None)).await
}

fn set_yanked(
    hub: &Hub,
    caller: &Caller,
    at: &ReleasePath,
    yanked: bool,
    reason: Option<&str>,
) -> Result<Json<OneRelease>, ApiError> {
    let name = name_of(&at.owner, &at.name)?;
    hub.check_namespace(caller, &name.owner, false)?;
    let version = exact(&at.version)?;
    let account = caller.account().ok_or_else(|| ApiError::bad_request("authentication required"))?;
    let entry = hub.release(&name, &version.to_string())?;
    let flag = if yanked { Flag::Yanked(reason) } else { Flag::Unyanked };
    let entry = hub.set_flag(&entry, flag, account)?;
    Ok(Json(OneRelease::of(&entry, hub.barrier(&entry)?)))
}

/// Query parameters of a deprecation.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeprecationParameters {
    /// Reason, for users who have installed the release.
    #[serde(default)]
    #[param(max_length = 4000)]
    reason: String,
    /// Replacement skill, as `owner/name`.
    #[serde(default, rename = "use")]
    replacement: Option<String>,
}

/// Deprecate a release. It still installs, with the advice.
#[utoipa::path(put, path = "/v1/skills/{owner}/{name}/{version}/deprecation", tag = "publishing",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path), DeprecationParameters),
    responses((status = 200, body = OneRelease)),
    security(("token" = [])))]
pub async fn deprecate(
    State(hub): HubState,
    caller: Caller,
    Path(at): Path<ReleasePath>,
    parameters: Parameters<DeprecationParameters>,
) -> Result<Json<OneRelease>, ApiError> {
    run(&hub, move |hub| set_deprecated(hub, &caller, &at, Some(parameters.0))).await
}

fn deprecation_of(parameters: DeprecationParameters) -> Result<Deprecation, ApiError> {
    let DeprecationParameters { reason: given, replacement } = parameters;
    let reason = if given.trim().is_empty() { String::new() } else { reason(given.trim())? };
    if replacement.as_ref().is_some_and(|name| name.parse::<QualifiedName>().is_err()) {
        return Err(ApiError::bad_request("`use` is not the name of a skill; write owner/name"));
    }
    Ok(Deprecation { replacement, reason })
}

/// Undo the deprecation of a release.
#[utoipa::path(delete, path = "/v1/skills/{owner}/{name}/{version}/deprecation", tag = "publishing",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = OneRelease)),
    security(("token" = [])))]
pub async fn undeprecate(
    State(hub): HubState,
    caller: Caller,
    Path(at): Path<ReleasePath>,
) -> Result<Json<OneRelease>, ApiError> {
    run(&hub, move |hub| set_deprecated(hub, &caller, &at, None)).await
}

fn set_deprecated(
    hub: &Hub,
    caller: &Caller,
    at: &ReleasePath,
    parameters: Option<DeprecationParameters>,
) -> Result<Json<OneRelease>, ApiError> {
    let name = name_of(&at.owner, &at.name)?;
    hub.check_namespace(caller, &name.owner, false)?;
    let deprecation = parameters.map(deprecation_of).transpose()?;
    let deprecation = deprecation.as_ref();
    let version = exact(&at.version)?;
    let account = caller.account().ok_or_else(|| ApiError::bad_request("authentication required"))?;
    let entry = hub.release(&name, &version.to_string())?;
    let entry = hub.set_flag(&entry, deprecation.map_or(Flag::Undeprecated, Flag::Deprecated), account)?;
    Ok(Json(OneRelease::of(&entry, hub.barrier(&entry)?)))
}

/// Star a skill.
#[utoipa::path(put, path = "/v1/skills/{owner}/{name}/star", tag = "skills",
    params(("owner" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = StarsDocument)), security(("token" = [])))]
pub async fn star(
    State(hub): HubState,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Json<StarsDocument>, ApiError> {
    run(&hub, move |hub| set_star(hub, &caller, &owner, &name, true)).await
}

/// Remove the star from a skill.
#[utoipa::path(delete, path = "/v1/skills/{owner}/{name}/star", tag = "skills",
    params(("owner" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = StarsDocument)), security(("token" = [])))]
pub async fn unstar(
    State(hub): HubState,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Json<StarsDocument>, ApiError> {
    run(&hub, move |hub| set_star(hub, &caller, &owner, &name, false)).await
}

fn set_star(
    hub: &Hub,
    caller: &Caller,
    owner: &str,
    name: &str,
    starred: bool,
) -> Result<Json<StarsDocument>, ApiError> {
    hub.check(caller, Action::TakePart)?;
    let name = name_of(owner, name)?;
    hub.releases(&name)?;
    let account = caller.account().ok_or_else(|| ApiError::bad_request("authentication required"))?;
    Ok(Json(StarsDocument { ok: true, stars: hub.stores.activity.set_star(&name.to_string(), account, starred)? }))
}

/// A report about a release.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewReport {
    /// Reason, for the moderators.
    #[schema(min_length = 1, max_length = 4000)]
    pub reason: String,
}

/// Report a problem with a release to the moderators.
#[utoipa::path(post, path = "/v1/skills/{owner}/{name}/{version}/reports", tag = "skills",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path)),
    request_body = NewReport, responses((status = 200, body = Done)), security(("token" = [])))]
pub async fn report(
    State(hub): HubState,
    caller: Caller,
    at: Path<ReleasePath>,
    body: Body<NewReport>,
) -> Result<Json<Done>, ApiError> {
    let by = caller.clone();
    of_release(&hub, caller, at, move |hub, entry| {
        hub.check(&by, Action::TakePart)?;
        let reason = reason(&body.0.reason)?;
        let account = by.account().ok_or_else(|| ApiError::bad_request("authentication required"))?;
        let (skill, version) = (entry.name.to_string(), entry.version.to_string());
        let _kept: ReportOfRelease =
            hub.stores.activity.report(&skill, &version, &reason, account, Timestamp::now())?;
        Ok(Json(Done::DONE))
    })
    .await
}

/// Validates a reason, and trims it.
///
/// # Errors
/// [`ApiError`] if the reason is empty, too long or not plain text.
pub fn reason(text: &str) -> Result<String, ApiError> {
    let text = text.trim();
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(ApiError::bad_request("the reason must be plain text"));
    }
    match text.chars().count() {
        1..=TEXT_CHARS => Ok(text.to_owned()),
        0 => Err(ApiError::bad_request("a reason is required")),
        _ => Err(ApiError::bad_request(format!("the reason must have at most {TEXT_CHARS} characters"))),
    }
}
