//! File descriptors for the connections of a server ([`for_connections`]).

/// Descriptors reserved for the index, the database and requests that read files.
const OTHERS: u64 = 256;

/// Raises the limit on open files to the number that `wanted` connections need, as far as the system permits.
/// Returns the number of connections that fit.
#[cfg(unix)]
pub fn for_connections(wanted: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    // Connections that are closing exceed the ceiling by a quarter.
    let needed = wanted as u64 / 4 * 5 + OTHERS;
    let maximum = limit.maximum.unwrap_or(u64::MAX);
    let mut current = limit.current.unwrap_or(u64::MAX);
    if current < needed {
        let raised = Rlimit { current: Some(needed.min(maximum)), maximum: limit.maximum };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            current = needed.min(maximum);
        }
    }
    let fit = current.saturating_sub(OTHERS) / 5 * 4;
    wanted.min(usize::try_from(fit).unwrap_or(usize::MAX)).max(1)
}

/// Returns `wanted` unchanged, as other systems do not report a limit.
#[cfg(not(unix))]
pub fn for_connections(wanted: usize) -> usize {
    wanted
}
