//! Flags of releases in the folder. Index and database are written in an order such that a crash in between withholds
//! too much rather than too little.

use jiff::Timestamp;
use registry_index::{Deprecation, Entry, FlagError, Index, Stamp};
use semver::Version;
use skill::{
    Owner, QualifiedName,
    failure::{Fails, Failure},
};
use thiserror::Error;

use super::IndexReleases;
use crate::{
    error::ApiError,
    store::{
        Flag, HeldCopy, Quarantined, Releases, WithheldReason,
        embedded::{database::DatabaseError, quarantines::SqliteQuarantines},
        hold_reason, no_restoring, not_withheld,
        records::to_the_second,
    },
};

/// Account and time of a decision.
#[derive(Clone, Copy)]
struct By<'a> {
    account: &'a Owner,
    at: Timestamp,
}

impl By<'_> {
    fn stamp(self) -> Stamp {
        Stamp { by: self.account.to_string(), at: self.at }
    }
}

impl IndexReleases {
    /// Sets a flag and returns the updated line.
    pub(super) fn decide(
        &self,
        entry: &Entry,
        flag: Flag<'_>,
        account: &Owner,
        now: Timestamp,
    ) -> Result<Entry, ApiError> {
        let by = By { account, at: now };
        match flag {
            Flag::Yanked(reason) => self.yank(entry, true, reason, by),
            Flag::Unyanked => self.yank(entry, false, None, by),
            Flag::Deprecated(advice) => self.deprecate(entry, Some(advice), by),
            Flag::Undeprecated => self.deprecate(entry, None, by),
            Flag::Quarantined(reason) => self.quarantine(entry, reason, by),
            Flag::Restored(reason) => self.restore(entry, reason, by),
            Flag::Withdrawn(reason) => self.withdraw(entry, reason, by),
        }
    }

    fn yank(&self, entry: &Entry, yanked: bool, reason: Option<&str>, by: By<'_>) -> Result<Entry, ApiError> {
        let (skill, version) = (entry.name.to_string(), entry.version.to_string());
        if let (Some(held), false) = (self.quarantines.of(&skill, &version)?, yanked || entry.withdrawn.is_some()) {
            return Err(held.unyank_refusal());
        }
        let action = if yanked { "yank" } else { "unyank" };
        self.flagged(entry, action, reason.unwrap_or_default(), by, |index, stamp| {
            index.set_yanked(&entry.name, &entry.version, yanked, reason, stamp)
        })
    }

    fn deprecate(&self, entry: &Entry, advice: Option<&Deprecation>, by: By<'_>) -> Result<Entry, ApiError> {
        let action = if advice.is_some() { "deprecate" } else { "undeprecate" };
        let reason = advice.map(|advice| advice.reason.as_str()).unwrap_or_default();
        self.flagged(entry, action, reason, by, |index, stamp| {
            index.set_deprecated(&entry.name, &entry.version, advice, stamp)
        })
    }

    fn quarantine(&self, entry: &Entry, reason: &str, by: By<'_>) -> Result<Entry, ApiError> {
        // The database comes first: from then on neither the release nor its content is served.
        self.quarantines.add(&withheld_by(entry, reason, by), &entry.digest)?;
        self.blobs.evict(&entry.digest);
        let decided = self.set_quarantined(entry, Some(reason), true, by)?;
        self.hold_copies(entry, by)?;
        Ok(decided)
    }

    /// Puts the other releases with the content of one on hold, except those that an admin let through.
    fn hold_copies(&self, entry: &Entry, by: By<'_>) -> Result<(), ApiError> {
        let at = to_the_second(by.at);
        let others = self.indexes.with(|index| index.releases_of_content(&entry.digest))??;
        let copies: Vec<&Entry> = others
            .iter()
            .filter(|other| (&other.name, &other.version) != (&entry.name, &entry.version))
            .filter(|other| matches!(self.barrier(other), Ok(Some(WithheldReason::Held(_)))))
            .collect();
        let of = format!("{} {}", entry.name, entry.version);
        for copy in &copies {
            self.quarantines.hold(&HeldCopy::new(copy, &of, &at), &entry.digest)?;
        }
        self.set_held(copies.iter().map(|copy| release_of(copy)), Some(&hold_reason(&of)), by)
    }

    fn restore(&self, entry: &Entry, reason: &str, by: By<'_>) -> Result<Entry, ApiError> {
        no_restoring(entry)?;
        let (skill, version) = (entry.name.to_string(), entry.version.to_string());
        let was_yanked = match self.quarantines.of(&skill, &version)? {
            Some(was) => was.was_yanked,
            // In a folder that lost its database, the line alone records the quarantine.
            None if entry.quarantined().is_some() => entry.yanked_reason().is_some(),
            None => return self.release_hold(entry, reason, by),
        };
        // The database comes last: after a crash in between, the release is still withheld.
        let restored = self.set_quarantined(entry, None, was_yanked, by)?;
        let is_last = self.quarantines.all_of_content(&entry.digest)? <= 1;
        if is_last {
            let copies = self.quarantines.held_copies(Some(&entry.digest))?;
            let named = copies.iter().filter_map(|copy| Some((copy.skill.parse().ok()?, copy.version.parse().ok()?)));
            self.set_held(named, None, by)?;
        }
        self.quarantines.remove(&skill, &version, by.account, reason, by.at)?;
        Ok(restored)
    }

