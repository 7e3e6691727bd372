//! [`Hub`]: one index, with the stores and settings of the server.

use std::{path::Path, time::Instant};

use axum::{body::Bytes, http::StatusCode};
use jiff::Timestamp;
use library::LibraryLock;
use registry_index::{Entry, Index, Stamp, newest, remove_dead_locks, shard};
use semver::Version;
use skill::{Owner, QualifiedName};
use web::Client;

use crate::{
    access::{Action, Caller, Namespace, Visibility},
    data_dir::{DataDir, DataError, INDEX},
    error::ApiError,
    metrics::Metrics,
    recent::Recent,
    route_names,
    settings::Settings,
    store::{
        Flag, Limited, NamespaceState, People, Quarantined, Stores, WithheldReason,
        embedded::{self, accounts::SqliteAccounts, index_pool::IndexPool},
    },
};

/// One index, with the accounts, counts and decisions about its releases.
pub struct Hub {
    /// Configuration of the server.
    pub settings: Settings,
    /// Releases, accounts, activity and the other stores.
    pub stores: Stores,
    /// Cache of recently requested releases, unpacked and scanned.
    pub contents: Recent,
    /// Request counters, served as metrics.
    pub metrics: Metrics,
    /// Lock of the data folder; `None` for a read-only mirror, and over stores that several servers share.
    _lock: Option<LibraryLock>,
}

