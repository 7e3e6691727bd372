//! [`Decision`]s of those who run the server, over reports and releases, whichever way they come in.

use jiff::Timestamp;
use registry_index::{Entry, FlagError, Index, Stamp};
use semver::Version;
use serde::Deserialize;
use skill::{
    Owner, QualifiedName,
    failure::{Fails, Failure},
};
use thiserror::Error;
use utoipa::ToSchema;

pub use crate::api::reason;
use crate::{
    accounts::to_the_second,
    activity::ReportOfRelease,
    database::DatabaseError,
    error::ApiError,
    hub::Hub,
    quarantines::{Barrier, HeldCopy, Quarantined, Quarantines, hold_reason},
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

/// Puts a release under quarantine: it is yanked, and its archive is not handed out. Other releases with the same content
/// are not decided about: they are put on hold, in the admins' queue.
///
/// # Errors
/// [`ApiError`]
pub fn quarantine(hub: &Hub, account: &Owner, entry: &Entry, reason: &str) -> Result<Entry, ApiError> {
    let at = to_the_second(Timestamp::now());
    let held = Quarantined {
        skill: entry.name.to_string(),
        version: entry.version.to_string(),
        reason: reason.to_owned(),
        account: account.to_string(),
        at: at.clone(),
        was_yanked: entry.yanked,
    };
    // In the database first: from then on neither the release nor its content is handed out.
    hub.quarantines.add(&held, &entry.digest)?;
    hub.forget(entry);
    let decided = set_quarantined(hub, entry, Some(reason), true, account)?;
    let others = hub.indexes.with(|index| index.releases_of_content(&entry.digest))??;
    let copies: Vec<&Entry> = others
        .iter()
        .filter(|other| (&other.name, &other.version) != (&entry.name, &entry.version))
        .filter(|other| matches!(hub.barrier(other), Ok(Some(Barrier::Held(_)))))
        .collect();
    for copy in &copies {
        hub.quarantines.hold(&held_copy(copy, &format!("{} {}", entry.name, entry.version), &at), &entry.digest)?;
    }
    let reason = hold_reason(&format!("{} {}", entry.name, entry.version));
    set_held(hub, copies.iter().map(|copy| release_of(copy)), Some(&reason), account)?;
    Ok(decided)
}

/// Lets a release go that is under quarantine, yanked only if it was before; or one on hold, as it is. With the last
/// release of its content the copies on hold go as well.
///
/// # Errors
/// [`ApiError`] with 404 when it is neither.
pub fn restore(hub: &Hub, account: &Owner, entry: &Entry, reason: &str) -> Result<Entry, ApiError> {
    let (skill, version) = (entry.name.to_string(), entry.version.to_string());
    let now = Timestamp::now();
    let was_yanked = match hub.quarantines.of(&skill, &version)? {
        Some(was) => was.was_yanked,
        // Of a folder that lost its database the line alone says so.
        None if entry.quarantined().is_some() => entry.yanked_reason().is_some(),
        None => return let_through(hub, account, entry, reason),
    };
    // In the database last: a crash in between leaves it held back.
    let restored = set_quarantined(hub, entry, None, was_yanked, account)?;
    let is_last = hub.quarantines.all_of_content(&entry.digest)? <= 1;
    if is_last {
        let copies = hub.quarantines.held_copies(Some(&entry.digest))?;
        let named = copies.iter().filter_map(|copy| Some((copy.skill.parse().ok()?, copy.version.parse().ok()?)));
        set_held(hub, named, None, account)?;
    }
    hub.quarantines.remove((&skill, &version), (account, reason), now)?;
    Ok(restored)
}

/// Lets a copy go that is on hold.
fn let_through(hub: &Hub, account: &Owner, entry: &Entry, reason: &str) -> Result<Entry, ApiError> {
    let (skill, version) = (entry.name.to_string(), entry.version.to_string());
    let Some(Barrier::Held(_)) = hub.barrier(entry)? else {
        return Err(ApiError::not_found(format!("{skill} {version} is neither under quarantine nor on hold")));
    };
    let (now, of) = (Timestamp::now(), hub.quarantines.of_content(&entry.digest)?.unwrap_or_default());
    // One that came in past the server has no row yet.
    hub.quarantines.hold(&held_copy(entry, &of, &to_the_second(now)), &entry.digest)?;
    set_held(hub, [release_of(entry)], None, account)?;
    hub.quarantines.let_through((&skill, &version), (account, reason), now)?;
    hub.release(&entry.name, &version)
}

/// Puts a release that just came in on hold, if its content is that of a release under quarantine.
///
/// # Errors
/// The database or the index cannot be written.
pub fn hold_copy(quarantines: &Quarantines, index: &Index, entry: &Entry, stamp: &Stamp) -> Result<(), HoldError> {
    let (skill, version) = (entry.name.to_string(), entry.version.to_string());
    let Some(Barrier::Held(reason)) = quarantines.barrier(&skill, &version, &entry.digest)? else { return Ok(()) };
    let of = quarantines.of_content(&entry.digest)?.unwrap_or_default();
    quarantines.hold(&held_copy(entry, &of, &to_the_second(stamp.at)), &entry.digest)?;
    Ok(index.set_held(&[release_of(entry)], Some(&reason), stamp)?)
}

/// A copy was not put on hold. Its content is not handed out all the same.
#[derive(Debug, Error)]
pub enum HoldError {
    /// The database.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The index.
    #[error(transparent)]
    Flag(#[from] FlagError),
}

impl Fails for HoldError {
    fn failure(&self) -> Failure {
        match self {
            Self::Database(_) => Failure::io(),
            Self::Flag(error) => error.failure(),
        }
    }
}

fn held_copy(entry: &Entry, copy_of: &str, at: &str) -> HeldCopy {
    let (skill, version) = (entry.name.to_string(), entry.version.to_string());
    HeldCopy { skill, version, copy_of: copy_of.to_owned(), at: at.to_owned() }
}

fn release_of(entry: &Entry) -> (QualifiedName, Version) {
    (entry.name.clone(), entry.version.clone())
}

fn set_held(
    hub: &Hub,
    releases: impl IntoIterator<Item = (QualifiedName, Version)>,
    reason: Option<&str>,
    account: &Owner,
) -> Result<(), ApiError> {
    let releases: Vec<_> = releases.into_iter().collect();
    if releases.is_empty() {
        return Ok(());
    }
    let stamp = Stamp { by: account.to_string(), at: Timestamp::now() };
    hub.change(|index| index.set_held(&releases, reason, &stamp).map_err(|error| ApiError::of(&error)))
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
    hub.forget(entry);
    // Nothing is left to decide. A quarantine stays: it holds the copies back.
    hub.quarantines.forget_copy(&entry.name.to_string(), &entry.version.to_string())?;
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
