//! Running a program with limits on time and output, until all its descendants are dead ([`run`]).

use std::{
    io::{self, Write},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    child,
    group::{Group, Membership},
    stream::Stream,
};

/// Time limit for reading the output of an ended program whose pipe is still held open by another process.
const DRAIN: Duration = Duration::from_millis(500);

/// Shell wrapper with the arguments: memory limit in KiB (0 for none), watchdog in seconds, command.
#[cfg(unix)]
const WRAPPER: &str = r#"[ "$1" = 0 ] || ulimit -d "$1" 2>/dev/null
(sleep "$2"; kill -9 0) </dev/null >/dev/null 2>&1 &
shift 2
exec sh -c "$1""#;

/// A program to run and its limits.
#[derive(Debug)]
pub struct BoundedCommand {
    /// Program with its arguments, working directory and environment; see [`child::command`] and [`shell`].
    pub command: Command,
    /// Bytes for its standard input.
    pub input: Vec<u8>,
    /// Limit of its wall-clock time.
    pub time: Duration,
    /// Limit in bytes, for standard output and standard error each. `None` discards both.
    pub output_bytes: Option<usize>,
    /// Time between the request to end and the kill of a program that must end. Zero kills it at once.
    pub grace: Duration,
    /// Process group of the program.
    pub membership: Membership,
}

impl BoundedCommand {
    /// Creates an order for a program that reads nothing, writes nothing and is killed at once with its own group.
    pub fn new(command: Command, time: Duration) -> Self {
        let (grace, membership) = (Duration::ZERO, Membership::Own);
        Self { command, input: Vec::new(), time, output_bytes: None, grace, membership }
    }
}

/// Result of a run.
#[derive(Debug)]
pub struct ProcessOutput {
    /// Exit code of the program; `None` if a signal ended it.
    pub exit: Option<i32>,
    /// Reason for its end. Anything but `Exited` means that it was killed.
    pub ended: ExitReason,
    /// Its standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// Its standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// Wall-clock time from start to end.
    pub took: Duration,
}

/// Reason for the end of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// The program ended by itself.
    Exited,
    /// The program exceeded its time limit and was killed.
    TimedOut,
    /// The program exceeded its output limit and was killed.
    TooMuchOutput,
    /// The caller cancelled the run and the program was killed.
    Stopped,
}

/// Runs a program until it ends, exceeds a limit, or `is_stopped` returns true.
///
/// # Errors
/// Returns the I/O error if the program cannot be started or waited for.
pub fn run(order: BoundedCommand, is_stopped: impl Fn() -> bool) -> io::Result<ProcessOutput> {
    let BoundedCommand { mut command, input, time, output_bytes, grace, membership } = order;
    let output = || output_bytes.map_or_else(Stdio::null, |_| Stdio::piped());
    command.stdin(Stdio::piped()).stdout(output()).stderr(output());
    let started = Instant::now();
    let mut group = Group::start(&mut command, membership)?;
    let stdin = group.child.stdin.take();
    // A program may close its input early. One that never reads is killed with its group.
    thread::spawn(move || stdin.map(|mut pipe| pipe.write_all(&input)));
    let open = Arc::new(AtomicUsize::new(0));
    let most = output_bytes.unwrap_or_default();
    let stdout = Stream::read(group.child.stdout.take(), most, &open);
    let stderr = Stream::read(group.child.stderr.take(), most, &open);
    let ended = wait(&mut group, started.checked_add(time), [&stdout, &stderr], is_stopped);
    if ended != ExitReason::Exited && !grace.is_zero() {
        group.terminate();
    }
    let status = group.end(grace)?;
    let took = started.elapsed();
    let drained = Instant::now() + DRAIN;
    while open.load(Ordering::Acquire) > 0 && Instant::now() < drained {
        thread::sleep(Duration::from_millis(1));
    }
    // Output printed just before the end counts as well.
    let is_over = stdout.is_over() || stderr.is_over();
    let ended = if is_over && ended == ExitReason::Exited { ExitReason::TooMuchOutput } else { ended };
    Ok(ProcessOutput { exit: status.code(), ended, stdout: stdout.take(), stderr: stderr.take(), took })
}

/// Creates a command for the system's shell. `memory_mib` limits the memory of each of its processes, where the
/// system supports it. A watchdog inside its process group kills it 5 seconds after `time`, even if skillhub itself
/// was killed.
#[cfg(unix)]
pub fn shell(line: &str, memory_mib: Option<u64>, time: Duration) -> Command {
    let mut command = child::command("sh");
    let kib = memory_mib.map_or(0, |mib| mib * 1024);
    let watch = time.as_secs() + 5;
    command.args(["-c", WRAPPER, "sh", &kib.to_string(), &watch.to_string(), line]);
    command
}