impl Hub {
    /// Opens a data folder and creates missing files. Only one process at a time can open it for writing.
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
        if lock.is_some() {
            remove_dead_locks(&path).map_err(|source| DataError::Folder { path: path.clone(), source })?;
        }
        Index::init(&path, &Stamp { by: "skillhub".to_owned(), at: Timestamp::now() })?;
        let unreadable = |error: ApiError| DataError::Refresh(error.details.to_string());
        let indexes = IndexPool::open(&path)?;
        let stores = embedded::stores(indexes, &data.database()?, &settings.limits, settings.read_only);
        Self::with(settings, stores.map_err(unreadable)?, lock).map_err(unreadable)
    }

    /// Serves stores that other servers may share. The data folder is neither used nor locked.
    ///
    /// # Errors
    /// The stores cannot be read.
    pub fn over(settings: Settings, stores: Stores) -> Result<Self, ApiError> {
        Self::with(settings, stores, None)
    }

    fn with(settings: Settings, stores: Stores, lock: Option<LibraryLock>) -> Result<Self, ApiError> {
        let (contents, metrics) = (Recent::judged_by(settings.scanner), Metrics::default());
        let hub = Self { settings, stores, contents, metrics, _lock: lock };
        hub.report_hidden_owners()?;
        Ok(hub)
    }

    /// Opens the accounts of a data folder, without a server. The folder of a server, or an empty one, must exist.
    ///
    /// # Errors
    /// [`DataError`]
    pub fn accounts_in(data: &Path) -> Result<Box<dyn People>, DataError> {
        Ok(Box::new(SqliteAccounts::new(DataDir::existing(data)?.database()?)))
    }

    /// Logs owners older than the reservation of their names: some of their pages are hidden behind routes.
    fn report_hidden_owners(&self) -> Result<(), ApiError> {
        for name in route_names::RESERVED {
            let Ok(owner) = Owner::parse(name) else { continue };
            if self.stores.releases.file(&shard::owner_file(&owner))?.is_some() {
                let why = format!("the owner {owner} has the name of a route, so some of its pages are unreachable");
                let line = serde_json::json!({"time": Timestamp::now().to_string(), "why": why});
                (self.settings.log)(&line.to_string());
            }
        }
        Ok(())
    }

    /// Refuses an action that the caller is not permitted to do. A read-only server refuses everything but reads.
    ///
    /// # Errors
    /// [`ApiError`] with 401 or 403.
    pub fn check(&self, caller: &Caller, action: Action<'_>) -> Result<(), ApiError> {
        if self.settings.read_only && !matches!(action, Action::Read) {
            return Err(ApiError::new(StatusCode::FORBIDDEN, "read_only", "this server is a read-only mirror")
                .hint("use the server that it mirrors"));
        }
        Ok(caller.check(self.settings.visibility, action)?)
    }

    /// Refuses a caller who may not publish in a namespace, or may not maintain it if `maintains` is set.
    ///
    /// A reserved name cannot become a new namespace.
    ///
    /// # Errors
    /// [`ApiError`] with 401 or 403, or with 422 for a reserved name.
    pub fn check_namespace(&self, caller: &Caller, owner: &Owner, maintains: bool) -> Result<(), ApiError> {
        self.check_state(caller, owner, maintains, self.stores.releases.namespace(owner, caller.account())?)
    }

    /// Refuses a caller as [`Hub::check_namespace`] does, by a state of the namespace that was read already.
    ///
    /// # Errors
    /// As [`Hub::check_namespace`].
    pub fn check_state(
        &self,
        caller: &Caller,
        owner: &Owner,
        maintains: bool,
        NamespaceState { is_taken, role }: NamespaceState,
    ) -> Result<(), ApiError> {
        let at = Namespace { owner, is_taken, role };
        self.check(caller, if maintains { Action::Maintain(&at) } else { Action::Publish(&at) })?;
        if !is_taken && route_names::is_reserved(owner) {
            let why = format!("{owner} is reserved for a path of this server and cannot be an owner");
            return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "reserved_name", why)
                .hint("publish under another owner with --owner NAME"));
        }
        Ok(())
    }

    /// Records a failed sign-in in the audit log. A rate limit per address keeps one client from filling it.
    ///
    /// # Errors
    /// [`ApiError`] when the database cannot be written.
    pub fn note_failed_sign_in(&self, client: Client, by: &str) -> Result<(), ApiError> {
        let from = client.site();
        if from.is_some_and(|site| self.stores.rates.admit(Limited::AuditedFailure, site, Instant::now()).is_err()) {
            return Ok(());
        }
        let subject = from.map_or_else(|| "an unknown address".to_owned(), |site| site.to_string());
        Ok(self.stores.activity.note(None, Timestamp::now(), "failed sign-in", &subject, by)?)
    }

    /// Returns all releases of a skill.
    ///
    /// # Errors
    /// [`ApiError`] with 404 when the skill does not exist.
    pub fn releases(&self, name: &QualifiedName) -> Result<Vec<Entry>, ApiError> {
        let entries = self.stores.releases.of_skill(name)?;
        if entries.is_empty() {
            return Err(ApiError::not_found(format!("the skill {name} was not found")).hint("search for it"));
        }
        Ok(entries)
    }

    /// Returns one release; `latest` selects the newest.
    ///
    /// # Errors
    /// [`ApiError`] with 404 when the release does not exist.
    pub fn release(&self, name: &QualifiedName, version: &str) -> Result<Entry, ApiError> {
        let entries = self.releases(name)?;
        let none = || ApiError::not_found(format!("{name} has no release {version}"));
        if version == "latest" {
            return newest(&entries, false).cloned().ok_or_else(none);
        }
        let version = Version::parse(version)
            .map_err(|_| ApiError::bad_request(format!("{version:?} is not a valid version")))?;
        entries.into_iter().find(|entry| entry.version == version).ok_or_else(none)
    }

    /// Returns the quarantine or hold of a release; `None` without one, and for a withdrawn release.
    ///
    /// # Errors
    /// [`ApiError`] when the database cannot be read.
    pub fn barrier(&self, entry: &Entry) -> Result<Option<WithheldReason>, ApiError> {
        if entry.withdrawn.is_some() { Ok(None) } else { self.stores.releases.barrier(entry) }
    }

    /// Returns the releases under quarantine, newest first. Of withdrawn ones, nothing is left to decide.
    ///
    /// # Errors
    /// [`ApiError`] when the database cannot be read.
    pub fn quarantined(&self) -> Result<Vec<Quarantined>, ApiError> {
        let mut all = self.stores.releases.quarantined()?;
        let entry = |one: &Quarantined| self.release(&one.skill.parse().ok()?, &one.version).ok();
        all.retain(|one| entry(one).is_none_or(|entry| entry.withdrawn.is_none()));
        Ok(all)
    }

    /// Returns whether a release is served. If the database cannot be read, none is.
    #[must_use]
    pub fn is_free(&self, entry: &Entry) -> bool {
        entry.withdrawn.is_none() && matches!(self.barrier(entry), Ok(None))
    }

    /// Refuses a release that is not served to the caller. Admins may also read it under quarantine or on hold.
    ///
    /// # Errors
    /// [`ApiError`] with 410 when it was withdrawn, with 403 when it is under quarantine or on hold.
    pub fn check_readable(&self, caller: &Caller, entry: &Entry) -> Result<(), ApiError> {
        match caller.check(self.settings.visibility, Action::Administer) {
            Ok(()) => check_not_withdrawn(entry),
            Err(_) => self.check_open(entry),
        }
    }

    /// Refuses a release that is not served to everyone.
    ///
    /// # Errors
    /// As [`Hub::check_readable`].
    pub fn check_open(&self, entry: &Entry) -> Result<(), ApiError> {
        check_not_withdrawn(entry)?;
        match self.barrier(entry)? {
            Some(barrier) => Err(ApiError::new(StatusCode::FORBIDDEN, barrier.code(), barrier.message_for(entry))
                .hint("ask an admin of the server")),
            None => Ok(()),
        }
    }

    /// Returns the archive of a release regardless of quarantine or hold, unless it was withdrawn.
    ///
    /// # Errors
    /// [`ApiError`] with 410 when it was withdrawn or its archive is missing.
    pub fn stored(&self, entry: &Entry) -> Result<Bytes, ApiError> {
        check_not_withdrawn(entry)?;
        let missing = || gone("missing", format!("the archive of {} {} is missing", entry.name, entry.version));
        let bytes = self.stores.blobs.get(&entry.digest)?.ok_or_else(missing)?;
        entry.check_bytes(&bytes).map_err(|error| ApiError::broken(&error))?;
        Ok(bytes)
    }

    /// Sets a flag of a release and returns its updated line.
    ///
    /// # Errors
    /// As [`Releases::set_flag`](crate::store::Releases::set_flag).
    pub fn set_flag(&self, entry: &Entry, flag: Flag<'_>, account: &Owner) -> Result<Entry, ApiError> {
        let changed = self.stores.releases.set_flag(entry, flag, account, Timestamp::now())?;
        if matches!(flag, Flag::Quarantined(_) | Flag::Withdrawn(_)) {
            self.contents.evict(&entry.archive);
        }
        Ok(changed)
    }
}

fn check_not_withdrawn(entry: &Entry) -> Result<(), ApiError> {
    let Some(withdrawal) = &entry.withdrawn else { return Ok(()) };
    let why = format!("{} {} was withdrawn: {}", entry.name, entry.version, withdrawal.reason);
    Err(gone("withdrawn", why))
}

fn gone(code: &'static str, why: String) -> ApiError {
    ApiError::new(StatusCode::GONE, code, why)
}
