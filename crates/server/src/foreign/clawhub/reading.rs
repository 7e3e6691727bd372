//! Read-only routes for `clawhub`: search, lists, a skill with its versions and files, and the release that a folder
//! has.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use registry_index::{Entry, newest};
use skill::{QualifiedName, SkillPath};
use web::{Client, Parameters, extract::Path};

use super::{
    ClawhubQuery, building,
    documents::{
        ArchiveLocation, Installation, ListedSkill, Listing, ModerationReport, Release, ReleaseDetails, Resolution,
        SearchResults, SkillDetails, SkillLabel, Stats, Whoami,
    },
};
use crate::{
    access::{Action, Caller},
    api::{HubState, Shared, count, file_answer, run},
    contents,
    error::ApiError,
    foreign::{
        facts_cache::FactsCache,
        names::{current, named, slug},
        own_url,
    },
    hub::Hub,
    store::catalogue::{DEEPEST, Order, PAGE, Page, Query},
};

/// Number of results, unless the request has a limit.
const RESULTS: usize = 25;

/// Number of releases that are compared with a folder, newest first. The client itself knows older ones from its own
/// records.
const COMPARED: usize = 20;

/// Length limit of a query, in characters.
const QUERY_CHARS: usize = 500;

/// Searches skills by words. With `mode=exact`, it only finds the exact name.
pub async fn search(
    State(hub): HubState,
    caller: Caller,
    Parameters(asked): Parameters<ClawhubQuery>,
) -> Result<Json<SearchResults>, ApiError> {
    let permit = hub.contents.lanes.search().await;
    reads(&hub, caller, move |hub| {
        let _held = permit;
        let page = find(hub, &asked, &asked.q, None)?;
        let is_exact = asked.mode == "exact";
        let found = page.skills.iter().filter(|found| !is_exact || found.entry.name.name.as_str() == asked.q.trim());
        let results = found
            .map(|found| Ok(building::result(slug(hub, &found.entry.name)?, found)))
            .collect::<Result<Vec<_>, ApiError>>();
        Ok(Json(SearchResults { results: results? }))
    })
    .await
}

/// Lists all skills, or those whose name has a prefix.
pub async fn list(
    State(hub): HubState,
    caller: Caller,
    Parameters(asked): Parameters<ClawhubQuery>,
) -> Result<Json<Listing<ListedSkill>>, ApiError> {
    let permit = hub.contents.lanes.search().await;
    reads(&hub, caller, move |hub| {
        let _held = permit;
        let prefix = asked.prefix.as_deref().map(str::trim).unwrap_or_default();
        let order = match asked.sort.as_str() {
            "downloads" | "installs" | "trending" | "rating" => Order::Downloads,
            _ => Order::Updated,
        };
        // With a prefix, the best matches are the names that begin with it.
        let page = find(hub, &asked, prefix, Some(order).filter(|_| prefix.is_empty()))?;
        let mut items = Vec::new();
        for found in page.skills.iter().filter(|found| found.entry.name.name.as_str().starts_with(prefix)) {
            items.push(building::item(slug(hub, &found.entry.name)?, found));
        }
        let next = asked.cursor.unwrap_or(0) + page.skills.len();
        let next = (page.has_more && next <= DEEPEST).then(|| next.to_string());
        Ok(Json(Listing { items, next_cursor: next }))
    })
    .await
}

fn find(hub: &Hub, asked: &ClawhubQuery, words: &str, order: Option<Order>) -> Result<Page, ApiError> {
    if words.chars().count() > QUERY_CHARS {
        return Err(ApiError::bad_request(format!("the search must have at most {QUERY_CHARS} characters")));
    }
    let limit = asked.limit.unwrap_or(RESULTS).min(PAGE);
    let offset = asked.cursor.unwrap_or(0);
    let query = Query { words: words.to_owned(), order, offset, limit, ..Query::default() };
    let mut page = hub.stores.catalogue.find(&query)?;
    page.skills.retain(|found| hub.is_free(&found.entry));
    Ok(page)
}

