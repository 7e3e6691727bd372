//! Replaces a skill's folder by a committed revision, atomically where the system supports it.
//!
//! The new folder is written beside the old one before the commit ([`stage`]), so that a library that is not writable
//! fails before the commit takes effect. After the commit the two are exchanged ([`swap`]). The caller gets the
//! displaced folder, compares it with the expected content, and then discards it or puts it back.

mod by_files;
mod temporary_owner;

use std::{
    io,
    path::Path,
    sync::atomic::{AtomicU32, Ordering},
};

use cap_std::fs::Dir;
use scan::Cleared;
use sha2::{Digest as _, Sha256};
use skill::{Bundle, Limits, SkillName};

pub(crate) use by_files::{finish, give_back, rename_away};
pub(crate) use temporary_owner::TemporaryOwner;

use crate::{
    disk::{random_process_id, sync_folder},
    folder::{self, ToolFiles},
};

/// Prefix of every temporary name in a library.
pub(crate) const TEMPORARY: &str = ".skillhub-";

/// Prefix of the names of folders that are kept for a person to inspect.
pub(crate) const KEPT: &str = ".skillhub-kept-";

/// Suffix of a displaced folder where two folders cannot be exchanged.
const ASIDE: &str = "-old";

/// Suffix of a folder that is being removed. Its content was already checked, so leftovers after a kill are not
/// unrecorded edits.
const GONE: &str = "-gone";

/// Separator before the digest of the skill in the name of a folder that recovery stages.
const AGAIN: &str = "-again-";

/// Tool files that are deleted with a removed skill, because they can be regenerated.
const CACHES: [&str; 5] = ["__pycache__", "node_modules", ".DS_Store", "Thumbs.db", "desktop.ini"];

/// A folder written beside the skill's. It is removed on drop unless it was swapped in.
#[derive(Debug)]
pub struct Staged {
    root: Dir,
    name: Option<String>,
}

/// A skill's former folder under a temporary name. It may hold the only copy of some content, so dropping the value
/// leaves the folder on disk. Finish with [`DisplacedFolder::discard`] or [`DisplacedFolder::put_back`].
#[derive(Debug)]
#[must_use]
pub struct DisplacedFolder {
    root: Dir,
    name: String,
    /// True if another folder has taken its place.
    replaced: bool,
}

impl Staged {
    /// Returns the temporary name of the folder in the library.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            let _best_effort = remove_renamed(&self.root, &name);
        }
    }
}

/// Returns a temporary name that is unique across threads, processes and containers.
pub(crate) fn temporary_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (maker, count) = (TemporaryOwner::this(), NEXT.fetch_add(1, Ordering::Relaxed));
    format!("{TEMPORARY}{maker}-{count}-{:x}", random_process_id())
}

/// Returns a [`temporary_name`] for work on a skill's folder that no current journal record names: by recovery, whose
/// record is older, or in an agent's folder.
pub(crate) fn temporary_name_again(skill: &str) -> String {
    format!("{}{AGAIN}{}", temporary_name(), mark(skill))
}

/// Returns whether a name was made by [`temporary_name_again`] for this skill.
pub(crate) fn is_name_again(name: &str, skill: &str) -> bool {
    without_aside(name.strip_suffix(GONE).unwrap_or(name))
        .split_once(AGAIN)
        .is_some_and(|(_, of_skill)| of_skill == mark(skill))
}

