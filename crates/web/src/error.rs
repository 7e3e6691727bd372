//! [`ApiError`]: a failure as an HTTP status and the JSON that the command line prints as well.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::{Value, json};
use skill::failure::{Fails, Failure, FailureKind};
use utoipa::ToSchema;

/// Why a request was not answered as it was meant.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    /// The status.
    pub status: StatusCode,
    /// A stable name, in `snake_case`.
    pub code: &'static str,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// What a program needs to go on.
    pub details: Box<Value>,
    /// Seconds after which to try again.
    pub retry_after: Option<u64>,
}

/// An error as JSON.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorDocument {
    /// Always `false`.
    #[schema(example = false)]
    pub ok: bool,
    /// The error.
    pub error: ErrorBody,
}

/// What an error says.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// A stable name, in `snake_case`.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// What a program needs to go on: findings, problems.
    #[schema(value_type = Object)]
    pub details: Value,
}

impl ApiError {
    /// An error without hint and details.
    #[must_use]
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hint: None, details: Box::new(json!({})), retry_after: None }
    }

    /// The request cannot be understood.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// There is no such thing.
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// Something broke that is none of the caller's; what it was is for the log only.
    #[must_use]
    pub fn broken(error: &dyn std::error::Error) -> Self {
        Self::broken_by(error.to_string())
    }

    fn broken_by(why: String) -> Self {
        let message = "the server could not answer; its log says why";
        Self { details: Box::new(json!({ "log": why })), ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, "io", message) }
    }

    /// The same with the way on.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// An error that says itself what it means.
    pub fn of(error: &impl Fails) -> Self {
        Self::told(error.failure(), error.to_string(), error.details())
    }

    /// An error of which all is known that is told.
    #[must_use]
    pub fn told(failure: Failure, message: String, details: Value) -> Self {
        let Failure { kind, code, hint } = failure;
        let status = match kind {
            FailureKind::Failed | FailureKind::Unreachable | FailureKind::Interrupted => {
                return Self::broken_by(message);
            }
            FailureKind::Usage => StatusCode::BAD_REQUEST,
            FailureKind::Invalid | FailureKind::Blocked => StatusCode::UNPROCESSABLE_ENTITY,
            FailureKind::Refused => StatusCode::FORBIDDEN,
            FailureKind::Conflict => StatusCode::CONFLICT,
            FailureKind::NotFound => StatusCode::NOT_FOUND,
            FailureKind::Integrity => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self { hint, details: Box::new(details), ..Self::new(status, code, message) }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (mut details, mut log) = (self.details, None);
        if self.status.is_server_error() {
            log = details.get_mut("log").map(Value::take);
            *details = json!({});
        }
        let error = ErrorBody { code: self.code.to_owned(), message: self.message, hint: self.hint, details: *details };
        let mut response = (self.status, Json(ErrorDocument { ok: false, error })).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(after) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(after));
        }
        if let Some(Value::String(why)) = log {
            response.extensions_mut().insert(Why(why));
        }
        response
    }
}

/// What the log says of a response that tells its reader less.
#[derive(Debug, Clone)]
pub struct Why(pub String);

impl From<registry_index::OpenError> for ApiError {
    fn from(error: registry_index::OpenError) -> Self {
        Self::broken(&error)
    }
}

impl From<registry_index::ReadError> for ApiError {
    fn from(error: registry_index::ReadError) -> Self {
        Self::broken(&error)
    }
}
