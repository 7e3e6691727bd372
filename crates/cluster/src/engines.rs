//! [`Engines`]: the opened database and object store of a replica; [`Engines::stores`]: the server's stores over them.

use std::{io, path::PathBuf, sync::Arc};

use client::IndexRemote;
use registry_index::{Config, ConfigError};
use server::store::Stores;
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;
use web::{ApiError, ServerLimits};

use crate::{
    activity::PgActivity,
    background::Background,
    blobs::StoredBlobs,
    claim::{self, ClaimError},
    database::{Database, DatabaseError},
    objects::{ObjectSettings, Objects, OpenObjectsError},
    people::PgPeople,
    projection::{
        Projection,
        commits::{Commits, CommitsError},
    },
    rates::PgRates,
    releases::PgReleases,
    schema::{self, SchemaError},
    search::PgCatalogue,
    sessions::PgSessions,
    uploads::PgUploads,
};

/// Folder with the git repository of a replica, below its data folder.
const GIT_FOLDER: &str = "projection.git";

/// Location of the engines of an index.
#[derive(Debug, Clone, Default)]
pub struct EngineSettings {
    /// Address of the database.
    pub database: String,
    /// Password for the database, if its address has none.
    pub password: Option<String>,
    /// Location of the archives.
    pub objects: ObjectSettings,
    /// git repository that follows the index, as a URL or an absolute folder.
    pub index_remote: Option<String>,
    /// Template of the URL of an archive, for `config.json`.
    pub archives_url: Option<String>,
    /// Folder of this replica for caches.
    pub folder: PathBuf,
}

