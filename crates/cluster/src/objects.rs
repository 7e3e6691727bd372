//! [`Objects`]: the archives of releases, in an S3-compatible bucket or in a folder.

mod folder;
mod http;
mod marker;

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use object_store::{
    ObjectStore, ObjectStoreExt as _, PutPayload, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey},
    local::LocalFileSystem,
    path,
};
use server::store::{Bytes, StoreError, Unavailable};
use skill::{Digest, Limits};
use thiserror::Error;
use tokio::{
    task::spawn_blocking,
    time::{sleep, timeout},
};

use self::http::UreqConnector;
pub use self::marker::MARKER;
use crate::background::Background;

/// Attempts at an operation before it fails.
const TRIES: u32 = 3;

/// Pause before the second attempt; each further one is four times as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Longest location and endpoint, in bytes.
const LOCATION_BYTES: usize = 1000;

/// Limits on the operations of an object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectLimits {
    /// Time limit for establishing a connection.
    pub connect_time: Duration,
    /// Time limit for one attempt.
    pub attempt_time: Duration,
    /// Time limit for all attempts at an operation together.
    pub total_time: Duration,
    /// Largest archive, in bytes.
    pub archive_bytes: u64,
}

impl Default for ObjectLimits {
    fn default() -> Self {
        Self {
            connect_time: Duration::from_secs(3),
            attempt_time: Duration::from_secs(10),
            // Within the server's limit for a request, so that clients get an answer.
            total_time: Duration::from_secs(25),
            archive_bytes: Limits::default().archive_bytes,
        }
    }
}

/// Location of an object store. A bucket's keys come from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or from the
/// file named by `AWS_WEB_IDENTITY_TOKEN_FILE`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectSettings {
    /// `s3://BUCKET/PREFIX`, or the absolute path of a folder that exists.
    pub location: String,
    /// URL of the store; `None` for Amazon's. Without encryption only on loopback.
    pub endpoint: Option<String>,
    /// Region of the bucket; `None` for `us-east-1` or `AWS_REGION`.
    pub region: Option<String>,
    /// Limits on each operation.
    pub limits: ObjectLimits,
}

/// Reasons why an object store cannot be opened.
#[derive(Debug, Error)]
pub enum OpenObjectsError {
    /// The location cannot be understood.
    #[error("`objects` is neither s3://BUCKET/PREFIX nor the absolute path of a folder")]
    Location,
    /// Archives would travel unencrypted.
    #[error("the endpoint {0} of the object store is neither https nor on this machine")]
    Plain(String),
    /// No keys are in the environment.
    #[error("the bucket needs keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")]
    NoKeys,
    /// The settings contradict each other, or the folder does not exist.
    #[error("cannot use the object store {location}: {reason}")]
    Unusable {
        /// The location.
        location: String,
        /// Description of the problem.
        reason: String,
    },
}

