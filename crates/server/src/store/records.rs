//! Values that the stores accept and return, and their errors. They name no backend.

use axum::{body::Bytes, http::StatusCode};
use jiff::Timestamp;
use registry_index::Entry;
use serde::Serialize;
use skill::{Digest, Owner};
use thiserror::Error;
use utoipa::ToSchema;
use web::ApiError;

use crate::access::{Role, Scope};

/// Longest label of a token, in characters.
pub const LABEL_CHARS: usize = 100;

/// Formats a time as it is stored: UTC, to the second.
#[must_use]
pub fn to_the_second(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}

/// Failure of a backend. Its message is for the operator, not for clients.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct StoreError(pub Box<dyn std::error::Error + Send + Sync>);

/// Failure of a backend that does not answer at present, although it may hold what was asked for. Clients are told to
/// repeat the request. It is the error inside a [`StoreError`].
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// Metadata of a token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Token {
    /// Public identifier of the token.
    pub id: String,
    /// Account that the token authenticates.
    pub account: String,
    /// Most that the token permits.
    pub scope: Scope,
    /// Name given to it by its maker.
    pub label: String,
    /// Time of creation, RFC 3339.
    pub created_at: String,
    /// Time of expiry, RFC 3339; `null` for a token that does not expire.
    pub expires_at: Option<String>,
    /// Time of revocation, RFC 3339; `null` while it is valid.
    pub revoked_at: Option<String>,
}

/// Request for a new token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// The account, created if it does not exist.
    pub account: Owner,
    /// Most that the token permits.
    pub scope: Scope,
    /// Name given to it by its maker.
    pub label: String,
    /// Time of expiry; `None` for a token that does not expire.
    pub expires_at: Option<Timestamp>,
}

/// A member of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Member {
    /// Name of the account.
    pub account: String,
    /// Role in the namespace.
    pub role: Role,
}

/// Reasons why an account could not be read or changed.
#[derive(Debug, Error)]
pub enum AccountError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system did not provide random bytes.
    #[error("cannot get random bytes from the system: {0}")]
    Random(getrandom::Error),
    /// The account does not exist.
    #[error("the account {0} does not exist")]
    NoAccount(Owner),
    /// The change would leave a namespace without a maintainer.
    #[error("{0} would have no maintainer")]
    LastMaintainer(Owner),
}

/// Downloads of some content by one account on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Downloader {
    /// `owner/name`.
    pub skill: String,
    /// Version of the downloaded release.
    pub version: String,
    /// Name of the account; `null` for anonymous downloads.
    pub account: Option<String>,
    /// The day in UTC.
    pub day: String,
    /// Number of downloads on that day.
    pub count: u64,
}

/// A complaint about a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ReportOfRelease {
    /// Number that identifies the report.
    pub id: i64,
    /// `owner/name`.
    pub skill: String,
    /// Version of the release.
    pub version: String,
    /// The problem, in the reporter's words.
    pub reason: String,
    /// Account that made the report.
    pub account: String,
    /// Time of the report, RFC 3339.
    pub created_at: String,
    /// `dismissed` or `upheld`; `null` while the report is open.
    pub decision: Option<String>,
    /// Admin who decided; `null` while the report is open.
    pub decided_by: Option<String>,
    /// Time of the decision, RFC 3339; `null` while the report is open.
    pub decided_at: Option<String>,
}

/// One line of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct AuditLine {
    /// Number of the line, ascending in time.
    pub id: i64,
    /// Time of the action, RFC 3339.
    pub at: String,
    /// Account that acted; empty if it is unknown.
    pub account: String,
    /// Kind of action, such as `new token`.
    pub action: String,
    /// Object of the action, such as a release or token.
    pub subject: String,
    /// Reason given for the action; may be empty.
    pub reason: String,
}

/// One download, the key under which it is counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Download {
    /// `owner/name`; empty if the request names only the content. The release that first published it is then counted.
    pub skill: String,
    /// Version of the downloaded release.
    pub version: String,
    /// Digest of the downloaded content.
    pub digest: Digest,
    /// Name of the account; empty for an anonymous download.
    pub account: String,
    /// The day in UTC.
    pub day: String,
}

