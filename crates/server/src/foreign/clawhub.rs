//! [`router`]: the API that `clawhub --registry URL` speaks, below `/api/v1`.
//!
//! A slug is a skill's bare name where one owner has it, else `owner--name`; both are understood, and so is the owner
//! beside it (`clawhub install @owner/name`). ClawHub asks a person about what it calls suspicious: here that is a release
//! whose verdict is `warn`. Tags, topics and display names are ClawHub's own and are not kept: the one tag is `latest`.
//!
//! Only what the client needs to search, list, inspect, install, update, publish and star is here. It prints a body of an
//! error as it is, so errors below `/api/v1` are text.

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
use serde_json::{Value, json};
use web::Client;

use super::own_url;
use crate::api::Shared;

/// Bytes of an error that are read to write it as text.
const ERROR_BYTES: usize = 256 << 10;

/// The routes of ClawHub's API, and the file that says where it is.
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

async fn discovery(client: Client, headers: HeaderMap) -> Json<Value> {
    let url = own_url(client, &headers);
    Json(json!({"apiBase": url, "authBase": url}))
}

/// What the client may say beside a path. It sends some of it everywhere.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Asked {
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

/// The client shows an error's body to a person, except for a name that several owners have, where it knows a form.
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
        && let Some(matches) = document.pointer("/error/details/matches").and_then(Value::as_array)
    {
        return (parts, Json(documents::ambiguous(message, matches))).into_response();
    }
    let findings = document.pointer("/error/details/findings").and_then(Value::as_array);
    let hint = document.pointer("/error/hint").and_then(Value::as_str);
    (parts, documents::error_text(message, findings.map_or(&[], Vec::as_slice), hint)).into_response()
}
