//! [`Hub`]: one index with all that the server keeps beside it.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::body::Bytes;
use jiff::Timestamp;
use library::LibraryLock;
use registry_index::{Entry, Index, InitError, OpenError, PackBounds, ReadError, Stamp, newest, shard};
use semver::Version;
use skill::{
    Digest, Owner, QualifiedName,
    failure::{Fails, Failure, FailureKind},
    shell_word,
};
use thiserror::Error;

use crate::{
    access::{Action, Caller, Namespace, Role, Visibility},
    accounts::Accounts,
    activity::Activity,
    blobs::{Blobs, IndexBlobs},
    catalogue::{Catalogue, CatalogueError, ShownSkill, SqliteCatalogue},
    data_dir::{DataDir, DataError},
    error::ApiError,
    index_pool::IndexPool,
    metrics::Metrics,
    quarantines::{Barrier, Quarantines},
    rate::Rates,
    recent::Recent,
    route_names,
    settings::Settings,
    sign_ins::SignIns,
    static_files::StaticFiles,
};

/// The git repository with the index, in the data folder.
pub const INDEX: &str = "index.git";

/// One index, and accounts, counts and decisions that bear on it.
pub struct Hub {
    /// How the server is run.
    pub settings: Settings,
    /// Who may do what.
    pub accounts: Accounts,
    /// Browsers that have signed in.
    pub sign_ins: SignIns,
    /// What people did.
    pub activity: Activity,
    /// Releases that are not handed out.
    pub quarantines: Quarantines,
    /// Where skills are found.
    pub catalogue: Box<dyn Catalogue>,
    /// The same, as it follows the index.
    pub view: SqliteCatalogue,
    /// Where archives are.
    pub blobs: Box<dyn Blobs>,
    /// Releases unpacked and scanned, for those asked for last.
    pub contents: Recent,
    /// The index.
    pub indexes: Arc<IndexPool>,
    /// The files of the index as clients fetch them.
    pub files: StaticFiles,
    /// What is counted of requests.
    pub metrics: Metrics,
    /// How often each client may ask.
    pub rates: Rates,
    /// Held while the index or the view of it changes.
    changing: Mutex<()>,
    /// The lock of the data folder; a mirror takes none.
    _lock: Option<LibraryLock>,
}

impl Hub {
    /// Opens a data folder, and makes what is not there yet. Only one process at a time opens it to change it.
    ///
    /// # Errors
    /// [`DataError`]
    pub fn open(settings: Settings) -> Result<Self, DataError> {
        let data = DataDir::ensure(&settings.data)?;
        if settings.visibility == Visibility::Private {
            data.make_private()?;
        }
        let lock = if settings.read_only { None } else { Some(data.lock()?) };
        let path = settings.data.join(INDEX);
        Index::init(&path, &Stamp { by: "skillhub".to_owned(), at: Timestamp::now() })?;
        let indexes = Arc::new(IndexPool::open(&path)?);
        let database = data.database()?;
        let hub = Self {
            accounts: Accounts::new(Arc::clone(&database)),
            sign_ins: SignIns::new(Arc::clone(&database)),
            activity: Activity::new(Arc::clone(&database)),
            quarantines: Quarantines::new(Arc::clone(&database)),
            catalogue: Box::new(SqliteCatalogue::new(Arc::clone(&database))),
            view: SqliteCatalogue::new(database),
            blobs: Box::new(IndexBlobs::new(Arc::clone(&indexes))),
            contents: Recent::judged_by(settings.scanner),
            files: StaticFiles::new(Arc::clone(&indexes)),
            metrics: Metrics::default(),
            rates: Rates::new(&settings.limits),
            settings,
            indexes,
            changing: Mutex::new(()),
            _lock: lock,
        };
        let unreadable = |error: ApiError| DataError::Refresh(error.details.to_string());
        hub.refresh().map_err(unreadable)?;
        if !hub.settings.read_only {
            hub.settle_openings().map_err(unreadable)?;
        }
        hub.report_hidden_owners().map_err(unreadable)?;
        Ok(hub)
    }

