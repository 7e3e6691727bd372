//! Read-only routes of the API.

use std::sync::Arc;

use axum::{
    Json,
    body::Bytes,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use registry_index::Entry;
use serde::Deserialize;
use serde_json::json;
use skill::{Owner, QualifiedName, SkillName, SkillPath, diff};
use utoipa::IntoParams;
use web::{Client, pages::Judgement};

use super::{
    HubState, Shared,
    documents::{
        DiffDocument, FileDocument, FilesDocument, LineageDocument, Made, OneRelease, OwnersDocument, ReleaseDocument,
        ScanDocument, SearchDocument, SkillDocument, SkillSummary,
    },
    extract::{Parameters, Path},
    name_of, run,
};
use crate::{
    access::{Action, Caller},
    contents,
    error::ApiError,
    hub::Hub,
    store::Download,
    store::catalogue::{self, Order},
};

/// Number of results on a page, unless the request has a limit.
const RESULTS: usize = 20;

/// Cache policy of responses that a moderator's decision can withdraw.
const ASK_AGAIN: &str = "no-cache";
/// Number of suggestions for a misspelt name.
const SIMILAR: usize = 5;

/// Query parameters of a search.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SearchParameters {
    /// Words to search for. Without words, all skills are listed.
    #[serde(default)]
    #[param(max_length = 500)]
    q: String,
    /// Name of an owner, to list only their skills.
    #[param(nullable = false, max_length = 39, pattern = "^[a-z0-9]+(-[a-z0-9]+)*$")]
    owner: Option<String>,
    /// Order of the results. Without it, the best matches come first, and in a list the most recently published.
    #[param(nullable = false)]
    sort: Option<Order>,
    /// Verdict of the scanner, to find only skills that have it.
    #[param(nullable = false, pattern = "^(allow|warn)$")]
    verdict: Option<String>,
    /// True to find only signed skills.
    #[serde(default)]
    signed: bool,
    /// License, to find only skills under it. The case of letters does not matter.
    #[param(nullable = false, min_length = 1, max_length = 200)]
    license: Option<String>,
    /// A keyword, to find only skills that have it. The case of letters does not matter.
    #[param(nullable = false, min_length = 1, max_length = 200)]
    keyword: Option<String>,
    /// Maximum number of skills to return.
    #[param(nullable = false, minimum = 1, maximum = 100)]
    limit: Option<usize>,
    /// Number of skills to skip, which is `next` of the previous page.
    #[param(nullable = false, minimum = 0, maximum = 10000)]
    offset: Option<usize>,
}

/// Find skills.
///
/// Every word must match. If no skill matches all words, skills that match some of them are returned.
#[utoipa::path(get, path = "/v1/skills", params(SearchParameters), tag = "skills",
    responses((status = 200, body = SearchDocument)))]
pub async fn search(
    State(hub): HubState,
    caller: Caller,
    parameters: Parameters<SearchParameters>,
) -> Result<Json<SearchDocument>, ApiError> {
    let query = query(parameters.0)?;
    let offset = query.offset;
    let permit = hub.contents.lanes.search().await;
    let page = run(&hub, move |hub| {
        let _held = permit;
        hub.check(&caller, Action::Read)?;
        Ok(hub.stores.catalogue.find(&query)?)
    })
    .await?;
    let next = page.has_more.then(|| offset + page.skills.len()).filter(|next| *next <= catalogue::DEEPEST);
    let results = page.skills.iter().map(SkillSummary::from).collect();
    Ok(Json(SearchDocument { ok: true, results, total: page.total, next }))
}

/// Checks the parameters of a search.
fn query(parameters: SearchParameters) -> Result<catalogue::Query, ApiError> {
    let SearchParameters { q, owner, sort, verdict, signed, license, keyword, limit, offset } = parameters;
    if q.chars().count() > 500 {
        return Err(ApiError::bad_request("the search must have at most 500 characters"));
    }
    if verdict.as_ref().is_some_and(|verdict| !matches!(verdict.as_str(), "allow" | "warn")) {
        return Err(ApiError::bad_request("the verdict must be `allow` or `warn`"));
    }
    let is_unfit = |text: &String| !(1..=200).contains(&text.chars().count()) || text.contains(char::is_control);
    if [&license, &keyword].into_iter().flatten().any(is_unfit) {
        return Err(ApiError::bad_request("license and keyword must be one line of 1 to 200 characters"));
    }
    let owner = owner.map(|owner| Owner::parse(&owner)).transpose().map_err(|error| bad(&error))?;
    let (limit, offset) = (limit.unwrap_or(RESULTS), offset.unwrap_or(0));
    if !(1..=catalogue::PAGE).contains(&limit) || offset > catalogue::DEEPEST {
        let (most, deepest) = (catalogue::PAGE, catalogue::DEEPEST);
        return Err(ApiError::bad_request(format!("the limit must be 1 to {most}, and the offset at most {deepest}")));
    }
    let filter = catalogue::Filter { verdict, signed_only: signed, license, keyword };
    Ok(catalogue::Query { words: q, owner, order: sort, filter, offset, limit })
}

