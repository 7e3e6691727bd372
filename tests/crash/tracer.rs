//! [`trace`]: runs a program under ptrace and calls a [`Watcher`] at each [`Boundary`].
//!
//! A shell that waits for one line starts the program, so that it is traced before its first call. All calls about a
//! traced process must come from the thread that traces it, and `__WNOTHREAD` makes this thread wait only for its own
//! children.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{Read, Seek, Write},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use nix::{
    errno::Errno,
    libc,
    sys::{
        ptrace::{self, Options},
        signal::{Signal, kill},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

use super::boundaries::{Boundary, Effect};

/// Script of the shell: it reads one line, byte by byte, and executes the program.
pub const GATE: &str = r#"read -r _; exec "$0" "$@""#;

/// Limit that stops an endless program; no command has this many boundaries.
const MOST: usize = 200_000;

/// Fate of a call and of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The call is carried out.
    Go,
    /// The process is killed before the call.
    Kill,
    /// The process is killed after the call.
    GoThenKill,
    /// The process is killed after half of a write.
    HalfThenKill,
    /// Not carried out; the call fails with this error.
    Fail(Errno),
}

/// Decides about the boundaries of a process, and is notified of the results.
pub trait Watcher {
    /// Decides about a call that the process is about to make.
    fn before(&mut self, boundary: &Boundary) -> Order;

    /// Receives a call that succeeded.
    fn done(&mut self, _boundary: &Boundary) {}
}

/// Result of a traced program.
#[derive(Debug)]
pub struct Ended {
    /// Exit code of the program; `None` if it was killed.
    pub exit: Option<i32>,
    /// Bytes written to standard output.
    pub stdout: Vec<u8>,
    /// Text written to standard error.
    pub stderr: String,
    /// Boundary at which it was killed.
    pub killed_at: Option<Boundary>,
}

/// Runs a program, started by a shell with [`GATE`], to its end or until `watcher` kills it. Boundaries are the calls
/// that change something below `root`.
#[expect(clippy::zombie_processes, reason = "the tracer waits for the process, and for all that it starts")]
pub fn trace(mut command: Command, stdin: &[u8], root: &Path, watcher: &mut dyn Watcher) -> Ended {
    let (mut stdout, mut stderr) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    command.stdin(Stdio::piped()).stdout(stdout.try_clone().unwrap()).stderr(stderr.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    let mut tracer = Tracer::seize(pid, root, watcher);
    let mut pipe = child.stdin.take().unwrap();
    let input = [b"\n", stdin].concat();
    // A killed process stops reading.
    let feeder = thread::spawn(move || drop(pipe.write_all(&input)));
    let exit = tracer.run();
    feeder.join().unwrap();
    let killed_at = tracer.killed_at;
    Ended { exit, stdout: whole(&mut stdout), stderr: String::from_utf8_lossy(&whole(&mut stderr)).into(), killed_at }
}

fn whole(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

/// A thread's current call, and the order that follows it.
enum Inside {
    Other,
    Boundary(Boundary, Order),
}

struct Tracer<'a> {
    first: Pid,
    root: &'a Path,
    watcher: &'a mut dyn Watcher,
    inside: BTreeMap<Pid, Inside>,
    alive: BTreeSet<Pid>,
    boundaries: usize,
    killed_at: Option<Boundary>,
    exit: Option<i32>,
}

impl<'a> Tracer<'a> {
    fn seize(first: Pid, root: &'a Path, watcher: &'a mut dyn Watcher) -> Self {
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_EXITKILL;
        if let Err(error) = ptrace::seize(first, options) {
            let _gone = kill(first, Signal::SIGKILL);
            panic!(
                "this machine does not let a process trace its child ({error}); SKILLHUB_CRASH=skip leaves this out"
            );
        }
        let (inside, alive) = (BTreeMap::new(), BTreeSet::from([first]));
        Self { first, root, watcher, inside, alive, boundaries: 0, killed_at: None, exit: None }
    }

    /// Follows all threads and children to their end.
    fn run(&mut self) -> Option<i32> {
        loop {
            match waitpid(None, Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD)) {
                Ok(status) => self.follow(status),
                Err(Errno::ECHILD) => return self.exit,
                Err(Errno::EINTR) => {}
                Err(error) => panic!("waiting for a traced process: {error}"),
            }
        }
    }

    fn follow(&mut self, status: WaitStatus) {
        let mut signal = None;
        match status {
            WaitStatus::PtraceSyscall(pid) => match self.inside.remove(&pid) {
                None => self.enter(pid),
                Some(inside) => self.leave(pid, inside),
            },
            WaitStatus::PtraceEvent(pid, _, libc::PTRACE_EVENT_EXEC) => drop(self.inside.insert(pid, Inside::Other)),
            WaitStatus::Stopped(_, delivered) => signal = Some(delivered),
            WaitStatus::Exited(pid, code) => {
                self.alive.remove(&pid);
                self.exit = if pid == self.first { Some(code) } else { self.exit };
            }
            WaitStatus::Signaled(pid, ..) => drop(self.alive.remove(&pid)),
            _ => {}
        }
        let stopped = status.pid().filter(|_| !matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..)));
        if let Some(pid) = stopped {
            self.alive.insert(pid);
            // A process that was killed meanwhile cannot continue; its end is reported separately.
            let _killed = ptrace::syscall(pid, signal);
        }
    }

    fn enter(&mut self, pid: Pid) {
        let inside = self.boundary(pid).map_or(Inside::Other, |(boundary, order)| {
            if order == Order::Kill {
                self.kill(&boundary);
            }
            Inside::Boundary(boundary, order)
        });
        self.inside.insert(pid, inside);
    }

    fn boundary(&mut self, pid: Pid) -> Option<(Boundary, Order)> {
        let mut call = ptrace::getregs(pid).ok().filter(|_| self.killed_at.is_none())?;
        let effect = Effect::of(pid, &call, self.root)?;
        let boundary = Boundary { number: self.boundaries, effect };
        self.boundaries += 1;
        let order = if self.boundaries > MOST { Order::Kill } else { self.watcher.before(&boundary) };
        match order {
            Order::HalfThenKill if boundary.effect.can_be_cut() => call.rdx /= 2,
            Order::Fail(_) => call.orig_rax = u64::MAX,
            _ => return Some((boundary, order)),
        }
        ptrace::setregs(pid, call).unwrap();
        Some((boundary, order))
    }

    fn leave(&mut self, pid: Pid, inside: Inside) {
        let Inside::Boundary(boundary, order) = inside else { return };
        let Ok(mut call) = ptrace::getregs(pid) else { return };
        match order {
            Order::Fail(error) => {
                call.rax = -i64::from(error as i32) as u64;
                ptrace::setregs(pid, call).unwrap();
            }
            Order::Kill => {}
            _ => {
                if call.rax.cast_signed() >= 0 {
                    self.watcher.done(&boundary);
                }
                if order != Order::Go {
                    self.kill(&boundary);
                }
            }
        }
    }

    /// Kills every process at once.
    fn kill(&mut self, at: &Boundary) {
        self.killed_at = Some(at.clone());
        for pid in &self.alive {
            let _gone = kill(*pid, Signal::SIGKILL);
        }
    }
}
