//! [`watch`]: Ctrl-C and termination. A command stops at its next check, leaves nothing or everything, and exits 130.

use std::time::Duration;

use library::interrupt;

use crate::{
    exit::{CliError, Exit},
    print::Output,
};

/// How long a command may take to stop by itself; then it is ended where it is, but for what is done whole.
#[cfg(unix)]
const GRACE: Duration = Duration::from_millis(400);

/// How often a temporary folder is tried to be removed, and the time between two tries.
const REMOVALS: usize = 20;
const PAUSE: Duration = Duration::from_millis(25);

/// Starts to listen for signals. Servers listen themselves.
#[cfg(unix)]
pub fn watch(out: Output) {
    use signal_hook::{
        consts::{SIGINT, SIGTERM},
        iterator::Signals,
    };
    // Without a handler the system ends the process, as before.
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

/// Other systems end the process.
#[cfg(not(unix))]
pub fn watch(_: Output) {}

/// Ends the process after a command that was interrupted, which may have been done by then.
pub fn finish(out: Output, result: &Result<Exit, CliError>) {
    interrupt::end(|| {
        match result {
            Ok(_) => out.note("interrupted; the command was done by then"),
            Err(_) => drop(report(out, &error())),
        }
        remove_temporary();
        std::process::exit(Exit::Interrupted as i32);
    });
}

/// What an interrupted command says.
fn error() -> CliError {
    let message = match interrupt::is_anything_done() {
        true => "interrupted; what was recorded by then is kept",
        false => "interrupted; nothing was changed",
    };
    CliError::new("interrupted", Exit::Interrupted, message)
}

fn report(out: Output, error: &CliError) -> Exit {
    out.clear_line();
    out.fail(error)
}

/// Removes what the code that made it did not come to remove.
fn remove_temporary() {
    for folder in interrupt::temporary() {
        // A child that was ended may write its last file meanwhile.
        let mut tries = 0..REMOVALS;
        while folder.exists() && tries.next().is_some() {
            if std::fs::remove_dir_all(&folder).is_err() {
                std::thread::sleep(PAUSE);
            }
        }
    }
}
