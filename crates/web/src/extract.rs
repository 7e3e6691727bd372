//! Extractors for handlers, which reject malformed requests with an [`ApiError`].

use axum::{
    Json,
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Path as AxumPath, Query, Request},
    http::{StatusCode, request::Parts},
};
use http_body_util::Limited;
use serde::de::DeserializeOwned;
use skill::Limits;

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
        read.map(|Query(value)| Self(value)).map_err(|error| ApiError::bad_request(error.body_text()))
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
        _ => ApiError::new(status, "invalid_request", text),
    }
}
