//! Moving the history of a library whose folder was moved ([`relocate`]).
//!
//! The home finds the data of a library by the library's path. Only `library.toml` and the links in agents' folders
//! contain that path, so moving the data is a single rename. Afterwards `library.toml` records the move and the
//! former path. If the process is stopped in between, another one can complete it.

use std::{
    io,
    path::{Path, PathBuf},
};

use cap_std::fs::Dir;
use skill::Limits;
use thiserror::Error;
use toml::{Table, Value};

use super::{LOCK_WAIT, Library, LibraryError};
use crate::{
    checkout::KEPT,
    disk::{Durability, ensure_dir, open_dir, read_bounded, sync_folder, write_atomically},
    events::{self, EventStatus},
    home::Home,
    location::resolve,
    lock::{LibraryLock, LockError},
    path_access_error::PathAccessError,
};

const NOTE: &str = "library.toml";
const MOVED_FROM: &str = "moved_from";
/// Folders from before the last move.
const MOVED_BEFORE: &str = "moved_before";

/// Files in the data folder of a library that has no history yet.
const BLANK: [&str; 7] = ["lock", "turn", NOTE, "journal", "journal.applied", "events.lock", "glances"];
const EVENTS: &str = "events.jsonl";

/// Result of moving a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// Former folder of the library.
    pub from: PathBuf,
    /// New folder of the library.
    pub to: PathBuf,
    /// Folder of the library's data in the home.
    pub own: PathBuf,
    /// True if an earlier run had moved it already.
    pub was_moved: bool,
}

/// Reason why a history was not moved. Nothing has changed then.
#[derive(Debug, Error)]
pub enum RelocateError {
    /// The home has no data for the old folder.
    #[error("skillhub has no history for {0:?}")]
    Unknown(PathBuf),
    /// The new folder does not exist.
    #[error("the folder {0:?} does not exist")]
    Missing(PathBuf),
    /// Both paths lead to the same folder.
    #[error("the old and the new folder are the same: {0:?}")]
    Same(PathBuf),
    /// The new folder has a history of its own.
    #[error("{0:?} already has its own history")]
    HasHistory(PathBuf),
    /// The old folder still contains skills.
    #[error("{path:?} was not moved: it still has {first:?}")]
    StillThere {
        /// The folder that should be empty.
        path: PathBuf,
        /// Name of a folder in it.
        first: String,
    },
    /// The home or its lock cannot be used.
    #[error(transparent)]
    Library(#[from] LibraryError),
}

impl From<PathAccessError> for RelocateError {
    fn from(error: PathAccessError) -> Self {
        Self::Library(error.into())
    }
}

impl From<LockError> for RelocateError {
    fn from(error: LockError) -> Self {
        Self::Library(error.into())
    }
}

/// Assigns the history of the library at `old` to the one at `new`, after its folder was moved there. If it is
/// stopped at any point, it can be run again.
///
/// # Errors
/// Returns [`RelocateError`].
pub fn relocate(home: &Home, old: &Path, new: &Path) -> Result<Relocation, RelocateError> {
    let (from, to) = (resolved(old)?, resolved(new)?);
    if open_dir(&to)?.is_none() {
        return Err(RelocateError::Missing(to));
    }
    let target = home.library(&to);
    let named = std::path::absolute(old).unwrap_or_else(|_| old.to_owned());
    let Some(source) = kept_for(home, &[&from, &named], &target)? else {
        return match note_of(&target)? {
            Some(note) if note.is_moved([&from, &named], &to) => {
                Ok(Relocation { from: named, to, own: target, was_moved: true })
            }
            Some(note) if [&from, &named].iter().any(|path| note.names(path)) => finish(named, to, target),
            _ => Err(RelocateError::Unknown(named)),
        };
    };
    if from == to && named == to {
        return Err(RelocateError::Same(to));
    }
    if from != to {
        check_left(&from)?;
    }
    let own = ensure_dir(&source)?;
    let lock = LibraryLock::acquire(&own, LOCK_WAIT)?;
    make_room(&target, &to, &own)?;
    // Windows renames no folder that is open, nor one in which a file is.
    let _held = Some((own, lock)).filter(|_| cfg!(not(windows)));
    let libraries = ensure_dir(&home.path().join("libraries"))?;
    let name = |path: &Path| path.file_name().map(ToOwned::to_owned).unwrap_or_default();
    let io = |error| PathAccessError::io(source.clone())(error);
    libraries.rename(name(&source), &libraries, name(&target)).map_err(io)?;
    sync_folder(&libraries).map_err(io)?;
    finish(named, to, target)
}

/// Records the new path and the former ones in `library.toml`.
fn finish(from: PathBuf, to: PathBuf, own: PathBuf) -> Result<Relocation, RelocateError> {
    let dir = ensure_dir(&own)?;
    let io = |error| PathAccessError::io(own.join(NOTE))(error);
    let note = note_of(&own)?.unwrap_or_default();
    let from_text = from.display().to_string();
    let earlier: Vec<String> = note.former().filter(|path| *path != from_text).map(str::to_owned).collect();
    let mut table = note.0;
    if !earlier.is_empty() {
        table.insert(MOVED_BEFORE.to_owned(), earlier.into());
    }
    table.insert("format".to_owned(), Value::Integer(1));
    table.insert("path".to_owned(), to.display().to_string().into());
    table.insert(MOVED_FROM.to_owned(), from_text.into());
    write_atomically(&dir, NOTE, table.to_string().as_bytes(), Durability::Durable).map_err(io)?;
    Ok(Relocation { from, to, own, was_moved: false })
}

fn resolved(path: &Path) -> Result<PathBuf, RelocateError> {
    let io = |source| LibraryError::Io { path: path.to_owned(), source };
    Ok(resolve(path).map_err(io)?)
}

/// The content of `library.toml`.
#[derive(Default)]
struct LibraryToml(Table);

impl LibraryToml {
    fn names(&self, path: &Path) -> bool {
        self.text("path") == Some(&path.display().to_string())
    }

