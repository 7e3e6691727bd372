//! [`WorkLimiter`]: limits on concurrent heavy work.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use skill::Digest;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

/// Size of a release above which work on it counts as large.
const LARGE_BYTES: u64 = 1 << 20;

/// A kind of work on a release. At most one job of a kind runs for each content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Job {
    /// Reads the archive from the index.
    Read,
    /// Unpacks the archive.
    Unpack,
    /// Scans its files.
    Scan,
    /// Renders an index for foreign clients.
    List,
}

/// Lock of a job for one content.
type Turn = Arc<AsyncMutex<()>>;

/// Semaphores for heavy work, and a lock for each job. Requests wait without a thread, and leave the queue when their
/// client disconnects.
#[derive(Debug)]
pub struct WorkLimiter {
    small: Arc<Semaphore>,
    /// Permits for large work. Each holds an archive, its files and the scanner's data: up to 80 MB.
    large: Arc<Semaphore>,
    /// Permits for searches. Each keeps one processor and one database connection busy.
    searches: Arc<Semaphore>,
    turns: Mutex<HashMap<(Job, Digest), Turn>>,
}

impl Default for WorkLimiter {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits.max(1)));
        Self {
            small: semaphore(cores * 2),
            large: semaphore(cores / 2),
            searches: semaphore(cores),
            turns: Mutex::default(),
        }
    }
}

impl WorkLimiter {
    /// Waits for the lock of this job and content.
    pub async fn lock_job(&self, job: Job, digest: Digest) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(turns.entry((job, digest)).or_default())
        };
        turn.lock_owned().await
    }

    /// Waits for a permit to search. `None` never happens: the semaphore is not closed.
    pub async fn search(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.searches).acquire_owned().await.ok()
    }

    /// Waits for a permit to work on a release of this many bytes. Small work has permits of its own, so that it does
    /// not wait for large work. `None` never happens: the semaphores are not closed.
    pub async fn permit(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let lane = if bytes > LARGE_BYTES { &self.large } else { &self.small };
        Arc::clone(lane).acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::{future::Future, pin::pin, task::Poll};

    use super::*;

    async fn is_pending(future: impl Future) -> bool {
        let mut future = pin!(future);
        std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
    }

    #[tokio::test]
    async fn same_job_runs_one_at_a_time() {
        let (lanes, digest) = (WorkLimiter::default(), Digest::of_bytes(b"x"));
        let held = lanes.lock_job(Job::Scan, digest).await;
        assert!(is_pending(lanes.lock_job(Job::Scan, digest)).await, "the same job");
        assert!(!is_pending(lanes.lock_job(Job::Read, digest)).await, "another job");
        drop(held);
        assert!(!is_pending(lanes.lock_job(Job::Scan, digest)).await);
    }

    #[tokio::test]
    async fn small_work_never_waits_for_large() {
        let lanes = WorkLimiter::default();
        let mut held = Vec::new();
        while lanes.large.available_permits() > 0 {
            held.push(lanes.permit(LARGE_BYTES + 1).await);
        }
        assert!(is_pending(lanes.permit(LARGE_BYTES + 1)).await);
        assert!(!is_pending(lanes.permit(LARGE_BYTES)).await);
        drop(held);
        assert!(!is_pending(lanes.permit(LARGE_BYTES + 1)).await);
    }
}
