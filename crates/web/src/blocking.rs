//! [`on_thread`]: work that may wait, away from the threads that answer.

use tokio::task::{AbortHandle, spawn_blocking};

use crate::error::ApiError;

/// Runs work on a thread for blocking calls. Work that has not begun when the caller is dropped never begins.
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
