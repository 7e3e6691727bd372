//! Blocking work, kept off the threads that answer requests ([`on_thread`]).

use tokio::task::{AbortHandle, spawn_blocking};

use crate::error::ApiError;

/// Runs blocking work on a thread for it. Work that has not started when the caller is dropped is cancelled.
///
/// # Errors
/// That of the work.
pub async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let task = spawn_blocking(work);
    let _queued = AbortOnDrop(task.abort_handle());
    match task.await {
        Ok(done) => done,
        Err(error) => Err(ApiError::broken(&error)),
    }
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
