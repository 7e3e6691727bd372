//! DeerFlow's requests and responses, beside ours ([`bodies`] and [`answers`]).
//!
//! DeerFlow's gateway has the same routes below `/api/skills`. This module converts its bodies to ours before a handler
//! reads them, and adds its statuses and fields to the responses. The handlers do not know about it.
//!
//! | in DeerFlow | here |
//! |---|---|
//! | `thread_id` of any body | `thread` |
//! | `history_index` of a rollback | `revision` ([`history`]) |
//! | `{"thread_id", "path"}` of an install, or a form | the archive's bytes ([`uploads`]) |
//! | a body that its schema rejects | 422, with the fields in `detail` ([`schema`]) |
//! | a skill that is invalid or blocked | 400 in place of 422, with `detail` |

mod history;
mod schema;
mod uploads;

use std::sync::Arc;

use axum::{
    body::{self, Body, Bytes},
    extract::{FromRequest, FromRequestParts, MatchedPath, Query, RawPathParams, Request, State},
    http::{Method, StatusCode, header, request::Parts},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use skill::Limits;
use web::{ApiError, extract::RawBody};

use super::Dialect;
use crate::gateway::{RequestCredentials, Shared, run_blocking};

/// The layers that add DeerFlow's dialect.
pub(super) const DIALECT: Dialect = Dialect {
    bodies: |api, gateway| api.route_layer(middleware::from_fn_with_state(Arc::clone(gateway), bodies)),
    answers: |all| all.layer(middleware::from_fn(answers)),
};

/// Number of history entries with contents, unless the request has a limit.
const ENTRIES: usize = 100;

/// A request on one of DeerFlow's routes, with its body.
struct Call {
    parts: Parts,
    body: Bytes,
    /// HTTP method and pattern of the route.
    route: String,
}

impl Call {
    async fn of(request: Request, gateway: &Shared) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let pattern = parts.extensions.get::<MatchedPath>().map(|path| path.as_str().to_owned()).unwrap_or_default();
        let route = format!("{} {pattern}", parts.method);
        let request = Request::from_parts(parts.clone(), body);
        let RawBody(body) = RawBody::from_request(request, gateway).await?;
        Ok(Self { parts, body, route })
    }

    async fn name(&mut self, gateway: &Shared) -> Result<String, ApiError> {
        let values = RawPathParams::from_request_parts(&mut self.parts, gateway).await;
        let values = values.map_err(|error| ApiError::bad_request(error.body_text()))?;
        Ok(values.iter().find(|(key, _)| *key == "name").map_or("", |(_, value)| value).to_owned())
    }

    fn replace_body(&mut self, body: impl Into<Bytes>) {
        self.parts.headers.remove(header::CONTENT_LENGTH);
        self.body = body.into();
    }

    fn into_request(self) -> Request {
        Request::from_parts(self.parts, Body::from(self.body))
    }
}

/// Converts DeerFlow's bodies to ours, and adds the fields that its hosts read to the responses.
async fn bodies(State(gateway): State<Shared>, request: Request, next: Next) -> Response {
    let mut call = match Call::of(request, &gateway).await {
        Ok(call) => call,
        Err(refused) => return refused.into_response(),
    };
    if let Err(error) = translate(&mut call, &gateway).await {
        return error.into_response();
    }
    match call.route.as_str() {
        "POST /api/skills/reload" => {
            let added = json!({"success": true, "scope": "process", "message": "the skill folders were reloaded"});
            with_fields(next.run(call.into_request()).await, added).await
        }
        "GET /api/skills/custom/{name}/history" => with_history(call, &gateway, next).await,
        _ => next.run(call.into_request()).await,
    }
}

async fn translate(call: &mut Call, gateway: &Shared) -> Result<(), ApiError> {
    if call.route == "POST /api/skills/install" {
        return uploads::translate(call, gateway).await;
    }
    let is_short = call.body.len() as u64 <= Limits::default().request_bytes;
    let Some(fields) = schema::fields_of(&call.route).filter(|_| is_short) else { return Ok(()) };
    let mut object = schema::read(&call.body, fields)?;
    rename_thread(&mut object)?;
    if let Some(index) = object.remove("history_index") {
        if object.get("revision").is_some_and(|revision| !revision.is_null()) {
            return Err(ApiError::bad_request("set either `revision` or `history_index`, not both"));
        }
        let (name, asker) = (call.name(gateway).await?, RequestCredentials::of(&call.parts)?);
        let revision = run_blocking(gateway, asker, move |work| {
            history::revision_before(work, &work.skill_called(&name)?, &index)
        })
        .await?;
        object.extend(revision.map(|revision| ("revision".to_owned(), json!(revision))));
    }
    call.replace_body(Value::Object(object).to_string());
    Ok(())
}

