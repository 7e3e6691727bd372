//! Removal of git's lock files that a killed process left in a repository.

use std::{io, path::Path};

use cap_std::{ambient_authority, fs::Dir};

/// Folders of references in a git repository are at most this deep.
const DEEPEST: usize = 8;
/// Files beside the references that git replaces by way of a lock file.
const FILES: [&str; 4] = ["HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock"];

/// Removes the lock files in a bare git repository. No other process may be changing the repository meanwhile: the
/// caller holds a lock of its own that excludes them, so that every lock file is that of a killed process.
///
/// git and libgit2 refuse to move a branch as long as its lock file exists. Nothing is done where there is no
/// repository.
///
/// # Errors
/// A folder cannot be read, or a file cannot be removed.
pub fn remove_dead_locks(git_dir: &Path) -> io::Result<()> {
    let Some(dir) = found(Dir::open_ambient_dir(git_dir, ambient_authority()))? else { return Ok(()) };
    for name in FILES {
        found(dir.remove_file(name))?;
    }
    found(dir.open_dir("refs"))?.map_or(Ok(()), |refs| remove_below(&refs, DEEPEST))
}

fn remove_below(dir: &Dir, deepest: usize) -> io::Result<()> {
    for entry in dir.entries()? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            if deepest > 0 {
                remove_below(&entry.open_dir()?, deepest - 1)?;
            }
        } else if name.to_str().is_some_and(|name| name.ends_with(".lock")) {
            found(dir.remove_file(&name))?;
        }
    }
    Ok(())
}

/// Returns `None` if the file or folder does not exist.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

    use std::fs;

    use super::*;

    #[test]
    fn branch_moves_again_after_its_lock_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let repo = git2::Repository::init_bare(folder.path()).unwrap();
        let tree = repo.find_tree(repo.treebuilder(None).unwrap().write().unwrap()).unwrap();
        let author = git2::Signature::now("ann", "ann@example.org").unwrap();
        let commit = repo.commit(None, &author, &author, "one", &tree, &[]).unwrap();
        for name in ["refs/heads/main.lock", "packed-refs.lock", "shallow.lock"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let moved = || repo.reference("refs/heads/main", commit, true, "move");
        assert_eq!(moved().err().map(|error| error.code()), Some(git2::ErrorCode::Locked));
        remove_dead_locks(folder.path()).unwrap();
        remove_dead_locks(&folder.path().join("none")).unwrap();
        assert!(moved().is_ok());
        assert_eq!(fs::read_dir(folder.path().join("refs/heads")).unwrap().count(), 1);
        assert!(!folder.path().join("packed-refs.lock").exists() && !folder.path().join("shallow.lock").exists());
    }
}