/// Returns one skill with its newest release.
pub async fn skill(
    State(hub): HubState,
    caller: Caller,
    Path(word): Path<String>,
    Parameters(asked): Parameters<ClawhubQuery>,
) -> Result<Json<SkillDetails>, ApiError> {
    reads(&hub, caller, move |hub| {
        let (name, entry) = newest_of(hub, &word, &asked)?;
        let text = name.to_string();
        let stats = Stats {
            downloads: hub.stores.activity.by_version(&text)?.values().sum(),
            stars: hub.stores.activity.stars(&text)?,
        };
        let first = hub.releases(&name)?.iter().map(building::at).min().unwrap_or_default();
        let skill = building::skill(slug(hub, &name)?, &entry, stats, first);
        Ok(Json(building::details(skill, &entry)))
    })
    .await
}

/// Returns the findings of the scanner for a skill.
pub async fn moderation(
    State(hub): HubState,
    caller: Caller,
    Path(word): Path<String>,
    Parameters(asked): Parameters<ClawhubQuery>,
) -> Result<Json<ModerationReport>, ApiError> {
    let (_, entry) = reads(&hub, caller, move |hub| newest_of(hub, &word, &asked)).await?;
    let judgement = contents::judgement(&hub, &contents::files(&hub, &entry).await?).await?;
    let moderation = run(&hub, move |_| Ok(building::moderation_with_evidence(&entry, &judgement.report)));
    Ok(Json(ModerationReport { moderation: moderation.await? }))
}

/// Returns the data for installing the newest release.
pub async fn install(
    State(hub): HubState,
    caller: Caller,
    client: Client,
    headers: axum::http::HeaderMap,
    Path(word): Path<String>,
    Parameters(asked): Parameters<ClawhubQuery>,
) -> Result<Json<Installation>, ApiError> {
    reads(&hub, caller, move |hub| {
        let (name, entry) = newest_of(hub, &word, &asked)?;
        let url = format!("{}/v1/skills/{}/{}/archive", own_url(client, &headers), name, entry.version);
        let archive = ArchiveLocation { version: entry.version.to_string(), download_url: url };
        Ok(Json(Installation { ok: true, slug: slug(hub, &name)?, install_kind: "archive", archive }))
    })
    .await
}

/// Lists the available releases, newest version first.
pub async fn versions(
    State(hub): HubState,
    caller: Caller,
    Path(word): Path<String>,
    Parameters(asked): Parameters<ClawhubQuery>,
) -> Result<Json<Listing<Release>>, ApiError> {
    reads(&hub, caller, move |hub| {
        let entries = offered(hub, &named(hub, &word, asked.owner_handle.as_deref())?)?;
        let (from, limit) = (asked.cursor.unwrap_or(0), asked.limit.unwrap_or(RESULTS).clamp(1, PAGE));
        let items: Vec<Release> = entries.iter().skip(from).take(limit).map(building::release).collect();
        let next = Some(from.saturating_add(items.len())).filter(|next| *next < entries.len());
        Ok(Json(Listing { items, next_cursor: next.map(|next| next.to_string()) }))
    })
    .await
}

/// Returns one release with its files.
pub async fn version(
    State(hub): HubState,
    caller: Caller,
    Path((word, version)): Path<(String, String)>,
    Parameters(asked): Parameters<ClawhubQuery>,
) -> Result<Json<ReleaseDetails>, ApiError> {
    let found = reads(&hub, caller, move |hub| {
        let asked = ClawhubQuery { version: Some(version), ..asked };
        let (name, entry) = release(hub, &word, &asked)?;
        hub.check_open(&entry)?;
        Ok((entry, SkillLabel { slug: slug(hub, &name)?, display_name: name.name.to_string() }))
    });
    let (entry, skill) = found.await?;
    let bundle = contents::files(&hub, &entry).await?;
    let version = run(&hub, move |_| Ok(building::release_with_files(&entry, &bundle)));
    Ok(Json(ReleaseDetails { version: version.await?, skill }))
}

/// Returns one file of a release.
pub async fn file(
    State(hub): HubState,
    caller: Caller,
    Path(word): Path<String>,
    Parameters(asked): Parameters<ClawhubQuery>,
) -> Result<Response, ApiError> {
    let wanted = asked.path.clone();
    let found = reads(&hub, caller, move |hub| {
        let (_, entry) = release(hub, &word, &asked)?;
        hub.check_open(&entry).map(|()| entry)
    });
    let entry = found.await?;
    let none = || ApiError::not_found(format!("{} {} has no file {wanted:?}", entry.name, entry.version));
    let path = SkillPath::parse(&wanted).map_err(|_| none())?;
    Ok(file_answer(contents::files(&hub, &entry).await?.get(&path).ok_or_else(none)?))
}