/// Reasons why engines cannot be used.
#[derive(Debug, Error)]
#[error(transparent)]
pub enum EnginesError {
    /// The system refuses threads.
    #[error("cannot start threads: {0}")]
    Threads(#[from] io::Error),
    /// The database cannot be used.
    Database(#[from] DatabaseError),
    /// The schema of the database is not that of this build.
    Schema(#[from] SchemaError),
    /// The object store cannot be used.
    Objects(#[from] OpenObjectsError),
    /// The folder of the archives is not that of the index.
    Claim(#[from] ClaimError),
    /// `archives_url` is not a template for URLs.
    #[error("`archives_url` is not usable: {0}")]
    ArchivesUrl(#[from] ConfigError),
    /// The git repository cannot be used.
    Commits(#[from] CommitsError),
    /// A store cannot be opened.
    #[error("{}", cause_of(.0))]
    Store(Box<ApiError>),
}

/// Returns the cause of an error, which clients of a server do not see.
fn cause_of(error: &ApiError) -> &str {
    error.details.get("log").and_then(|why| why.as_str()).unwrap_or(&error.message)
}

impl From<ApiError> for EnginesError {
    fn from(error: ApiError) -> Self {
        Self::Store(Box::new(error))
    }
}

impl Fails for EnginesError {
    fn failure(&self) -> Failure {
        match self {
            Self::Threads(_) | Self::Store(_) => Failure::io(),
            Self::Database(error) => error.failure(),
            Self::Schema(error) => error.failure(),
            Self::Claim(error) => error.failure(),
            Self::Objects(_) => Failure::new(FailureKind::Usage, "invalid_config")
                .hint("see `objects` in docs/guides/growing-up.md"),
            Self::ArchivesUrl(_) => Failure::new(FailureKind::Usage, "invalid_config")
                .hint("use a URL with {hex}, such as https://skills.example.org/index/bundles/{hex:0:2}/{hex:2:4}/{hex}.skill"),
            Self::Commits(error) => error.failure(),
        }
    }
}

/// The database and the object store of an index.
pub struct Engines {
    /// Connections to the database.
    pub database: Arc<Database>,
    /// Archives.
    pub objects: Arc<Objects>,
    settings: EngineSettings,
}

impl Engines {
    /// Opens the engines, with whatever schema the database has.
    ///
    /// # Errors
    /// [`EnginesError`] for settings that cannot be used; nothing is contacted yet.
    pub fn open(settings: EngineSettings) -> Result<Self, EnginesError> {
        let background = Arc::new(Background::start()?);
        let objects = Arc::new(Objects::open(&settings.objects, Arc::clone(&background))?);
        let database = Database::open(&settings.database, settings.password.as_deref(), background)?;
        let is_url = |place: &&String| ["https://", "http://"].iter().any(|scheme| place.starts_with(scheme));
        if let Some(place) = settings.archives_url.as_ref().filter(|place| !is_url(place)) {
            return Err(ConfigError::Template(place.clone()).into());
        }
        Config::parse(config_text(settings.archives_url.as_deref()).as_bytes())?;
        Ok(Self { database: Arc::new(database), objects, settings })
    }

    /// Opens the stores of a server. A worker also does background work when it leads.
    ///
    /// # Errors
    /// As for [`Engines::claim`].
    pub fn stores(&self, limits: &ServerLimits, is_worker: bool) -> Result<Stores, EnginesError> {
        self.claim()?;
        let (database, objects) = (|| Arc::clone(&self.database), Arc::clone(&self.objects));
        let config = config_text(self.settings.archives_url.as_deref());
        let mut releases = PgReleases::new(database(), Arc::clone(&objects), config)?;
        if is_worker {
            releases = releases.working(Projection::new(database(), Arc::clone(&objects), self.commits()?));
        }
        Ok(Stores {
            releases: Box::new(releases),
            blobs: Box::new(StoredBlobs::new(database(), objects)),
            catalogue: Box::new(PgCatalogue::new(database())),
            people: Box::new(PgPeople::new(database())),
            sessions: Box::new(PgSessions::new(database())),
            activity: Box::new(PgActivity::new(database())),
            rates: Box::new(PgRates::new(database(), limits)),
            uploads: Box::new(PgUploads::new(database())),
        })
    }

    /// Checks that the engines belong together, before anything is written to them.
    ///
    /// # Errors
    /// [`EnginesError`] when the schema is not that of this build, or the folder of the archives is not mounted.
    pub fn claim(&self) -> Result<(), EnginesError> {
        schema::check(&self.database)?;
        Ok(claim::claim(&self.database, &self.objects)?)
    }

    /// Checks the engines like [`Engines::claim`], and writes nothing.
    ///
    /// # Errors
    /// As for [`Engines::claim`].
    pub fn verify(&self) -> Result<(), EnginesError> {
        schema::check(&self.database)?;
        Ok(claim::verify(&self.database, &self.objects)?)
    }

    /// Opens another store with the same keys, such as one with copies of archives.
    ///
    /// # Errors
    /// [`EnginesError::Objects`]
    pub fn other_objects(&self, location: &str) -> Result<Objects, EnginesError> {
        let settings = ObjectSettings { location: location.to_owned(), ..self.settings.objects.clone() };
        Ok(Objects::open(&settings, Arc::clone(self.objects.background()))?)
    }

    /// Opens the projection to git; `None` if none is configured.
    ///
    /// # Errors
    /// [`EnginesError::Commits`]
    pub fn commits(&self) -> Result<Option<Commits>, EnginesError> {
        let Some(remote) = &self.settings.index_remote else { return Ok(None) };
        let config = config_text(self.settings.archives_url.as_deref());
        Ok(Some(Commits::open(&self.settings.folder.join(GIT_FOLDER), remote, config)?))
    }

    /// Returns the git repository that follows the index, with a bare repository on this machine for its objects.
    ///
    /// # Errors
    /// [`EnginesError::Commits`]
    pub fn remote(&self) -> Result<Option<(IndexRemote, PathBuf)>, EnginesError> {
        let Some(remote) = &self.settings.index_remote else { return Ok(None) };
        let folder = self.settings.folder.join(GIT_FOLDER);
        Ok(Some((IndexRemote::open(remote, &folder).map_err(CommitsError::from)?, folder)))
    }
}

/// Returns the text of `config.json`.
pub fn config_text(archives_url: Option<&str>) -> String {
    match archives_url {
        None => Config::fresh(),
        Some(url) => format!("{}\n", serde_json::json!({"format": Config::FORMAT, "bundles": url})),
    }
}
