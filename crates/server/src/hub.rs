//! [`Hub`]: one index with all that the server keeps beside it.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use axum::body::Bytes;
use jiff::Timestamp;
use registry_index::{Entry, FetchError, Index, InitError, OpenError, Stamp, newest};
use semver::Version;
use skill::{
    Owner, QualifiedName,
    failure::{Fails, Failure},
};
use thiserror::Error;

use crate::{
    access::{Action, Caller, Namespace},
    accounts::Accounts,
    activity::Activity,
    blobs::{Blobs, IndexBlobs},
    catalogue::{Catalogue, CatalogueError, SqliteCatalogue},
    database::{Database, DatabaseError},
    error::ApiError,
    index_pool::IndexPool,
    operations::Metrics,
    quarantines::{Barrier, Quarantines},
    rate::Rate,
    settings::Settings,
    static_files::StaticFiles,
};

/// The git repository with the index, in the data folder.
pub const INDEX: &str = "index.git";
/// The SQLite file beside it.
pub const DATABASE: &str = "skillhub.sqlite";

/// One index, and accounts, counts and decisions that bear on it.
pub struct Hub {
    /// How the server is run.
    pub settings: Settings,
    /// Who may do what.
    pub accounts: Accounts,
    /// What people did.
    pub activity: Activity,
    /// Releases that are not handed out.
    pub quarantines: Quarantines,
    /// Where skills are found.
    pub catalogue: Box<dyn Catalogue>,
    /// Where archives are.
    pub blobs: Box<dyn Blobs>,
    /// The index.
    pub indexes: Arc<IndexPool>,
    /// The files of the index as clients fetch them.
    pub files: StaticFiles,
    /// What is counted of requests.
    pub metrics: Metrics,
    /// How often clients ask.
    pub rate: Rate,
    /// Held while the index or the view of it changes.
    changing: Mutex<()>,
}

/// Why a data folder cannot be used.
#[derive(Debug, Error)]
pub enum DataError {
    /// The folder cannot be made.
    #[error("cannot use {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The index cannot be made.
    #[error(transparent)]
    Init(#[from] InitError),
    /// The index cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The view of the index cannot be made.
    #[error("cannot read the index into the catalogue: {0}")]
    Refresh(String),
}

impl Hub {
    /// Opens a data folder, and makes what is not there yet.
    ///
    /// # Errors
    /// [`DataError`]
    pub fn open(settings: Settings) -> Result<Self, DataError> {
        let data = settings.data.clone();
        ensure_data(&data)?;
        let path = data.join(INDEX);
        Index::init(&path, &Stamp { by: "skillhub".to_owned(), at: Timestamp::now() })?;
        let indexes = Arc::new(IndexPool::open(&path)?);
        let database = Arc::new(Database::open(&data.join(DATABASE))?);
        let rate = Rate::new(settings.limits.costly_per_minute);
        let hub = Self {
            settings,
            accounts: Accounts::new(Arc::clone(&database)),
            activity: Activity::new(Arc::clone(&database)),
            quarantines: Quarantines::new(Arc::clone(&database)),
            catalogue: Box::new(SqliteCatalogue::new(database)),
            blobs: Box::new(IndexBlobs::new(Arc::clone(&indexes))),
            files: StaticFiles::new(Arc::clone(&indexes)),
            metrics: Metrics::default(),
            rate,
            indexes,
            changing: Mutex::new(()),
        };
        hub.refresh().map_err(|error| DataError::Refresh(error.details.to_string()))?;
        Ok(hub)
    }

