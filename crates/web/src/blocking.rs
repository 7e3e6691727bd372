//! Blocking work, kept off the threads that answer requests ([`on_thread`]), and the end of a runtime ([`shut_down`]).

use std::{thread, time::Duration};

use tokio::{
    runtime::Runtime,
    task::{AbortHandle, spawn_blocking},
};

use crate::error::ApiError;

/// Longest time that [`shut_down`] waits.
const ENDING: Duration = Duration::from_secs(1);

/// Cancels the tasks of a runtime and waits up to a second for its threads to exit. May be called on a thread of another
/// runtime, where dropping a runtime would panic.
///
/// `Runtime::shutdown_background` is no replacement: it detaches the threads while they exit, and `pthread_detach` of
/// glibc then reads memory that an exited thread has freed (seen with 2.36).
pub fn shut_down(runtime: Runtime) {
    let mut runtime = Some(runtime);
    thread::scope(|scope| {
        let end = || {
            if let Some(runtime) = runtime.take() {
                runtime.shutdown_timeout(ENDING);
            }
        };
        let _joined_by_the_scope = thread::Builder::new().spawn_scoped(scope, end);
    });
    // The system refused the thread.
    if let Some(runtime) = runtime {
        runtime.shutdown_background();
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtime_is_shut_down_on_a_thread_of_another() {
        let (outer, inner) = (Runtime::new().unwrap(), Runtime::new().unwrap());
        let (sender, ended) = std::sync::mpsc::channel::<()>();
        inner.spawn(async move {
            let _dropped_with_the_task = sender;
            std::future::pending::<()>().await;
        });
        outer.block_on(async { shut_down(inner) });
        assert!(ended.try_recv().is_err_and(|error| error == std::sync::mpsc::TryRecvError::Disconnected));
        shut_down(outer);
    }
}
