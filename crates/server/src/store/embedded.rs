//! The stores in one folder: releases in a git repository, everything else in a SQLite file beside it.
//!
//! Git is the source of truth, and the catalogue is a projection of it. A change is committed to git first, then
//! projected, then audited. `openings` and `decisions` describe the states that a crash in between can leave.

pub(crate) mod accounts;
pub(crate) mod activity;
pub(crate) mod audit;
pub(crate) mod blobs;
pub(crate) mod catalogue;
pub mod database;
pub(crate) mod decisions;
pub(crate) mod index_pool;
pub(crate) mod openings;
pub(crate) mod quarantines;
pub(crate) mod sessions;
pub(crate) mod static_files;
pub(crate) mod uploads;

use std::{
    panic::resume_unwind,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, SyncSender},
    },
    thread,
};

use jiff::Timestamp;
use registry_index::{
    Appended, ClearedRelease, Entry, Index, KeyChange, OwnerFile, PackBounds, PublicKey, ReadError, SignerError, Stamp,
    shard,
};
use skill::{Digest, Owner, QualifiedName, SkillName};
use web::ServerLimits;

use accounts::SqliteAccounts;
use activity::SqliteActivity;
use blobs::IndexBlobs;
use catalogue::{ShownSkill, SqliteCatalogue};
use database::{Database, DatabaseError};
use index_pool::IndexPool;
use quarantines::SqliteQuarantines;
use sessions::SqliteSessions;
use static_files::StaticFiles;
use uploads::Uploads;

pub use self::decisions::{HoldError, hold_copy};
use super::{
    Blobs, Flag, HeldCopy, NamespaceState, Quarantined, Releases, StaticFile, StoreError, Stores, WithheldReason,
    rate::Rates, records::to_the_second,
};
use crate::error::ApiError;

/// Changes after which the index is packed.
const PACKED_EACH: u64 = 60;
/// Calls of [`Releases::tidy`], without a change between them, after which the index is packed into few packs.
const QUIET: u64 = 60;

/// Skills that are read from the index before they are shown.
const READ_AHEAD: usize = 256;

/// Releases in a git repository on this machine.
#[derive(Debug)]
pub struct IndexReleases {
    indexes: Arc<IndexPool>,
    files: StaticFiles,
    blobs: Arc<IndexBlobs>,
    view: SqliteCatalogue,
    accounts: SqliteAccounts,
    quarantines: SqliteQuarantines,
    database: Arc<Database>,
    /// Serialises changes to the index and the catalogue.
    changing: Mutex<()>,
    /// Changes since the index was packed last.
    unpacked: AtomicU64,
    /// Calls of [`Releases::tidy`] since the last change.
    quiet: AtomicU64,
}

/// Opens the stores of an index and a database. Unless they are read-only, operations that a crash interrupted are
/// finished.
///
/// # Errors
/// [`ApiError`] when the index or the database cannot be used.
pub fn stores(
    indexes: IndexPool,
    database: &Arc<Database>,
    limits: &ServerLimits,
    read_only: bool,
) -> Result<Stores, ApiError> {
    let indexes = Arc::new(indexes);
    let blobs = Arc::new(IndexBlobs::new(Arc::clone(&indexes)));
    let releases = IndexReleases {
        files: StaticFiles::new(Arc::clone(&indexes)),
        indexes,
        blobs: Arc::clone(&blobs),
        view: SqliteCatalogue::new(Arc::clone(database)),
        accounts: SqliteAccounts::new(Arc::clone(database)),
        quarantines: SqliteQuarantines::new(Arc::clone(database)),
        database: Arc::clone(database),
        changing: Mutex::new(()),
        unpacked: AtomicU64::default(),
        quiet: AtomicU64::default(),
    };
    releases.refresh()?;
    if !read_only {
        releases.settle_openings()?;
    }
    Ok(Stores {
        releases: Box::new(releases),
        blobs: Box::new(blobs),
        catalogue: Box::new(SqliteCatalogue::new(Arc::clone(database))),
        people: Box::new(SqliteAccounts::new(Arc::clone(database))),
        sessions: Box::new(SqliteSessions::new(Arc::clone(database))),
        activity: Box::new(SqliteActivity::new(Arc::clone(database))),
        rates: Box::new(Rates::new(limits)),
        uploads: Box::new(Uploads::default()),
    })
}

