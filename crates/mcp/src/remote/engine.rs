//! Async runtime behind the blocking calls of steps.

use std::{
    future::Future,
    sync::{
        OnceLock,
        mpsc::{RecvTimeoutError, sync_channel},
    },
    time::Duration,
};

use compose::{Bounds, ToolFault};
use tokio::runtime::{Builder, Runtime};

/// Interval at which a waiting call checks for cancellation.
const LOOK: Duration = Duration::from_millis(20);

/// Maximum number of threads that wait for HTTP servers. A call that gets no thread waits until its deadline.
const WAITING_THREADS: usize = 32;

/// A runtime that starts on first use.
#[derive(Default)]
pub(super) struct Engine {
    runtime: OnceLock<Result<Runtime, String>>,
}

impl Engine {
    /// Runs a future and blocks until it completes or the bounds are exhausted, in which case it is dropped. May be
    /// called from any thread, including one of another runtime.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        bounds: &Bounds<'_>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, ToolFault> {
        bounds.remaining()?;
        let failed = |why: &str| ToolFault::transient("server_failed", format!("cannot wait for the server: {why}"));
        let runtime = self.runtime.get_or_init(started).as_ref().map_err(|why| failed(why))?;
        let (sender, receiver) = sync_channel(1);
        let task = runtime.spawn(async move {
            let _nobody_waits = sender.send(work.await);
        });
        loop {
            let left = bounds.remaining().inspect_err(|_| task.abort())?;
            match receiver.recv_timeout(left.min(LOOK)) {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(failed("the connection was lost")),
            }
        }
    }

    /// Aborts all running work.
    pub(super) fn stop(&mut self) {
        if let Some(Ok(runtime)) = self.runtime.take() {
            web::shut_down(runtime);
        }
    }
}

fn started() -> Result<Runtime, String> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).max_blocking_threads(WAITING_THREADS).thread_name("mcp-client").enable_all();
    builder.build().map_err(|error| error.to_string())
}