    /// Ends the hold of a copy.
    fn release_hold(&self, entry: &Entry, reason: &str, by: By<'_>) -> Result<Entry, ApiError> {
        let (skill, version) = (entry.name.to_string(), entry.version.to_string());
        let Some(WithheldReason::Held(_)) = self.barrier(entry)? else { return Err(not_withheld(entry)) };
        let of = self.quarantines.of_content(&entry.digest)?.unwrap_or_default();
        // A release that bypassed the server has no row yet.
        self.quarantines.hold(&HeldCopy::new(entry, &of, &to_the_second(by.at)), &entry.digest)?;
        self.set_held([release_of(entry)], None, by)?;
        self.quarantines.release_hold(&skill, &version, by.account, reason, by.at)?;
        self.of_skill(&entry.name)?
            .into_iter()
            .find(|one| one.version == entry.version)
            .ok_or_else(|| not_withheld(entry))
    }

    fn withdraw(&self, entry: &Entry, reason: &str, by: By<'_>) -> Result<Entry, ApiError> {
        // The row withholds the content from releases that are published later.
        self.quarantines.add_withdrawn(&withheld_by(entry, reason, by), &entry.digest)?;
        let gone = self.flagged(entry, "withdraw", reason, by, |index, stamp| {
            index.withdraw(&entry.name, &entry.version, reason, stamp)
        })?;
        self.blobs.evict(&entry.digest);
        self.hold_copies(entry, by)?;
        Ok(gone)
    }

    /// Sets a flag in the index and records it in the audit log.
    fn flagged(
        &self,
        entry: &Entry,
        action: &str,
        reason: &str,
        by: By<'_>,
        set: impl FnOnce(&Index, &Stamp) -> Result<Entry, FlagError>,
    ) -> Result<Entry, ApiError> {
        let stamp = by.stamp();
        let changed = self.change(|index| set(index, &stamp).map_err(|error| ApiError::of(&error)))?;
        self.note(by.account, by.at, action, &format!("{} {}", entry.name, entry.version), reason)?;
        Ok(changed)
    }

    fn set_held(
        &self,
        releases: impl IntoIterator<Item = (QualifiedName, Version)>,
        reason: Option<&str>,
        by: By<'_>,
    ) -> Result<(), ApiError> {
        let releases: Vec<_> = releases.into_iter().collect();
        if releases.is_empty() {
            return Ok(());
        }
        let stamp = by.stamp();
        self.change(|index| index.set_held(&releases, reason, &stamp).map_err(|error| ApiError::of(&error)))
    }

    fn set_quarantined(
        &self,
        entry: &Entry,
        reason: Option<&str>,
        yanked: bool,
        by: By<'_>,
    ) -> Result<Entry, ApiError> {
        let stamp = by.stamp();
        self.change(|index| {
            let set = index.set_quarantined(&entry.name, &entry.version, reason, yanked, &stamp);
            set.map_err(|error| ApiError::of(&error))
        })
    }
}

/// Puts a new release on hold if its content is that of a release under quarantine or withdrawn.
///
/// # Errors
/// The database or the index cannot be written.
pub fn hold_copy(
    quarantines: &SqliteQuarantines,
    index: &Index,
    entry: &Entry,
    stamp: &Stamp,
) -> Result<(), HoldError> {
    let (skill, version) = (entry.name.to_string(), entry.version.to_string());
    let Some(WithheldReason::Held(reason)) = quarantines.barrier(&skill, &version, &entry.digest)? else {
        return Ok(());
    };
    let of = quarantines.of_content(&entry.digest)?.unwrap_or_default();
    quarantines.hold(&HeldCopy::new(entry, &of, &to_the_second(stamp.at)), &entry.digest)?;
    Ok(index.set_held(&[release_of(entry)], Some(&reason), stamp)?)
}

/// A copy could not be put on hold. Its content is withheld all the same.
#[derive(Debug, Error)]
pub enum HoldError {
    /// Writing the database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// Writing the index failed.
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

fn withheld_by(entry: &Entry, reason: &str, by: By<'_>) -> Quarantined {
    Quarantined {
        skill: entry.name.to_string(),
        version: entry.version.to_string(),
        reason: reason.to_owned(),
        account: by.account.to_string(),
        at: to_the_second(by.at),
        was_yanked: entry.yanked,
    }
}

fn release_of(entry: &Entry) -> (QualifiedName, Version) {
    (entry.name.clone(), entry.version.clone())
}
