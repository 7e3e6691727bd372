//! [`publish`]: makes a release of an uploaded archive. All data of the client is checked here.

use axum::body::Bytes;
use jiff::Timestamp;
use registry_index::{Appended, ClearedRelease, Entry, ForkedFrom, NewRelease, Stamp};
use scan::{Baseline, Cleared, Scanner};
use semver::Version;
use serde_json::json;
use skill::{Limits, Problem, QualifiedName, Strictness, archive, validate::validate_bundle};

use crate::{access::Caller, error::ApiError, hub::Hub};

/// An archive with the metadata sent beside it.
#[derive(Debug, Clone)]
pub struct Submission {
    /// `owner/name`.
    pub name: QualifiedName,
    /// Version of the release.
    pub version: Version,
    /// Description of the changes, for people.
    pub changelog: String,
    /// Signature over the release's statement.
    pub signature: Option<String>,
    /// Release that it was forked from.
    pub forked_from: Option<ForkedFrom>,
    /// The packed skill, as uploaded.
    pub archive: Bytes,
}

/// Result of publishing.
#[derive(Debug, Clone)]
pub struct Release {
    /// The release's line in the index.
    pub entry: Entry,
    /// False if the index already had an identical release.
    pub is_new: bool,
    /// Findings of the scanner.
    pub report: scan::Report,
    /// Reason why the release is not served; `None` when it is.
    pub held: Option<String>,
}

/// Publishes an archive: authorise, unpack, validate, scan, append.
///
/// # Errors
/// [`ApiError`]; the index is then unchanged.
pub fn publish(hub: &Hub, caller: &Caller, submission: &Submission) -> Result<Release, ApiError> {
    hub.check_namespace(caller, &submission.name.owner, false)?;
    let cleared = cleared(submission, hub.settings.scanner)?;
    let packed = archive::pack(cleared.bundle());
    let account = caller.account().ok_or_else(|| ApiError::bad_request("authentication required"))?;
    let release = NewRelease {
        name: submission.name.clone(),
        version: submission.version.clone(),
        changelog: submission.changelog.clone(),
        signature: submission.signature.clone(),
        forked_from: submission.forked_from.clone(),
        stamp: Stamp { by: account.to_string(), at: Timestamp::now() },
    };
    let cleared_release = ClearedRelease::new(&release, &cleared, &packed).map_err(|error| ApiError::of(&error))?;
    let may = |state| hub.check_state(caller, &submission.name.owner, false, state);
    let appended = hub.stores.releases.publish(&cleared_release, account, &may)?;
    let is_new = matches!(appended, Appended::Published(_));
    let held = hub.barrier(appended.entry())?.map(|barrier| barrier.reason().to_owned());
    Ok(Release { entry: appended.entry().clone(), is_new, report: cleared.report().clone(), held })
}

fn cleared(submission: &Submission, scanner: Scanner) -> Result<Cleared, ApiError> {
    let limits = Limits::default();
    let bundle = archive::unpack(&submission.archive, &limits).map_err(|error| invalid("invalid_archive", &error))?;
    archive::check_content(&bundle).map_err(|error| invalid("invalid_archive", &error))?;
    let name = submission.name.name.as_str();
    let problems = validate_bundle(&bundle, Some(name), Strictness::Standard, &limits);
    if problems.iter().any(Problem::is_error) {
        let what: Vec<&str> = problems.iter().filter(|p| p.is_error()).map(|p| p.message.as_str()).collect();
        return Err(ApiError {
            details: Box::new(json!({ "problems": problems })),
            ..ApiError::new(
                unprocessable(),
                "invalid_skill",
                format!("{name} is not a valid skill: {}", what.join("; ")),
            )
            .hint("list every problem and its line with `skillhub validate PATH`")
        });
    }
    scan::clear_by(bundle, Baseline::None, &scanner).map_err(|blocked| ApiError {
        details: Box::new(json!({ "findings": blocked.report().findings })),
        ..ApiError::new(unprocessable(), "scan_blocked", blocked.to_string())
            .hint("fix each finding as advised; see the findings with `skillhub scan PATH`")
    })
}

fn unprocessable() -> axum::http::StatusCode {
    axum::http::StatusCode::UNPROCESSABLE_ENTITY
}

fn invalid(code: &'static str, error: &dyn std::error::Error) -> ApiError {
    ApiError::new(unprocessable(), code, error.to_string()).hint("make a valid archive with `skillhub pack DIR`")
}