impl Blobs for Arc<IndexBlobs> {
    fn cached(&self, digest: &Digest) -> Option<axum::body::Bytes> {
        self.as_ref().cached(digest)
    }

    fn get(&self, digest: &Digest) -> Result<Option<axum::body::Bytes>, StoreError> {
        self.as_ref().get(digest)
    }
}

impl Releases for IndexReleases {
    fn head(&self) -> Result<String, ApiError> {
        Ok(self.files.revision())
    }

    fn decisions(&self) -> u64 {
        self.quarantines.changes()
    }

    fn is_behind(&self) -> Result<bool, ApiError> {
        Ok(self.view.revision()?.is_some_and(|shown| shown != self.files.revision()))
    }

    fn catch_up(&self) -> Result<(), ApiError> {
        let Some(shown) = self.view.revision()? else { return Ok(()) };
        let cached = self.files.revision();
        self.advance(&cached, &shown, self.changed_paths(&cached, &shown)?.as_deref());
        Ok(())
    }

    fn file_at_hand(&self, path: &str) -> Option<Option<StaticFile>> {
        self.files.cached(path)
    }

    fn file(&self, path: &str) -> Result<Option<StaticFile>, ApiError> {
        self.files.get(path)
    }

    fn of_skill(&self, name: &QualifiedName) -> Result<Vec<Entry>, ApiError> {
        Ok(self.indexes.with(|index| index.releases(name))??)
    }

    fn owners_of(&self, name: &SkillName) -> Result<Vec<Owner>, ApiError> {
        Ok(self.indexes.with(|index| index.owners_of(name))??)
    }

    fn names_beside(&self, name: &SkillName) -> Result<Vec<QualifiedName>, ApiError> {
        Ok(self.indexes.with(|index| index.names_beside(name))??)
    }

    fn owner(&self, owner: &Owner) -> Result<OwnerFile, ApiError> {
        self.indexes.with(|index| index.owner(owner))?.map_err(|error| ApiError::of(&error))
    }

    fn signer(&self, entry: &Entry) -> Result<Result<Option<PublicKey>, SignerError>, ApiError> {
        Ok(self.indexes.with(|index| index.signer(entry))?)
    }

    fn namespace(&self, owner: &Owner, account: Option<&Owner>) -> Result<NamespaceState, ApiError> {
        let role = || account.map_or(Ok(None), |account| self.accounts.role(owner, account));
        let (mut found, has_releases) = (role()?, self.has_releases(owner)?);
        if found.is_none() && has_releases && self.accounts.is_opening(owner)? {
            // A crash came between the first release and its membership.
            self.accounts.finish_opening(owner)?;
            found = role()?;
        }
        let is_taken = found.is_some() || has_releases || !super::People::members(&self.accounts, owner)?.is_empty();
        Ok(NamespaceState { is_taken, role: found })
    }

    fn publish(
        &self,
        release: &ClearedRelease<'_>,
        account: &Owner,
        may: &dyn Fn(NamespaceState) -> Result<(), ApiError>,
    ) -> Result<Appended, ApiError> {
        let appended = self.change(|index| {
            // Another account may have opened the namespace meanwhile, so permission is checked again under the lock.
            let owner = &release.entry().name.owner;
            may(self.namespace(owner, Some(account))?)?;
            let appended = self.append_as(index, release, account)?;
            if matches!(appended, Appended::Published(_)) {
                let held = hold_copy(&self.quarantines, index, appended.entry(), &release.release().stamp);
                held.map_err(|error| ApiError::of(&error))?;
            }
            Ok(appended)
        })?;
        if let Appended::Published(entry) = &appended {
            let at = release.release().stamp.at;
            self.note(account, at, "publish", &format!("{} {}", entry.name, entry.version), "")?;
        }
        Ok(appended)
    }