    /// The accounts of a data folder, without a server.
    ///
    /// # Errors
    /// [`DataError`]
    pub fn accounts_in(data: &Path) -> Result<Accounts, DataError> {
        ensure_data(data)?;
        Ok(Accounts::new(Arc::new(Database::open(&data.join(DATABASE))?)))
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
        let role = match caller.account() {
            Some(account) => self.accounts.role(owner, account)?,
            None => None,
        };
        let is_taken = role.is_some() || !self.accounts.members(owner)?.is_empty() || self.has_releases(owner)?;
        let at = Namespace { owner, is_taken, role };
        self.check(caller, if maintains { Action::Maintain(&at) } else { Action::Publish(&at) })
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

    /// The archive of a release.
    ///
    /// # Errors
    /// [`ApiError`] with 410 when it was withdrawn, with 403 when it is under quarantine or on hold.
    pub fn archive(&self, entry: &Entry) -> Result<Bytes, ApiError> {
        if let (None, Some(barrier)) = (&entry.withdrawn, self.barrier(entry)?) {
            return Err(behind(&format!("{} {}", entry.name, entry.version), &barrier));
        }
        self.stored(entry)
    }

    /// The archive of a release, whatever is decided about it, unless it was withdrawn.
    fn stored(&self, entry: &Entry) -> Result<Bytes, ApiError> {
        let gone = |code, why: String| ApiError::new(axum::http::StatusCode::GONE, code, why);
        if let Some(withdrawal) = &entry.withdrawn {
            let why = format!("{} {} was withdrawn: {}", entry.name, entry.version, withdrawal.reason);
            return Err(gone("withdrawn", why));
        }
        let found = self.blobs.get(&entry.digest)?;
        let missing = || gone("missing", format!("the archive of {} {} is gone", entry.name, entry.version));
        let bytes = found.ok_or_else(missing)?;
        entry.check_archive(&bytes).map_err(|error| ApiError::broken(&error))?;
        Ok(bytes)
    }

    /// The files of a release, held to its line.
    ///
    /// # Errors
    /// As [`Hub::archive`].
    pub fn bundle(&self, entry: &Entry) -> Result<skill::Bundle, ApiError> {
        unpacked(entry, &self.archive(entry)?)
    }

    /// As [`Hub::bundle`]; to an admin also of a release under quarantine or on hold.
    ///
    /// # Errors
    /// As [`Hub::archive`].
    pub fn bundle_for(&self, caller: &Caller, entry: &Entry) -> Result<skill::Bundle, ApiError> {
        match caller.check(self.settings.visibility, Action::Administer) {
            Ok(()) => unpacked(entry, &self.stored(entry)?),
            Err(_) => self.bundle(entry),
        }
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

    /// Forgets files of the index in memory that another process on the data folder has changed.
    ///
    /// # Errors
    /// [`ApiError`] when the database cannot be read.
    pub fn follow_other_processes(&self) -> Result<(), ApiError> {
        if let Some(shown) = self.catalogue.revision()? {
            self.files.advance(&shown);
        }
        Ok(())
    }

    fn bring_up_to_date(&self) -> Result<(), ApiError> {
        let shown = self.catalogue.revision()?;
        self.indexes.with(|index| -> Result<(), ApiError> {
            let now = index.revision()?;
            self.files.advance(&now);
            if shown.as_deref() == Some(now.as_str()) {
                return Ok(());
            }
            let changed = match &shown {
                Some(shown) => index.changed_since(shown)?,
                None => None,
            };
            let skills = match changed {
                Some(names) => names.into_iter().map(|name| newest_of(index, name)).collect::<Result<Vec<_>, _>>()?,
                None => everything(index)?,
            };
            Ok(self.catalogue.show(&skills, &now)?)
        })?
    }
}

/// Makes the data folder where it is not there.
pub fn ensure_data(data: &Path) -> Result<(), DataError> {
    let source = |error: library::PlaceError| std::io::Error::other(error.to_string());
    let folder = |error| DataError::Folder { path: data.to_owned(), source: source(error) };
    library::ensure_dir(data).map(drop).map_err(folder)
}

fn unpacked(entry: &Entry, bytes: &[u8]) -> Result<skill::Bundle, ApiError> {
    let files = skill::archive::unpack(bytes, &skill::Limits::default()).map_err(|error| ApiError::broken(&error))?;
    let differs = |error: FetchError| {
        ApiError::new(axum::http::StatusCode::UNPROCESSABLE_ENTITY, "line_differs", error.to_string())
            .hint("who runs the server finds all such lines with `skillhub index verify`")
    };
    entry.check_files(&files).map_err(differs)?;
    Ok(files)
}

/// The refusal of what is behind a barrier.
pub fn behind(what: &str, barrier: &Barrier) -> ApiError {
    let message = format!("{what} {}", barrier.message());
    ApiError::new(axum::http::StatusCode::FORBIDDEN, barrier.code(), message)
        .hint("the admins of the server decide about it")
}

/// The newest release of a skill, which may have none that can be installed.
fn newest_of(index: &Index, name: QualifiedName) -> Result<(QualifiedName, Option<Entry>), ApiError> {
    let entries = index.releases(&name)?;
    Ok((name, newest(&entries, false).cloned()))
}

fn everything(index: &Index) -> Result<Vec<(QualifiedName, Option<Entry>)>, ApiError> {
    Ok(index.readable()?.entries.into_iter().map(|entry| (entry.name.clone(), Some(entry))).collect())
}

impl From<CatalogueError> for DataError {
    fn from(error: CatalogueError) -> Self {
        Self::Refresh(error.to_string())
    }
}

impl Fails for DataError {
    fn failure(&self) -> Failure {
        match self {
            Self::Folder { .. } | Self::Database(_) | Self::Refresh(_) => {
                Failure::io().hint("name a folder of your own that can be written: --data DIR")
            }
            Self::Init(error) => error.failure(),
            Self::Open(error) => error.failure(),
        }
    }
}
