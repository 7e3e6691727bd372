//! [`leftover_files`]: leftovers in the home, which are temporary files of processes that died.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use cap_std::{ambient_authority, fs::Dir};
use library::Home;

/// Minimum age of a temporary file that no process is still writing. The longest writer, a fetch, times out after two
/// minutes.
const OLD: Duration = Duration::from_secs(600);

/// Folders in the library's part of the home where files of a history are written, with the prefix and suffix of
/// temporary files.
const OF_HISTORY: [(&str, &str, &str); 8] = [
    ("history.git", "gc.unfinished", ""),
    ("history.git", "packed-refs.lock", ""),
    ("history.git/objects/pack", "tmp_pack-", ""),
    ("history.git/objects", "tmp_object_git2_", ""),
    ("history.git/objects/pack", "pack_git2_", ""),
    ("history.git/refs/skills", "", ".lock"),
    ("history.git/refs/sync/skills", "", ".lock"),
    ("history.git/refs/sync/machines", "", ".lock"),
];

/// Prefix of temporary files of objects, in the folders of objects.
const OBJECT: &str = "tmp_obj";

/// Name patterns of temporary files that replace another program's configuration or record a setup: prefixes, and the
/// length of the random rest in bytes.
const BESIDE: &str = ".skillhub-";
const RECORD: &str = ".tmp";
const RANDOM: usize = 6;

/// Finds leftovers in the home, its cache and a library's folder in it, sorted. Recent ones are left
/// out, because a process may still be writing them. `written` lists other programs' folders in which a file was
/// replaced.
pub fn leftover_files(home: &Home, own: &Path, written: &[PathBuf]) -> Vec<PathBuf> {
    let cache = home.cache();
    let mut folders = vec![home.path().to_owned(), own.to_owned()];
    folders.extend(names_in(&cache).into_iter().map(|name| cache.join(name)).filter(|path| !is_fetch(path)));
    folders.push(cache);
    let mut found: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| names_in(folder).into_iter().map(|name| folder.join(name)))
        .filter(|path| is_half_made(path))
        .collect();
    let objects = own.join("history.git/objects");
    for folder in names_in(&objects).into_iter().filter(|name| name.len() == 2) {
        let names = names_in(&objects.join(&folder)).into_iter().filter(|name| name.starts_with(OBJECT));
        found.extend(names.map(|name| objects.join(&folder).join(name)));
    }
    for (folder, beginning, end) in OF_HISTORY {
        let is_temporary = |name: &String| name.starts_with(beginning) && name.ends_with(end);
        let names = names_in(&own.join(folder)).into_iter().filter(is_temporary);
        found.extend(names.map(|name| own.join(folder).join(name)));
    }
    for (folder, beginning) in
        written.iter().map(|folder| (folder.clone(), BESIDE)).chain([(home.path().join("setup"), RECORD)])
    {
        let is_temporary = |name: &String| name.strip_prefix(beginning).is_some_and(|rest| rest.len() == RANDOM);
        found.extend(names_in(&folder).into_iter().filter(is_temporary).map(|name| folder.join(name)));
    }
    found.retain(|path| is_old(path));
    found.sort();
    found.dedup();
    found
}

/// Deletes one of the paths returned by [`leftover_files`].
///
/// # Errors
/// Errors of the operating system.
pub fn remove_leftover_files(path: &Path) -> std::io::Result<()> {
    let Some((parent, name)) = path.parent().zip(path.file_name()) else { return Ok(()) };
    let dir = Dir::open_ambient_dir(parent, ambient_authority())?;
    if dir.symlink_metadata(name)?.is_dir() { dir.remove_dir_all(name) } else { dir.remove_file(name) }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = Dir::open_ambient_dir(folder, ambient_authority()).and_then(|dir| dir.entries());
    entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn is_fetch(path: &Path) -> bool {
    file_name(path).starts_with("fetch-")
}

/// Returns whether the name is one given to temporary files.
fn is_half_made(path: &Path) -> bool {
    let name = file_name(path);
    let is_written_beside = name.strip_suffix(".tmp").and_then(|rest| rest.rsplit_once('.')).is_some_and(|(_, by)| {
        by.split_once('-').is_some_and(|(process, count)| [process, count].iter().all(|part| is_number(part)))
    });
    is_fetch(path) || name.starts_with(".registry-") || name == "history.unfinished" || is_written_beside
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_old(path: &Path) -> bool {
    let Some((parent, name)) = path.parent().zip(path.file_name()) else { return false };
    let made = Dir::open_ambient_dir(parent, ambient_authority())
        .and_then(|dir| dir.symlink_metadata(name))
        .and_then(|metadata| metadata.modified());
    made.is_ok_and(|made| made.into_std().elapsed().is_ok_and(|age| age >= OLD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_leftovers_are_recognised() {
        for ours in ["fetch-abc", ".registry-x1", "history.unfinished", "state.toml.12-0.tmp"] {
            assert!(is_half_made(Path::new(ours)), "{ours}");
        }
        for other in ["config.toml", "notes.tmp", "x.12.tmp", "x.a-0.tmp", "registry", "history.git"] {
            assert!(!is_half_made(Path::new(other)), "{other}");
        }
    }
}