/// A release under quarantine, which is not served until an admin restores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Quarantined {
    /// `owner/name`.
    pub skill: String,
    /// Version of the release.
    pub version: String,
    /// Reason given by the admin.
    pub reason: String,
    /// Admin who decided.
    pub account: String,
    /// Time of the decision, RFC 3339.
    pub at: String,
    /// True if it was yanked before; it then stays yanked when it is restored.
    pub was_yanked: bool,
}

/// A release with the content of one under quarantine or withdrawn. It is on hold until an admin decides about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct HeldCopy {
    /// `owner/name`.
    pub skill: String,
    /// Version of the release.
    pub version: String,
    /// The quarantined or withdrawn release that has the same content: `owner/name version`.
    pub copy_of: String,
    /// Time at which it was put on hold, RFC 3339.
    pub at: String,
}

impl Quarantined {
    /// Returns the refusal to offer the release again without an admin's decision.
    #[must_use]
    pub fn unyank_refusal(&self) -> ApiError {
        let why = format!("{} {} is under quarantine: {}", self.skill, self.version, self.reason);
        ApiError::new(StatusCode::CONFLICT, "quarantined", why).hint("ask an admin of the server to restore it first")
    }
}

impl HeldCopy {
    /// Describes a copy of a release under quarantine, `owner/name version`.
    #[must_use]
    pub fn new(entry: &Entry, copy_of: &str, at: &str) -> Self {
        let (skill, version) = (entry.name.to_string(), entry.version.to_string());
        Self { skill, version, copy_of: copy_of.to_owned(), at: at.to_owned() }
    }
}

/// Returns the reason for a hold, addressed to people who have the copy installed.
#[must_use]
pub fn hold_reason(copy_of: &str) -> String {
    format!(
        "it has the same content as {copy_of}, which was quarantined or withdrawn; the moderators will decide about it"
    )
}

/// Returns the refusal to restore a release that is served anyway.
#[must_use]
pub fn not_withheld(entry: &Entry) -> ApiError {
    ApiError::not_found(format!("{} {} is neither under quarantine nor on hold", entry.name, entry.version))
}

/// Refuses to restore a withdrawn release, whose copies stay on hold.
///
/// # Errors
/// [`ApiError`] with 409 if it was withdrawn.
pub fn no_restoring(entry: &Entry) -> Result<(), ApiError> {
    let Some(withdrawal) = &entry.withdrawn else { return Ok(()) };
    let why = format!("{} {} cannot be restored; it was withdrawn: {}", entry.name, entry.version, withdrawal.reason);
    Err(ApiError::new(StatusCode::CONFLICT, "withdrawn", why).hint("restore each copy on hold by its own name"))
}

/// Reason why a release is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WithheldReason {
    /// Under quarantine, with the admin's reason.
    Quarantined(String),
    /// On hold as an undecided copy of a release under quarantine, with the reason.
    Held(String),
}

impl WithheldReason {
    /// Returns the error code of the refusal.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Quarantined(_) => "quarantined",
            Self::Held(_) => "held",
        }
    }

    /// Returns a sentence about the release that is not served.
    #[must_use]
    pub fn message_for(&self, entry: &Entry) -> String {
        let (name, version) = (&entry.name, &entry.version);
        match self {
            Self::Quarantined(reason) => format!("{name} {version} is under quarantine: {reason}"),
            Self::Held(reason) => format!("{name} {version} is on hold: {reason}"),
        }
    }

    /// Returns the reason without a sentence around it.
    pub fn reason(&self) -> &str {
        match self {
            Self::Quarantined(reason) | Self::Held(reason) => reason,
        }
    }
}

/// The client exceeded its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    /// Seconds until the next request is admitted.
    pub retry_after: u64,
}

/// A measurement of the stores, for the metrics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gauge {
    /// Name for Prometheus, with the unit at its end.
    pub name: &'static str,
    /// Description in one sentence.
    pub help: &'static str,
    /// The value at present.
    pub value: f64,
}

/// A file with its entity tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticFile {
    /// Content of the file.
    pub bytes: Bytes,
    /// The ETag, in quotes.
    pub etag: String,
}
