//! [`Decision`]s of those who run the server, over reports and releases, whichever way they come in.

use jiff::Timestamp;
use registry_index::Entry;
use serde::Deserialize;
use skill::Owner;
use utoipa::ToSchema;

pub use crate::api::reason;
use crate::{activity::ReportOfRelease, error::ApiError, hub::Hub, store::Flag};

/// What is decided of a report.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Nothing is wrong.
    Dismissed,
    /// It is right; what becomes of the release is said apart.
    Upheld,
}

/// Decides an open report.
///
/// # Errors
/// [`ApiError`] with 404 when there is none of this number that is open.
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
    let decided = hub.stores.activity.decide(id, word, (account, reason), Timestamp::now())?;
    decided.ok_or_else(|| ApiError::not_found(format!("there is no open report {id}")))
}

/// Puts a release under quarantine: it is yanked, and its archive is not handed out. Other releases with the same content
/// are not decided about: they are put on hold, in the admins' queue.
///
/// # Errors
/// [`ApiError`]
pub fn quarantine(hub: &Hub, account: &Owner, entry: &Entry, reason: &str) -> Result<Entry, ApiError> {
    hub.set_flag(entry, Flag::Quarantined(reason), account)
}

/// Lets a release go that is under quarantine, yanked only if it was before; or one on hold, as it is. With the last
/// release of its content the copies on hold go as well.
///
/// # Errors
/// [`ApiError`] with 404 when it is neither.
pub fn restore(hub: &Hub, account: &Owner, entry: &Entry, reason: &str) -> Result<Entry, ApiError> {
    hub.set_flag(entry, Flag::Restored(reason), account)
}

/// Takes the archive of a release away for good. Its line stays and says why.
///
/// # Errors
/// [`ApiError`]
pub fn withdraw(hub: &Hub, account: &Owner, entry: &Entry, reason: &str) -> Result<Entry, ApiError> {
    hub.set_flag(entry, Flag::Withdrawn(reason), account)
}
