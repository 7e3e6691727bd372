//! [`walk`]: reads a skill's folder by its path, as agents do.

use std::{
    fmt, fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use crate::support::Sandbox;

/// Observations of a walker.
#[derive(Default)]
pub struct Walks {
    looks: usize,
    missing: usize,
    /// Number of reads of an incomplete SKILL.md.
    pub cut: usize,
}

impl fmt::Display for Walks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { looks, missing, cut } = self;
        write!(f, "a walker found SKILL.md missing in {missing} and cut in {cut} of {looks} looks")
    }
}

/// Reads SKILL.md by its path until `done` is set.
pub fn walk(sandbox: &Sandbox, skill: &str, done: &AtomicBool) -> Walks {
    let file = sandbox.user_skill(skill).join("SKILL.md");
    let mut walks = Walks::default();
    while !done.load(Ordering::Relaxed) {
        walks.looks += 1;
        match fs::read_to_string(&file) {
            Ok(text) if text.starts_with("---\n") && text.ends_with('\n') => {}
            Ok(_) => walks.cut += 1,
            Err(_) => walks.missing += 1,
        }
        thread::sleep(Duration::from_micros(200));
    }
    walks
}