/// Creates a command for the system's shell. The limits are not supported on this system.
#[cfg(not(unix))]
pub fn shell(line: &str, _memory_mib: Option<u64>, _time: Duration) -> Command {
    let mut command = child::command("cmd");
    command.args(["/C", line]);
    command
}

/// Waits until the program ends, its deadline passes, or a stream exceeds its limit. `None` means no deadline.
fn wait(
    group: &mut Group,
    deadline: Option<Instant>,
    streams: [&Stream; 2],
    is_stopped: impl Fn() -> bool,
) -> ExitReason {
    let mut pause = Duration::from_micros(500);
    loop {
        if group.has_gone() {
            return ExitReason::Exited;
        }
        if is_stopped() {
            return ExitReason::Stopped;
        }
        if streams.iter().any(|stream| stream.is_over()) {
            return ExitReason::TooMuchOutput;
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return ExitReason::TimedOut;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

    use std::{path::Path, sync::atomic::AtomicBool};

    use super::*;

    fn order(line: &str, folder: &Path, time: Duration) -> BoundedCommand {
        let mut command = shell(line, Some(256), time);
        command.current_dir(folder);
        BoundedCommand { input: b"given".to_vec(), output_bytes: Some(1000), ..BoundedCommand::new(command, time) }
    }

    fn done(line: &str, folder: &Path, time: Duration) -> ProcessOutput {
        run(order(line, folder, time), || false).unwrap()
    }

    #[test]
    fn output_streams_stay_separate() {
        let folder = tempfile::tempdir().unwrap();
        let done = done("cat; echo bad >&2; exit 3", folder.path(), Duration::from_secs(10));
        assert_eq!((done.exit, done.ended), (Some(3), ExitReason::Exited));
        assert_eq!((done.stdout, done.stderr), (b"given".to_vec(), b"bad\n".to_vec()));
    }

    #[test]
    fn large_input_and_output_never_block() {
        let mut command = child::command("cat");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        let input = vec![b'x'; 4 << 20];
        let order = BoundedCommand {
            input: input.clone(),
            output_bytes: Some(4 << 20),
            ..BoundedCommand::new(command, Duration::from_secs(60))
        };
        assert_eq!(run(order, || false).unwrap().stdout, input);
    }

    #[test]
    fn limits_end_the_process_group() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("late");
        let (soon, later) = (Duration::from_millis(300), Duration::from_secs(10));
        let started = Instant::now();
        let hang = "(trap '' TERM; sleep 2; echo x > late) & sleep 60";
        assert_eq!(done(hang, folder.path(), soon).ended, ExitReason::TimedOut);
        let flood = done("yes", folder.path(), later);
        assert_eq!((flood.ended, flood.stdout.len()), (ExitReason::TooMuchOutput, 1000));
        assert_eq!(done("yes >&2", folder.path(), later).ended, ExitReason::TooMuchOutput);
        assert_eq!(done("(sleep 2; echo x > late) & exit 0", folder.path(), later).ended, ExitReason::Exited);
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
        thread::sleep(Duration::from_millis(2500));
        assert!(!mark.exists(), "something outlived its program");
    }

    #[test]
    fn cancelled_program_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let asked = AtomicBool::new(false);
        let order = order("sleep 60", folder.path(), Duration::from_secs(50));
        let done = run(order, || asked.swap(true, Ordering::Relaxed)).unwrap();
        assert_eq!((done.ended, done.exit), (ExitReason::Stopped, None));
    }

    /// One that cleans up is waited for, and one that ignores the request is killed after the grace.
    #[test]
    fn program_with_grace_may_clean_up() {
        let folder = tempfile::tempdir().unwrap();
        for (reaction, grace, exit) in
            [("echo > tidied; exit 7", Duration::from_secs(50), Some(7)), ("", Duration::from_millis(50), None)]
        {
            let mut command = child::command("sh");
            let line = format!("trap '{reaction}' TERM; echo > ready; while :; do sleep 0.01; done");
            command.args(["-c", &line]).current_dir(folder.path());
            let order = BoundedCommand {
                grace,
                membership: Membership::Ours,
                ..BoundedCommand::new(command, Duration::from_secs(60))
            };
            let ready = folder.path().join("ready");
            let done = run(order, || ready.exists()).unwrap();
            assert_eq!((done.ended, done.exit), (ExitReason::Stopped, exit), "{reaction}");
            std::fs::remove_file(ready).unwrap();
        }
        assert!(folder.path().join("tidied").exists());
    }

    #[test]
    fn missing_program_is_an_error() {
        let order = BoundedCommand::new(child::command("/nowhere/at/all"), Duration::from_secs(1));
        assert_eq!(run(order, || false).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