/// Returns a short digest of a skill's name, which fits into any file name.
fn mark(skill: &str) -> String {
    Sha256::digest(skill).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// Strips the suffixes that a displaced folder gets, leaving the temporary name of its operation.
pub(crate) fn without_aside(name: &str) -> &str {
    let name = by_files::without_part(name).unwrap_or(name);
    name.strip_suffix(ASIDE).unwrap_or(name)
}

/// Returns whether a temporary name belongs to a folder into which a skill's files are being moved.
pub(crate) fn is_part(name: &str) -> bool {
    by_files::without_part(name).is_some()
}

/// Returns whether a temporary name belongs to a folder that is being removed.
pub(crate) fn is_gone(name: &str) -> bool {
    name.ends_with(GONE)
}

/// Removes a folder whose content was checked. It is first renamed to a name that marks the removal, since the
/// process may be killed in between.
pub(crate) fn remove_renamed(root: &Dir, name: &str) -> io::Result<()> {
    let gone = format!("{name}{GONE}");
    let name = if root.rename(name, root, &gone).is_ok() { &gone } else { name };
    root.remove_dir_all(name)
}

/// Writes cleared files to a temporary folder with this name in the library.
///
/// # Errors
/// Returns the I/O error; nothing is left behind.
pub fn stage(root: &Dir, files: &Cleared, name: String) -> io::Result<Staged> {
    let staged = Staged { root: root.try_clone()?, name: Some(name.clone()) };
    folder::write(root, &name, files.bundle())?;
    Ok(staged)
}

/// Checks that the library is writable, for commits that have nothing to stage.
///
/// # Errors
/// Returns the I/O error.
pub fn probe(root: &Dir) -> io::Result<()> {
    let name = temporary_name();
    root.create_dir(&name)?;
    root.remove_dir(&name)
}

/// Swaps the staged folder into the skill's place and returns the displaced one, or `None` if the skill had no
/// folder.
///
/// # Errors
/// Returns the I/O error; the skill's folder is then unchanged.
pub fn swap(skill: &SkillName, mut staged: Staged) -> io::Result<Option<DisplacedFolder>> {
    let root = staged.root.try_clone()?;
    let Some(name) = staged.name.clone() else { return Ok(None) };
    let displaced = if root.symlink_metadata(skill.as_str()).is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
        root.rename(&name, &root, skill.as_str())?;
        None
    } else {
        let name = exchange(&root, &name, skill.as_str(), exchange_in_one_step)?;
        Some(DisplacedFolder { root, name, replaced: true })
    };
    staged.name = None;
    Ok(displaced)
}

