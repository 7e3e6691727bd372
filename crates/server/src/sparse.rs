//! The sparse index below `/index`: the files of the git repository, byte for byte, and its archives.

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use jiff::Timestamp;
use registry_index::shard;
use skill::Digest;
use web::{Client, extract::Path};

use crate::{
    access::{Action, Caller},
    api::{HubState, Shared, run},
    contents,
    error::ApiError,
    store::{Download, StaticFile},
};

/// Caching of an index file: it may change at any time, so caches store and revalidate it.
const ASK_AGAIN: &str = "no-cache";
/// Caching of an archive: its bytes never change, but a quarantine may block it. Caches revalidate and get a 304.
const SAME_BYTES: &str = "no-cache, immutable";

/// The routes below `/index`.
pub fn router() -> Router<Shared> {
    Router::new()
        .route("/index/head", get(head))
        .route("/index/bundles/{first}/{second}/{file}", get(bundle))
        .route("/index/{*path}", get(file))
}

/// Evicts cached files of the index that another process on the data folder has changed.
///
/// # Errors
/// The index or the database cannot be read.
pub async fn follow_other_processes(hub: &Shared) -> Result<(), ApiError> {
    match hub.stores.releases.is_behind()? {
        true => run(hub, |hub| hub.stores.releases.catch_up()).await,
        false => Ok(()),
    }
}

/// Returns the current commit of the index.
async fn head(State(hub): HubState, caller: Caller) -> Result<Response, ApiError> {
    hub.check(&caller, Action::Read)?;
    follow_other_processes(&hub).await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], hub.stores.releases.head()?).into_response())
}

async fn file(
    State(hub): HubState,
    caller: Caller,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    hub.check(&caller, Action::Read)?;
    let is_file = path == shard::CONFIG || path.starts_with("owners/") || shard::skill_at(&path).is_some();
    let none = || ApiError::not_found(format!("the index file {path} was not found"));
    if !is_file {
        return Err(none());
    }
    follow_other_processes(&hub).await?;
    let found = match hub.stores.releases.file_at_hand(&path) {
        Some(found) => found,
        None => {
            let path = path.clone();
            run(&hub, move |hub| hub.stores.releases.file(&path)).await?
        }
    };
    let StaticFile { bytes, etag } = found.ok_or_else(none)?;
    let kind = if path.ends_with(".json") { "application/json" } else { "application/x-ndjson" };
    Ok(answer(bytes, &etag, kind, ASK_AGAIN, &headers))
}

async fn bundle(
    State(hub): HubState,
    caller: Caller,
    client: Client,
    method: Method,
    Path((first, second, file)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    hub.check(&caller, Action::Read)?;
    let none = || ApiError::not_found("the archive was not found").hint("the release may have been withdrawn");
    let hex = file.strip_suffix(".skill").filter(|hex| hex.starts_with(&format!("{first}{second}")));
    let digest: Digest = format!("sha256:{}", hex.ok_or_else(none)?).parse().map_err(|_| none())?;
    let bytes = contents::archive(&hub, digest).await?.ok_or_else(none)?;
    if !hub.stores.releases.is_readable(&digest)? {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "quarantined",
            "a release with this content was quarantined or withdrawn",
        )
        .hint("ask an admin of the server"));
    }
    if method == Method::GET {
        let account = caller.account().map(ToString::to_string).unwrap_or_default();
        let day = Timestamp::now().strftime("%F").to_string();
        hub.stores
            .activity
            .count(Download { skill: String::new(), version: String::new(), digest, account, day }, client);
    }
    Ok(answer(bytes, &format!("\"{}\"", digest.hex()), "application/zip", SAME_BYTES, &headers))
}

/// Answers with bytes, a requested range of them, or 304 if the client has them.
pub fn answer(bytes: Bytes, etag: &str, kind: &'static str, caching: &'static str, asked: &HeaderMap) -> Response {
    let of = |name| asked.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let is_known = of(header::IF_NONE_MATCH)
        .is_some_and(|known| known == "*" || known.split(',').any(|tag| tag.trim().trim_start_matches("W/") == etag));
    let range = of(header::RANGE).filter(|_| of(header::IF_RANGE).is_none_or(|tag| tag == etag));
    let whole = bytes.len();
    let mut response = match range.and_then(|range| part(range, whole)) {
        _ if is_known => StatusCode::NOT_MODIFIED.into_response(),
        None => bytes.into_response(),
        Some(None) => {
            let mut refused = StatusCode::RANGE_NOT_SATISFIABLE.into_response();
            refused.headers_mut().extend(content_range(&format!("bytes */{whole}")));
            refused
        }
        Some(Some((from, to))) => {
            let mut some = (StatusCode::PARTIAL_CONTENT, bytes.slice(from..to)).into_response();
            some.headers_mut().extend(content_range(&format!("bytes {from}-{}/{whole}", to - 1)));
            some
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.extend(HeaderValue::from_str(etag).ok().map(|tag| (header::ETAG, tag)));
    response
}

fn content_range(text: &str) -> Option<(header::HeaderName, HeaderValue)> {
    Some((header::CONTENT_RANGE, HeaderValue::from_str(text).ok()?))
}

/// Parses a header with a single byte range into a start and an exclusive end. Returns `None` for a header that is to
/// be ignored (RFC 9110, 14.2), and `Some(None)` for a range outside the content.
fn part(range: &str, whole: usize) -> Option<Option<(usize, usize)>> {
    let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
    let (from, to) = (from.trim(), to.trim());
    let number = |text: &str| text.parse::<usize>().ok();
    let (from, to) = match (from.is_empty(), to.is_empty()) {
        (true, true) => return None,
        (true, false) => (whole.saturating_sub(number(to)?), whole),
        (false, true) => (number(from)?, whole),
        (false, false) => (number(from)?, number(to)?.saturating_add(1).min(whole)),
    };
    Some((from < to).then_some((from, to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_range_is_served_and_odd_ones_ignored() {
        for (range, found) in [
            ("bytes=0-3", Some(Some((0, 4)))),
            ("bytes=4-", Some(Some((4, 10)))),
            ("bytes=-3", Some(Some((7, 10)))),
            ("bytes=-30", Some(Some((0, 10)))),
            ("bytes=8-99", Some(Some((8, 10)))),
            ("bytes=10-", Some(None)),
            ("bytes=5-2", Some(None)),
            ("bytes=-0", Some(None)),
            ("bytes=-", None),
            ("bytes=1-2,4-5", None),
            ("lines=1-2", None),
            ("bytes=99999999999999999999-", None),
        ] {
            assert_eq!(part(range, 10), found, "{range}");
        }
    }
}