    /// The accounts of a data folder, without a server.
    ///
    /// # Errors
    /// [`DataError`]
    pub fn accounts_in(data: &Path) -> Result<Accounts, DataError> {
        Ok(Accounts::new(DataDir::ensure(data)?.database()?))
    }

    /// Finishes or forgets the openings of namespaces that a crash left behind.
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

    /// Logs owners from before their names were reserved: their pages are hidden behind routes.
    fn report_hidden_owners(&self) -> Result<(), ApiError> {
        for name in route_names::RESERVED {
            let Ok(owner) = Owner::parse(name) else { continue };
            if self.has_releases(&owner)? {
                let why = format!("the owner {owner} has the name of a route: some of its pages cannot be reached");
                let line = serde_json::json!({"time": Timestamp::now().to_string(), "why": why});
                (self.settings.log)(&line.to_string());
            }
        }
        Ok(())
    }

    /// Refuses what the caller may not do.
    ///
    /// # Errors
    /// [`ApiError`] with 401 or 403.
    pub fn check(&self, caller: &Caller, action: Action<'_>) -> Result<(), ApiError> {
        if self.settings.read_only && !matches!(action, Action::Read) {
            return Err(ApiError::new(axum::http::StatusCode::FORBIDDEN, "read_only", "this server is a mirror")
                .hint("ask the server that it mirrors"));
        }
        Ok(caller.check(self.settings.visibility, action)?)
    }

    /// Refuses a caller who may not publish in a namespace, or may not look after it.
    ///
    /// # Errors
    /// [`ApiError`] with 401 or 403.
    pub fn check_namespace(&self, caller: &Caller, owner: &Owner, maintains: bool) -> Result<(), ApiError> {
        let mut role = self.role_of(caller, owner)?;
        let has_releases = self.has_releases(owner)?;
        if role.is_none() && has_releases && self.accounts.is_opening(owner)? {
            // The first release is there and its member was not written.
            self.accounts.finish_opening(owner)?;
            role = self.role_of(caller, owner)?;
        }
        let is_taken = role.is_some() || has_releases || !self.accounts.members(owner)?.is_empty();
        let at = Namespace { owner, is_taken, role };
        self.check(caller, if maintains { Action::Maintain(&at) } else { Action::Publish(&at) })?;
        if !is_taken && route_names::is_reserved(owner) {
            let why = format!("{owner} is a path of this server and cannot be the name of an owner");
            return Err(ApiError::new(axum::http::StatusCode::UNPROCESSABLE_ENTITY, "reserved_name", why)
                .hint("publish under another owner: --owner NAME"));
        }
        Ok(())
    }

    fn role_of(&self, caller: &Caller, owner: &Owner) -> Result<Option<Role>, ApiError> {
        match caller.account() {
            Some(account) => Ok(self.accounts.role(owner, account)?),
            None => Ok(None),
        }
    }

    /// Records a failed sign-in in the audit log, as long as one client does not fill it.
    ///
    /// # Errors
    /// [`ApiError`] when the database cannot be written.
    pub fn note_failed_sign_in(&self, client: Client, by: &str) -> Result<(), ApiError> {
        let from = client.site();
        if from.is_some_and(|site| self.rates.audited_failures.admit(site, Instant::now()).is_err()) {
            return Ok(());
        }
        let subject = from.map_or_else(|| "an unknown address".to_owned(), |site| site.to_string());
        Ok(self.activity.note_unknown(Timestamp::now(), "failed sign-in", &subject, by)?)
    }

    /// Whether anything was ever published in a namespace.
    fn has_releases(&self, owner: &Owner) -> Result<bool, ApiError> {
        let path = registry_index::shard::owner_file(owner);
        Ok(self.indexes.with(|index| index.file(&path))??.is_some())
    }