/// Get a skill with all its releases.
#[utoipa::path(get, path = "/v1/skills/{owner}/{name}", tag = "skills",
    params(("owner" = String, Path), ("name" = String, Path)), responses((status = 200, body = SkillDocument)))]
pub async fn skill(
    State(hub): HubState,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Json<SkillDocument>, ApiError> {
    let document = run(&hub, move |hub| {
        hub.check(&caller, Action::Read)?;
        let name = name_of(&owner, &name)?;
        let mut entries = hub.releases(&name)?;
        entries.sort_by(|a, b| b.version.cmp(&a.version));
        let skill = name.to_string();
        Ok(SkillDocument {
            ok: true,
            releases: entries.iter().map(ReleaseDocument::from).collect(),
            downloads: hub.stores.activity.by_version(&skill)?.values().sum(),
            stars: hub.stores.activity.stars(&skill)?,
            name: skill,
        })
    });
    Ok(Json(document.await?))
}

/// Get a release. The version `latest` is the newest one.
#[utoipa::path(get, path = "/v1/skills/{owner}/{name}/{version}", tag = "skills",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = OneRelease)))]
pub async fn release(
    State(hub): HubState,
    caller: Caller,
    at: Path<ReleasePath>,
) -> Result<Json<OneRelease>, ApiError> {
    of_release(&hub, caller, at, |hub, entry| Ok(Json(OneRelease::of(entry, hub.barrier(entry)?)))).await
}

/// List the files of a release.
#[utoipa::path(get, path = "/v1/skills/{owner}/{name}/{version}/files", tag = "skills",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path)),
    responses(
        (status = 200, body = FilesDocument),
        (status = 403, description = "Under quarantine or on hold"), (status = 410, description = "Withdrawn"),
        (status = 422, description = "The index entry does not match the archive")
    ))]
pub async fn files(
    State(hub): HubState,
    caller: Caller,
    at: Path<ReleasePath>,
) -> Result<Json<FilesDocument>, ApiError> {
    let entry = readable(&hub, caller, at).await?;
    let bundle = contents::files(&hub, &entry).await?;
    let files = bundle.files().map(|(path, file)| FileDocument {
        path: path.to_string(),
        size: file.bytes.len() as u64,
        executable: file.executable,
    });
    let (name, version) = (entry.name.to_string(), entry.version.to_string());
    Ok(Json(FilesDocument { ok: true, name, version, files: files.collect() }))
}

/// Get a file of a release, as plain text or as bytes that browsers download.
#[utoipa::path(get, path = "/v1/skills/{owner}/{name}/{version}/files/{*path}", tag = "skills",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path),
        ("path" = String, Path, description = "Path in the skill, with unencoded slashes")),
    responses(
        (status = 200, description = "Content of the file", content((String = "text/plain"), (Vec<u8> = "application/octet-stream"))),
        (status = 403, description = "Under quarantine or on hold"), (status = 410, description = "Withdrawn"),
        (status = 422, description = "The index entry does not match the archive")
    ))]
pub async fn file(
    State(hub): HubState,
    caller: Caller,
    Path((owner, name, version, path)): Path<(String, String, String, String)>,
) -> Result<Response, ApiError> {
    let entry = readable(&hub, caller, Path(ReleasePath { owner, name, version })).await?;
    let none = || ApiError::not_found(format!("{} {} has no file {path:?}", entry.name, entry.version));
    let bundle = contents::files(&hub, &entry).await?;
    let file = SkillPath::parse(&path).ok().and_then(|path| bundle.get(&path).cloned()).ok_or_else(none)?;
    Ok(file_answer(&file))
}