    fn is_moved(&self, from: [&PathBuf; 2], to: &Path) -> bool {
        let moved_from = self.text(MOVED_FROM);
        self.names(to) && from.iter().any(|path| moved_from == Some(&path.display().to_string()))
    }

    /// Returns the former paths of the library, oldest first.
    fn former(&self) -> impl DoubleEndedIterator<Item = &str> {
        let earlier = self.0.get(MOVED_BEFORE).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        earlier.iter().filter_map(Value::as_str).chain(self.text(MOVED_FROM))
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }
}

/// Moves of a library, newest first: its former and its present folder, without the end that both paths have in common.
/// Such a project was moved as a whole.
#[derive(Debug)]
pub struct MovedFolder(Vec<(PathBuf, PathBuf)>);

impl MovedFolder {
    /// Returns the moves of the library with this data folder; `None` if it was never moved.
    pub(super) fn of(own: &Path) -> Option<Self> {
        let note = note_of(own).ok().flatten()?;
        let to = note.text("path")?;
        let former = note.former().rev().filter(|from| *from != to);
        let moves: Vec<_> = former.map(|from| without_common_end(Path::new(from), Path::new(to))).collect();
        Some(Self(moves)).filter(|moved| !moved.0.is_empty())
    }

    /// Returns the present path of a file or folder that had this path before a move.
    pub fn present(&self, path: &Path) -> PathBuf {
        let moved = self.0.iter().find_map(|(from, to)| path.strip_prefix(from).ok().map(|rest| to.join(rest)));
        moved.unwrap_or_else(|| path.to_owned())
    }
}

fn without_common_end(mut from: &Path, mut to: &Path) -> (PathBuf, PathBuf) {
    while let (Some(above), Some(above_new)) = (from.parent(), to.parent())
        && from.file_name() == to.file_name()
    {
        (from, to) = (above, above_new);
    }
    (from.to_owned(), to.to_owned())
}

fn note_of(own: &Path) -> Result<Option<LibraryToml>, RelocateError> {
    let Some(dir) = open_dir(own)? else { return Ok(None) };
    let bytes = read_bounded(&dir, NOTE, Limits::default().state_bytes)
        .map_err(PathAccessError::io(own.join(NOTE)))?
        .unwrap_or_default();
    Ok(String::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).map(LibraryToml))
}

/// Finds the data folder of a library by one of its paths: under the id of the path, otherwise by the path in
/// `library.toml`, as for a path through a link that is gone. The folder under the new id does not count.
fn kept_for(home: &Home, paths: &[&PathBuf], target: &Path) -> Result<Option<PathBuf>, RelocateError> {
    for path in paths {
        let own = home.library(path);
        if own != target && open_dir(&own)?.is_some() {
            return Ok(Some(own));
        }
    }
    let libraries = home.path().join("libraries");
    let Some(dir) = open_dir(&libraries)? else { return Ok(None) };
    for entry in dir.entries().map_err(PathAccessError::io(&libraries))?.flatten() {
        let own = libraries.join(entry.file_name());
        if own != target && note_of(&own)?.is_some_and(|note| paths.iter().any(|path| note.names(path))) {
            return Ok(Some(own));
        }
    }
    Ok(None)
}

impl Library {
    /// Returns the moves of this library; `None` if it was never moved.
    pub fn moved_folder(&self) -> Option<MovedFolder> {
        MovedFolder::of(&self.own)
    }