/// Identifies a folder's release by its fingerprint, and returns the newest release. Both are empty for an unknown
/// skill, because the client also asks before it publishes a first release.
pub async fn resolve(
    State(hub): HubState,
    Extension(kept): Extension<Arc<FactsCache>>,
    caller: Caller,
    Parameters(asked): Parameters<ClawhubQuery>,
) -> Result<Json<Resolution>, ApiError> {
    let hash = asked.hash.to_ascii_lowercase();
    let entries = reads(&hub, caller, move |hub| match named(hub, &asked.slug, asked.owner_handle.as_deref()) {
        Ok(name) => offered(hub, &name),
        Err(error) if error.status == StatusCode::NOT_FOUND => Ok(Vec::new()),
        Err(error) => Err(error),
    });
    let entries = entries.await?;
    let mut found = None;
    for entry in entries.iter().take(COMPARED) {
        if kept.facts(&hub, entry).await?.fingerprint == hash {
            found = Some(building::version(entry));
            break;
        }
    }
    Ok(Json(Resolution { found, latest_version: newest(&entries, false).map(building::version) }))
}

/// Returns the archive of a release, and counts the download.
pub async fn download(
    State(hub): HubState,
    caller: Caller,
    client: Client,
    Parameters(asked): Parameters<ClawhubQuery>,
) -> Result<Response, ApiError> {
    let account = caller.account().map(ToString::to_string).unwrap_or_default();
    let found = reads(&hub, caller, move |hub| {
        let (_, entry) = release(hub, &asked.slug, &asked)?;
        hub.check_open(&entry).map(|()| entry)
    });
    let entry = found.await?;
    contents::archive(&hub, entry.digest).await?;
    run(&hub, move |hub| {
        let bytes = hub.stored(&entry)?;
        count(hub, &entry, account, client);
        Ok(([(header::CONTENT_TYPE, "application/zip")], bytes).into_response())
    })
    .await
}

/// Returns the account of the caller.
pub async fn whoami(caller: Caller) -> Result<Json<Whoami>, ApiError> {
    building::who(&caller).map(Json).ok_or_else(|| crate::access::Denied::SignIn.into())
}

/// Runs a function for a caller who may read the index.
async fn reads<T: Send + 'static>(
    hub: &Shared,
    caller: Caller,
    work: impl FnOnce(&Hub) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    run(hub, move |hub| {
        hub.check(&caller, Action::Read)?;
        work(hub)
    })
    .await
}

fn newest_of(hub: &Hub, word: &str, asked: &ClawhubQuery) -> Result<(QualifiedName, Entry), ApiError> {
    let name = named(hub, word, asked.owner_handle.as_deref())?;
    let entry = current(hub, &name)?.ok_or_else(|| {
        ApiError::not_found(format!("skill not found: {name} has no release that can be installed"))
            .hint("every release is yanked, withdrawn or under quarantine")
    })?;
    Ok((name, entry))
}

/// Returns the release for a version, for the tag `latest`, or the newest if neither is given. A yanked release is
/// available by its version.
fn release(hub: &Hub, word: &str, asked: &ClawhubQuery) -> Result<(QualifiedName, Entry), ApiError> {
    match (asked.version.as_deref(), asked.tag.as_deref()) {
        (Some(version), _) => {
            let name = named(hub, word, asked.owner_handle.as_deref())?;
            let entry = hub.release(&name, version)?;
            Ok((name, entry))
        }
        (None, None | Some("latest")) => newest_of(hub, word, asked),
        (None, Some(tag)) => Err(ApiError::not_found(format!("unknown tag {tag:?}; the only tag is `latest`"))),
    }
}

/// Returns the releases of a skill that are not yanked, withdrawn or under quarantine, newest version first.
fn offered(hub: &Hub, name: &QualifiedName) -> Result<Vec<Entry>, ApiError> {
    let mut entries = hub.stores.releases.of_skill(name)?;
    entries.retain(|entry| !entry.yanked && hub.is_free(entry));
    entries.sort_by(|a, b| b.version.cmp(&a.version));
    Ok(entries)
}
