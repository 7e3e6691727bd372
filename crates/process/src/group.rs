//! A child process with its descendants, killed when the value is dropped ([`Group`]).

#[cfg(windows)]
use std::process::Stdio;
use std::{
    io,
    process::{Child, Command, ExitStatus},
    sync::{Mutex, MutexGuard, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};

/// Interval at which the end of a child is polled.
const LOOK: Duration = Duration::from_millis(5);

/// The process group of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Membership {
    /// A new group, which is killed as a whole.
    Own,
    /// The group of skillhub. The child can ask at the terminal and leave descendants running, and is killed alone.
    Ours,
}

/// A child process with its process group. A descendant that leaves the group escapes, so this limits accidents and is
/// not a sandbox.
#[derive(Debug)]
pub struct Group {
    /// The process that was started.
    pub child: Child,
    membership: Membership,
    is_over: bool,
}

/// Running children.
static RUNNING: Mutex<Vec<(u32, Membership)>> = Mutex::new(Vec::new());

impl Group {
    /// Starts a command.
    ///
    /// # Errors
    /// Returns the I/O error if it cannot be started.
    pub fn start(command: &mut Command, membership: Membership) -> io::Result<Self> {
        #[cfg(unix)]
        if membership == Membership::Own {
            std::os::unix::process::CommandExt::process_group(command, 0);
        }
        let child = command.spawn()?;
        running().push((child.id(), membership));
        Ok(Self { child, membership, is_over: false })
    }

    /// Returns whether the child has exited. It is not reaped, so its process id cannot be reused for another group.
    #[cfg(unix)]
    pub(crate) fn has_gone(&mut self) -> bool {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(Pid::from_child(&self.child)), look), Ok(None) | Err(rustix::io::Errno::INTR))
    }

    #[cfg(not(unix))]
    pub(crate) fn has_gone(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks the child and its own group to end, where the system supports it.
    pub(crate) fn terminate(&self) {
        #[cfg(unix)]
        signal(self.child.id(), self.membership, rustix::process::Signal::TERM);
    }

    /// Waits for the child to exit, up to `grace`. Then kills what is left of it and its own group, and returns its exit
    /// status.
    ///
    /// # Errors
    /// Returns the I/O error if it cannot be waited for.
    pub fn end(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        if !self.is_over {
            let until = Instant::now() + grace;
            while !self.has_gone() && Instant::now() < until {
                sleep(LOOK);
            }
            #[cfg(unix)]
            signal(self.child.id(), self.membership, rustix::process::Signal::KILL);
            #[cfg(windows)]
            if self.membership == Membership::Own && !self.has_gone() {
                kill_descendants(self.child.id());
            }
            let _gone = self.child.kill();
            running().retain(|(id, _)| *id != self.child.id());
            self.is_over = true;
        }
        self.child.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ended = self.end(Duration::ZERO);
    }
}

/// Kills all running children with their own process groups.
#[cfg(unix)]
pub fn kill_all() {
    running().iter().for_each(|(id, membership)| signal(*id, *membership, rustix::process::Signal::KILL));
}

#[cfg(unix)]
fn signal(id: u32, membership: Membership, signal: rustix::process::Signal) {
    use rustix::process::{Pid, kill_process, kill_process_group};
    let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return };
    // A process or group that has already ended is not an error.
    let _gone = match membership {
        Membership::Own => kill_process_group(id, signal),
        Membership::Ours => kill_process(id, signal),
    };
}

/// Kills a process that still runs, with the processes that it started and that can be found from it.
#[cfg(windows)]
fn kill_descendants(id: u32) {
    let mut command = crate::child::command("taskkill");
    command.args(["/T", "/F", "/PID", &id.to_string()]);
    let _best_effort = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

fn running() -> MutexGuard<'static, Vec<(u32, Membership)>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use rustix::process::{Pid, test_kill_process};

    use super::*;

    #[test]
    fn exited_program_keeps_its_pid() {
        let mut group = Group::start(Command::new("sh").args(["-c", "exit 3"]), Membership::Own).unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        while !group.has_gone() {
            assert!(Instant::now() < until);
            sleep(Duration::from_millis(5));
        }
        let id = Pid::from_child(&group.child);
        assert!(test_kill_process(id).is_ok(), "its number is free");
        assert_eq!(group.end(Duration::ZERO).unwrap().code(), Some(3));
        assert!(test_kill_process(id).is_err());
    }

    #[test]
    fn dropped_program_is_killed() {
        for membership in [Membership::Own, Membership::Ours] {
            let group = Group::start(Command::new("sleep").arg("60"), membership).unwrap();
            let id = Pid::from_child(&group.child);
            drop(group);
            assert!(test_kill_process(id).is_err(), "{membership:?}");
        }
    }
}
