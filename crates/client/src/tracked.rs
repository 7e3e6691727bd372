//! [`TrackedFolders`]: detection of folders with files that a git repository tracks.
//!
//! Only the repository's index is read. Its configuration may have come with a clone, so it is not read, and nothing in
//! it is executed.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};
use git2::Index;
use library::read_bounded;

/// Maximum size of an index that is read, in bytes. It corresponds to about 500,000 files.
const INDEX_BYTES: u64 = 64 << 20;

/// Maximum size of the `.git` file of a linked work tree, in bytes.
const GIT_FILE_BYTES: u64 = 4096;

/// Looks up whether git tracks a folder. Indexes are cached after the first read.
#[derive(Default)]
pub(crate) struct TrackedFolders {
    indexes: HashMap<PathBuf, Option<Index>>,
}

impl TrackedFolders {
    /// Returns whether a repository tracks a file in the folder, or the folder is itself a repository. If the index
    /// cannot be read, returns true.
    pub fn has(&mut self, folder: &Path) -> bool {
        let Ok(folder) = real_parent(folder) else { return true };
        let Some(root) = folder.ancestors().find(|above| git_entry(above)) else { return false };
        if root == folder {
            return true;
        }
        let Ok(below) = folder.strip_prefix(root) else { return true };
        let Some(below) = below.to_str() else { return true };
        let index = self.indexes.entry(root.to_owned()).or_insert_with(|| read_index(root));
        let Some(index) = index else { return true };
        let prefix = format!("{below}/");
        index.iter().any(|entry| entry.path == below.as_bytes() || entry.path.starts_with(prefix.as_bytes()))
    }
}

/// Resolves the links in a path, except in its last component.
fn real_parent(path: &Path) -> std::io::Result<PathBuf> {
    let (parent, name) = path.parent().zip(path.file_name()).ok_or(std::io::ErrorKind::InvalidInput)?;
    Ok(library::resolve(parent)?.join(name))
}

fn git_entry(folder: &Path) -> bool {
    let Ok(dir) = Dir::open_ambient_dir(folder, ambient_authority()) else { return false };
    dir.symlink_metadata(".git").is_ok()
}

/// Reads the index of the repository at a root; `None` if it cannot be read. A missing index is empty.
fn read_index(root: &Path) -> Option<Index> {
    let folder = git_folder(root)?;
    let dir = Dir::open_ambient_dir(&folder, ambient_authority()).ok()?;
    match dir.metadata("index") {
        Ok(metadata) if metadata.len() > INDEX_BYTES => None,
        Ok(_) => Index::open(&folder.join("index")).ok(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Index::new().ok(),
        Err(_) => None,
    }
}

/// Returns the folder of a repository's own files: `.git`, or the folder that a `.git` file points to.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let dir = Dir::open_ambient_dir(root, ambient_authority()).ok()?;
    if dir.metadata(".git").ok()?.is_dir() {
        return Some(root.join(".git"));
    }
    let text = String::from_utf8(read_bounded(&dir, ".git", GIT_FILE_BYTES).ok()??).ok()?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

    use super::*;

    fn add(repository: &git2::Repository, path: &str) {
        let mut index = repository.index().unwrap();
        index.add_path(Path::new(path)).unwrap();
        index.write().unwrap();
    }

    #[test]
    fn only_indexed_folders_are_tracked() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for name in ["one", "two", "one-more"] {
            std::fs::create_dir_all(root.join("p/.claude/skills").join(name)).unwrap();
            std::fs::write(root.join("p/.claude/skills").join(name).join("SKILL.md"), "x").unwrap();
        }
        let repository = git2::Repository::init(root.join("p")).unwrap();
        add(&repository, ".claude/skills/one/SKILL.md");
        let mut tracked = TrackedFolders::default();
        assert!(tracked.has(&root.join("p/.claude/skills/one")));
        assert!(
            !tracked.has(&root.join("p/.claude/skills/two")) && !tracked.has(&root.join("p/.claude/skills/one-more"))
        );
        assert!(!tracked.has(&root.join("elsewhere/skill")));
    }

    #[test]
    fn folder_with_own_repository_is_tracked() {
        let temp = tempfile::tempdir().unwrap();
        git2::Repository::init(temp.path().join("skill")).unwrap();
        assert!(TrackedFolders::default().has(&temp.path().join("skill")));
    }

    #[test]
    fn unreadable_index_counts_as_tracking() {
        let temp = tempfile::tempdir().unwrap();
        git2::Repository::init(temp.path()).unwrap();
        std::fs::create_dir(temp.path().join("skill")).unwrap();
        assert!(!TrackedFolders::default().has(&temp.path().join("skill")), "nothing was added yet");
        std::fs::write(temp.path().join(".git/index"), "damaged").unwrap();
        assert!(TrackedFolders::default().has(&temp.path().join("skill")));
    }
}
