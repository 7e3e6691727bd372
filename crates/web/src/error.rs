//! [`ApiError`] is a failure as an HTTP status and a JSON document, the same one that the command line prints.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use ops::next_step::request;
use serde::Serialize;
use serde_json::{Value, json};
use skill::failure::{Fails, Failure, FailureKind};
use utoipa::ToSchema;

/// A failed request, as the HTTP status and the contents of the error document.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    /// HTTP status of the response.
    pub status: StatusCode,
    /// Stable identifier in `snake_case`, for programs.
    pub code: &'static str,
    /// Description of the failure, for people.
    pub message: String,
    /// Suggested next step for the user.
    pub hint: Option<String>,
    /// Data that a program needs to continue, such as findings. For server errors, only the text for the log.
    pub details: Box<Value>,
    /// Value of the `Retry-After` header, in seconds.
    pub retry_after: Option<u64>,
}

/// The body of every error response.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorDocument {
    /// Always `false`, where successful responses have `true`.
    #[schema(example = false)]
    pub ok: bool,
    /// Code, message and hint.
    pub error: ErrorBody,
}

/// The contents of an error document.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// Stable identifier in `snake_case`, for programs.
    pub code: String,
    /// Description of the failure, for people.
    pub message: String,
    /// Suggested next step for the user.
    pub hint: Option<String>,
    /// Data that a program needs to continue: findings, problems.
    #[schema(value_type = Object)]
    pub details: Value,
}

impl ApiError {
    /// Creates an error without hint, details or retry time.
    #[must_use]
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hint: None, details: Box::new(json!({})), retry_after: None }
    }

    /// A 400 for a request that cannot be understood.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// A 404 for a resource that does not exist.
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// A 500 for a failure of the server itself. Its cause is only written to the log.
    #[must_use]
    pub fn broken(error: &dyn std::error::Error) -> Self {
        Self::broken_by(error.to_string())
    }

    fn broken_by(why: String) -> Self {
        let message = "internal server error; see the server's log";
        Self { details: Box::new(json!({ "log": why })), ..Self::new(StatusCode::INTERNAL_SERVER_ERROR, "io", message) }
    }

    /// Sets the suggested next step.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Converts an error that describes itself.
    pub fn of(error: &impl Fails) -> Self {
        Self::from_failure(error.failure(), error.to_string(), error.details())
    }

    /// Converts a failure, its message and its details.
    /// Failures that are not the caller's fault become a 500 whose message is only logged.
    #[must_use]
    pub fn from_failure(failure: Failure, message: String, details: Value) -> Self {
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
        let hint = hint.map(|hint| hint.with(request));
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
            response.extensions_mut().insert(ErrorCause(why));
        }
        response
    }
}

/// The cause of a server error, for the access log; the response itself omits it.
#[derive(Debug, Clone)]
pub struct ErrorCause(pub String);

impl From<ops::Refusal> for ApiError {
    fn from(refusal: ops::Refusal) -> Self {
        Self::from_failure(refusal.failure, refusal.message, *refusal.details)
    }
}

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
