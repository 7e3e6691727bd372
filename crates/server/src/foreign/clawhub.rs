//! The API of `clawhub --registry URL`, below `/api/v1` ([`router`]).
//!
//! A slug is the bare name of a skill if only one owner has it, else `owner--name`. Both forms are accepted, also with
//! a separate owner (`clawhub install @owner/name`). ClawHub asks for confirmation before it installs a suspicious
//! skill; here that is a release with the verdict `warn`. ClawHub's tags, topics and display names are not stored, and
//! `latest` is the only tag.
//!
//! The API covers what the client needs to search, list, inspect, install, update, publish and star. The client prints
//! the body of an error as it is, so errors below `/api/v1` are plain text.

mod building;
mod documents;
mod publishing;
mod reading;

use axum::{
    Json, Router,
    body::to_bytes,
    http::{HeaderMap, StatusCode, header},
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::Value;
use web::Client;

use super::{names::Candidate, own_url};
use crate::api::Shared;
use documents::Discovery;

/// Size limit of an error body that is converted to text, in bytes.
const ERROR_BYTES: usize = 256 << 10;

/// Builds the routes of ClawHub's API, and of the file that advertises it.
pub fn router() -> Router<Shared> {
    let skill = "/api/v1/skills/{slug}";
    let at = |rest: &str| format!("{skill}/{rest}");
    Router::new()
        .route("/api/v1/search", get(reading::search))
        .route("/api/v1/skills", get(reading::list).post(publishing::publish))
        .route(skill, get(reading::skill))
        .route(&at("install"), get(reading::install))
        .route(&at("versions"), get(reading::versions))
        .route(&at("versions/{version}"), get(reading::version))
        .route(&at("file"), get(reading::file))
        .route(&at("moderation"), get(reading::moderation))
        .route("/api/v1/resolve", get(reading::resolve))
        .route("/api/v1/download", get(reading::download))
        .route("/api/v1/whoami", get(reading::whoami))
        .route("/api/v1/skills/-/upload-url", post(publishing::upload_url))
        .route("/api/v1/skills/-/uploads/{ticket}", post(publishing::upload))
        .route("/api/v1/stars/{slug}", post(publishing::star).delete(publishing::unstar))
        .layer(middleware::map_response(as_text))
        .route("/.well-known/clawhub.json", get(discovery))
}

async fn discovery(client: Client, headers: HeaderMap) -> Json<Discovery> {
    let url = own_url(client, &headers);
    Json(Discovery { api_base: url.clone(), auth_base: url })
}

/// The query parameters of ClawHub's routes. The client sends some of them with every request.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClawhubQuery {
    slug: String,
    owner_handle: Option<String>,
    version: Option<String>,
    tag: Option<String>,
    path: String,
    hash: String,
    q: String,
    prefix: Option<String>,
    sort: String,
    mode: String,
    limit: Option<usize>,
    cursor: Option<usize>,
}

/// Converts an error to plain text, because the client prints it. It parses only the error for an ambiguous name, which
/// stays JSON.
async fn as_text(response: Response) -> Response {
    if response.status().is_success() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let bytes = to_bytes(body, ERROR_BYTES).await.unwrap_or_default();
    let document: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let Some(message) = document.pointer("/error/message").and_then(Value::as_str) else {
        return (parts, bytes).into_response();
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.remove(header::CONTENT_TYPE);
    if parts.status == StatusCode::CONFLICT
        && let Some(matches) = document.pointer("/error/details/matches")
        && let Ok(candidates) = Vec::<Candidate>::deserialize(matches)
    {
        return (parts, Json(building::ambiguity(message, candidates))).into_response();
    }
    let findings = document.pointer("/error/details/findings").and_then(Value::as_array);
    let hint = document.pointer("/error/hint").and_then(Value::as_str);
    (parts, building::error_text(message, findings.map_or(&[], Vec::as_slice), hint)).into_response()
}