    fn set_flag(&self, entry: &Entry, flag: Flag<'_>, account: &Owner, now: Timestamp) -> Result<Entry, ApiError> {
        self.decide(entry, flag, account, now)
    }

    fn change_key(
        &self,
        owner: &Owner,
        change: &KeyChange,
        account: &Owner,
        now: Timestamp,
        action: &str,
        key: &str,
    ) -> Result<OwnerFile, ApiError> {
        let stamp = Stamp { by: account.to_string(), at: now };
        let file =
            self.change(|index| index.change_key(owner, change, &stamp).map_err(|error| ApiError::of(&error)))?;
        self.note(account, now, action, &format!("{key} of {owner}"), "")?;
        Ok(file)
    }

    fn barrier(&self, entry: &Entry) -> Result<Option<WithheldReason>, ApiError> {
        // In a folder without its database, the line alone records the decision.
        if let Some(notice) = entry.quarantined() {
            return Ok(Some(WithheldReason::Quarantined(notice.reason)));
        }
        if let Some(notice) = entry.held() {
            return Ok(Some(WithheldReason::Held(notice.reason)));
        }
        Ok(self.quarantines.barrier(&entry.name.to_string(), &entry.version.to_string(), &entry.digest)?)
    }

    fn is_readable(&self, digest: &Digest) -> Result<bool, ApiError> {
        Ok(self.quarantines.is_readable(digest)?)
    }

    fn quarantine_of(&self, skill: &str, version: &str) -> Result<Option<Quarantined>, ApiError> {
        Ok(self.quarantines.of(skill, version)?)
    }

    fn quarantined(&self) -> Result<Vec<Quarantined>, ApiError> {
        Ok(self.quarantines.all()?)
    }

    fn held_copies(&self) -> Result<Vec<HeldCopy>, ApiError> {
        Ok(self.quarantines.held_copies(None)?)
    }

    fn check_readiness(&self) -> Result<(), ApiError> {
        self.indexes.with(Index::revision)??;
        self.view.revision()?;
        Ok(())
    }

    fn refresh(&self) -> Result<(), ApiError> {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.bring_up_to_date()
    }

    fn tidy(&self, go_on: &dyn Fn() -> bool) -> Result<(), ApiError> {
        let is_quiet = (self.quiet.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(QUIET);
        if !is_quiet && self.unpacked.load(Ordering::Relaxed) < PACKED_EACH {
            return Ok(());
        }
        self.unpacked.store(0, Ordering::Relaxed);
        let bounds = if is_quiet { PackBounds::quiet() } else { PackBounds::default() };
        let packed = self.indexes.with(|index| index.pack(&bounds, go_on))?;
        if packed.map_err(|error| ApiError::of(&error))?.packs > 0 {
            self.indexes.close_idle();
        }
        Ok(())
    }
}

impl IndexReleases {
    /// Changes the index under the lock, then refreshes the catalogue and caches.
    fn change<T>(&self, change: impl FnOnce(&Index) -> Result<T, ApiError>) -> Result<T, ApiError> {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let done = self.indexes.with(change)??;
        self.unpacked.fetch_add(1, Ordering::Relaxed);
        self.quiet.store(0, Ordering::Relaxed);
        self.bring_up_to_date()?;
        Ok(done)
    }

    /// Records an action in the audit log.
    fn note(
        &self,
        account: &Owner,
        at: Timestamp,
        action: &str,
        subject: &str,
        reason: &str,
    ) -> Result<(), DatabaseError> {
        Ok(audit::note(&self.database.writer(), Some(account), &to_the_second(at), action, subject, reason)?)
    }

    /// Appends a release. The account that opens a namespace with it becomes its maintainer, even if the process is
    /// killed in between.
    fn append_as(&self, index: &Index, release: &ClearedRelease<'_>, account: &Owner) -> Result<Appended, ApiError> {
        let (owner, at) = (&release.entry().name.owner, release.release().stamp.at);
        let append = || index.append_cleared(release).map_err(|error| ApiError::of(&error));
        if !self.accounts.begin_opening(owner, account, at)? {
            return append();
        }
        let appended = append();
        match &appended {
            Ok(_) => self.accounts.finish_opening(owner)?,
            Err(_) => self.accounts.cancel_opening(owner)?,
        }
        appended
    }

