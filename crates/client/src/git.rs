//! [`run`]: runs the system's `git` as a child process, with fixed arguments, a timeout and a size limit.
//!
//! It never prompts, runs no hooks and uses only the transport allowed by the caller. The user's own configuration
//! stays in effect for https and ssh, because it has the credential helpers and keys.

use std::{
    cell::Cell,
    ffi::OsStr,
    hash::{BuildHasher, Hasher, RandomState},
    io,
    path::Path,
    process::Command,
    thread,
    time::Duration,
};

use cap_std::{ambient_authority, fs::Dir};
use library::interrupt::{self, Interrupted};
use process::{BoundedCommand, ExitReason, Membership, child};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use crate::{
    http::{redirect_target, untrusted},
    transport::Transport,
};

/// Timeout for one git command.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Time for git to remove its temporary files when it must end.
const GRACE: Duration = Duration::from_millis(500);

/// Number of polls between two measurements of the folder's size.
const ROUNDS_BETWEEN_SIZES: u32 = 10;

/// Maximum size of git's output in bytes. A list of 200,000 references has 15 MB.
const MOST_WORDS: usize = 32 << 20;

/// Longest pauses in milliseconds after the first lost race, and after any.
const PAUSE_MS: u64 = 40;
const LONGEST_PAUSE_MS: u64 = 800;

/// Environment variables that could redirect git to other repositories, settings or programs. They are unset.
const UNSET: [&str; 15] = [
    "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_SHALLOW_FILE", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT", "GIT_ALLOW_PROTOCOL", "GIT_PROTOCOL_FROM_USER", "GIT_TEMPLATE_DIR", "GIT_EXEC_PATH",
];

/// Arguments of every fetch: no submodules and no maintenance.
pub(crate) const QUIET_FETCH: [&str; 3] =
    ["--no-recurse-submodules", "--no-write-commit-graph", "--no-auto-maintenance"];

/// Reasons why a git command failed.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// The program `git` was not found.
    #[error("git was not found on the PATH")]
    NoGit,
    /// git exceeded the timeout and was killed.
    #[error("git did not finish within {seconds} seconds for {url}")]
    TooSlow {
        /// URL that git accessed.
        url: String,
        /// Timeout in seconds.
        seconds: u64,
    },
    /// git fetched more than the size limit.
    #[error("git fetched more than the limit of {limit} bytes from {url}")]
    TooMuch {
        /// URL that git accessed.
        url: String,
        /// Size limit in bytes.
        limit: u64,
    },
    /// A signal asked this process to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The server redirects. The new address may contain credentials, which git would send, or belong to another host.
    #[error("{url} redirects to {to}, which git does not follow")]
    Redirect {
        /// URL that git accessed.
        url: String,
        /// URL of the repository that the server names, without credentials.
        to: String,
    },
    /// git exited with an error.
    #[error("{message}")]
    Failed {
        /// Error messages from git's output, without control characters.
        message: String,
    },
    /// git cannot be started, or its output cannot be read.
    #[error("cannot run git: {0}")]
    Io(#[from] io::Error),
}

impl Fails for ProgramError {
    fn failure(&self) -> Failure {
        match self {
            Self::NoGit => Failure::new(FailureKind::Failed, "no_git").hint("install git"),
            Self::TooSlow { .. } => Failure::new(FailureKind::Unreachable, "network"),
            Self::TooMuch { .. } => Failure::new(FailureKind::Invalid, "too_large")
                .hint("clone the repository yourself and name the folder of the clone"),
            Self::Interrupted(error) => error.failure(),
            Self::Redirect { to, .. } => Failure::new(FailureKind::Unreachable, "git_failed")
                .hint(format!("if you trust the new address, use it instead: {to}")),
            Self::Failed { message } if message.contains("certificate") => untrusted(),
            Self::Failed { .. } => Failure::new(FailureKind::Unreachable, "git_failed"),
            Self::Io(_) => Failure::io(),
        }
    }
}

/// Creates a git command that never prompts, runs no hooks and may not use any transport until [`allow`] is called.
pub(crate) fn program(folder: &Path) -> Command {
    let mut command = child::command("git");
    Transport::chosen().apply_to_git(&mut command);
    for name in UNSET {
        command.env_remove(name);
    }
    command.current_dir(folder).env("GIT_TERMINAL_PROMPT", "0").env("GCM_INTERACTIVE", "never").env("LC_ALL", "C");
    let settings = [
        "protocol.allow=never", "core.hooksPath=/dev/null", "core.symlinks=true", "core.fsmonitor=false",
        "submodule.recurse=false", "fetch.recurseSubmodules=false", "gc.auto=0", "maintenance.auto=false",
        "http.followRedirects=false",
    ];
    set(&mut command, settings);
    // A user's own `protocol.<name>.allow` has precedence over `protocol.allow`.
    let transports = ["file", "ext", "git", "http", "https", "ssh"];
    set(&mut command, transports.map(|name| format!("protocol.{name}.allow=never")));
    command
}

/// Allows git to use one transport.
pub(crate) fn allow(command: &mut Command, transport: &str) {
    set(command, [format!("protocol.{transport}.allow=always")]);
}

