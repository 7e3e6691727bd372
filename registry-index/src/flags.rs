//! Setting the flags of an entry: [`Index::set_yanked`], [`Index::set_deprecated`], [`Index::set_quarantined`],
//! [`Index::set_held`] and [`Index::withdraw`].

use std::collections::{BTreeMap, btree_map::Entry as Slot};

use semver::Version;
use skill::{Digest, QualifiedName};
use thiserror::Error;

use crate::{
    ArchiveLocation, Deprecation, Entry, Index, LineError, Notice, ReadError, Stamp, StoreError, Withdrawal,
    index::{parse_lines, read_lines},
    lines::Lines,
    shard,
    store::{Change, PlanOutcome, Snapshot, TreeEdit},
};

/// Reasons why a flag was not set.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum FlagError {
    /// The index does not have the release.
    #[error("the registry has no {name} {version}")]
    NotFound {
        /// Full name of the skill.
        name: QualifiedName,
        /// Version of the release.
        version: Version,
    },
    /// The index cannot be read.
    Read(#[from] ReadError),
    /// The index cannot be changed.
    Store(#[from] StoreError),
    /// The reason cannot be serialized.
    Line(#[from] LineError),
}

impl From<git2::Error> for FlagError {
    fn from(error: git2::Error) -> Self {
        Self::Store(error.into())
    }
}

/// A change of one entry's flags. Every store of releases goes by it, so that flags and messages are decided in one
/// place.
#[derive(Debug, Clone, Copy)]
pub enum FlagChange<'a> {
    /// Kept out of new installs or not, with an optional reason. Without a new reason, the first one is kept.
    Yanked {
        /// False to revert it.
        yanked: bool,
        /// Reason of the publisher.
        reason: Option<&'a str>,
    },
    /// Marked with advice against it; `None` removes the mark.
    Deprecated(Option<&'a Deprecation>),
    /// Under quarantine for a reason, or restored if it is `None`. The first reason is kept.
    Quarantined {
        /// Reason of the moderators.
        reason: Option<&'a str>,
        /// Value of the flag `yanked`, for readers that do not know quarantine.
        yanked: bool,
    },
    /// Withdrawn for a reason. The first reason is kept.
    Withdrawn(&'a str),
}

impl FlagChange<'_> {
    /// Returns the entry after the change; `None` if it is already in effect.
    ///
    /// # Errors
    /// [`LineError::Json`] if a reason cannot be serialized.
    pub fn apply(&self, entry: &Entry, stamp: &Stamp) -> Result<Option<Entry>, LineError> {
        let changed = match *self {
            Self::Yanked { yanked, reason } => {
                let reason = if yanked { reason.or(entry.yanked_reason()) } else { None };
                entry.clone().with_yanked(yanked).with_yanked_reason(reason)?
            }
            Self::Deprecated(deprecation) => entry.clone().with_deprecated(deprecation)?,
            Self::Quarantined { reason, yanked } => {
                let notice = reason.map(|reason| entry.quarantined().unwrap_or_else(|| notice(reason, stamp)));
                entry.clone().with_quarantined(notice.as_ref())?.with_held(None)?.with_yanked(yanked)
            }
            Self::Withdrawn(_) if entry.withdrawn.is_some() => return Ok(None),
            Self::Withdrawn(reason) => {
                entry.clone().with_withdrawn(Withdrawal { reason: reason.to_owned(), at: stamp.to_the_second().at })?
            }
        };
        Ok((changed != *entry).then_some(changed))
    }

    /// Returns the message of the commit.
    pub fn message(&self, name: &QualifiedName, version: &Version) -> String {
        let word = match self {
            Self::Yanked { yanked: true, .. } => "yank",
            Self::Yanked { yanked: false, .. } => "unyank",
            Self::Deprecated(Some(_)) => "deprecate",
            Self::Deprecated(None) => "undeprecate",
            Self::Quarantined { reason: Some(_), .. } => "quarantine",
            Self::Quarantined { reason: None, .. } => "restore",
            Self::Withdrawn(_) => "withdraw",
        };
        format!("{word} {name} {version}\n")
    }
}

impl Entry {
    /// Returns the entry on hold for a reason, or after its hold if `reason` is `None`; `None` if nothing changes. A
    /// release that is withdrawn or under quarantine is not put on hold.
    ///
    /// # Errors
    /// [`LineError::Json`] if the reason cannot be serialized.
    pub fn hold_change(&self, reason: Option<&str>, stamp: &Stamp) -> Result<Option<Self>, LineError> {
        let is_decided = self.withdrawn.is_some() || self.quarantined().is_some();
        if reason.is_some() && (is_decided || self.held().is_some()) {
            return Ok(None);
        }
        let changed = self.clone().with_held(reason.map(|reason| notice(reason, stamp)).as_ref())?;
        Ok((changed != *self).then_some(changed))
    }
}

/// Returns the message of a commit that puts copies on hold, or ends their holds.
pub fn hold_message(is_held: bool, releases: &[(&QualifiedName, &Version)]) -> String {
    let word = if is_held { "hold" } else { "release" };
    let mut message = format!("{word} {}\n\n", skill::counted(releases.len(), "copy"));
    for (name, version) in releases {
        message.push_str(&format!("{name} {version}\n"));
    }
    message
}

impl Index {
    /// Yanks a release, with an optional reason, or reverts that. New installs do not choose a yanked release, but its
    /// archive remains, and its exact version can still be installed. Returns the entry after the change. Repeating a
    /// change has no effect, and without a new reason the first one is kept.
    ///
    /// # Errors
    /// [`FlagError`] if the release does not exist, or the index cannot be read or changed.
    pub fn set_yanked(
        &self,
        name: &QualifiedName,
        version: &Version,
        yanked: bool,
        reason: Option<&str>,
        stamp: &Stamp,
    ) -> Result<Entry, FlagError> {
        self.set_flag(name, version, &FlagChange::Yanked { yanked, reason }, stamp)
    }

    /// Marks a release as deprecated, or removes the mark if `deprecation` is `None`. A deprecated release can still be
    /// installed, with the advice as a warning. Returns the entry after the change.
    ///
    /// # Errors
    /// [`FlagError`] if the release does not exist, or the index cannot be read or changed.
    pub fn set_deprecated(
        &self,
        name: &QualifiedName,
        version: &Version,
        deprecation: Option<&Deprecation>,
        stamp: &Stamp,
    ) -> Result<Entry, FlagError> {
        self.set_flag(name, version, &FlagChange::Deprecated(deprecation), stamp)
    }

    /// Puts a release under quarantine for a reason, or restores it if `reason` is `None`. `yanked` is set too, for
    /// readers that do not know quarantine. Returns the entry after the change. A release that is already under
    /// quarantine keeps its first reason.
    ///
    /// # Errors
    /// [`FlagError`] if the release does not exist, or the index cannot be read or changed.
    pub fn set_quarantined(
        &self,
        name: &QualifiedName,
        version: &Version,
        reason: Option<&str>,
        yanked: bool,
        stamp: &Stamp,
    ) -> Result<Entry, FlagError> {
        self.set_flag(name, version, &FlagChange::Quarantined { reason, yanked }, stamp)
    }

    /// Puts releases on hold because they have the content of a release under quarantine, or ends the hold if `reason`
    /// is `None`. All changes are one commit, and `yanked` is unchanged. Releases that are missing, withdrawn or under
    /// quarantine are skipped.
    ///
    /// # Errors
    /// [`FlagError`] if the index cannot be read or changed.
    pub fn set_held(
        &self,
        releases: &[(QualifiedName, Version)],
        reason: Option<&str>,
        stamp: &Stamp,
    ) -> Result<(), FlagError> {
        self.update(|base| {
            let mut files: BTreeMap<String, Lines> = BTreeMap::new();
            let mut changed = Vec::new();
            for (name, version) in releases {
                let Some(path) = shard::skill_file(name) else { continue };
                let lines = match files.entry(path) {
                    Slot::Occupied(slot) => slot.into_mut(),
                    Slot::Vacant(slot) => {
                        let lines = read_lines(base, slot.key())?;
                        slot.insert(lines)
                    }
                };
                let held = lines.find(version).map(|entry| entry.hold_change(reason, stamp)).transpose()?.flatten();
                if let Some(held) = held {
                    lines.replace(held);
                    changed.push((name, version));
                }
            }
            let mut edits = Vec::new();
            for (path, lines) in files {
                let bytes = lines.to_bytes();
                if base.read(&path)?.as_deref() != Some(&bytes) {
                    edits.push(TreeEdit::Put(path, bytes));
                }
            }
            if edits.is_empty() {
                return Ok(PlanOutcome::Done(()));
            }
            let message = hold_message(reason.is_some(), &changed);
            Ok(PlanOutcome::Commit(Change { edits, message, stamp: stamp.clone() }, ()))
        })
    }

    /// Finds all releases with this content that are not withdrawn. Reads the whole index.
    ///
    /// # Errors
    /// [`ReadError`]
    pub fn releases_of_content(&self, digest: &Digest) -> Result<Vec<Entry>, ReadError> {
        let snapshot = self.store.snapshot()?;
        let mut found = Vec::new();
        for (path, id) in snapshot.files(shard::is_shard)? {
            // A damaged file does not offer releases, and must not prevent the others from being found.
            let Ok(lines) = parse_lines(&path, &snapshot.read_blob(id)?) else { continue };
            let of_content = |entry: &Entry| entry.digest == *digest && entry.withdrawn.is_none();
            found.extend(lines.into_entries().into_iter().filter(of_content));
        }
        Ok(found)
    }

    /// Withdraws a release: deletes its archive permanently and records the reason in its entry. An archive shared with
    /// another release is kept. Returns the entry after the change. A release that is already withdrawn keeps its first
    /// reason.
    ///
    /// The archive is removed from the current tree, so that readers no longer receive it. It remains in git's history
    /// until the operator rewrites the history.
    ///
    /// # Errors
    /// [`FlagError`] if the release does not exist, or the index cannot be read or changed.
    pub fn withdraw(
        &self,
        name: &QualifiedName,
        version: &Version,
        reason: &str,
        stamp: &Stamp,
    ) -> Result<Entry, FlagError> {
        self.set_flag(name, version, &FlagChange::Withdrawn(reason), stamp)
    }

    /// Changes one entry in one commit. A withdrawal also removes its archive.
    fn set_flag(
        &self,
        name: &QualifiedName,
        version: &Version,
        change: &FlagChange<'_>,
        stamp: &Stamp,
    ) -> Result<Entry, FlagError> {
        let missing = || FlagError::NotFound { name: name.clone(), version: version.clone() };
        let path = shard::skill_file(name).ok_or_else(missing)?;
        self.update(|base| {
            let lines = read_lines(base, &path)?;
            let entry = lines.find(version).ok_or_else(missing)?;
            let Some(changed) = change.apply(entry, stamp)? else { return Ok(PlanOutcome::Done(entry.clone())) };
            let removal = match change {
                FlagChange::Withdrawn(_) => self.orphaned_bundle(base, entry)?,
                _ => None,
            };
            let mut edits = vec![rewritten(&path, lines, &changed)];
            edits.extend(removal);
            let message = change.message(name, version);
            Ok(PlanOutcome::Commit(Change { edits, message, stamp: stamp.clone() }, changed))
        })
    }

    /// Returns the edit that removes a release's archive; `None` if it is missing or another release shares it.
    fn orphaned_bundle(&self, base: &Snapshot<'_>, entry: &Entry) -> Result<Option<TreeEdit>, FlagError> {
        let ArchiveLocation::Tree(path) = self.config.archive_location(&entry.digest) else { return Ok(None) };
        if base.blob_id(&path)?.is_none() || is_shared(base, entry, &entry.digest)? {
            return Ok(None);
        }
        Ok(Some(TreeEdit::Remove(path)))
    }
}

fn rewritten(path: &str, mut lines: Lines, changed: &Entry) -> TreeEdit {
    lines.replace(changed.clone());
    TreeEdit::Put(path.to_owned(), lines.to_bytes())
}

fn notice(reason: &str, stamp: &Stamp) -> Notice {
    Notice { reason: reason.to_owned(), at: stamp.to_the_second().at }
}

/// Returns whether another release that is not withdrawn has the same content. Reads the whole index.
fn is_shared(base: &Snapshot<'_>, entry: &Entry, digest: &Digest) -> Result<bool, FlagError> {
    for (path, id) in base.files(shard::is_shard)? {
        let lines = parse_lines(&path, &base.read_blob(id)?)?;
        let other = |other: &&Entry| (&other.name, &other.version) != (&entry.name, &entry.version);
        if lines.entries().filter(other).any(|other| other.withdrawn.is_none() && other.digest == *digest) {
            return Ok(true);
        }
    }
    Ok(false)
}
