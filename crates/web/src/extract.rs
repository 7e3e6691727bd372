//! Extractors for handlers, which reject malformed requests with an [`ApiError`] in the words of a client.

use axum::{
    Json,
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Path as AxumPath, Query, Request},
    http::{StatusCode, request::Parts},
};
use http_body_util::Limited;
use serde::de::DeserializeOwned;
use skill::{Limits, json_fault};

use crate::error::ApiError;

/// Size limit of a JSON body, in bytes.
const BODY_BYTES: usize = 64 << 10;

/// The parameters of the path.
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = AxumPath::<T>::from_request_parts(parts, state).await;
        read.map(|AxumPath(value)| Self(value)).map_err(|error| ApiError::bad_request(error.body_text()))
    }
}

/// The parameters of the query string.
pub struct Parameters<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let read = Query::<T>::try_from_uri(&parts.uri);
        read.map(|Query(value)| Self(value)).map_err(|error| ApiError::bad_request(explained(&error.body_text())))
    }
}

/// A JSON body of at most 64 KiB.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let request = request.map(|body| axum::body::Body::new(Limited::new(body, BODY_BYTES)));
        match Json::<T>::from_request(request, state).await {
            Ok(Json(value)) => Ok(Self(value)),
            Err(refused) => Err(unread(refused.status(), &refused.body_text(), BODY_BYTES as u64)),
        }
    }
}

/// The raw bytes of a body. The routes of both servers limit it to the size of an archive.
pub struct RawBody(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for RawBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        match Bytes::from_request(request, state).await {
            Ok(bytes) => Ok(Self(bytes)),
            Err(refused) => Err(unread(refused.status(), &refused.body_text(), Limits::default().archive_bytes)),
        }
    }
}

/// Builds the error for a body that cannot be read or has more than `most` bytes.
fn unread(status: StatusCode, text: &str, most: u64) -> ApiError {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::new(status, "too_large", format!("the body must have at most {most} bytes"))
        }
        _ => ApiError::new(status, "invalid_request", explained(text)),
    }
}

/// Parses a JSON body, whatever its content type.
///
/// # Errors
/// [`ApiError`] with 400.
pub fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let read = Json::<T>::from_bytes(body);
    read.map(|Json(value)| value).map_err(|error| ApiError::bad_request(explained(&error.body_text())))
}

/// Beginnings of the texts with which axum rejects a value. The field follows, and the error of serde.
const BEFORE_BODY: &str = "Failed to deserialize the JSON body into the target type: ";
const BEFORE_QUERY: &str = "Failed to deserialize query string: ";

/// Describes a rejection without the names of types in Rust.
fn explained(text: &str) -> String {
    if let Some(fault) = text.strip_prefix("Failed to parse the request body as JSON: ") {
        return format!("the body is not valid JSON: {fault}");
    }
    let body = text.strip_prefix(BEFORE_BODY).map(|told| told.rsplit_once(" at line ").map_or(told, |(told, _)| told));
    let Some(told) = body.or_else(|| text.strip_prefix(BEFORE_QUERY)) else { return text.to_owned() };
    let (field, why) = match told.split_once(": ") {
        Some((field, why)) if !field.contains(' ') => (Some(field), why),
        _ => (None, told),
    };
    let named = || field.map_or_else(|| "the request".to_owned(), |field| format!("`{field}`"));
    match why {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            format!("{} must be a whole number", named())
        }
        "number too large to fit in target type" => format!("{} is too large", named()),
        "provided string was not `true` or `false`" => format!("{} must be `true` or `false`", named()),
        _ => json_fault(field, why),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Scope {
        Read,
        Publish,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Asked {
        #[serde(rename = "days")]
        _days: u32,
        #[serde(rename = "scope", default)]
        _scope: Option<Scope>,
        #[serde(rename = "names", default)]
        _names: Vec<String>,
        #[serde(rename = "admin", default)]
        _admin: bool,
    }

    #[test]
    fn body_faults_name_json_types() {
        for (body, told) in [
            (r#"{"days": "x"}"#, "`days` must be a whole number from 0, not string \"x\""),
            (r#"{"days": -1}"#, "`days` must be a whole number from 0, not integer `-1`"),
            (r#"{"days": 1, "admin": "yes"}"#, "`admin` must be `true` or `false`, not string \"yes\""),
            (r#"{"days": 1, "names": {}}"#, "`names` must be an array, not an object"),
            (r#"{"days": 1, "names": ["a", 2]}"#, "`names[1]` must be a string, not integer `2`"),
            (r#"{"days": 1, "scope": "root"}"#, "`scope` must be `read` or `publish`, not `root`"),
            ("{}", "missing field `days`"),
            (r#"{"days": 1, "more": 1}"#, "unknown field `more`, expected one of `days`, `scope`, `names`, `admin`"),
            ("3", "the request must be an object, not integer `3`"),
        ] {
            assert_eq!(json::<Asked>(body.as_bytes()).unwrap_err().message, told, "{body}");
        }
        let fault = json::<Asked>(b"{").unwrap_err().message;
        assert!(fault.starts_with("the body is not valid JSON: "), "{fault}");
    }

    #[test]
    fn query_faults_name_the_parameter() {
        for (query, told) in [
            ("days=x", "`days` must be a whole number"),
            ("days=", "`days` must be a whole number"),
            ("days=99999999999", "`days` is too large"),
            ("days=1&admin=yes", "`admin` must be `true` or `false`"),
            ("days=1&scope=root", "`scope` must be `read` or `publish`, not `root`"),
        ] {
            let uri = format!("/?{query}").parse().unwrap();
            let fault = Query::<Asked>::try_from_uri(&uri).unwrap_err();
            assert_eq!(explained(&fault.body_text()), told, "{query}");
        }
    }
}
