//! Native tool `shell`: runs a command, if a person enabled it.

use std::path::Path;

use process::{BoundedCommand, ExitReason, child};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{gives, spec as tool, text};
use crate::host::{Approval, Bounds, ToolFault, ToolSpec};

/// Environment variables passed to commands.
const PASSED: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"];

pub(super) fn spec() -> ToolSpec {
    tool(
        "shell",
        "Run a command in the working folder, without a sandbox.",
        json!({
            "command": text("Program, without arguments"),
            "args": {"type": "array", "items": {"type": "string"}, "default": []},
            "stdin": text("Standard input"),
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
    let mut command = child::command(&wanted.command);
    command.args(&wanted.args).current_dir(folder).env_clear();
    command.envs(PASSED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    let (time, most) = (bounds.remaining()?, bounds.answer_bytes / 2);
    let input = wanted.stdin.clone().into_bytes();
    let order = BoundedCommand { input, output_bytes: Some(most), ..BoundedCommand::new(command, time) };
    let done = process::run(order, || bounds.remaining().is_err()).map_err(|error| {
        ToolFault::permanent("not_started", format!("cannot start {:?}: {error}", wanted.command)).hint(
            "put only the program in `command` and its arguments in `args`; for a command line, use `sh` with \
                   `-c`",
        )
    })?;
    match done.ended {
        ExitReason::Exited => {}
        ExitReason::TooMuchOutput => {
            return Err(ToolFault::permanent("too_large", format!("the command printed more than {most} bytes")));
        }
        ExitReason::TimedOut | ExitReason::Stopped => bounds.remaining().map(drop)?,
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
    Ok(json!({"exit_code": done.exit.unwrap_or(-1), "stdout": stdout, "stderr": stderr}))
}
