//! [`run`]: runs the system's `git` as a child process, with fixed arguments, a timeout and a size limit.
//!
//! It never prompts, runs no hooks and uses only the transport allowed by the caller. The user's own configuration
//! stays in effect for https and ssh, because it has the credential helpers and keys.

use std::{
    ffi::OsStr,
    io::{self, Read, Seek},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use cap_std::{ambient_authority, fs::Dir};
use library::{
    child,
    interrupt::{self, Interrupted},
};
use skill::failure::{Fails, Failure, FailureKind};
use thiserror::Error;

use crate::{http::untrusted, transport::Transport};

/// Timeout for one git command.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Intervals at which a running git is polled: short at first, because most commands finish quickly.
const PAUSES: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(20)];

/// Number of polls at the short interval.
const SOON: u32 = 25;

/// Number of polls between two measurements of the folder's size.
const ROUNDS_BETWEEN_SIZES: u32 = 10;

/// Maximum number of bytes read of git's output.
const MOST_WORDS: u64 = 64 << 10;

/// Environment variables that could redirect git to other repositories, settings or programs. They are unset.
const UNSET: [&str; 15] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_SHALLOW_FILE",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_ALLOW_PROTOCOL",
    "GIT_PROTOCOL_FROM_USER",
    "GIT_TEMPLATE_DIR",
    "GIT_EXEC_PATH",
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
        "protocol.allow=never",
        "core.hooksPath=/dev/null",
        "core.symlinks=true",
        "core.fsmonitor=false",
        "submodule.recurse=false",
        "fetch.recurseSubmodules=false",
        "gc.auto=0",
        "maintenance.auto=false",
    ];
    set(&mut command, settings);
    // A user's own `protocol.<name>.allow` has precedence over `protocol.allow`.
    let transports = ["file", "ext", "git", "http", "https", "ssh"];
    set(&mut command, transports.map(|name| format!("protocol.{name}.allow=never")));
    command.stdin(Stdio::null());
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

/// Runs git and returns its standard output. git is killed when it exceeds the timeout or leaves more than `limit`
/// bytes in `folder`.
pub(crate) fn run(command: &mut Command, folder: &Path, url: &str, limit: u64) -> Result<String, ProgramError> {
    let (output, errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdout(Stdio::from(output.try_clone()?)).stderr(Stdio::from(errors.try_clone()?));
    let child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ProgramError::NoGit,
        _ => ProgramError::Io(error),
    })?;
    let status = match wait(child, folder, limit)? {
        Ended::ByItself(status) => status,
        Ended::Interrupted => return Err(Interrupted.into()),
        Ended::TooSlow => return Err(ProgramError::TooSlow { url: url.to_owned(), seconds: TIME_LIMIT.as_secs() }),
        Ended::TooMuch => return Err(ProgramError::TooMuch { url: url.to_owned(), limit }),
    };
    let printed = read_words(output)?;
    if status.success() {
        return Ok(printed);
    }
    let message = last_words(&format!("{printed}{}", read_words(errors)?));
    Err(ProgramError::Failed { message })
}

fn read_words(mut file: std::fs::File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MOST_WORDS).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Outcome of a git process.
enum Ended {
    ByItself(ExitStatus),
    /// Killed because it exceeded the timeout.
    TooSlow,
    /// Killed, or ended by itself, with more bytes in its folder than allowed.
    TooMuch,
    /// Stopped because this process is stopping.
    Interrupted,
}

/// Waits for a child. Kills it when it exceeds the timeout or writes too much into its folder.
fn wait(mut child: Child, folder: &Path, limit: u64) -> io::Result<Ended> {
    let deadline = Instant::now() + TIME_LIMIT;
    for round in 0u32.. {
        let ended = child.try_wait()?;
        if (ended.is_some() || round.is_multiple_of(ROUNDS_BETWEEN_SIZES)) && bytes_in(folder) > limit {
            child.kill()?;
            child.wait()?;
            return Ok(Ended::TooMuch);
        }
        if let Some(status) = ended {
            return Ok(Ended::ByItself(status));
        }
        if interrupt::is_raised() {
            interrupt::end_child(&mut child)?;
            return Ok(Ended::Interrupted);
        }
        if Instant::now() >= deadline {
            break;
        }
        thread::sleep(PAUSES[usize::from(round >= SOON)]);
    }
    child.kill()?;
    child.wait()?;
    Ok(Ended::TooSlow)
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

    fn sleeper(script: &str) -> Child {
        Command::new("sh").arg("-c").arg(script).spawn().unwrap()
    }

    /// A fetch that ended before it could be stopped is refused as well.
    #[test]
    fn oversized_fetch_is_stopped() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("pack");
        let write = |more: &str| format!("head -c 5000 /dev/zero > {}; {more}", file.display());
        let begun = Instant::now();
        assert!(matches!(wait(sleeper(&write("exec sleep 60")), temp.path(), 4000).unwrap(), Ended::TooMuch));
        assert!(begun.elapsed() < Duration::from_secs(120));
        assert!(matches!(wait(sleeper(&write("true")), temp.path(), 4000).unwrap(), Ended::TooMuch));
        assert!(matches!(wait(sleeper(&write("true")), temp.path(), 6000).unwrap(), Ended::ByItself(_)));
    }
}
