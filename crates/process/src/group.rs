//! A child process with its descendants, killed when the value is dropped ([`Group`]).

use std::{
    io,
    process::{Child, Command, ExitStatus},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A child process in its own process group. A descendant that leaves the group escapes, so this limits accidents and
/// is not a sandbox.
#[derive(Debug)]
pub(crate) struct Group {
    pub child: Child,
    is_over: bool,
}

/// Running groups, by the id of their first process.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

impl Group {
    pub fn start(command: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let child = command.spawn()?;
        running().push(child.id());
        Ok(Self { child, is_over: false })
    }

    /// Returns whether the child has exited. It is not reaped, so its process id cannot be reused for another group.
    #[cfg(unix)]
    pub fn has_gone(&mut self) -> bool {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(Pid::from_child(&self.child)), look), Ok(None) | Err(rustix::io::Errno::INTR))
    }

    #[cfg(not(unix))]
    pub fn has_gone(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills the rest of the group and returns the child's exit status.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        if !self.is_over {
            #[cfg(unix)]
            kill(self.child.id());
            let _gone = self.child.kill();
            running().retain(|id| *id != self.child.id());
            self.is_over = true;
        }
        self.child.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ended = self.end();
    }
}

/// Kills all running children with their process groups.
#[cfg(unix)]
pub fn kill_all() {
    running().iter().copied().for_each(kill);
}

#[cfg(unix)]
fn kill(first: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    // A group that has already ended is not an error.
    if let Some(group) = i32::try_from(first).ok().and_then(Pid::from_raw) {
        let _gone = kill_process_group(group, Signal::KILL);
    }
}

fn running() -> MutexGuard<'static, Vec<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{
        thread::sleep,
        time::{Duration, Instant},
    };

    use rustix::process::{Pid, test_kill_process};

    use super::*;

    #[test]
    fn exited_program_keeps_its_pid() {
        let mut group = Group::start(Command::new("sh").args(["-c", "exit 3"])).unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        while !group.has_gone() {
            assert!(Instant::now() < until);
            sleep(Duration::from_millis(5));
        }
        let id = Pid::from_child(&group.child);
        assert!(test_kill_process(id).is_ok(), "its number is free");
        assert_eq!(group.end().unwrap().code(), Some(3));
        assert!(test_kill_process(id).is_err());
    }

    #[test]
    fn dropped_program_is_killed() {
        let group = Group::start(Command::new("sleep").arg("60")).unwrap();
        let id = Pid::from_child(&group.child);
        drop(group);
        assert!(test_kill_process(id).is_err());
    }
}
