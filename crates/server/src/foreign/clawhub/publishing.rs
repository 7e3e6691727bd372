//! Routes with which `clawhub` publishes: files one by one, then the release; and stars.

use std::time::Instant;

use axum::{
    Json,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use registry_index::ForkedFrom;
use semver::Version;
use serde::{Deserialize, de::DeserializeOwned};
use skill::{Bundle, Digest, File, Limits, Owner, QualifiedName, SkillName, SkillPath, archive};
use web::{
    Client, Parameters,
    extract::{self, Path, RawBody},
};

use super::{
    ClawhubQuery,
    documents::{Published, Starred, StoredFile, Unstarred, UploadPlace},
};
use crate::{
    access::{Action, Caller, Denied, Namespace},
    api::{HubState, TEXT_CHARS, name_of, run},
    error::ApiError,
    foreign::{names::named, own_url},
    hub::Hub,
    publish::{Submission, publish as publish_archive},
};

/// Size limit of a JSON body, in bytes: enough for 512 files with their paths.
const BODY_BYTES: usize = 1 << 20;

/// The announcement of a file that will be uploaded.
#[derive(Debug, Deserialize)]
pub struct Announced {
    size: u64,
    sha256: String,
}

/// Returns the upload address of a file. Only its sha256 distinguishes it from other files of the account.
pub async fn upload_url(
    State(hub): HubState,
    caller: Caller,
    client: Client,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<Json<UploadPlace>, ApiError> {
    let announced: Announced = read(&body)?;
    publisher(&hub, &caller)?;
    let most = Limits::default().skill_bytes;
    if announced.size > most {
        let message = format!("the limit for a skill is {most} bytes, but one file has {}", announced.size);
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
    }
    let ticket = digest(&announced.sha256)?.hex();
    let url = format!("{}/api/v1/skills/-/uploads/{ticket}", own_url(client, &headers));
    Ok(Json(UploadPlace { upload_url: url, upload_ticket: ticket }))
}

/// Receives a file of a release that will be published.
pub async fn upload(
    State(hub): HubState,
    caller: Caller,
    Path(ticket): Path<String>,
    RawBody(body): RawBody,
) -> Result<Json<StoredFile>, ApiError> {
    let account = publisher(&hub, &caller)?.clone();
    let announced = digest(&ticket)?;
    let stored = run(&hub, move |hub| {
        if Digest::of_bytes(&body) != announced {
            return Err(ApiError::bad_request("the uploaded bytes do not match the announced sha256")
                .hint("upload the file again"));
        }
        Ok(hub.stores.uploads.put(&account, body, Instant::now())?)
    });
    Ok(Json(StoredFile { storage_id: stored.await?.hex() }))
}

/// A release of files that were uploaded before. ClawHub's other fields (tags, topics, display name) are not stored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Publication {
    slug: String,
    owner_handle: Option<String>,
    version: String,
    #[serde(default)]
    changelog: String,
    #[serde(default)]
    migrate_owner: bool,
    fork_of: Option<ForkOf>,
    files: Vec<Sent>,
}

/// The origin of a forked release.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ForkOf {
    slug: String,
    owner_handle: Option<String>,
    version: Option<String>,
}

/// A reference to an uploaded file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    path: String,
    storage_id: String,
}

/// Publishes what was sent.
pub async fn publish(
    State(hub): HubState,
    caller: Caller,
    RawBody(body): RawBody,
) -> Result<Json<Published>, ApiError> {
    let publication: Publication = read(&body)?;
    // Reserves memory for a skill of the largest size, because the request does not have the sizes.
    let permit = hub.contents.lanes.permit(Limits::default().skill_bytes).await;
    run(&hub, move |hub| {
        let _held = permit;
        let account = publisher(hub, &caller)?;
        let (submission, digests) = submission(hub, account, &publication)?;
        let release = publish_archive(hub, &caller, &submission)?;
        hub.stores.uploads.evict(account, &digests);
        let (name, version) = (release.entry.name.to_string(), release.entry.version.to_string());
        Ok(Json(Published {
            ok: true,
            version_id: format!("{name}@{version}"),
            skill_id: name,
            status: "published",
            slug: publication.slug,
            version,
            publication_status: "published",
        }))
    })
    .await
}

fn submission(hub: &Hub, account: &Owner, publication: &Publication) -> Result<(Submission, Vec<Digest>), ApiError> {
    if publication.migrate_owner {
        return Err(
            ApiError::bad_request("a skill cannot change its owner").hint("publish it again under the other owner")
        );
    }
    if publication.changelog.chars().count() > TEXT_CHARS {
        return Err(ApiError::bad_request(format!("the changelog must have at most {TEXT_CHARS} characters")));
    }
    let name = own_name(account, publication)?;
    let version = Version::parse(&publication.version).map_err(|_| {
        ApiError::bad_request(format!("{:?} is not a valid version; use one such as 1.2.0", publication.version))
    })?;
    let (bundle, digests) = collected(hub, account, &publication.files)?;
    let forked_from = publication.fork_of.as_ref().map(|fork| forked_from(hub, fork)).transpose()?;
    let submission = Submission {
        name,
        version,
        changelog: publication.changelog.clone(),
        signature: None,
        forked_from,
        archive: Bytes::from(archive::pack(&bundle).into_bytes()),
    };
    Ok((submission, digests))
}

