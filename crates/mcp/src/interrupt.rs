//! [`interrupt`]: Ctrl-C as a request to end well.

use std::{
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use tokio::{runtime, signal};

/// The exit code of a program that Ctrl-C ended, as shells write it: 128 and the number of the signal.
const INTERRUPTED: i32 = 130;

/// What becomes true at the first Ctrl-C; the second ends the process. Where signals cannot be waited for, the first does.
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
