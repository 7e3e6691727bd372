//! [`FolderLink`]: links to folders, which are symbolic links or, on Windows, junctions.
//!
//! A junction needs no right that a user lacks, in contrast to a symbolic link on Windows. It cannot lead to another
//! machine, and file systems such as FAT have none. [`System::lacks_links`] recognises these errors.

use std::{io, path::Path};

use cap_std::fs::Dir;

use crate::system::System;

/// An entry of an open folder that is a link to a folder, or becomes one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FolderLink<'a> {
    dir: &'a Dir,
    /// Path of `dir`, absolute and resolved.
    path: &'a Path,
    name: &'a str,
}

impl<'a> FolderLink<'a> {
    /// Names the entry of the folder `dir`, whose path is `path`.
    pub fn new(dir: &'a Dir, path: &'a Path, name: &'a str) -> Self {
        Self { dir, path, name }
    }

    /// Creates the link to an absolute path.
    ///
    /// # Errors
    /// Returns the I/O error; nothing is left behind.
    pub fn create(self, target: &Path) -> io::Result<()> {
        create(self, &System::this().link_text(self.path, target))
    }

    /// Returns whether the entry is a link, wherever it leads.
    pub fn exists(self) -> bool {
        self.dir.symlink_metadata(self.name).is_ok_and(|found| found.is_symlink())
    }

    /// Returns whether the entry is a link that was created for this absolute path.
    pub fn leads_to(self, target: &Path) -> bool {
        let text = System::this().link_text(self.path, target);
        self.dir.read_link_contents(self.name).is_ok_and(|found| found == text)
    }

    /// Removes the link; its target stays.
    ///
    /// # Errors
    /// Returns the I/O error.
    pub fn remove(self) -> io::Result<()> {
        remove(self.dir, self.name)
    }
}

/// Removes a link to a folder; its target stays.
///
/// # Errors
/// Returns the I/O error.
pub(crate) fn remove(dir: &Dir, name: &str) -> io::Result<()> {
    // Windows removes such a link as the folder that it stands for.
    if cfg!(windows) { dir.remove_dir(name) } else { dir.remove_file(name) }
}

#[cfg(unix)]
fn create(link: FolderLink<'_>, text: &Path) -> io::Result<()> {
    link.dir.symlink_contents(text, link.name)
}

/// Creates a junction. `dir` is open without sharing its removal, so its path cannot come to lead elsewhere meanwhile.
#[cfg(windows)]
fn create(link: FolderLink<'_>, text: &Path) -> io::Result<()> {
    /// `ERROR_NOT_SUPPORTED`
    const NOT_SUPPORTED: i32 = 50;
    let path = link.path.join(link.name);
    match junction::create(text, &path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        Err(error) => {
            // The folder that was to become the junction.
            let _best_effort = link.remove();
            return Err(error);
        }
        Ok(()) => {}
    }
    // The system accepts a junction to a folder of another machine, but does not follow it.
    Dir::open_ambient_dir(&path, cap_std::ambient_authority()).map(drop).map_err(|_| {
        let _best_effort = link.remove();
        io::Error::from_raw_os_error(NOT_SUPPORTED)
    })
}

/// Creates a link with the text that another one has.
///
/// # Errors
/// Returns the I/O error. On Windows, the right to make symbolic links is needed.
#[cfg(unix)]
pub(crate) fn copy(text: &Path, dir: &Dir, name: &str) -> io::Result<()> {
    dir.symlink_contents(text, name)
}

#[cfg(windows)]
pub(crate) fn copy(text: &Path, dir: &Dir, name: &str) -> io::Result<()> {
    dir.symlink_dir(text, name)
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

    #[test]
    fn removed_link_leaves_its_target() {
        let temp = tempfile::tempdir().unwrap();
        let root = crate::resolve(temp.path()).unwrap();
        let dir = Dir::open_ambient_dir(&root, ambient_authority()).unwrap();
        dir.create_dir_all("library/pdf").unwrap();
        dir.write("library/pdf/SKILL.md", "text").unwrap();
        dir.create_dir("agent").unwrap();
        let (agent, path, target) = (dir.open_dir("agent").unwrap(), root.join("agent"), root.join("library/pdf"));
        let link = FolderLink::new(&agent, &path, "pdf");
        match link.create(&target) {
            Err(error) if System::this().lacks_links(error.raw_os_error()) => {
                return assert!(!agent.exists("pdf"), "nothing is left of an attempt");
            }
            created => created.unwrap(),
        }
        assert!(link.exists() && link.leads_to(&target) && !link.leads_to(&root));
        let shown = Dir::open_ambient_dir(path.join("pdf"), ambient_authority()).unwrap();
        assert_eq!(shown.read_to_string("SKILL.md").unwrap(), "text");
        drop(shown);
        assert!(link.create(&target).is_err() && link.exists(), "the name is taken");
        link.remove().unwrap();
        assert!(!link.exists() && dir.exists("library/pdf/SKILL.md"));
    }
}