/// Returns the name to publish under, in the account's own namespace unless the request names another one.
fn own_name(account: &Owner, publication: &Publication) -> Result<QualifiedName, ApiError> {
    let given = publication.owner_handle.as_deref().map(|owner| owner.trim_start_matches('@'));
    let (inside, name) = match publication.slug.rsplit_once("--") {
        Some((owner, name)) => (Some(owner), name),
        None => (None, publication.slug.as_str()),
    };
    let owner = inside.or(given).unwrap_or(account.as_str());
    SkillName::parse_standard(name).map_err(|error| ApiError::bad_request(error.to_string()))?;
    name_of(owner, name)
        .map_err(|_| ApiError::bad_request(format!("{owner}/{name} is not a valid name for publishing")))
}

/// The files, which must all have been sent by this account. ClawHub knows no executable bit.
fn collected(hub: &Hub, account: &Owner, sent: &[Sent]) -> Result<(Bundle, Vec<Digest>), ApiError> {
    let (mut files, mut digests) = (Vec::new(), Vec::new());
    for Sent { path, storage_id } in sent {
        let digest = digest(storage_id)?;
        let bytes = hub.stores.uploads.get(account, &digest)?.ok_or_else(|| {
            ApiError::new(
                StatusCode::CONFLICT,
                "not_uploaded",
                format!("{path} was not uploaded, or its upload expired"),
            )
            .hint("publish again; uploads expire after 15 minutes")
        })?;
        files.push((
            SkillPath::parse(path).map_err(|error| unfit(&error))?,
            File { bytes: bytes.as_ref().into(), executable: false },
        ));
        digests.push(digest);
    }
    Ok((Bundle::from_files(files, &Limits::default()).map_err(|error| unfit(&error))?, digests))
}

fn forked_from(hub: &Hub, fork: &ForkOf) -> Result<ForkedFrom, ApiError> {
    let name = named(hub, &fork.slug, fork.owner_handle.as_deref())?;
    let entry = hub.release(&name, fork.version.as_deref().unwrap_or("latest"))?;
    Ok(ForkedFrom {
        name: name.to_string(),
        version: Some(entry.version.to_string()),
        commit: None,
        digest: entry.digest.to_string(),
        source: None,
        outcomes: None,
        evals: None,
    })
}

/// Stars a skill, once for each account.
pub async fn star(
    State(hub): HubState,
    caller: Caller,
    Path(word): Path<String>,
    Parameters(asked): Parameters<ClawhubQuery>,
) -> Result<Json<Starred>, ApiError> {
    let changed = run(&hub, move |hub| set_star(hub, &caller, &word, &asked, true)).await?;
    Ok(Json(Starred { ok: true, starred: true, already_starred: !changed }))
}

/// Removes the star of an account.
pub async fn unstar(
    State(hub): HubState,
    caller: Caller,
    Path(word): Path<String>,
    Parameters(asked): Parameters<ClawhubQuery>,
) -> Result<Json<Unstarred>, ApiError> {
    let changed = run(&hub, move |hub| set_star(hub, &caller, &word, &asked, false)).await?;
    Ok(Json(Unstarred { ok: true, unstarred: true, already_unstarred: !changed }))
}

/// Sets or removes a star. Returns whether the number of stars has changed.
fn set_star(hub: &Hub, caller: &Caller, word: &str, asked: &ClawhubQuery, starred: bool) -> Result<bool, ApiError> {
    hub.check(caller, Action::TakePart)?;
    let account = caller.account().ok_or(Denied::SignIn)?;
    let name = named(hub, word, asked.owner_handle.as_deref())?.to_string();
    let before = hub.stores.activity.stars(&name)?;
    Ok(hub.stores.activity.set_star(&name, account, starred)? != before)
}

/// Returns the caller's account if it may publish at all. Its right to the namespace is checked when the release
/// arrives.
fn publisher<'a>(hub: &Hub, caller: &'a Caller) -> Result<&'a Owner, ApiError> {
    let account = caller.account().ok_or(Denied::SignIn)?;
    hub.check(caller, Action::Publish(&Namespace { owner: account, is_taken: false, role: None }))?;
    Ok(account)
}

/// Parses a sha256 in hexadecimal.
fn digest(hex: &str) -> Result<Digest, ApiError> {
    let parsed = format!("sha256:{}", hex.to_ascii_lowercase()).parse();
    parsed.map_err(|_| ApiError::bad_request(format!("{hex:?} is not a sha256")))
}

fn unfit(error: &dyn std::error::Error) -> ApiError {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_skill", error.to_string())
        .hint("rename or remove the file and publish again")
}

/// Parses a JSON body, whatever its content type.
fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, ApiError> {
    if body.len() > BODY_BYTES {
        let message = format!("the request must have at most {BODY_BYTES} bytes");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
    }
    extract::json(body)
}
