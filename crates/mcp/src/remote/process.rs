//! Servers that run as child processes, each in a process group of its own.

use std::{
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use compose::{ServerSettings, ToolFault};
use process::{Group, Membership, child};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::{ChildStderr, ChildStdin, ChildStdout},
};

use super::{STARTED_FOR_TOOLS, remote_tool::plain};

/// Environment variables passed on to a server: those that a program needs to be found and to find its own files. All
/// others are withheld, because they may hold secrets for other programs.
const KEPT: [&str; 19] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "TZ", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "SYSTEMROOT", "APPDATA", "TEMP", "USERPROFILE",
];

/// Number of bytes kept from the end of its stderr output.
const SAID_BYTES: usize = 4096;

/// Maximum length, in characters, of a displayed stderr line.
const SAID_CHARS: usize = 240;

/// A child process. Dropping it kills the process and everything it started in its group.
pub(super) struct Process {
    group: Group,
    said: Arc<Mutex<Vec<u8>>>,
}

/// Stdout and stdin of the process.
pub(super) struct Streams {
    pub(super) output: ChildStdout,
    pub(super) input: ChildStdin,
}

impl Process {
    /// Starts the process. Must be called inside the runtime.
    pub(super) fn start(server: &ServerSettings) -> Result<(Self, Streams), ToolFault> {
        let failed = |error: std::io::Error| {
            let program = server.command.first().map_or("", String::as_str);
            ToolFault::permanent("server_failed", format!("cannot start {}: {error}", plain(program, SAID_CHARS)))
                .hint("check `command` in the server's configuration")
        };
        let mut group = Group::start(&mut command(server), Membership::Own).map_err(failed)?;
        let child = &mut group.child;
        let (output, input, errors) = (child.stdout.take(), child.stdin.take(), child.stderr.take());
        let process = Self { group, said: Arc::default() };
        let missing = || failed(std::io::Error::other("its standard streams are missing"));
        let output = ChildStdout::from_std(output.ok_or_else(missing)?).map_err(failed)?;
        let input = ChildStdin::from_std(input.ok_or_else(missing)?).map_err(failed)?;
        let errors = ChildStderr::from_std(errors.ok_or_else(missing)?).map_err(failed)?;
        tokio::spawn(listen(errors, Arc::clone(&process.said)));
        Ok((process, Streams { output, input }))
    }

    /// Returns the last non-blank line of its stderr output.
    pub(super) fn last_stderr_line(&self) -> Option<String> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&said);
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
        Some(plain(line, SAID_CHARS))
    }

    /// Waits for the process to exit. After `grace`, it and the remaining processes of its group are killed.
    pub(super) fn end(&mut self, grace: Duration) {
        let _status = self.group.end(grace);
    }
}

fn command(server: &ServerSettings) -> Command {
    let (program, arguments) = server.command.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
    let mut command = child::command(program);
    command.args(arguments).env_clear();
    command.envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.envs(&server.env).env(STARTED_FOR_TOOLS, "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Drains a stream, so that the writer never blocks, and keeps its last bytes.
async fn listen(mut errors: impl AsyncRead + Unpin, said: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = [0; 1024];
    while let Ok(bytes @ 1..) = errors.read(&mut buffer).await {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(buffer.get(..bytes).unwrap_or_default());
        let over = said.len().saturating_sub(SAID_BYTES);
        said.drain(..over);
    }
}
