//! Handling of Ctrl-C and termination. A command stops at its next check, leaves a complete operation or none, and
//! exits with 130.

use std::time::Duration;

use library::interrupt;

use crate::{
    exit::{CliError, Exit},
    print::Output,
};

/// Time that a command gets to stop by itself. After that the process is ended, once no atomic section is open.
#[cfg(unix)]
const GRACE: Duration = Duration::from_millis(400);

/// Number of attempts to remove a temporary folder. [`PAUSE`] is the time between two of them.
const REMOVALS: usize = 20;
const PAUSE: Duration = Duration::from_millis(25);

/// Starts to listen for signals. Servers have their own handlers.
#[cfg(unix)]
pub fn watch(out: Output) {
    use signal_hook::{
        consts::{SIGINT, SIGTERM},
        iterator::Signals,
    };
    // Without a handler, a signal ends the process as usual.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            interrupt::raise();
            std::thread::sleep(GRACE);
            interrupt::end(|| {
                ::process::kill_all();
                report(out, &error());
                remove_temporary();
                std::process::exit(Exit::Interrupted as i32);
            });
        }
    });
}

/// Does nothing on other systems, where a signal ends the process.
#[cfg(not(unix))]
pub fn watch(_: Output) {}

/// Ends the process after an interrupted command, which may have completed by then.
pub fn finish(out: Output, result: &Result<Exit, CliError>) {
    interrupt::end(|| {
        match result {
            Ok(_) => out.note("interrupted; what you decided or changed before is kept"),
            Err(_) => drop(report(out, &error())),
        }
        remove_temporary();
        std::process::exit(Exit::Interrupted as i32);
    });
}

/// Returns the error of an interrupted command.
fn error() -> CliError {
    let message = match interrupt::is_anything_done() {
        true => "interrupted; changes made so far are kept",
        false => "interrupted; nothing was changed",
    };
    CliError::new("interrupted", Exit::Interrupted, message)
}

fn report(out: Output, error: &CliError) -> Exit {
    out.clear_line();
    out.fail(error)
}

/// Removes temporary folders whose owners did not get to remove them.
fn remove_temporary() {
    for folder in interrupt::temporary() {
        // A killed child may still be writing its last file.
        let mut tries = 0..REMOVALS;
        while folder.exists() && tries.next().is_some() {
            if std::fs::remove_dir_all(&folder).is_err() {
                std::thread::sleep(PAUSE);
            }
        }
    }
}
