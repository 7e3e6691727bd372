//! The marker of a folder with archives: a file with the identity of the index.
//!
//! A mount point without its file system is an empty folder. Without the marker, its archives would look lost, and new
//! ones would be written beside the mounted file system.

use std::path::Path;

use object_store::{Error, ObjectStoreExt as _, PutPayload, path};
use server::store::StoreError;

use super::{AttemptError, Objects};

/// Name of the file.
pub const MARKER: &str = "skillhub-archives";

/// Most bytes that are read of it.
const MARKER_BYTES: u64 = 1000;

impl Objects {
    /// Returns the folder of the archives; `None` for a bucket.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Reads the marker of the folder; `None` if it has none.
    ///
    /// # Errors
    /// As for [`Objects::get`].
    pub fn marker(&self) -> Result<Option<String>, StoreError> {
        self.attempts(format_args!("read the marker of the archives"), async || self.read_marker().await)
    }

    /// Writes the marker of the folder.
    ///
    /// # Errors
    /// As for [`Objects::put`].
    pub fn mark(&self, identity: &str) -> Result<(), StoreError> {
        let what = format_args!("write the marker of the archives");
        self.attempts(what, async || {
            self.store.put(&path::Path::from(MARKER), PutPayload::from(format!("{identity}\n"))).await?;
            Ok(())
        })?;
        self.sync(what, vec![MARKER.to_owned()])
    }

    /// From now on, archives are found missing or written only while the folder has this marker.
    pub fn require_marker(&self, identity: String) {
        let _first_stays: Result<(), String> = self.identity.set(identity);
    }

    /// Checks that the folder has the required marker, if one is required.
    ///
    /// # Errors
    /// As for [`Objects::get`].
    pub fn check_mounted(&self) -> Result<(), StoreError> {
        match self.identity.get() {
            None => Ok(()),
            Some(_) => self.attempts(format_args!("use the archives"), async || self.find_marker().await),
        }
    }

    async fn read_marker(&self) -> Result<Option<String>, AttemptError> {
        match self.store.get(&path::Path::from(MARKER)).await {
            Ok(found) if found.meta.size > MARKER_BYTES => Err(AttemptError::TooLarge(found.meta.size)),
            Ok(found) => Ok(Some(String::from_utf8_lossy(&found.bytes().await?).trim().to_owned())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Fails if the folder lacks the required marker.
    pub(super) async fn find_marker(&self) -> Result<(), AttemptError> {
        let (Some(folder), Some(identity)) = (&self.folder, self.identity.get()) else { return Ok(()) };
        match self.read_marker().await? {
            Some(found) if found == *identity => Ok(()),
            _ => Err(AttemptError::NotMounted(folder.display().to_string())),
        }
    }

    /// Returns the error of an attempt: a missing archive is one of a folder that is mounted.
    pub(super) async fn explained(&self, error: Error) -> AttemptError {
        match (&error, self.find_marker().await) {
            (Error::NotFound { .. }, Err(unmounted)) => unmounted,
            _ => error.into(),
        }
    }
}
