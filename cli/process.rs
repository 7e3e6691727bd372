//! [`Order`]: a command of the user's, run by the system's shell within the bounds of [`::process::run`].

use std::{ffi::OsString, io, path::Path, process::Command, time::Duration};

pub use ::process::Done;
use ::process::child;
use evolve::evals::Ended;
use library::interrupt;

use crate::print::shell_word;

/// What a scrubbed environment keeps, beside what the order names.
const KEPT: [&str; 4] = ["PATH", "LANG", "LC_ALL", "SYSTEMROOT"];

/// A command and its bounds.
#[derive(Debug)]
pub struct Order<'a> {
    /// What is run, by the system's shell.
    pub command: &'a str,
    /// Where.
    pub folder: &'a Path,
    /// Variables that it gets.
    pub variables: Vec<(&'static str, OsString)>,
    /// Whether it gets, beside those, only the search path and the language; else all that skillhub has but what
    /// proves who acts.
    pub scrubbed: bool,
    /// Variables that a scrubbed environment keeps as well.
    pub passed: &'a [String],
    /// What it reads on standard input.
    pub input: Vec<u8>,
    /// How long it may take.
    pub time: Duration,
    /// How many bytes it may print, as output and as errors each.
    pub output_bytes: usize,
    /// How much memory each of its processes may fill, where the system can hold it to that.
    pub memory_mib: Option<u64>,
}

/// A command with the files that it names from here (`./run.sh`) named in full, since it is run elsewhere. Only words
/// that begin with `./` or `../` and lead to a file are changed.
pub fn from_here(command: &str, here: &Path) -> String {
    let full = |word: &str| {
        let path = here.join(word);
        let is_ours = (word.starts_with("./") || word.starts_with("../")) && path.is_file();
        is_ours.then(|| shell_word(&path.canonicalize().unwrap_or(path).display().to_string()))
    };
    command.split(' ').map(|word| full(word).unwrap_or_else(|| word.to_owned())).collect::<Vec<_>>().join(" ")
}

/// Runs it to its end, or to a bound.
///
/// # Errors
/// It cannot be started, or the process was asked to stop.
pub fn run(order: &Order<'_>) -> io::Result<Done> {
    let mut command = ::process::shell(order.command, order.memory_mib, order.time);
    command.current_dir(order.folder);
    environment(&mut command, order);
    interrupted_if_raised()?;
    let Order { time, output_bytes, .. } = *order;
    let bounded = ::process::Order { command, input: order.input.clone(), time, output_bytes };
    let done = ::process::run(bounded, interrupt::is_raised)?;
    interrupted_if_raised()?;
    Ok(done)
}

/// The end of a command as evals record it. One that was stopped is none: [`run`] fails then.
pub fn ended(end: ::process::Ended) -> Ended {
    match end {
        ::process::Ended::Exited | ::process::Ended::Stopped => Ended::Exited,
        ::process::Ended::TimedOut => Ended::TimedOut,
        ::process::Ended::TooMuchOutput => Ended::TooMuchOutput,
    }
}

fn environment(command: &mut Command, order: &Order<'_>) {
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

    fn order<'a>(command: &'a str, folder: &'a Path) -> Order<'a> {
        Order {
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
    fn a_command_reads_its_input_and_has_nothing_of_our_environment() {
        let folder = tempfile::tempdir().unwrap();
        let done = run(&order("cat; env | grep -c CARGO; echo bad >&2; exit 3", folder.path())).unwrap();
        assert_eq!((done.exit, ended(done.ended)), (Some(3), Ended::Exited));
        assert_eq!((done.stdout, done.stderr), (b"given0\n".to_vec(), b"bad\n".to_vec()));
    }

    #[test]
    fn files_that_are_named_from_here_are_found_from_elsewhere() {
        let folder = tempfile::Builder::new().prefix("two words ").tempdir().unwrap();
        std::fs::write(folder.path().join("run.sh"), "echo ran $1\n").unwrap();
        let command = from_here("sh ./run.sh ./not-there", folder.path());
        let elsewhere = tempfile::tempdir().unwrap();
        let done = run(&order(&command, elsewhere.path())).unwrap();
        assert_eq!(done.stdout, b"ran ./not-there\n", "{command}");
    }
}
