//! [`Place`]: a sandbox that is created once and restored before each run of a command.
//!
//! A library is identified by its path, so each run needs the same path, not only the same files. The sandbox is on a
//! file system in memory if there is one.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use tempfile::TempDir;

use super::{
    observed::own,
    scenario::as_reviewer,
    tracer::{Ended, GATE, Watcher, trace},
};
use crate::support::Sandbox;

/// A sandbox with a copy of its initial state.
pub struct Place {
    pub sandbox: Sandbox,
    root: PathBuf,
    saved: TempDir,
}

impl Place {
    /// Prepares a sandbox and copies its state.
    pub fn new(prepare: fn(&Sandbox)) -> Self {
        let memory = Path::new("/dev/shm");
        let below = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let sandbox = Sandbox::below(&below);
        prepare(&sandbox);
        let saved = tempfile::tempdir_in(&below).unwrap();
        let root = sandbox.path("").canonicalize().unwrap();
        copy(&root, saved.path()).unwrap();
        Self { sandbox, root, saved }
    }

    /// Restores the initial state.
    pub fn restore(&self) {
        clear(&self.root).unwrap();
        copy(self.saved.path(), &self.root).unwrap();
    }

    /// Returns the folder that contains the sandbox, without links in its path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes all files an hour older, so that unfinished ones no longer seem to be in use.
    pub fn grow_old(&self) {
        grow_old(&self.root, SystemTime::now() - Duration::from_secs(3600)).unwrap();
    }

    /// Removes ends of the journal that were set aside for people.
    pub fn take_torn_records(&self) {
        for entry in own(&self.sandbox).into_iter().flat_map(|own| fs::read_dir(own).unwrap()) {
            let path = entry.unwrap().path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("journal.damaged-")) {
                fs::remove_file(path).unwrap();
            }
        }
    }

    /// Runs skillhub with `--json` under the tracer.
    pub fn trace(&self, args: &[impl AsRef<OsStr>], stdin: &[u8], watcher: &mut dyn Watcher) -> Ended {
        let mut shell = Command::new("sh");
        self.sandbox.confine(&mut shell).args(["-c", GATE, env!("CARGO_BIN_EXE_skillhub")]).args(args).arg("--json");
        as_reviewer(&self.sandbox, &mut shell);
        trace(shell, stdin, &self.root, watcher)
    }
}

/// Sets the modification time of everything below a folder.
fn grow_old(folder: &Path, time: SystemTime) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        if kind.is_dir() {
            grow_old(&path, time)?;
        }
        if !kind.is_symlink() {
            fs::File::open(&path)?.set_modified(time)?;
        }
    }
    Ok(())
}

fn clear(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Copies everything below a folder, with modes and links, into an existing folder.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to, kind) = (entry.path(), to.join(entry.file_name()), entry.file_type()?);
        if kind.is_symlink() {
            symlink(fs::read_link(&from)?, to)?;
        } else if kind.is_dir() {
            fs::create_dir(&to)?;
            copy(&from, &to)?;
            fs::set_permissions(&to, fs::Permissions::from_mode(entry.metadata()?.permissions().mode()))?;
        } else {
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}
