//! [`Order`]: a command of the user's, run within bounds: time, output, memory, and with all that it started gone
//! at the end.
//!
//! The command gets a process group of its own, which is killed when the command ends or breaks a bound. A watch inside
//! the group ends it some seconds after its time even if skillhub itself was killed. A process that leaves the group
//! is out of reach: this bounds mistakes, and is no sandbox.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use evolve::evals::Ended;
use library::{child, interrupt};

use crate::print::shell_word;

/// What a scrubbed environment keeps, beside what the order names.
const KEPT: [&str; 4] = ["PATH", "LANG", "LC_ALL", "SYSTEMROOT"];

/// How long the output of a command that ended is waited for, when something else still holds its end.
const DRAIN: Duration = Duration::from_millis(500);

/// The shell's part: the bound of memory in KiB (0 for none), the watch in seconds, the command.
#[cfg(unix)]
const WRAPPER: &str = r#"[ "$1" = 0 ] || ulimit -d "$1" 2>/dev/null
(sleep "$2"; kill -9 0) </dev/null >/dev/null 2>&1 &
shift 2
exec sh -c "$1""#;

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

/// What became of it.
#[derive(Debug)]
pub struct Done {
    /// Its exit code; `None` when a signal ended it.
    pub exit: Option<i32>,
    /// How it ended.
    pub ended: Ended,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it printed as errors.
    pub stderr: Vec<u8>,
    /// How long it took.
    pub took: Duration,
}

/// One stream of a command, read while it runs and never beyond its limit.
struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    over: Arc<AtomicBool>,
    open: Arc<AtomicUsize>,
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
/// It cannot be started.
pub fn run(order: &Order<'_>) -> io::Result<Done> {
    let mut command = shell(order);
    command.current_dir(order.folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    environment(&mut command, order);
    interrupted_if_raised()?;
    let started = Instant::now();
    let mut child = command.spawn()?;
    let _listed = Running::list(&child);
    let mut children = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let input = order.input.clone();
    if let Some(mut pipe) = children.0.take() {
        // A command that has seen enough closes its end; one that never reads is killed with its group.
        thread::spawn(move || drop(pipe.write_all(&input)));
    }
    let open = Arc::new(AtomicUsize::new(0));
    let stdout = Stream::read(children.1.take(), order.output_bytes, &open);
    let stderr = Stream::read(children.2.take(), order.output_bytes, &open);
    let ended = wait(&mut child, started + order.time, &[&stdout, &stderr]);
    kill_group(&mut child);
    let status = child.wait()?;
    interrupted_if_raised()?;
    let took = started.elapsed();
    let drained = Instant::now() + DRAIN;
    while open.load(Ordering::Acquire) > 0 && Instant::now() < drained {
        thread::sleep(Duration::from_millis(1));
    }
    // What was printed in the last moment counts as well.
    let is_over = stdout.over.load(Ordering::Acquire) || stderr.over.load(Ordering::Acquire);
    let ended = if is_over && ended == Ended::Exited { Ended::TooMuchOutput } else { ended };
    Ok(Done { exit: status.code(), ended, stdout: stdout.take(), stderr: stderr.take(), took })
}

#[cfg(unix)]
fn shell(order: &Order<'_>) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = child::command("sh");
    let kib = order.memory_mib.map_or(0, |mib| mib * 1024);
    let watch = order.time.as_secs() + 5;
    command.args(["-c", WRAPPER, "sh", &kib.to_string(), &watch.to_string(), order.command]).process_group(0);
    command
}

#[cfg(not(unix))]
fn shell(order: &Order<'_>) -> Command {
    let mut command = child::command("cmd");
    command.args(["/C", order.command]);
    command
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

/// Waits until the command ends, its time is over, or a stream is.
fn wait(child: &mut Child, deadline: Instant, streams: &[&Stream]) -> Ended {
    let mut pause = Duration::from_micros(500);
    loop {
        if let Ok(Some(_)) = child.try_wait() {
            return Ended::Exited;
        }
        if interrupt::is_raised() {
            return Ended::Exited;
        }
        if streams.iter().any(|stream| stream.over.load(Ordering::Acquire)) {
            return Ended::TooMuchOutput;
        }
        if Instant::now() >= deadline {
            return Ended::TimedOut;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// The groups of commands that run now, by the id of their first process.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A command that runs, until it is dropped.
struct Running(u32);

impl Running {
    fn list(child: &Child) -> Self {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push(child.id());
        Self(child.id())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|id| *id != self.0);
    }
}

/// Ends all commands that run, with all that they started.
#[cfg(unix)]
pub fn kill_all() {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).clone();
    running.into_iter().for_each(kill_group_of);
}

fn interrupted_if_raised() -> io::Result<()> {
    interrupt::check().map_err(|interrupted| io::Error::new(io::ErrorKind::Interrupted, interrupted))
}

#[cfg(unix)]
fn kill_group(child: &mut Child) {
    kill_group_of(child.id());
}

#[cfg(unix)]
fn kill_group_of(first: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // The watch keeps the group's number taken while anything of it lives; a group that is gone is no failure.
    if let Some(group) = i32::try_from(first).ok().and_then(Pid::from_raw) {
        let _gone = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill_group(child: &mut Child) {
    let _gone = child.kill();
}

impl Stream {
    fn read(from: Option<impl Read + Send + 'static>, limit: usize, open: &Arc<AtomicUsize>) -> Self {
        let stream = Self {
            bytes: Arc::new(Mutex::new(Vec::new())),
            over: Arc::new(AtomicBool::new(false)),
            open: Arc::clone(open),
        };
        let Some(mut from) = from else { return stream };
        let (bytes, over, open) = (Arc::clone(&stream.bytes), Arc::clone(&stream.over), Arc::clone(&stream.open));
        open.fetch_add(1, Ordering::AcqRel);
        thread::spawn(move || {
            let mut piece = [0; 16 * 1024];
            while let Ok(count @ 1..) = from.read(&mut piece) {
                let mut bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
                let fits = count.min(limit - bytes.len().min(limit));
                bytes.extend_from_slice(piece.get(..fits).unwrap_or_default());
                if fits < count {
                    over.store(true, Ordering::Release);
                    break;
                }
            }
            open.fetch_sub(1, Ordering::AcqRel);
        });
        stream
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
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
        assert_eq!((done.exit, done.ended), (Some(3), Ended::Exited));
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

    #[test]
    fn a_bound_ends_the_command_and_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("late");
        let hang = "(trap '' TERM; sleep 2; echo x > late) & sleep 60";
        let started = Instant::now();
        let done = run(&Order { time: Duration::from_millis(300), ..order(hang, folder.path()) }).unwrap();
        assert_eq!(done.ended, Ended::TimedOut);
        let done = run(&order("yes", folder.path())).unwrap();
        assert_eq!((done.ended, done.stdout.len()), (Ended::TooMuchOutput, 1000));
        let done = run(&order("(sleep 2; echo x > late) & exit 0", folder.path())).unwrap();
        assert_eq!(done.ended, Ended::Exited);
        assert!(started.elapsed() < Duration::from_secs(9), "{:?}", started.elapsed());
        thread::sleep(Duration::from_millis(2500));
        assert!(!mark.exists(), "something outlived its command");
    }
}
