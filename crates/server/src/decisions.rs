//! [`Decision`]s of admins about reports and releases, shared by the API and the pages.

use jiff::Timestamp;
use registry_index::Entry;
use serde::Deserialize;
use skill::Owner;
use utoipa::ToSchema;

pub use crate::api::reason;
use crate::{
    error::ApiError,
    hub::Hub,
    store::{Flag, ReportOfRelease},
};

/// The decision about a report.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The report is wrong or irrelevant.
    Dismissed,
    /// The report is right. Quarantine or withdrawal of the release is a separate decision.
    Upheld,
}

/// Records the decision about an open report.
///
/// # Errors
/// [`ApiError`] with 404 when no open report has this number.
pub fn decide(
    hub: &Hub,
    account: &Owner,
    id: i64,
    decision: Decision,
    reason: &str,
) -> Result<ReportOfRelease, ApiError> {
    let word = match decision {
        Decision::Dismissed => "dismissed",
        Decision::Upheld => "upheld",
    };
    let decided = hub.stores.activity.decide(id, word, account, reason, Timestamp::now())?;
    decided.ok_or_else(|| ApiError::not_found(format!("no open report has the number {id}")))
}

/// Puts a release under quarantine: it is yanked, and its archive is not served. Other releases with the same content
/// are put on hold, in the admins' queue.
///
/// # Errors
/// [`ApiError`]
pub fn quarantine(hub: &Hub, account: &Owner, entry: &Entry, reason: &str) -> Result<Entry, ApiError> {
    hub.set_flag(entry, Flag::Quarantined(reason), account)
}

/// Ends the quarantine of a release, which stays yanked only if it was before, or the hold of a copy. After the last
/// quarantined release of some content, its copies on hold are freed too.
///
/// # Errors
/// [`ApiError`] with 404 when it is neither under quarantine nor on hold, with 409 when it was withdrawn.
pub fn restore(hub: &Hub, account: &Owner, entry: &Entry, reason: &str) -> Result<Entry, ApiError> {
    hub.set_flag(entry, Flag::Restored(reason), account)
}

/// Removes the archive of a release for good. Its line stays, with the reason. Other releases with the same content are
/// put on hold.
///
/// # Errors
/// [`ApiError`]
pub fn withdraw(hub: &Hub, account: &Owner, entry: &Entry, reason: &str) -> Result<Entry, ApiError> {
    hub.set_flag(entry, Flag::Withdrawn(reason), account)
}
