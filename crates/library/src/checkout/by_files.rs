//! Renaming folders, also where the file system cannot rename them ([`rename_away`]).
//!
//! A folder in a lower layer of an overlay file system, such as a container image, cannot be renamed, but its files
//! can. They are moved one by one into a folder beside it, which gets the final name once it holds all of them. A
//! kill in between leaves that folder behind; [`finish`] recognises it by its name.

use std::io;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;

/// Renames a folder to an unused name.
///
/// # Errors
/// Returns the I/O error; the folder is then in its original place.
const PART: &str = "-part";

/// Renames a folder. The new name must be unused.
///
/// # Errors
/// Returns the I/O error; the folder is then in its original place.
pub(crate) fn rename_away(root: &Dir, from: &str, to: &str) -> io::Result<()> {
    match root.rename(from, root, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => finish(root, from, &part_of(to)),
        result => result,
    }
}

/// Returns the temporary name to which [`rename_away`] was moving a folder, or `None` if the name is not that of a
/// part.
pub(crate) fn without_part(name: &str) -> Option<&str> {
    name.strip_suffix(PART)
}

fn part_of(to: &str) -> String {
    format!("{to}{PART}")
}

/// Continues moving a folder. If it cannot be completed, for example because somebody recreated a file that was
/// already moved, everything that can be moved back is.
///
/// # Errors
/// Returns the I/O error. Files that [`give_back`] could not move either remain in the part.
pub(crate) fn finish(root: &Dir, from: &str, part: &str) -> io::Result<()> {
    let Some(to) = without_part(part) else { return Err(io::ErrorKind::InvalidInput.into()) };
    let moved = move_into(root, from, part).and_then(|()| match root.symlink_metadata(to) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => root.rename(part, root, to),
    });
    if moved.is_err() {
        give_back(root, from, part);
    }
    moved
}

/// Moves the content of a part back. Files whose path was taken in the meantime are kept for a person to inspect.
/// Files that the system refuses to move, for example because the disk is full, stay in the part for the next
/// attempt.
pub(crate) fn give_back(root: &Dir, from: &str, part: &str) {
    if move_into(root, part, from).is_err_and(|error| super::is_in_the_way(&error)) {
        super::keep_for_inspection(root, part);
    }
}

/// Moves the content of a folder into another, which may already have some of it, and removes the first. A missing
/// source counts as moved. Files are never overwritten: a file whose target exists is skipped and the rest moves.
///
/// # Errors
/// Returns the first I/O error. An occupied target is only reported in the absence of other errors.
fn move_into(root: &Dir, from: &str, to: &str) -> io::Result<()> {
    move_between(root, from, root, to)
}

fn move_between(above: &Dir, from: &str, beside: &Dir, to: &str) -> io::Result<()> {
    let source = match above.open_dir_nofollow(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        source => source?,
    };
    let target = ensure_like(&source, beside, to)?;
    let mut moved = Ok(());
    for entry in source.entries()?.collect::<io::Result<Vec<_>>>()? {
        let name = entry.file_name();
        let one = match name.to_str().filter(|_| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            Some(folder) => move_between(&source, folder, &target, folder),
            None if target.symlink_metadata(&name).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
            None => source.rename(&name, &target, &name),
        };
        let says_more = moved.as_ref().map_or_else(super::is_in_the_way, |()| true);
        moved = if one.is_err() && says_more { one } else { moved };
    }
    // Windows removes no folder that is open.
    drop(source);
    moved.and_then(|()| above.remove_dir(from))
}