fn rename_thread(object: &mut Map<String, Value>) -> Result<(), ApiError> {
    let Some(id) = object.remove("thread_id").filter(|id| !id.is_null()) else { return Ok(()) };
    match object.get("thread").filter(|thread| !thread.is_null()) {
        Some(thread) if *thread != id => Err(ApiError::bad_request("`thread` and `thread_id` have different values")),
        _ => {
            object.insert("thread".to_owned(), id);
            Ok(())
        }
    }
}

#[derive(Deserialize)]
struct Past {
    limit: Option<usize>,
}

async fn with_history(mut call: Call, gateway: &Shared, next: Next) -> Response {
    let limit = Query::<Past>::try_from_uri(&call.parts.uri).ok().and_then(|past| past.limit).unwrap_or(ENTRIES);
    let (name, asker) = match (call.name(gateway).await, RequestCredentials::of(&call.parts)) {
        (Ok(name), Ok(asker)) => (name, asker),
        // The handler rejects it.
        _ => return next.run(call.into_request()).await,
    };
    let response = next.run(call.into_request()).await;
    if !response.status().is_success() {
        return response;
    }
    match run_blocking(gateway, asker, move |work| history::document(work, &work.skill_called(&name)?, limit.max(1)))
        .await
    {
        Ok(history) => with_fields(response, json!({"history": history})).await,
        Err(error) => error.into_response(),
    }
}

/// Adds fields to a successful response.
async fn with_fields(response: Response, added: Value) -> Response {
    if !response.status().is_success() {
        return response;
    }
    edited(response, |_, document| {
        if let (Some(document), Value::Object(added)) = (document.as_object_mut(), added) {
            document.extend(added);
        }
    })
    .await
}

/// Adds `detail` to errors below `/api/skills`, and converts their status to DeerFlow's.
async fn answers(request: Request, next: Next) -> Response {
    let (path, is_get) = (request.uri().path().to_owned(), request.method() == Method::GET);
    let response = next.run(request).await;
    let is_deerflows = path == "/api/skills" || path.starts_with("/api/skills/");
    if !is_deerflows || response.status().is_success() {
        return response;
    }
    edited(response, |status, document| {
        let error = &document["error"];
        if error.is_object() {
            *status = status_of(*status, error, is_get);
            document["detail"] = detail_of(error, &path);
        }
    })
    .await
}

async fn edited(response: Response, edit: impl FnOnce(&mut StatusCode, &mut Value)) -> Response {
    let (mut parts, content) = response.into_parts();
    let Ok(content) = body::to_bytes(content, usize::MAX).await else { return parts.status.into_response() };
    let Ok(mut document) = serde_json::from_slice::<Value>(&content) else {
        return Response::from_parts(parts, Body::from(content));
    };
    edit(&mut parts.status, &mut document);
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(document.to_string()))
}

fn status_of(status: StatusCode, error: &Value, is_get: bool) -> StatusCode {
    let is_of_schema = error["details"]["fields"].is_array();
    let is_read_only = error["details"]["read_only"].is_string();
    match status {
        // A skill with an invalid name cannot exist.
        StatusCode::UNPROCESSABLE_ENTITY if is_get && error["code"] == "invalid_skill" => StatusCode::NOT_FOUND,
        StatusCode::UNPROCESSABLE_ENTITY if !is_of_schema => StatusCode::BAD_REQUEST,
        StatusCode::FORBIDDEN | StatusCode::NOT_FOUND if is_read_only => StatusCode::BAD_REQUEST,
        status => status,
    }
}

fn detail_of(error: &Value, path: &str) -> Value {
    let (details, message) = (&error["details"], &error["message"]);
    if details["fields"].is_array() {
        return details["fields"].clone();
    }
    if !details["findings"].is_array() {
        return message.clone();
    }
    let of_path = path.strip_prefix("/api/skills/custom/").and_then(|rest| rest.split('/').next());
    let name = details.pointer("/skills/0/name").and_then(Value::as_str).or(of_path);
    json!({"message": message, "skill_name": name, "findings": details["findings"]})
}
