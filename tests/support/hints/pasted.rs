//! [`run`]: runs a command with a shell in a copy of a sandbox, at the sandbox's own path.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{Read, Write},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::support::{EVE, Sandbox, skill_md, terminal, write_files};

/// Timeout of a command.
const PATIENCE: Duration = Duration::from_secs(10);

/// Input for a command that prompts: yes, then the end of the input.
const TYPED: &[u8] = b"y\nq\n\x04\x04";

/// Result of a command.
pub enum Outcome {
    /// Ended before the timeout.
    Ended { exit: i32, output: String },
    /// Killed after the timeout.
    Endless { output: String },
}

/// Runs a command as printed, with the environment and folder of the command that offered it.
pub fn run(sandbox: &Sandbox, asked: &Command, command: &str, at_terminal: bool) -> Outcome {
    let aside = Aside::new(sandbox);
    let own = skill_md("own", "A skill of the user. Use in tests.", "Read the input.");
    write_files(&sandbox.path("tmp/own"), &[("SKILL.md", own.as_bytes(), false)]);
    EVE.write(&sandbox.path("tmp"), "own-key");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).env_clear().process_group(0);
    shell.envs(asked.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let program = PathBuf::from(env!("CARGO_BIN_EXE_skillhub"));
    let mut path = OsString::from(program.parent().unwrap());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    if !asked.get_envs().any(|(name, _)| name == "EDITOR" || name == "VISUAL") {
        shell.env("EDITOR", "true");
    }
    shell.env("PATH", path).env("PAGER", "cat").current_dir(asked.get_current_dir().unwrap());
    let outcome = if at_terminal { at_a_terminal(shell) } else { in_pipes(shell) };
    drop(aside);
    outcome
}

fn in_pipes(mut shell: Command) -> Outcome {
    let (reader, writer) = std::io::pipe().unwrap();
    shell.stdin(Stdio::null()).stdout(writer.try_clone().unwrap()).stderr(writer);
    let child = shell.spawn().unwrap();
    drop(shell);
    finish(child, reader)
}

fn at_a_terminal(mut shell: Command) -> Outcome {
    let (ours, theirs) = terminal::pair();
    File::from(ours.try_clone().unwrap()).write_all(TYPED).unwrap();
    shell.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let child = shell.spawn().unwrap();
    drop(shell);
    finish(child, File::from(ours))
}

/// Waits for a command and all of its output.
fn finish(mut child: Child, mut output: impl Read + Send + 'static) -> Outcome {
    let reading = thread::spawn(move || {
        let mut bytes = Vec::new();
        // Reading a terminal whose other end is closed is an error, after all output was read.
        let _closed = output.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let end = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().unwrap() {
            None if Instant::now() < end => thread::sleep(Duration::from_millis(3)),
            status => break status,
        }
    };
    let _gone = killpg(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGKILL);
    child.wait().unwrap();
    let output = reading.join().unwrap();
    match status {
        Some(status) => Outcome::Ended { exit: status.code().unwrap_or(-1), output },
        None => Outcome::Endless { output },
    }
}

/// A sandbox that is replaced by a copy at its path until this is dropped.
struct Aside {
    place: PathBuf,
    original: PathBuf,
}

impl Aside {
    /// Moves the original aside and later back, so that nothing about it changes, including its inodes.
    fn new(sandbox: &Sandbox) -> Self {
        let place = sandbox.path("");
        let place: PathBuf = place.components().collect();
        let original = place.with_extension("aside");
        fs::rename(&place, &original).unwrap();
        let aside = Self { place, original };
        let copied = Command::new("cp").arg("-a").arg(&aside.original).arg(&aside.place).status().unwrap();
        assert!(copied.success(), "{} cannot be copied", aside.original.display());
        aside
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let _emptied = fs::remove_dir_all(&self.place);
        fs::rename(&self.original, &self.place).unwrap();
    }
}