/// Reasons why an attempt at an operation failed.
#[derive(Debug, Error)]
enum AttemptError {
    #[error(transparent)]
    Store(#[from] object_store::Error),
    #[error("it has {0} bytes, more than an archive may have")]
    TooLarge(u64),
    #[error("its content is not that of the release")]
    Damaged,
    #[error("it cannot be brought to the disk: {0}")]
    Sync(#[from] io::Error),
    #[error("{0} is not mounted, or has the archives of another index")]
    NotMounted(String),
}

impl AttemptError {
    /// Returns whether another attempt would end in the same way.
    fn is_final(&self) -> bool {
        use object_store::Error as Of;
        let refused = matches!(
            self,
            Self::Store(Of::PermissionDenied { .. } | Of::Unauthenticated { .. } | Of::InvalidPath { .. })
        );
        refused || matches!(self, Self::NotMounted(_))
    }
}

/// Archives by the digest of their content. Every operation may be repeated: the same digest has the same archive.
#[derive(Debug)]
pub struct Objects {
    store: Box<dyn ObjectStore>,
    /// The folder of the archives, if they are in one.
    folder: Option<PathBuf>,
    /// Identity that the marker of the folder must have, once it is known.
    identity: OnceLock<String>,
    prefix: String,
    background: Arc<Background>,
    limits: ObjectLimits,
    jitter: RandomState,
}

impl Objects {
    /// Opens the store.
    ///
    /// # Errors
    /// [`OpenObjectsError`]; a bucket is not contacted.
    pub fn open(settings: &ObjectSettings, background: Arc<Background>) -> Result<Self, OpenObjectsError> {
        Self::open_as(settings, background, AmazonS3Builder::from_env())
    }

    /// Opens the store, a bucket with the keys of `builder`.
    fn open_as(
        settings: &ObjectSettings,
        background: Arc<Background>,
        builder: AmazonS3Builder,
    ) -> Result<Self, OpenObjectsError> {
        let location = settings.location.as_str();
        if location.len() > LOCATION_BYTES {
            return Err(OpenObjectsError::Location);
        }
        let (limits, jitter) = (settings.limits.clone(), RandomState::new());
        let Some(bucket) = location.strip_prefix("s3://") else {
            let (store, folder) = (Box::new(open_folder(location)?), Some(PathBuf::from(location)));
            let (prefix, identity) = (String::new(), OnceLock::new());
            return Ok(Self { store, folder, identity, prefix, background, limits, jitter });
        };
        let (bucket, prefix) = bucket.split_once('/').unwrap_or((bucket, ""));
        let store = Box::new(open_bucket(bucket, settings, builder)?);
        let (prefix, identity) = (prefix.trim_matches('/').to_owned(), OnceLock::new());
        Ok(Self { store, folder: None, identity, prefix, background, limits, jitter })
    }

    /// Returns the runtime on which the store waits.
    pub fn background(&self) -> &Arc<Background> {
        &self.background
    }

    /// Stores an archive. When this returns, the archive is durable.
    ///
    /// # Errors
    /// [`StoreError`] with [`Unavailable`] after three attempts.
    pub fn put(&self, digest: &Digest, bytes: &Bytes) -> Result<(), StoreError> {
        self.put_all(&[(*digest, bytes.clone())])
    }

    /// Stores archives. When this returns, all are durable; after an error, any of them may be stored.
    ///
    /// # Errors
    /// As for [`Objects::put`].
    pub fn put_all(&self, archives: &[(Digest, Bytes)]) -> Result<(), StoreError> {
        let Some((last, _)) = archives.last() else { return Ok(()) };
        self.check_mounted()?;
        let mut paths = Vec::new();
        for (digest, bytes) in archives {
            paths.push(self.attempts(format_args!("store the archive of {digest}"), async || {
                let path = self.path(digest)?;
                self.store.put(&path, PutPayload::from(bytes.clone())).await?;
                Ok(path.to_string())
            })?);
        }
        self.sync(format_args!("store the archive of {last}"), paths)
    }

    /// Makes files of the folder durable. A bucket has stored durably what it has acknowledged.
    fn sync(&self, what: fmt::Arguments<'_>, paths: Vec<String>) -> Result<(), StoreError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        self.attempts(what, async || {
            let (folder, paths) = (folder.clone(), paths.clone());
            let synced = spawn_blocking(move || folder::sync_all(&folder, &paths)).await;
            Ok(synced.map_err(io::Error::other).flatten()?)
        })
    }

    /// Returns an archive that was stored, whose bytes have the hash `archive`.
    ///
    /// # Errors
    /// [`StoreError`] with [`Unavailable`] after three attempts, also if the archive is missing or has other bytes: a
    /// store may lose or garble an answer, and the archive is needed until its release is withdrawn.
    pub fn get(&self, digest: &Digest, archive: &Digest) -> Result<Bytes, StoreError> {
        self.attempts(format_args!("read the archive of {digest}"), async || {
            let found = match self.store.get(&self.path(digest)?).await {
                Ok(found) => found,
                Err(error) => return Err(self.explained(error).await),
            };
            if found.meta.size > self.limits.archive_bytes {
                return Err(AttemptError::TooLarge(found.meta.size));
            }
            let bytes = found.bytes().await?;
            if Digest::of_bytes(&bytes) == *archive { Ok(bytes) } else { Err(AttemptError::Damaged) }
        })
    }

