//! The process that made a temporary name, and a check whether it is known to be dead ([`TemporaryOwner`]).
//!
//! A process id is only meaningful within one boot of the machine and one container. Elsewhere the maker may still be
//! running although its id is unused here. So the name also contains a digest of boot and container.

use std::sync::OnceLock;

use cap_std::{ambient_authority, fs::Dir};
use sha2::{Digest as _, Sha256};

use super::TEMPORARY;
use crate::boot::boot_id;

/// The process that made a temporary name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TemporaryOwner {
    process: i32,
    /// Digest of its boot and container. `None` in names made by earlier versions.
    place: Option<String>,
}

impl TemporaryOwner {
    /// Parses the maker out of a temporary name. Returns `None` for any other name.
    pub fn of(name: &str) -> Option<Self> {
        let who = name.strip_prefix(TEMPORARY)?.split('-').next()?;
        let (process, place) = who.split_once('.').map_or((who, None), |(process, place)| (process, Some(place)));
        Some(Self { process: process.parse().ok()?, place: place.map(str::to_owned) })
    }

    /// Returns whether the process ran in this boot and container and has ended. False if that is unknown.
    pub fn is_known_dead(&self) -> bool {
        self.place.is_some() && self.place.as_deref() == here() && !is_running(self.process)
    }

    /// Formats this process for use in a temporary name.
    pub fn this() -> String {
        let place = here().map(|place| format!(".{place}")).unwrap_or_default();
        format!("{}{place}", std::process::id())
    }
}

/// Returns a digest of the machine's boot and of the container (PID namespace) of this process. `None` where the
/// system does not expose them.
fn here() -> Option<&'static str> {
    static HERE: OnceLock<Option<String>> = OnceLock::new();
    let mark = || {
        let container = Dir::open_ambient_dir("/proc/self/ns", ambient_authority()).ok()?.read_link("pid").ok()?;
        let sum = Sha256::digest(format!("{} {}", boot_id()?, container.display()));
        Some(sum.iter().take(4).map(|byte| format!("{byte:02x}")).collect())
    };
    HERE.get_or_init(mark).as_deref()
}

#[cfg(unix)]
fn is_running(pid: i32) -> bool {
    rustix::process::Pid::from_raw(pid)
        .is_some_and(|pid| !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH)))
}

#[cfg(not(unix))]
fn is_running(_pid: i32) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_processes_are_known_dead() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let (dead, this) = (child.id(), TemporaryOwner::this());
        let is_dead = |who: &str| TemporaryOwner::of(&format!("{TEMPORARY}{who}-0-0123abcd")).unwrap().is_known_dead();
        let place = this.split_once('.').map(|(_, place)| place.to_owned());
        assert!(!is_dead(&this) && !is_dead(&dead.to_string()) && !is_dead(&format!("{dead}.00000000")));
        assert_eq!(place.as_ref().is_some_and(|place| is_dead(&format!("{dead}.{place}"))), place.is_some());
        assert_eq!(TemporaryOwner::of(".skillhub-notes"), None);
    }
}