/// Passes settings of the form `key=value`. They override those of files and those passed earlier.
pub(crate) fn set(command: &mut Command, settings: impl IntoIterator<Item = impl AsRef<OsStr>>) {
    for setting in settings {
        command.arg("-c").arg(setting);
    }
}

/// Runs git with `input` and returns its standard output. git is killed when it exceeds the timeout or leaves more than
/// `limit` bytes in `folder`. Its credential helpers and ssh can ask at the terminal and may go on in the background.
pub(crate) fn run(
    command: Command,
    input: Vec<u8>,
    folder: &Path,
    url: &str,
    limit: u64,
) -> Result<String, ProgramError> {
    let (output_bytes, membership) = (Some(MOST_WORDS), Membership::Ours);
    let order =
        BoundedCommand { input, output_bytes, grace: GRACE, membership, ..BoundedCommand::new(command, TIME_LIMIT) };
    let is_over = || bytes_in(folder) > limit;
    let rounds = Cell::new(0u32);
    let must_stop = || {
        let round = rounds.replace(rounds.get().wrapping_add(1));
        interrupt::is_raised() || (round.is_multiple_of(ROUNDS_BETWEEN_SIZES) && is_over())
    };
    let done = process::run(order, must_stop).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ProgramError::NoGit,
        _ => ProgramError::Io(error),
    })?;
    let too_much = |limit| ProgramError::TooMuch { url: url.to_owned(), limit };
    match done.ended {
        ExitReason::Stopped if interrupt::is_raised() => Err(Interrupted.into()),
        ExitReason::TimedOut => Err(ProgramError::TooSlow { url: url.to_owned(), seconds: TIME_LIMIT.as_secs() }),
        ExitReason::TooMuchOutput => Err(too_much(MOST_WORDS as u64)),
        ExitReason::Stopped => Err(too_much(limit)),
        ExitReason::Exited if is_over() => Err(too_much(limit)),
        ExitReason::Exited if done.exit == Some(0) => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        ExitReason::Exited => {
            let message = last_words(&String::from_utf8_lossy(&[done.stdout, done.stderr].concat()));
            match redirect_of(url, &message) {
                Some(to) => Err(ProgramError::Redirect { url: url.to_owned(), to }),
                None => Err(ProgramError::Failed { message }),
            }
        }
    }
}

/// Returns the total size of the files below a folder in bytes. Unreadable files count as empty.
pub(crate) fn bytes_in(folder: &Path) -> u64 {
    fn below(dir: &Dir) -> u64 {
        let entries = dir.entries().into_iter().flatten().flatten();
        entries
            .map(|entry| match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => entry.open_dir().map_or(0, |dir| below(&dir)),
                Ok(metadata) => metadata.len(),
                Err(_) => 0,
            })
            .sum()
    }
    Dir::open_ambient_dir(folder, ambient_authority()).map_or(0, |dir| below(&dir))
}

/// Returns the repository to which the server redirects, if git failed for that reason.
fn redirect_of(url: &str, message: &str) -> Option<String> {
    let is_redirect = message.contains("The requested URL returned error: 3");
    let refs = "/info/refs?service=git-upload-pack";
    let to = is_redirect.then(|| redirect_target(&format!("{}{refs}", url.trim_end_matches('/')))).flatten()?;
    to.strip_suffix(refs).map(str::to_owned)
}

/// Returns whether a push or fetch failed because another process moved the same branch.
pub(crate) fn is_lost_race(message: &str) -> bool {
    ["cannot lock ref", "failed to update ref", "fetch first", "non-fast-forward", "stale info"]
        .iter()
        .any(|words| message.contains(words))
}

/// Sleeps before a retry. The delay grows with the attempts and is random, so that processes do not collide again.
pub(crate) fn pause(attempt: u32) {
    let longest = u64::from(attempt).saturating_mul(PAUSE_MS).min(LONGEST_PAUSE_MS);
    let random = RandomState::new().build_hasher().finish();
    thread::sleep(Duration::from_millis(1 + random % longest));
}

/// Returns the error lines of git's output, without control characters.
fn last_words(text: &str) -> String {
    let says = |line: &&str| {
        let is_fault = ["fatal:", "error:", "remote:", "!"].iter().any(|start| line.starts_with(start));
        is_fault && !line.starts_with("remote: warning:")
    };
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).filter(says).collect();
    if lines.is_empty() {
        lines = text.lines().collect();
    }
    lines.truncate(3);
    let text = lines.join("; ");
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fetch that ended before it could be stopped is refused as well.
    #[test]
    fn oversized_fetch_is_stopped() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("pack");
        let run = |more: &str, limit| {
            let mut command = child::command("sh");
            command.arg("-c").arg(format!("head -c 5000 /dev/zero > {}; {more}", file.display()));
            run(command, Vec::new(), temp.path(), "https://a.example", limit)
        };
        let begun = std::time::Instant::now();
        assert!(matches!(run("exec sleep 60", 4000), Err(ProgramError::TooMuch { limit: 4000, .. })));
        assert!(begun.elapsed() < TIME_LIMIT);
        assert!(matches!(run("true", 4000), Err(ProgramError::TooMuch { limit: 4000, .. })));
        assert_eq!(run("echo fetched", 6000).unwrap(), "fetched\n");
    }
}