/// Opens a folder, creating it with the mode of another one if it is missing.
fn ensure_like(source: &Dir, beside: &Dir, name: &str) -> io::Result<Dir> {
    match beside.create_dir(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !beside.symlink_metadata(name)?.is_dir() {
                return Err(error);
            }
        }
        made => made.and_then(|()| beside.set_permissions(name, source.dir_metadata()?.permissions()))?,
    }
    beside.open_dir_nofollow(name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn root() -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        dir.create_dir_all("s/deep/er").unwrap();
        for (path, text) in [("s/a", "1"), ("s/deep/b", "2"), ("s/deep/er/c", "3")] {
            dir.write(path, text).unwrap();
        }
        (temp, dir)
    }

    fn texts(dir: &Dir, folder: &str) -> BTreeMap<&'static str, String> {
        let paths = ["a", "deep/b", "deep/er/c"].into_iter();
        paths.filter_map(|path| Some((path, dir.read_to_string(format!("{folder}/{path}")).ok()?))).collect()
    }

    #[test]
    fn interrupted_move_is_completed() {
        let (_temp, whole) = root();
        let all = texts(&whole, "s");
        for moved in 0..8 {
            let (_temp, dir) = root();
            dir.create_dir_all("t-part/deep").unwrap();
            for (at, path) in ["a", "deep/b", "deep/er/c"].into_iter().enumerate() {
                if moved & 1 << at != 0 {
                    dir.create_dir_all("t-part/deep/er").unwrap();
                    dir.rename(format!("s/{path}"), &dir, format!("t-part/{path}")).unwrap();
                }
            }
            finish(&dir, "s", "t-part").unwrap();
            assert_eq!(texts(&dir, "t"), all);
            assert!(!dir.exists("s") && !dir.exists("t-part"));
        }
        let (_temp, dir) = root();
        dir.rename("s", &dir, "t-part").unwrap();
        finish(&dir, "s", "t-part").unwrap();
        assert_eq!(texts(&dir, "t"), all, "stopped after the last of them");
    }

    #[test]
    fn concurrent_write_is_never_overwritten() {
        let (_temp, dir) = root();
        dir.create_dir("t-part").unwrap();
        dir.write("t-part/a", "moved before").unwrap();
        assert!(finish(&dir, "s", "t-part").is_err());
        assert_eq!((texts(&dir, "s").len(), dir.read_to_string("s/a").unwrap().as_str()), (3, "1"));
        let names: Vec<_> = dir.entries().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let kept = names.iter().find_map(|name| name.to_str().filter(|name| name.starts_with(super::super::KEPT)));
        assert_eq!(dir.read_to_string(format!("{}/a", kept.unwrap())).unwrap(), "moved before");
    }
    #[test]
    fn conflict_does_not_block_other_files() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        // In any order of reading, some file that is not blocked comes after one that is.
        for folder in ["one/er", "two/er"] {
            dir.create_dir_all(format!("s/{folder}")).unwrap();
            dir.create_dir_all(format!("t-part/{folder}")).unwrap();
            for file in ["a", "er/b"] {
                let path = format!("{}/{file}", folder.trim_end_matches("/er"));
                dir.write(format!("s/{path}"), "written anew").unwrap();
                dir.write(format!("t-part/{path}"), "moved before").unwrap();
            }
            dir.write(format!("t-part/{folder}/c"), "moved before").unwrap();
        }
        assert_eq!(finish(&dir, "s", "t-part").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let names: Vec<_> =
            dir.entries().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        let kept = names.iter().find(|name| name.starts_with(super::super::KEPT)).unwrap();
        assert_eq!(names.len(), 2, "{names:?}");
        for folder in ["one", "two"] {
            for (file, here, aside) in
                [("a", "written anew", true), ("er/b", "written anew", true), ("er/c", "moved before", false)]
            {
                assert_eq!(dir.read_to_string(format!("s/{folder}/{file}")).unwrap(), here);
                assert_eq!(dir.exists(format!("{kept}/{folder}/{file}")), aside, "{folder}/{file}");
            }
        }
    }

    #[test]
    fn refused_move_can_be_retried() {
        let (_temp, dir) = root();
        dir.rename("s", &dir, "t-part").unwrap();
        let refused = "s".repeat(300);
        assert!(finish(&dir, &refused, "t-part").is_err());
        assert_eq!(texts(&dir, "t-part").len(), 3);
        finish(&dir, "s", "t-part").unwrap();
        assert_eq!(texts(&dir, "t").len(), 3);
    }
}