    /// Returns the possible former folders of this library, if it has folders and no history. These are libraries
    /// known to the home that have skills with the same names and whose folders no longer contain skills.
    ///
    /// # Errors
    /// The home or this library cannot be read.
    pub fn moved_from(&self, home: &Home) -> Result<Vec<PathBuf>, LibraryError> {
        let here = self.folders()?;
        if here.is_empty() || self.storage()?.is_some() {
            return Ok(Vec::new());
        }
        let libraries = home.path().join("libraries");
        let Some(dir) = open_dir(&libraries)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for entry in dir.entries().map_err(PathAccessError::io(&libraries))?.flatten() {
            let own = libraries.join(entry.file_name());
            let Ok(Some(note)) = note_of(&own) else { continue };
            let Some(old) = note.text("path").map(PathBuf::from).filter(|old| old != self.path()) else { continue };
            let former = Self::at(old.clone(), self.scope(), own, &self.storage_kind);
            let heads = former.storage().ok().flatten().and_then(|storage| storage.heads().ok()).unwrap_or_default();
            let is_here = heads.iter().any(|(name, _)| here.iter().any(|folder| folder == name.as_str()));
            if is_here && check_left(&old).is_ok() {
                found.push(old);
            }
        }
        found.sort();
        Ok(found)
    }

    /// Returns the folders below this library for which the home has separate histories: groups of skills, including
    /// groups without remaining skills.
    ///
    /// # Errors
    /// The home cannot be read.
    pub fn groups_with_history(&self, home: &Home) -> Result<Vec<PathBuf>, LibraryError> {
        let libraries = home.path().join("libraries");
        let Some(dir) = open_dir(&libraries)? else { return Ok(Vec::new()) };
        let entries = dir.entries().map_err(PathAccessError::io(&libraries))?.flatten();
        let notes = entries.filter_map(|entry| note_of(&libraries.join(entry.file_name())).ok().flatten());
        let paths = notes.filter_map(|note| note.text("path").map(PathBuf::from));
        let is_group = |path: &PathBuf| path != self.path() && path.starts_with(self.path());
        // A path that leads somewhere else through a link does not count.
        let mut found: Vec<PathBuf> =
            paths.filter(is_group).filter(|path| resolve(path).is_ok_and(|real| real == *path)).collect();
        found.sort();
        Ok(found)
    }
}

/// Refuses an old folder that contains skills or files kept for a person's decision.
fn check_left(from: &Path) -> Result<(), RelocateError> {
    let Some(root) = open_dir(from)? else { return Ok(()) };
    let names = root.entries().map_err(PathAccessError::io(from))?.flatten();
    let mut names = names.filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        (is_folder && (!name.starts_with('.') || name.starts_with(KEPT))).then_some(name)
    });
    names.next().map_or(Ok(()), |first| Err(RelocateError::StillThere { path: from.to_owned(), first }))
}

/// Removes the data of the new folder if it has no history. Refusals in its event log are copied to the log that
/// replaces it.
fn make_room(target: &Path, to: &Path, source: &Dir) -> Result<(), RelocateError> {
    let Some(dir) = open_dir(target)? else { return Ok(()) };
    let io = |error: io::Error| PathAccessError::io(target)(error);
    let _lock = LibraryLock::acquire(&dir, LOCK_WAIT)?;
    let names: Vec<String> =
        dir.entries().map_err(io)?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let (refused, unreadable) = events::read(&dir).map_err(io)?;
    let is_log = unreadable == 0 && refused.iter().all(|event| event.status == EventStatus::Refused);
    let is_blank = |name: &String| match name.as_str() {
        "journal" => is_empty(&dir, name),
        EVENTS => is_log,
        other => BLANK.contains(&other),
    };
    if !names.iter().all(is_blank) {
        return Err(RelocateError::HasHistory(to.to_owned()));
    }
    events::append_missing(source, &refused).and_then(|()| events::sync(source)).map_err(io)?;
    for name in names {
        dir.remove_file(name).map_err(io)?;
    }
    Ok(())
}

fn is_empty(dir: &Dir, name: &str) -> bool {
    dir.symlink_metadata(name).is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_of_an_earlier_build_names_one_former_folder() {
        let note = |text: &str| LibraryToml(text.parse().unwrap());
        let old = note("format = 1\npath = '/b'\nmoved_from = '/a'\n");
        assert_eq!(old.former().collect::<Vec<_>>(), ["/a"]);
        let new = note("format = 1\npath = '/c'\nmoved_before = ['/a']\nmoved_from = '/b'\n");
        assert_eq!(new.former().collect::<Vec<_>>(), ["/a", "/b"]);
    }

    #[test]
    fn paths_follow_a_moved_project() {
        let moved = MovedFolder(vec![
            without_common_end(Path::new("/b/q/.agents/skills"), Path::new("/c/r/.agents/skills")),
            without_common_end(Path::new("/a/p/.agents/skills"), Path::new("/c/r/.agents/skills")),
        ]);
        for path in ["/a/p/.claude/skills/x", "/b/q/.claude/skills/x", "/c/r/.claude/skills/x"] {
            assert_eq!(moved.present(Path::new(path)), Path::new("/c/r/.claude/skills/x"));
        }
        assert_eq!(moved.present(Path::new("/home/.claude/skills/x")), Path::new("/home/.claude/skills/x"));
        let alone = MovedFolder(vec![without_common_end(Path::new("/a/one"), Path::new("/a/two"))]);
        assert_eq!(alone.present(Path::new("/a/.claude/x")), Path::new("/a/.claude/x"), "only the library was moved");
    }
}