/// Returns a file as a download, which browsers do not display.
#[must_use]
pub fn file_answer(file: &skill::File) -> Response {
    let kind = if file.text().is_some() { "text/plain; charset=utf-8" } else { "application/octet-stream" };
    let headers =
        [(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, "attachment"), (header::CACHE_CONTROL, ASK_AGAIN)];
    (headers, Bytes::from_owner(Arc::clone(&file.bytes))).into_response()
}

/// Scan a release with today's rules, and list its capabilities.
#[utoipa::path(get, path = "/v1/skills/{owner}/{name}/{version}/scan", tag = "skills",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path)),
    responses(
        (status = 200, body = ScanDocument),
        (status = 403, description = "Under quarantine or on hold"), (status = 410, description = "Withdrawn"),
        (status = 422, description = "The index entry does not match the archive")
    ))]
pub async fn scan_of_release(
    State(hub): HubState,
    caller: Caller,
    at: Path<ReleasePath>,
) -> Result<Response, ApiError> {
    let entry = readable(&hub, caller, at).await?;
    let judgement = contents::judgement(&hub, &contents::files(&hub, &entry).await?).await?;
    let document = run(&hub, move |_| Ok(judgement.document.get_or_init(|| scan_document(&judgement)).clone()));
    Ok(([(header::CONTENT_TYPE, "application/json")], document.await?).into_response())
}

fn scan_document(Judgement { report, capabilities, .. }: &Judgement) -> Bytes {
    let document = ScanDocument {
        ok: true,
        verdict: report.verdict().to_string(),
        ruleset: report.ruleset.clone(),
        findings: json!(report.findings),
        capabilities: json!(capabilities),
    };
    Bytes::from(json!(document).to_string())
}

/// Get the archive of a release. The download is counted.
#[utoipa::path(get, path = "/v1/skills/{owner}/{name}/{version}/archive", tag = "skills",
    params(("owner" = String, Path), ("name" = String, Path), ("version" = String, Path)),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/zip"),
        (status = 403, description = "Under quarantine or on hold"), (status = 410, description = "Withdrawn"),
        (status = 422, description = "The index entry does not match the archive")
    ))]
pub async fn archive(
    State(hub): HubState,
    caller: Caller,
    client: Client,
    at: Path<ReleasePath>,
) -> Result<Response, ApiError> {
    let account = caller.account().map(ToString::to_string).unwrap_or_default();
    let entry = of_release(&hub, caller, at, |hub, entry| hub.check_open(entry).map(|()| entry.clone())).await?;
    contents::archive(&hub, entry.digest).await?;
    run(&hub, move |hub| {
        let (entry, bytes) = (&entry, hub.stored(&entry)?);
        count(hub, entry, account, client);
        let file = format!("attachment; filename=\"{}-{}.skill\"", entry.name.name, entry.version);
        let mut response = bytes.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/zip"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(ASK_AGAIN));
        headers.extend(HeaderValue::from_str(&file).ok().map(|value| (header::CONTENT_DISPOSITION, value)));
        headers.extend(HeaderValue::from_str(&format!("\"{}\"", entry.archive)).ok().map(|tag| (header::ETAG, tag)));
        Ok(response)
    })
    .await
}

/// Counts a download of a release.
pub fn count(hub: &Hub, entry: &Entry, account: String, client: Client) {
    let day = Timestamp::now().strftime("%F").to_string();
    let (skill, version) = (entry.name.to_string(), entry.version.to_string());
    hub.stores.activity.count(Download { skill, version, digest: entry.digest, account, day }, client);
}

/// Compare two releases of a skill.
#[utoipa::path(get, path = "/v1/skills/{owner}/{name}/diff/{from}/{to}", tag = "skills",
    params(("owner" = String, Path), ("name" = String, Path), ("from" = String, Path), ("to" = String, Path)),
    responses(
        (status = 200, body = DiffDocument),
        (status = 403, description = "Under quarantine or on hold"), (status = 410, description = "Withdrawn"),
        (status = 422, description = "The index entry does not match the archive")
    ))]
