//! Puts a committed revision in place of a skill's folder, in one step where the system can.
//!
//! The new folder is written beside the old one before the commit ([`stage`]), so that a library that
//! cannot be written refuses before anything is true. After the commit the two are exchanged
//! ([`swap`]); what was displaced is handed back, to be compared with what it should have been.

use std::{
    io,
    sync::atomic::{AtomicU32, Ordering},
};

use cap_std::fs::Dir;
use scan::Cleared;
use skill::{Bundle, Limits, SkillName};

use crate::folder::{self, Leftovers};

/// The beginning of every temporary name that we make in a library.
pub(crate) const TEMPORARY: &str = ".skillhub-";

/// What is dropped rather than left behind alone when a skill goes: it can be made again.
const CACHES: [&str; 5] = ["__pycache__", "node_modules", ".DS_Store", "Thumbs.db", "desktop.ini"];

/// A folder written beside the skill's; removed when dropped unless it was swapped in.
#[derive(Debug)]
pub struct Staged {
    root: Dir,
    name: String,
}

/// A skill's former folder under a temporary name; removed when dropped.
#[derive(Debug)]
pub struct Displaced {
    root: Dir,
    name: String,
}

impl Drop for Staged {
    fn drop(&mut self) {
        let _best_effort = self.root.remove_dir_all(&self.name);
    }
}

impl Drop for Displaced {
    fn drop(&mut self) {
        let _best_effort = self.root.remove_dir_all(&self.name);
    }
}

fn temporary_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{TEMPORARY}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Writes cleared files as a temporary folder in the library.
///
/// # Errors
/// What the system said.
pub fn stage(root: &Dir, files: &Cleared) -> io::Result<Staged> {
    let staged = Staged { root: root.try_clone()?, name: temporary_name() };
    let _left_by_a_dead_process = root.remove_dir_all(&staged.name);
    folder::write(root, &staged.name, files.bundle())?;
    Ok(staged)
}

/// Makes the staged folder the skill's and returns what stood there; `None` when nothing did.
///
/// # Errors
/// What the system said; the skill's folder is then as it was.
pub fn swap(skill: &SkillName, staged: Staged) -> io::Result<Option<Displaced>> {
    let root = staged.root.try_clone()?;
    if root.symlink_metadata(skill.as_str()).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        root.rename(&staged.name, &root, skill.as_str())?;
        std::mem::forget(staged);
        return Ok(None);
    }
    exchange(&root, &staged.name, skill.as_str())?;
    let displaced = Displaced { root, name: staged.name.clone() };
    std::mem::forget(staged);
    displaced.carry_leftovers(skill, &[]);
    Ok(Some(displaced))
}

/// Takes the skill's folder away and returns it; `None` when there was none.
///
/// # Errors
/// What the system said; the skill's folder is then as it was.
pub fn remove(root: &Dir, skill: &SkillName) -> io::Result<Option<Displaced>> {
    let displaced = Displaced { root: root.try_clone()?, name: temporary_name() };
    match root.rename(skill.as_str(), root, &displaced.name) {
        Ok(()) => {
            displaced.carry_leftovers(skill, &CACHES);
            Ok(Some(displaced))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Displaced {
    /// What the folder held; `None` when it could not be read as a skill.
    #[must_use]
    pub fn bundle(&self, limits: &Limits) -> Option<Bundle> {
        folder::read(&self.root, &self.name, Leftovers::Skip, limits).ok()
    }

    /// Puts the folder back where it was.
    ///
    /// # Errors
    /// What the system said.
    pub fn put_back(self, skill: &SkillName) -> io::Result<()> {
        match exchange(&self.root, &self.name, skill.as_str()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.root.rename(&self.name, &self.root, skill.as_str())
            }
            other => other,
        }
    }

    /// Moves what tools left in the old folder (a `.git`, say) to the skill's place, but for what is
    /// in `dropped`.
    fn carry_leftovers(&self, skill: &SkillName, dropped: &[&str]) {
        let opened = folder::open(&self.root, &self.name);
        let found = opened.and_then(|dir| folder::leftovers_of(dir, &Limits::default())).unwrap_or_default();
        for path in found {
            let name = path.rsplit('/').next().unwrap_or(&path);
            if dropped.contains(&name) {
                continue;
            }
            if !dropped.is_empty() {
                let _exists = self.root.create_dir(skill.as_str());
            }
            let from = format!("{}/{path}", self.name);
            let _its_folder_is_gone = self.root.rename(from, &self.root, format!("{skill}/{path}"));
        }
    }
}

/// Exchanges two names in one step; in two where the file system cannot.
fn exchange(root: &Dir, one: &str, other: &str) -> io::Result<()> {
    match exchange_in_one_step(root, one, other) {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            let aside = temporary_name();
            root.rename(other, root, &aside)?;
            root.rename(one, root, other)?;
            root.rename(&aside, root, one)
        }
        result => result,
    }
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn exchange_in_one_step(root: &Dir, one: &str, other: &str) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    Ok(renameat_with(root, one, root, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn exchange_in_one_step(_root: &Dir, _one: &str, _other: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use skill::{File, SkillPath};

    use super::*;

    fn bundle(text: &str) -> Bundle {
        let file = File { bytes: text.as_bytes().into(), executable: false };
        Bundle::from_files([(SkillPath::skill_md(), file)], &Limits::default()).unwrap()
    }

    fn stage(root: &Dir, bundle: &Bundle) -> io::Result<Staged> {
        super::stage(root, &scan::clear(bundle.clone(), scan::Baseline::None).unwrap())
    }

    fn names(root: &Dir) -> Vec<String> {
        let mut names: Vec<String> =
            root.entries().unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn root() -> (tempfile::TempDir, Dir, SkillName) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        (temp, dir, SkillName::parse("s").unwrap())
    }

    #[test]
    fn the_old_folder_comes_back_to_be_looked_at_and_nothing_temporary_stays() {
        let (_temp, root, name) = root();
        assert!(swap(&name, stage(&root, &bundle("one")).unwrap()).unwrap().is_none());
        let displaced = swap(&name, stage(&root, &bundle("two")).unwrap()).unwrap().unwrap();
        assert_eq!(displaced.bundle(&Limits::default()), Some(bundle("one")));
        drop(displaced);
        assert_eq!(root.read_to_string("s/SKILL.md").unwrap(), "two");
        drop(stage(&root, &bundle("three")).unwrap());
        assert_eq!(names(&root), ["s"]);
    }

    #[test]
    fn what_a_tool_keeps_in_the_folder_outlives_checkout_and_removal() {
        let (_temp, root, name) = root();
        swap(&name, stage(&root, &bundle("one")).unwrap()).unwrap();
        root.create_dir_all("s/.git/objects").unwrap();
        root.create_dir("s/__pycache__").unwrap();
        drop(swap(&name, stage(&root, &bundle("two")).unwrap()).unwrap());
        assert!(root.is_dir("s/.git/objects") && root.is_dir("s/__pycache__"));
        drop(remove(&root, &name).unwrap());
        assert!(root.is_dir("s/.git/objects") && !root.exists("s/__pycache__") && !root.exists("s/SKILL.md"));
    }

    #[test]
    fn a_displaced_folder_can_be_put_back() {
        let (_temp, root, name) = root();
        swap(&name, stage(&root, &bundle("one")).unwrap()).unwrap();
        swap(&name, stage(&root, &bundle("two")).unwrap()).unwrap().unwrap().put_back(&name).unwrap();
        assert_eq!(root.read_to_string("s/SKILL.md").unwrap(), "one");
        assert_eq!(names(&root), ["s"]);
    }
}