    /// Returns whether an archive is stored.
    ///
    /// # Errors
    /// [`StoreError`] with [`Unavailable`] after three attempts.
    pub fn has(&self, digest: &Digest) -> Result<bool, StoreError> {
        let what = format_args!("find the archive of {digest}");
        self.attempts(what, async || match self.store.head(&self.path(digest)?).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => self.find_marker().await.map(|()| false),
            Err(error) => Err(error.into()),
        })
    }

    /// Removes an archive, if it is there.
    ///
    /// # Errors
    /// [`StoreError`] with [`Unavailable`] after three attempts.
    pub fn remove(&self, digest: &Digest) -> Result<(), StoreError> {
        let what = format_args!("remove the archive of {digest}");
        self.attempts(what, async || match self.store.delete(&self.path(digest)?).await {
            Ok(()) => Ok(()),
            Err(object_store::Error::NotFound { .. }) => self.find_marker().await,
            Err(error) => Err(error.into()),
        })
    }

    /// Returns the path of an archive: the one that it has in the tree of an index.
    fn path(&self, digest: &Digest) -> Result<path::Path, AttemptError> {
        let path = format!("{}/{}", self.prefix, tree_path(digest));
        let path = path::Path::parse(path.trim_start_matches('/')).map_err(object_store::Error::from)?;
        Ok(path)
    }

    fn attempts<T>(
        &self,
        what: fmt::Arguments<'_>,
        attempt: impl AsyncFn() -> Result<T, AttemptError>,
    ) -> Result<T, StoreError> {
        let all = async {
            let mut tries = 1;
            loop {
                match attempt().await {
                    Err(error) if tries < TRIES && !error.is_final() => sleep(self.pause(tries)).await,
                    ended => return ended,
                }
                tries += 1;
            }
        };
        // The timer needs the runtime, so it is made on it.
        let ended = self.background.wait(async { timeout(self.limits.total_time, all).await });
        let reason = match ended {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} seconds", self.limits.total_time.as_secs_f32()),
        };
        Err(StoreError(Box::new(Unavailable(format!("cannot {what}: {reason}")))))
    }

    /// Returns the pause after an attempt, shortened by up to a half at random, so that clients do not repeat in step.
    fn pause(&self, tries: u32) -> Duration {
        let full = FIRST_PAUSE * 4_u32.pow(tries - 1);
        let share = f64::from(self.jitter.hash_one(std::time::Instant::now()) as u32) / f64::from(u32::MAX);
        full.mul_f64(0.5 + share / 2.0)
    }
}

/// Returns the path of an archive in the tree of an index that holds its archives itself.
pub(crate) fn tree_path(digest: &Digest) -> String {
    let hex = digest.hex();
    let (first, rest) = hex.split_at(2);
    let (second, _) = rest.split_at(2);
    format!("{}/{first}/{second}/{hex}.skill", registry_index::shard::BUNDLES)
}

fn open_bucket(
    bucket: &str,
    settings: &ObjectSettings,
    mut builder: AmazonS3Builder,
) -> Result<AmazonS3, OpenObjectsError> {
    if bucket.is_empty() {
        return Err(OpenObjectsError::Location);
    }
    if let Some(endpoint) = &settings.endpoint {
        let is_web = ["https://", "http://"].iter().any(|scheme| endpoint.starts_with(scheme));
        if !is_web || endpoint.len() > LOCATION_BYTES || client::check_token_may_go(endpoint).is_err() {
            return Err(OpenObjectsError::Plain(endpoint.chars().take(LOCATION_BYTES).collect()));
        }
    }
    let has = |key| builder.get_config_value(&key).is_some();
    if !has(AmazonS3ConfigKey::AccessKeyId) && !has(AmazonS3ConfigKey::WebIdentityTokenFile) {
        return Err(OpenObjectsError::NoKeys);
    }
    if let Some(endpoint) = &settings.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(region) = &settings.region {
        builder = builder.with_region(region);
    }
    let url = settings.endpoint.clone().unwrap_or_else(|| "https://s3.amazonaws.com".to_owned());
    let connector = UreqConnector { url, limits: settings.limits.clone() };
    // Attempts are repeated here, in one place for all stores.
    let once = RetryConfig { max_retries: 0, ..RetryConfig::default() };
    let built = builder.with_bucket_name(bucket).with_http_connector(connector).with_retry(once);
    // Some stores have no request that removes several objects.
    built.with_disable_bulk_delete(true).build().map_err(|error| unusable(&settings.location, &error))
}

fn open_folder(location: &str) -> Result<LocalFileSystem, OpenObjectsError> {
    if !Path::new(location).is_absolute() {
        return Err(OpenObjectsError::Location);
    }
    let folder = LocalFileSystem::new_with_prefix(location).map_err(|error| unusable(location, &error))?;
    // Its own syncs come before and after the file gets its name. On Unix, one after is enough, since no row says that an
    // archive is stored before `put` has returned.
    Ok(folder.with_fsync(cfg!(not(unix))))
}

fn unusable(location: &str, error: &object_store::Error) -> OpenObjectsError {
    OpenObjectsError::Unusable { location: location.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests;