/// Moves the skill's folder away to a temporary name and returns it, or `None` if the skill had no folder.
///
/// # Errors
/// Returns the I/O error; the skill's folder is then unchanged.
pub fn remove(root: &Dir, skill: &SkillName, name: String) -> io::Result<Option<DisplacedFolder>> {
    match rename_away(root, skill.as_str(), &name) {
        Ok(()) => Ok(Some(DisplacedFolder { root: root.try_clone()?, name, replaced: false })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl DisplacedFolder {
    /// Opens a folder that a dead process displaced from a skill's place.
    pub fn found(root: &Dir, name: &str, skill: &SkillName) -> io::Result<Self> {
        Ok(Self { root: root.try_clone()?, name: name.to_owned(), replaced: root.is_dir(skill.as_str()) })
    }

    /// Returns the temporary name of the folder in the library.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the folder's files. Returns `None` if it cannot be read as a skill.
    pub fn bundle(&self, limits: &Limits) -> Option<Bundle> {
        folder::read(&self.root, &self.name, ToolFiles::Skip, limits).ok()
    }

    /// Deletes the folder, except for files of tools such as `.git`, which move to the skill's folder. If something
    /// is in their way there, the whole folder is kept for a person to inspect.
    ///
    /// # Errors
    /// Returns the I/O error; the folder then stays under [`DisplacedFolder::name`] for another attempt.
    pub fn discard(self, skill: &SkillName) -> io::Result<()> {
        match self.carry_tool_files(skill) {
            Ok(()) => drop(remove_renamed(&self.root, &self.name)),
            Err(error) if is_in_the_way(&error) && keep_for_inspection(&self.root, &self.name) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Puts the folder back into the skill's place and deletes the folder that replaced it.
    ///
    /// # Errors
    /// Returns the I/O error; the folder then stays under [`DisplacedFolder::name`].
    pub fn put_back(self, skill: &SkillName) -> io::Result<()> {
        if !self.replaced {
            return self.root.rename(&self.name, &self.root, skill.as_str());
        }
        let ours = exchange(&self.root, &self.name, skill.as_str(), exchange_in_one_step)?;
        let _best_effort = remove_renamed(&self.root, &ours);
        Ok(())
    }

    /// Creates a folder if it is missing and syncs its parents, so that files moved into it survive a power loss.
    fn make_durable(&self, folder: &str) -> io::Result<()> {
        self.root.create_dir_all(folder)?;
        let above = Path::new(folder).ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
        above.map(|path| self.root.open_dir(path)).try_for_each(|dir| sync_folder(&dir?))?;
        sync_folder(&self.root)
    }

    /// Returns whether two paths hold the same files.
    fn is_same(&self, one: &str, other: &str) -> bool {
        let read = |path: &str| {
            let (parent, name) = path.rsplit_once('/')?;
            let parent = self.root.open_dir(parent).ok()?;
            folder::read(&parent, name, ToolFiles::Read, &Limits::default()).ok()
        };
        read(one).is_some_and(|files| read(other).as_ref() == Some(&files))
    }

    /// Moves tool files (such as `.git`) from the displaced folder to the skill's place. When the skill is gone, those
    /// that can be regenerated ([`CACHES`]) are deleted.
    fn carry_tool_files(&self, skill: &SkillName) -> io::Result<()> {
        let opened = folder::open(&self.root, &self.name);
        let found = opened.and_then(|dir| folder::tool_files_of(dir, &Limits::default())).unwrap_or_default();
        for path in found {
            let (parent, name) = path.rsplit_once('/').map_or(("", path.as_str()), |(parent, name)| (parent, name));
            let (from, to) = (format!("{}/{path}", self.name), format!("{skill}/{path}"));
            if self.is_same(&from, &to) {
                // A release may contain such files itself. They then belong to the new folder.
                continue;
            }
            if !CACHES.contains(&name) {
                let folder = format!("{skill}/{parent}");
                self.make_durable(&folder)?;
                self.root.rename(from, &self.root, to)?;
                // Sync before the old folder is deleted. Otherwise a power loss could lose both.
                sync_folder(&self.root.open_dir(folder)?)?;
            } else if self.replaced {
                let _its_folder_is_gone = self.root.rename(from, &self.root, to);
            }
        }
        Ok(())
    }
}

fn is_in_the_way(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, IsADirectory, NotADirectory};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | IsADirectory | NotADirectory)
}

/// Renames a folder so that it is kept for a person to inspect. Returns whether that worked.
pub(crate) fn keep_for_inspection(root: &Dir, name: &str) -> bool {
    let rest = name.strip_prefix(TEMPORARY).unwrap_or(name);
    root.rename(name, root, format!("{KEPT}{rest}")).is_ok()
}

/// Exchanges the folders under a temporary name and a skill's name, in one step or, where the file system cannot, in
/// several. Returns the name that the skill's former folder then has.
fn exchange(
    root: &Dir,
    temporary: &str,
    skill: &str,
    in_one_step: impl FnOnce(&Dir, &str, &str) -> io::Result<()>,
) -> io::Result<String> {
    match in_one_step(root, temporary, skill) {
        Err(error) if is_no_exchange(&error) => {
            let aside = format!("{temporary}{ASIDE}");
            rename_away(root, skill, &aside)?;
            if let Err(error) = root.rename(temporary, root, skill) {
                root.rename(&aside, root, skill)?;
                return Err(error);
            }
            Ok(aside)
        }
        result => result.map(|()| temporary.to_owned()),
    }
}

/// Returns whether the error means that the file system cannot exchange folders, or not these two.
pub(crate) fn is_no_exchange(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, InvalidInput, Unsupported};
    matches!(error.kind(), CrossesDevices | InvalidInput | Unsupported)
}

/// Exchanges two entries of a folder atomically. [`is_no_exchange`] recognises the error of a system that cannot.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
pub(crate) fn exchange_in_one_step(root: &Dir, one: &str, other: &str) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    Ok(renameat_with(root, one, root, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(crate) fn exchange_in_one_step(_root: &Dir, _one: &str, _other: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use skill::{File, SkillPath};

    use super::*;

    fn bundle(text: &str) -> Bundle {
        testkit::bundle(&[("SKILL.md", text)])
    }

    fn stage(root: &Dir, bundle: &Bundle) -> io::Result<Staged> {
        super::stage(root, &scan::clear(bundle.clone(), scan::Baseline::None).unwrap(), temporary_name())
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
    fn swap_returns_old_folder_without_leftovers() {
        let (_temp, root, name) = root();
        assert!(swap(&name, stage(&root, &bundle("one")).unwrap()).unwrap().is_none());
        let displaced = swap(&name, stage(&root, &bundle("two")).unwrap()).unwrap().unwrap();
        assert_eq!(displaced.bundle(&Limits::default()), Some(bundle("one")));
        displaced.discard(&name).unwrap();
        assert_eq!(root.read_to_string("s/SKILL.md").unwrap(), "two");
        drop(stage(&root, &bundle("three")).unwrap());
        assert_eq!(names(&root), ["s"]);
    }

    #[test]
    fn git_folder_survives_checkout_and_removal() {
        let (_temp, root, name) = root();
        swap(&name, stage(&root, &bundle("one")).unwrap()).unwrap();
        root.create_dir_all("s/.git/objects").unwrap();
        root.create_dir("s/__pycache__").unwrap();
        swap(&name, stage(&root, &bundle("two")).unwrap()).unwrap().unwrap().discard(&name).unwrap();
        assert!(root.is_dir("s/.git/objects") && root.is_dir("s/__pycache__"));
        remove(&root, &name, temporary_name()).unwrap().unwrap().discard(&name).unwrap();
        assert!(root.is_dir("s/.git/objects") && !root.exists("s/__pycache__") && !root.exists("s/SKILL.md"));
    }

    #[test]
    fn displaced_folder_can_be_put_back() {
        let (_temp, root, name) = root();
        swap(&name, stage(&root, &bundle("one")).unwrap()).unwrap();
        swap(&name, stage(&root, &bundle("two")).unwrap()).unwrap().unwrap().put_back(&name).unwrap();
        assert_eq!(root.read_to_string("s/SKILL.md").unwrap(), "one");
        assert_eq!(names(&root), ["s"]);
    }

    #[test]
    fn git_folder_survives_put_back() {
        let (_temp, root, name) = root();
        swap(&name, stage(&root, &bundle("one")).unwrap()).unwrap();
        root.create_dir_all("s/.git").unwrap();
        swap(&name, stage(&root, &bundle("two")).unwrap()).unwrap().unwrap().put_back(&name).unwrap();
        assert!(root.is_dir("s/.git"));
        remove(&root, &name, temporary_name()).unwrap().unwrap().put_back(&name).unwrap();
        assert!(root.is_dir("s/.git") && root.exists("s/SKILL.md"));
        assert_eq!(names(&root), ["s"]);
    }

    #[test]
    fn released_tool_files_are_not_kept() {
        let (_temp, root, name) = root();
        let with = |text: &str, hgrc: &str| {
            let file = File { bytes: hgrc.as_bytes().into(), executable: false };
            bundle(text).with_file(SkillPath::parse(".hg/hgrc").unwrap(), file, &Limits::default()).unwrap()
        };
        swap(&name, stage(&root, &with("one", "a")).unwrap()).unwrap();
        for text in ["two", "three"] {
            swap(&name, stage(&root, &with(text, "a")).unwrap()).unwrap().unwrap().discard(&name).unwrap();
            assert_eq!(names(&root), ["s"]);
            assert_eq!(root.read_to_string("s/.hg/hgrc").unwrap(), "a");
        }
        root.write("s/.hg/mine", "x").unwrap();
        swap(&name, stage(&root, &with("four", "a")).unwrap()).unwrap().unwrap().discard(&name).unwrap();
        assert!(names(&root).iter().any(|name| name.starts_with(KEPT)), "what differs is somebody's");
    }

    #[test]
    fn nested_git_folder_survives_checkout() {
        let (_temp, root, name) = root();
        swap(&name, stage(&root, &bundle("one")).unwrap()).unwrap();
        root.create_dir_all("s/vendor/lib/.git").unwrap();
        root.create_dir_all("s/vendor/__pycache__").unwrap();
        swap(&name, stage(&root, &bundle("two")).unwrap()).unwrap().unwrap().discard(&name).unwrap();
        assert!(root.is_dir("s/vendor/lib/.git"));
    }

    #[test]
    fn obstructed_git_folder_is_kept_aside() {
        let (_temp, root, name) = root();
        swap(&name, stage(&root, &bundle("one")).unwrap()).unwrap();
        root.create_dir_all("s/.git/objects").unwrap();
        let displaced = remove(&root, &name, temporary_name()).unwrap().unwrap();
        root.write("s", "in the way").unwrap();
        displaced.discard(&name).unwrap();
        let kept = names(&root).into_iter().find(|name| name.starts_with(KEPT)).unwrap();
        assert!(root.is_dir(format!("{kept}/.git/objects")));
    }

    #[test]
    fn dropped_displaced_folder_stays_on_disk() {
        let (_temp, root, name) = root();
        swap(&name, stage(&root, &bundle("one")).unwrap()).unwrap();
        let displaced = swap(&name, stage(&root, &bundle("two")).unwrap()).unwrap().unwrap();
        let aside = displaced.name().to_owned();
        drop(displaced);
        assert_eq!(root.read_to_string(format!("{aside}/SKILL.md")).unwrap(), "one");
    }

    #[test]
    fn exchange_falls_back_to_renames() {
        let (_temp, root, _) = root();
        let unsupported = |_: &Dir, _: &str, _: &str| Err(io::ErrorKind::InvalidInput.into());
        folder::write(&root, "s", &bundle("one")).unwrap();
        folder::write(&root, "new", &bundle("two")).unwrap();
        let aside = exchange(&root, "new", "s", unsupported).unwrap();
        assert_eq!(root.read_to_string("s/SKILL.md").unwrap(), "two");
        assert_eq!(root.read_to_string(format!("{aside}/SKILL.md")).unwrap(), "one");
        assert!(exchange(&root, "nothing", "s", unsupported).is_err());
        assert_eq!(root.read_to_string("s/SKILL.md").unwrap(), "two", "a failed exchange leaves the folder");
        let denied = |_: &Dir, _: &str, _: &str| Err(io::ErrorKind::PermissionDenied.into());
        assert!(exchange(&root, &aside, "s", denied).is_err());
    }
}