    /// All releases of a skill.
    ///
    /// # Errors
    /// [`ApiError`] with 404 when there is no such skill.
    pub fn releases(&self, name: &QualifiedName) -> Result<Vec<Entry>, ApiError> {
        let entries = self.indexes.with(|index| index.releases(name))??;
        if entries.is_empty() {
            return Err(ApiError::not_found(format!("there is no skill {name}")).hint("search for it"));
        }
        Ok(entries)
    }

    /// One release; `latest` is the newest.
    ///
    /// # Errors
    /// [`ApiError`] with 404 when there is none.
    pub fn release(&self, name: &QualifiedName, version: &str) -> Result<Entry, ApiError> {
        let entries = self.releases(name)?;
        let none = || ApiError::not_found(format!("{name} has no release {version}"));
        if version == "latest" {
            return newest(&entries, false).cloned().ok_or_else(none);
        }
        let version =
            Version::parse(version).map_err(|_| ApiError::bad_request(format!("{version:?} is no version")))?;
        entries.into_iter().find(|entry| entry.version == version).ok_or_else(none)
    }

    /// The reason for which a release is not handed out; `None` when it is.
    ///
    /// # Errors
    /// [`ApiError`] when the database cannot be read.
    pub fn barrier(&self, entry: &Entry) -> Result<Option<Barrier>, ApiError> {
        // A line may say so in a folder that came without its database.
        if let Some(notice) = entry.quarantined() {
            return Ok(Some(Barrier::Quarantined(notice.reason)));
        }
        if let Some(notice) = entry.held() {
            return Ok(Some(Barrier::Held(notice.reason)));
        }
        Ok(self.quarantines.barrier(&entry.name.to_string(), &entry.version.to_string(), &entry.digest)?)
    }

    /// Whether a release is handed out. A database that cannot be read hands out nothing.
    #[must_use]
    pub fn is_free(&self, entry: &Entry) -> bool {
        entry.withdrawn.is_none() && matches!(self.barrier(entry), Ok(None))
    }

    /// Refuses a release that is not handed out to the caller. Admins may read it under quarantine or on hold as well.
    ///
    /// # Errors
    /// [`ApiError`] with 410 when it was withdrawn, with 403 when it is under quarantine or on hold.
    pub fn check_readable(&self, caller: &Caller, entry: &Entry) -> Result<(), ApiError> {
        match caller.check(self.settings.visibility, Action::Administer) {
            Ok(()) => check_not_withdrawn(entry),
            Err(_) => self.check_open(entry),
        }
    }

    /// Refuses a release that is not handed out.
    ///
    /// # Errors
    /// As [`Hub::check_readable`].
    pub fn check_open(&self, entry: &Entry) -> Result<(), ApiError> {
        check_not_withdrawn(entry)?;
        match self.barrier(entry)? {
            Some(barrier) => Err(behind(&format!("{} {}", entry.name, entry.version), &barrier)),
            None => Ok(()),
        }
    }

    /// The archive of a release, whatever is decided about it, unless it was withdrawn.
    ///
    /// # Errors
    /// [`ApiError`] with 410 when it is gone.
    pub fn stored(&self, entry: &Entry) -> Result<Bytes, ApiError> {
        check_not_withdrawn(entry)?;
        let missing = || gone("missing", format!("the archive of {} {} is gone", entry.name, entry.version));
        let bytes = self.blobs.get(&entry.digest)?.ok_or_else(missing)?;
        entry.check_archive(&bytes).map_err(|error| ApiError::broken(&error))?;
        Ok(bytes)
    }

    /// Forgets what is in memory of a release that is not handed out any more.
    pub fn forget(&self, entry: &Entry) {
        self.blobs.forget(&entry.digest);
        self.contents.forget(&entry.archive);
    }

    /// Changes the index, one at a time, and brings what shows it up to date.
    ///
    /// # Errors
    /// That of the change.
    pub fn change<T>(&self, change: impl FnOnce(&Index) -> Result<T, ApiError>) -> Result<T, ApiError> {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let done = self.indexes.with(change)??;
        self.bring_up_to_date()?;
        Ok(done)
    }

