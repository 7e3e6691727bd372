//! `shell`: runs a command, where a person switched that on.

use std::{
    io::{Read, Write},
    path::Path,
    process::{Child, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{gives, spec as tool, text};
use crate::host::{Approval, Bounds, ToolFault, ToolSpec};

/// Variables of the environment that commands get.
const PASSED: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"];
/// How long nobody looks whether the command has ended.
const NAP: Duration = Duration::from_millis(5);

/// How long what a command wrote is waited for after its end, where something that it started keeps its pipes open.
const GRACE: Duration = Duration::from_millis(300);
/// Bytes that are read at once.
const PART: usize = 16 * 1024;

pub(super) fn spec() -> ToolSpec {
    tool(
        "shell",
        "Run a command in the working folder. Nothing contains it.",
        json!({
            "command": text("The program"),
            "args": {"type": "array", "items": {"type": "string"}, "default": []},
            "stdin": text("What it reads"),
        }),
        &["command"],
        gives(json!({"exit_code": {"type": "integer"}, "stdout": {"type": "string"}, "stderr": {"type": "string"}})),
        Approval::ExecEscalation,
    )
}

#[derive(Deserialize)]
pub(super) struct Shell {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    stdin: String,
}

pub(super) fn run(folder: &Path, wanted: &Shell, bounds: &Bounds<'_>) -> Result<Value, ToolFault> {
    let mut command = library::child::command(&wanted.command);
    command.args(&wanted.args).current_dir(folder).env_clear();
    command.envs(PASSED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|error| {
        ToolFault::lasting("not_started", format!("{:?} cannot be started: {error}", wanted.command))
            .hint("`command` is the program alone, and `args` lists its arguments; `sh` with `-c` takes a whole line")
    })?;
    let most = bounds.answer_bytes / 2;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let input = wanted.stdin.clone();
    // A command that does not read ends the write, and one that does not end is ended below.
    std::thread::spawn(move || stdin.map(|mut pipe| pipe.write_all(input.as_bytes())));
    let (out, err) = (reader(stdout, most), reader(stderr, most));
    while !has_gone(&mut child) {
        if let Err(over) = bounds.remaining() {
            let _status = end(&mut child);
            return Err(over);
        }
        std::thread::sleep(NAP);
    }
    // What it left behind in its group would keep the pipes open.
    let status = end(&mut child).map_err(|error| ToolFault::passing("io", error.to_string()))?;
    let grace = Instant::now() + GRACE;
    let (stdout, stderr) = (out.text(grace), err.text(grace));
    if stdout.len() > most || stderr.len() > most {
        return Err(ToolFault::lasting("too_large", format!("the command writes more than {most} bytes")));
    }
    Ok(json!({"exit_code": status.code().unwrap_or(-1), "stdout": stdout, "stderr": stderr}))
}

/// What a pipe gave up to now.
struct Output {
    kept: Arc<Mutex<Vec<u8>>>,
    ended: mpsc::Receiver<()>,
}

impl Output {
    /// All of it; where the pipe is still open at `until`, held by something that left the group of the command, what there is by then.
    fn text(&self, until: Instant) -> String {
        let _either = self.ended.recv_timeout(until.saturating_duration_since(Instant::now()));
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

/// Reads a pipe to its end, and keeps a little more than what may be given.
fn reader(pipe: Option<impl Read + Send + 'static>, most: usize) -> Output {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let (tell, ended) = mpsc::sync_channel(1);
    let filled = Arc::clone(&kept);
    std::thread::spawn(move || {
        let Some(mut pipe) = pipe else { return };
        let mut part = [0; PART];
        while let Ok(count @ 1..) = pipe.read(&mut part) {
            let mut kept = filled.lock().unwrap_or_else(PoisonError::into_inner);
            let room = (most + 1).saturating_sub(kept.len()).min(count);
            kept.extend_from_slice(&part[..room]);
        }
        let _nobody_waits = tell.send(());
    });
    Output { kept, ended }
}

/// Whether a command has ended. Nobody has waited for it then, so that no other group can have its number.
#[cfg(unix)]
fn has_gone(child: &mut Child) -> bool {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(Pid::from_child(child)), look), Ok(None) | Err(rustix::io::Errno::INTR))
}

#[cfg(not(unix))]
fn has_gone(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// Ends all that a command started in its group, and the command, which nobody has waited for yet; says how it ended.
fn end(child: &mut Child) -> std::io::Result<ExitStatus> {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _gone = child.kill();
    child.wait()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_command_keeps_its_number_until_its_group_is_ended() {
        let mut child = std::process::Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        while !has_gone(&mut child) {
            assert!(Instant::now() < until);
            std::thread::sleep(NAP);
        }
        let id = rustix::process::Pid::from_child(&child);
        assert!(rustix::process::test_kill_process(id).is_ok(), "its number is free");
        assert_eq!(end(&mut child).unwrap().code(), Some(3));
        assert!(rustix::process::test_kill_process(id).is_err());
    }
}