    /// Finishes or cancels openings of namespaces that a crash left unfinished.
    fn settle_openings(&self) -> Result<(), ApiError> {
        for owner in self.accounts.openings()? {
            if self.has_releases(&owner)? {
                self.accounts.finish_opening(&owner)?;
            } else {
                self.accounts.cancel_opening(&owner)?;
            }
        }
        Ok(())
    }

    /// Returns whether anything was ever published in a namespace.
    fn has_releases(&self, owner: &Owner) -> Result<bool, ApiError> {
        // The folder of all owners is large, and releases stay.
        let path = shard::owner_file(owner);
        Ok(self.view.has_owner(owner)? || self.indexes.with(|index| index.file(&path))??.is_some())
    }

    fn changed_paths(&self, old: &str, new: &str) -> Result<Option<Vec<String>>, ApiError> {
        Ok(self.indexes.with(|index| index.changed_paths(old, new))??)
    }

    /// Evicts cached files and archives that differ at a commit.
    fn advance(&self, cached: &str, revision: &str, changed: Option<&[String]>) {
        self.files.advance(cached, revision, changed);
        for digest in changed.into_iter().flatten().filter_map(|path| archive_at(path)) {
            self.blobs.evict(&digest);
        }
    }

    fn bring_up_to_date(&self) -> Result<(), ApiError> {
        let now = self.indexes.with(Index::revision)??;
        let (shown, cached) = (self.view.revision()?.unwrap_or_default(), self.files.revision());
        if shown == now && cached == now {
            return Ok(());
        }
        let mut changed = self.changed_paths(&shown, &now)?;
        if shown != now {
            self.show(changed.as_deref(), &now)?;
        }
        if cached != shown {
            changed = self.changed_paths(&cached, &now)?;
        }
        self.advance(&cached, &now, changed.as_deref());
        Ok(())
    }

    /// Updates the skills of changed paths in the catalogue, or all when the changes are unknown.
    fn show(&self, changed: Option<&[String]>, now: &str) -> Result<(), ApiError> {
        let Some(changed) = changed else { return self.show_all(now) };
        let skills = self.indexes.with(|index| -> Result<Vec<_>, ReadError> {
            let names = changed.iter().filter_map(|path| shard::skill_at(path));
            names.map(|name| index.releases(&name).map(|releases| ShownSkill::new(name, &releases))).collect()
        })??;
        Ok(self.view.show(&skills, now)?)
    }

    /// Rebuilds the catalogue, one skill at a time.
    fn show_all(&self, now: &str) -> Result<(), ApiError> {
        // libgit2 caches everything that is read through an open repository.
        self.indexes.close_idle();
        self.view.rebuild(now, |show| {
            let (found, shown) = mpsc::sync_channel(READ_AHEAD);
            thread::scope(|scope| {
                let reading = scope.spawn(move || read_skills(self.indexes.path(), now, &found));
                // A failure here drops `shown`, which ends the reading.
                shown.into_iter().try_for_each(|skill| show(&skill))?;
                reading.join().unwrap_or_else(|panic| resume_unwind(panic))?;
                Ok(())
            })
        })
    }
}

/// Sends every skill of a commit of an index, until nobody receives any more.
fn read_skills(git_dir: &Path, commit: &str, found: &SyncSender<ShownSkill>) -> Result<(), ReadError> {
    // `None` stops the visit.
    let send = |releases: Vec<Entry>| match releases.first() {
        Some(first) if found.send(ShownSkill::new(first.name.clone(), &releases)).is_err() => Err(None),
        _ => Ok(()),
    };
    match Index::visit_skills::<Option<ReadError>>(git_dir, commit, send) {
        Err(Some(error)) => Err(error),
        _ => Ok(()),
    }
}

/// Parses the digest in the path of an archive.
fn archive_at(path: &str) -> Option<Digest> {
    let hex = path.strip_prefix("bundles/")?.rsplit('/').next()?.strip_suffix(".skill")?;
    format!("sha256:{hex}").parse().ok()
}
