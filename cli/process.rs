//! Commands of the user, run by the system's shell within the limits of [`::process::run`].

use std::{ffi::OsString, io, path::Path, process::Command, time::Duration};

pub use ::process::ProcessOutput;
use ::process::child;
use evolve::evals::ExitReason;
use library::interrupt;

use crate::print::shell_word;

/// Variables that a scrubbed environment keeps, in addition to those in the order.
const KEPT: [&str; 4] = ["PATH", "LANG", "LC_ALL", "SYSTEMROOT"];

/// A command with its limits.
#[derive(Debug)]
pub struct BoundedCommand<'a> {
    /// Command line for the system's shell.
    pub command: &'a str,
    /// Working folder of the command.
    pub folder: &'a Path,
    /// Additional environment variables.
    pub variables: Vec<(&'static str, OsString)>,
    /// True if the environment is reduced to those variables, the search path and the language. Otherwise it is
    /// inherited, except for the variables that prove who acts.
    pub scrubbed: bool,
    /// Variables that a scrubbed environment keeps as well.
    pub passed: &'a [String],
    /// Bytes written to its standard input.
    pub input: Vec<u8>,
    /// Maximum running time.
    pub time: Duration,
    /// Maximum number of bytes, each for stdout and stderr.
    pub output_bytes: usize,
    /// Memory limit for each of its processes, in MiB, on systems that can enforce one.
    pub memory_mib: Option<u64>,
}

/// Expands the files that a command names relative to here (`./run.sh`), since it runs elsewhere. Only words that begin
/// with `./` or `../` and lead to a file are changed.
pub fn from_here(command: &str, here: &Path) -> String {
    let full = |word: &str| {
        let path = here.join(word);
        let is_ours = (word.starts_with("./") || word.starts_with("../")) && path.is_file();
        is_ours.then(|| shell_word(&library::real_path(&path).unwrap_or(path).display().to_string()))
    };
    command.split(' ').map(|word| full(word).unwrap_or_else(|| word.to_owned())).collect::<Vec<_>>().join(" ")
}

/// Runs the command until it exits or reaches a limit.
///
/// # Errors
/// The command cannot be started, or the process received a request to stop.
pub fn run(order: &BoundedCommand<'_>) -> io::Result<ProcessOutput> {
    let mut command = ::process::shell(order.command, order.memory_mib, order.time);
    command.current_dir(order.folder);
    environment(&mut command, order);
    interrupted_if_raised()?;
    let limits = ::process::BoundedCommand::new(command, order.time);
    let bounded =
        ::process::BoundedCommand { input: order.input.clone(), output_bytes: Some(order.output_bytes), ..limits };
    let done = ::process::run(bounded, interrupt::is_raised)?;
    interrupted_if_raised()?;
    Ok(done)
}

/// Converts the end of a command to the form in evals. A stopped command does not occur here, because [`run`] fails
/// then.
pub fn ended(end: ::process::ExitReason) -> ExitReason {
    match end {
        ::process::ExitReason::Exited | ::process::ExitReason::Stopped => ExitReason::Exited,
        ::process::ExitReason::TimedOut => ExitReason::TimedOut,
        ::process::ExitReason::TooMuchOutput => ExitReason::TooMuchOutput,
    }
}

fn environment(command: &mut Command, order: &BoundedCommand<'_>) {
    if order.scrubbed {
        command.env_clear();
        let passed = order.passed.iter().map(String::as_str).filter(|name| !child::is_secret(name));
        for name in KEPT.into_iter().chain(passed) {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
    }
    command.envs(order.variables.iter().map(|(name, value)| (name, value)));
}

fn interrupted_if_raised() -> io::Result<()> {
    interrupt::check().map_err(|interrupted| io::Error::new(io::ErrorKind::Interrupted, interrupted))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn order<'a>(command: &'a str, folder: &'a Path) -> BoundedCommand<'a> {
        BoundedCommand {
            command,
            folder,
            variables: Vec::new(),
            scrubbed: true,
            passed: &[],
            input: b"given".to_vec(),
            time: Duration::from_secs(10),
            output_bytes: 1000,
            memory_mib: Some(256),
        }
    }

    #[test]
    fn command_gets_input_and_no_environment() {
        let folder = tempfile::tempdir().unwrap();
        let done = run(&order("cat; env | grep -c CARGO; echo bad >&2; exit 3", folder.path())).unwrap();
        assert_eq!((done.exit, ended(done.ended)), (Some(3), ExitReason::Exited));
        assert_eq!((done.stdout, done.stderr), (b"given0\n".to_vec(), b"bad\n".to_vec()));
    }

    #[test]
    fn named_files_are_found_from_other_folders() {
        let folder = tempfile::Builder::new().prefix("two words ").tempdir().unwrap();
        std::fs::write(folder.path().join("run.sh"), "echo ran $1\n").unwrap();
        let command = from_here("sh ./run.sh ./not-there", folder.path());
        let elsewhere = tempfile::tempdir().unwrap();
        let done = run(&order(&command, elsewhere.path())).unwrap();
        assert_eq!(done.stdout, b"ran ./not-there\n", "{command}");
    }
}
