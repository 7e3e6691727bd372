//! [`Decision`]s of those who run the server, over reports and releases, whichever way they come in.

use jiff::Timestamp;
use registry_index::{Entry, Stamp};
use serde::Deserialize;
use skill::Owner;
use utoipa::ToSchema;

pub use crate::api::reason;
use crate::{
    accounts::to_the_second,
    activity::{Quarantined, ReportOfRelease},
    error::ApiError,
    hub::Hub,
};

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
    let decided = hub.activity.decide(id, word, (account, reason), Timestamp::now())?;
    decided.ok_or_else(|| ApiError::not_found(format!("there is no open report {id}")))
}

/// Holds a release back until it was looked at: it is yanked, and its archive is not handed out.
///
/// # Errors
/// [`ApiError`]
pub fn quarantine(hub: &Hub, account: &Owner, entry: &Entry, reason: &str) -> Result<Entry, ApiError> {
    let held = Quarantined {
        skill: entry.name.to_string(),
        version: entry.version.to_string(),
        reason: reason.to_owned(),
        account: account.to_string(),
        at: to_the_second(Timestamp::now()),
        was_yanked: entry.yanked,
    };
    // Held back first: between the two steps nobody gets it.
    hub.activity.quarantine(&held, &entry.digest)?;
    hub.blobs.forget(&entry.digest);
    set_quarantined(hub, entry, Some(reason), true, account)
}

/// Lets a release go that was held back; it is yanked only if it was before.
///
/// # Errors
/// [`ApiError`] with 404 when it is not under quarantine.
pub fn restore(hub: &Hub, account: &Owner, entry: &Entry, reason: &str) -> Result<Entry, ApiError> {
    let (skill, version) = (entry.name.to_string(), entry.version.to_string());
    let was = hub.activity.quarantined(&skill, &version)?;
    let was = was.ok_or_else(|| ApiError::not_found(format!("{skill} {version} is not under quarantine")))?;
    // Let go last: a crash in between leaves it held back.
    let entry = set_quarantined(hub, entry, None, was.was_yanked, account)?;
    hub.activity.restore((&skill, &version), (account, reason), Timestamp::now())?;
    Ok(entry)
}

/// Takes the archive of a release away for good. Its line stays and says why.
///
/// # Errors
/// [`ApiError`]
pub fn withdraw(hub: &Hub, account: &Owner, entry: &Entry, reason: &str) -> Result<Entry, ApiError> {
    let stamp = Stamp { by: account.to_string(), at: Timestamp::now() };
    let gone = hub.change(|index| {
        let withdrawn = index.withdraw(&entry.name, &entry.version, reason, &stamp);
        withdrawn.map_err(|error| ApiError::of(&error))
    })?;
    hub.blobs.forget(&entry.digest);
    hub.activity.note((account, stamp.at), "withdraw", &format!("{} {}", entry.name, entry.version), reason)?;
    Ok(gone)
}

fn set_quarantined(
    hub: &Hub,
    entry: &Entry,
    reason: Option<&str>,
    yanked: bool,
    account: &Owner,
) -> Result<Entry, ApiError> {
    let stamp = Stamp { by: account.to_string(), at: Timestamp::now() };
    hub.change(|index| {
        let set = index.set_quarantined(&entry.name, &entry.version, reason, yanked, &stamp);
        set.map_err(|error| ApiError::of(&error))
    })
}