    /// Brings what shows the index up to date with it, whoever changed it.
    ///
    /// # Errors
    /// [`ApiError`] when the index or the database cannot be read.
    pub fn refresh(&self) -> Result<(), ApiError> {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.bring_up_to_date()
    }

    /// Packs the index when it is due; changes go on meanwhile. It ends early when `go_on` says no.
    ///
    /// # Errors
    /// [`ApiError`] when the index cannot be read or written.
    pub fn pack_index(&self, go_on: impl Fn() -> bool) -> Result<(), ApiError> {
        let packed = self.indexes.with(|index| index.pack(&PackBounds::default(), go_on))?;
        if packed.map_err(|error| ApiError::of(&error))?.packs > 0 {
            self.indexes.close_idle();
        }
        Ok(())
    }

    /// Forgets what is in memory of files of the index that are different at a commit.
    ///
    /// # Errors
    /// [`ApiError`] when the index cannot be read.
    pub fn advance(&self, revision: &str) -> Result<(), ApiError> {
        for path in self.files.advance(revision)? {
            if let Some(digest) = archive_at(&path) {
                self.blobs.forget(&digest);
            }
        }
        Ok(())
    }

    fn bring_up_to_date(&self) -> Result<(), ApiError> {
        let now = self.indexes.with(Index::revision)??;
        let shown = self.view.revision()?;
        if shown.as_deref() != Some(now.as_str()) {
            self.show(shown.as_deref(), &now)?;
        }
        self.advance(&now)
    }

    /// Brings the view from one commit to another.
    fn show(&self, shown: Option<&str>, now: &str) -> Result<(), ApiError> {
        let changed = self.indexes.with(|index| -> Result<_, ApiError> {
            let paths = match shown {
                Some(shown) => index.changed_paths(shown, now)?,
                None => None,
            };
            let names = paths.map(|paths| paths.iter().filter_map(|path| shard::skill_at(path)).collect::<Vec<_>>());
            let skill = |name: QualifiedName| -> Result<_, ReadError> {
                let releases = index.releases(&name)?;
                Ok(ShownSkill::new(name, &releases))
            };
            Ok(names.map(|names| names.into_iter().map(skill).collect::<Result<Vec<_>, _>>()).transpose()?)
        })??;
        match changed {
            Some(skills) => Ok(self.view.show(&skills, now)?),
            None => self.show_all(now),
        }
    }

    /// Makes the view from nothing, one skill at a time.
    fn show_all(&self, now: &str) -> Result<(), ApiError> {
        // Of an index that stays open, libgit2 would keep in memory all that is read.
        self.indexes.close_idle();
        self.view.rebuild(now, |show| {
            let damaged = Index::visit_skills(self.indexes.path(), now, |releases| -> Result<(), ApiError> {
                let Some(first) = releases.first() else { return Ok(()) };
                Ok(show(&ShownSkill::new(first.name.clone(), &releases))?)
            });
            damaged.map(drop)
        })
    }
}

/// The content of the archive at a path of the index.
fn archive_at(path: &str) -> Option<Digest> {
    let hex = path.strip_prefix("bundles/")?.rsplit('/').next()?.strip_suffix(".skill")?;
    format!("sha256:{hex}").parse().ok()
}

fn check_not_withdrawn(entry: &Entry) -> Result<(), ApiError> {
    let Some(withdrawal) = &entry.withdrawn else { return Ok(()) };
    let why = format!("{} {} was withdrawn: {}", entry.name, entry.version, withdrawal.reason);
    Err(gone("withdrawn", why))
}

fn gone(code: &'static str, why: String) -> ApiError {
    ApiError::new(axum::http::StatusCode::GONE, code, why)
}

/// The refusal of what is behind a barrier.
pub fn behind(what: &str, barrier: &Barrier) -> ApiError {
    let message = format!("{what} {}", barrier.message());
    ApiError::new(axum::http::StatusCode::FORBIDDEN, barrier.code(), message)
        .hint("the admins of the server decide about it")
}

impl From<CatalogueError> for DataError {
    fn from(error: CatalogueError) -> Self {
        Self::Refresh(error.to_string())
    }
}