pub async fn diff(
    State(hub): HubState,
    caller: Caller,
    Path((owner, name, from, to)): Path<(String, String, String, String)>,
) -> Result<Json<DiffDocument>, ApiError> {
    let at = |version| Path(ReleasePath { owner: owner.clone(), name: name.clone(), version });
    let (from, to) = (readable(&hub, caller.clone(), at(from)).await?, readable(&hub, caller, at(to)).await?);
    let (old, new) = (contents::files(&hub, &from).await?, contents::files(&hub, &to).await?);
    let permit = hub.contents.lanes.permit(old.total_bytes().max(new.total_bytes())).await;
    let document = run(&hub, move |_| {
        let (_held, change) = (permit, diff::diff(&old, &new));
        Ok(DiffDocument {
            ok: true,
            from: from.version.to_string(),
            to: to.version.to_string(),
            files: json!(change.files),
            diff: change.text,
        })
    });
    Ok(Json(document.await?))
}

/// Get the origin of a skill, its forks, and its dependents.
#[utoipa::path(get, path = "/v1/skills/{owner}/{name}/lineage", tag = "skills",
    params(("owner" = String, Path), ("name" = String, Path)), responses((status = 200, body = LineageDocument)))]
pub async fn lineage(
    State(hub): HubState,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
) -> Result<Json<LineageDocument>, ApiError> {
    let document = run(&hub, move |hub| {
        hub.check(&caller, Action::Read)?;
        lineage_of(hub, &name_of(&owner, &name)?)
    });
    Ok(Json(document.await?))
}

/// Returns the origin of a skill, its forks, and its dependents.
///
/// # Errors
/// [`ApiError`] with 404 if the skill does not exist.
pub fn lineage_of(hub: &Hub, name: &QualifiedName) -> Result<LineageDocument, ApiError> {
    let made = |entry: &Entry| {
        let from = entry.forked_from.as_ref()?.to_string();
        Some(Made { release: format!("{} {}", entry.name, entry.version), from })
    };
    let made_from = hub.releases(name)?.iter().filter_map(made).collect();
    let (mut made_into, mut dependents) = (Vec::new(), Vec::new());
    for entry in hub.stores.catalogue.related(name)? {
        if entry.forked_from.as_ref().is_some_and(|from| from.name == name.to_string()) {
            made_into.extend(made(&entry));
        }
        let needs = |text: &String| text.split('@').next() == Some(name.to_string().as_str());
        if entry.requires.iter().any(needs) {
            dependents.push(entry.name.to_string());
        }
    }
    Ok(LineageDocument { ok: true, name: name.to_string(), made_from, made_into, dependents })
}

/// List the owners of a skill name, and similar names.
#[utoipa::path(get, path = "/v1/names/{name}", tag = "skills", params(("name" = String, Path)),
    responses((status = 200, body = OwnersDocument)))]
pub async fn owners_of_name(
    State(hub): HubState,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<OwnersDocument>, ApiError> {
    let document = run(&hub, move |hub| {
        hub.check(&caller, Action::Read)?;
        let name = SkillName::parse_standard(&name).map_err(|error| bad(&error))?;
        let releases = &hub.stores.releases;
        let owners = releases.owners_of(&name)?.iter().map(ToString::to_string).collect();
        let similar = client::search::nearest(releases.names_beside(&name)?, &name, SIMILAR);
        Ok(OwnersDocument { ok: true, owners, similar })
    });
    Ok(Json(document.await?))
}

/// The path parameters of a release.
#[derive(Debug, Deserialize)]
pub struct ReleasePath {
    pub owner: String,
    pub name: String,
    pub version: String,
}

/// Runs a function with a release, for a caller who may read the index.
pub async fn of_release<T: Send + 'static>(
    hub: &Shared,
    caller: Caller,
    Path(at): Path<ReleasePath>,
    work: impl FnOnce(&Hub, &Entry) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    run(hub, move |hub| {
        hub.check(&caller, Action::Read)?;
        let entry = hub.release(&name_of(&at.owner, &at.name)?, &at.version)?;
        work(hub, &entry)
    })
    .await
}

/// Returns a release whose files the caller may read.
async fn readable(hub: &Shared, caller: Caller, at: Path<ReleasePath>) -> Result<Entry, ApiError> {
    let by = caller.clone();
    of_release(hub, caller, at, move |hub, entry| hub.check_readable(&by, entry).map(|()| entry.clone())).await
}

/// Converts the error of a malformed parameter.
pub fn bad(error: &dyn std::error::Error) -> ApiError {
    ApiError::bad_request(error.to_string())
}
