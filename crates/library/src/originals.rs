//! Folders and links of others that a link replaced, kept in the home ([`move_aside`]).

use std::{io, time::Duration};

use cap_std::fs::{Dir, OpenOptions};

use crate::{disk::sync_folder, folder_link};

/// Folder for originals in a library's folder of the home, with one subfolder per operation.
pub(crate) const FOLDER: &str = "originals";

/// Retention period of an original: 90 days.
pub(crate) const KEPT: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Returns the path of an original, relative to the library's folder in the home.
pub(crate) fn name(operation: &str, skill: &str, count: usize) -> String {
    let number = if count == 0 { String::new() } else { format!("-{}", count + 1) };
    format!("{FOLDER}/{operation}/{skill}{number}")
}

/// Moves a folder or link out of an agent's folder to `kept` below the library's folder in the home.
///
/// # Errors
/// Returns the I/O error; the original is then in its original place.
pub(crate) fn move_aside(agent: &Dir, name: &str, own: &Dir, kept: &str) -> io::Result<()> {
    let folder = kept.rsplit_once('/').map_or(FOLDER, |(folder, _)| folder);
    if !own.is_dir(folder) {
        own.create_dir_all(folder)?;
        // Sync the new folder before the original is moved into it, so that both survive a power loss.
        sync_folder(&own.open_dir(FOLDER)?)?;
        sync_folder(own)?;
    }
    move_entry(agent, name, own, kept)?;
    sync_folder(&own.open_dir(folder)?)
}

/// Moves an original back to its path, which must be free.
///
/// # Errors
/// Returns the I/O error; the original is then still in the home.
pub(crate) fn move_back(own: &Dir, kept: &str, agent: &Dir, name: &str) -> io::Result<()> {
    if agent.symlink_metadata(name).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    move_entry(own, kept, agent, name)?;
    if let Some((folder, _)) = kept.rsplit_once('/') {
        // Remove the folder of an operation with its last original.
        let _not_empty = own.remove_dir(folder);
    }
    Ok(())
}

/// Removes the originals of operations older than [`KEPT`] and returns the number of operations.
///
/// # Errors
/// Returns the I/O error.
pub(crate) fn remove_old(own: &Dir) -> io::Result<usize> {
    let Ok(folder) = own.open_dir(FOLDER) else { return Ok(0) };
    let mut removed = 0;
    for entry in folder.entries()? {
        let entry = entry?;
        let age = entry.metadata()?.modified()?.into_std().elapsed().unwrap_or_default();
        if age > KEPT {
            folder.remove_dir_all(entry.file_name())?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Renames an entry, or copies and removes it if the two folders are on different file systems.
fn move_entry(from: &Dir, name: &str, to: &Dir, target: &str) -> io::Result<()> {
    match from.rename(name, to, target) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            if let Err(error) = copy_entry(from, name, to, target) {
                let _best_effort = remove_entry(to, target);
                return Err(error);
            }
            remove_entry(from, name)
        }
        moved => moved,
    }
}

fn remove_entry(dir: &Dir, name: &str) -> io::Result<()> {
    match dir.symlink_metadata(name)? {
        found if found.is_dir() => dir.remove_dir_all(name),
        found if found.is_symlink() => folder_link::remove(dir, name),
        _ => dir.remove_file(name),
    }
}

/// Copies a file, a link as a link, or a folder recursively, including modes.
fn copy_entry(from: &Dir, name: &str, to: &Dir, target: &str) -> io::Result<()> {
    let metadata = from.symlink_metadata(name)?;
    if metadata.is_symlink() {
        return folder_link::copy(&from.read_link_contents(name)?, to, target);
    }
    if !metadata.is_dir() {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let mut file = to.open_with(target, &options)?;
        io::copy(&mut from.open(name)?, &mut file)?;
        return file.set_permissions(metadata.permissions());
    }
    to.create_dir(target)?;
    let (source, copy) = (from.open_dir(name)?, to.open_dir(target)?);
    for entry in source.entries()? {
        let child = entry?.file_name();
        let child = child.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
        copy_entry(&source, child, &copy, child)?;
    }
    to.set_permissions(target, metadata.permissions())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn dirs() -> (tempfile::TempDir, Dir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        let open = |name: &str| {
            std::fs::create_dir(temp.path().join(name)).unwrap();
            Dir::open_ambient_dir(temp.path().join(name), cap_std::ambient_authority()).unwrap()
        };
        let (agent, own) = (open("agent"), open("own"));
        (temp, agent, own)
    }

    #[test]
    fn folder_comes_back_whole() {
        let (temp, agent, own) = dirs();
        agent.create_dir_all("pdf/.git").unwrap();
        agent.write("pdf/SKILL.md", "text").unwrap();
        symlink("SKILL.md", temp.path().join("agent/pdf/link")).unwrap();
        let kept = name("1-2-3", "pdf", 0);
        move_aside(&agent, "pdf", &own, &kept).unwrap();
        assert!(!agent.exists("pdf") && own.exists(format!("{kept}/SKILL.md")));
        agent.create_dir("pdf").unwrap();
        assert!(move_back(&own, &kept, &agent, "pdf").is_err(), "its place is taken");
        agent.remove_dir("pdf").unwrap();
        move_back(&own, &kept, &agent, "pdf").unwrap();
        assert_eq!(agent.read_to_string("pdf/link").unwrap(), "text");
        assert!(agent.exists("pdf/.git") && !own.exists("originals/1-2-3"));
    }

    #[test]
    fn copy_keeps_modes_and_links() {
        let (temp, agent, own) = dirs();
        agent.create_dir_all("pdf/scripts").unwrap();
        agent.write("pdf/scripts/a.sh", "run").unwrap();
        let script = temp.path().join("agent/pdf/scripts/a.sh");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o750)).unwrap();
        symlink("/nowhere", temp.path().join("agent/pdf/link")).unwrap();
        copy_entry(&agent, "pdf", &own, "pdf").unwrap();
        let copied = std::fs::metadata(temp.path().join("own/pdf/scripts/a.sh")).unwrap();
        assert_eq!(copied.permissions().mode() & 0o777, 0o750);
        assert_eq!(own.read_link_contents("pdf/link").unwrap(), std::path::Path::new("/nowhere"));
    }

    #[test]
    fn only_old_originals_are_removed() {
        let (temp, agent, own) = dirs();
        for (operation, days) in [("old", 91), ("new", 89)] {
            agent.create_dir("pdf").unwrap();
            move_aside(&agent, "pdf", &own, &name(operation, "pdf", 0)).unwrap();
            let time = std::time::SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
            let folder = std::fs::File::open(temp.path().join("own/originals").join(operation)).unwrap();
            folder.set_modified(time).unwrap();
        }
        assert_eq!(remove_old(&own).unwrap(), 1);
        assert!(own.exists("originals/new/pdf") && !own.exists("originals/old"));
    }
}
