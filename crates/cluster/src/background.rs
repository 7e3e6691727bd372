//! [`Background`]: the runtime on which the synchronous stores wait for the network.

use std::{future::Future, io};

use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::block_in_place,
};

/// Threads that drive the connections.
const WORKERS: usize = 2;

/// A small runtime of its own, so that a store can wait on any thread that may block.
#[derive(Debug)]
pub struct Background {
    handle: Handle,
    /// Always there, until it is dropped.
    runtime: Option<Runtime>,
}

impl Background {
    /// Starts the runtime.
    ///
    /// # Errors
    /// The system refuses threads.
    pub fn start() -> io::Result<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(WORKERS).thread_name("cluster").enable_all().build()?;
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    /// Returns the handle of the runtime.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Waits for a future on the calling thread. On a worker of another runtime, its other tasks move elsewhere first;
    /// a runtime with a single thread cannot do that.
    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        block_in_place(|| self.handle.block_on(work))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            web::shut_down(runtime);
        }
    }
}
