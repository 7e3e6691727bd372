//! [`PendingDownloads`]: counted downloads that are not yet written to a database.

use std::{
    collections::BTreeMap,
    mem::take,
    sync::{Mutex, PoisonError},
};

use web::Client;

use super::{
    counted::Counted,
    records::{Download, StoreError},
};

/// Downloads in the memory of this process, each counted once for an address, account, content and day.
#[derive(Debug, Default)]
pub struct PendingDownloads {
    pending: Mutex<BTreeMap<Download, u64>>,
    counted: Counted,
}

impl PendingDownloads {
    /// Counts a download, unless this client did it before on that day.
    pub fn count(&self, download: Download, client: Client) {
        if self.counted.is_first(&download, client.site()) {
            self.add([(download, 1)]);
        }
    }

    /// Passes all downloads since the last call to `write`.
    ///
    /// # Errors
    /// The error of `write`; the downloads are then kept for the next call.
    pub fn write_by(
        &self,
        write: impl FnOnce(&BTreeMap<Download, u64>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let pending = take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        if pending.is_empty() {
            return Ok(());
        }
        write(&pending).inspect_err(|_| self.add(pending))
    }

    fn add(&self, downloads: impl IntoIterator<Item = (Download, u64)>) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        for (download, count) in downloads {
            *pending.entry(download).or_default() += count;
        }
    }
}
