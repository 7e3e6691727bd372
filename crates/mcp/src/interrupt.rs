//! Ctrl-C as a request for a clean shutdown.

use std::{
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use tokio::{runtime, signal};

/// Exit code of a program interrupted by Ctrl-C, by the shells' convention: 128 plus the signal number.
const INTERRUPTED: i32 = 130;

/// Returns a flag that the first Ctrl-C sets. The second Ctrl-C ends the process, or the first where signals cannot be
/// handled.
pub fn interrupt() -> Arc<AtomicBool> {
    let asked = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&asked);
    if let Ok(runtime) = runtime::Builder::new_current_thread().enable_io().build() {
        thread::spawn(move || {
            runtime.block_on(async {
                if signal::ctrl_c().await.is_ok() {
                    told.store(true, Ordering::Relaxed);
                }
                if signal::ctrl_c().await.is_ok() {
                    process::exit(INTERRUPTED);
                }
            });
        });
    }
    asked
}
