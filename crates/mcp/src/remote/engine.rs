//! [`Engine`]: the runtime behind calls that wait.

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

/// How often a waiting call looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(20);

/// Threads that wait for HTTP servers, at most. A call that gets none waits until its own time is over.
const WAITING_THREADS: usize = 32;

/// Started at the first use.
#[derive(Default)]
pub(super) struct Engine {
    runtime: OnceLock<Result<Runtime, String>>,
}

impl Engine {
    /// Does a piece of work and waits for it as long as the bounds let us; then it is dropped. It may be called from any thread, also from
    /// one of another runtime.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        bounds: &Bounds<'_>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, ToolFault> {
        bounds.remaining()?;
        let failed = |why: &str| ToolFault::passing("server_failed", format!("cannot wait for a server: {why}"));
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
                Err(RecvTimeoutError::Disconnected) => return Err(failed("its connection broke")),
            }
        }
    }

    /// Ends whatever is still under way, without waiting for it.
    pub(super) fn stop(&mut self) {
        if let Some(Ok(runtime)) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn started() -> Result<Runtime, String> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).max_blocking_threads(WAITING_THREADS).thread_name("mcp-client").enable_all();
    builder.build().map_err(|error| error.to_string())
}
