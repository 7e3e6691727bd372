//! Record of the changes of a `setup`, kept in the home until it is undone.

use std::{
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::{
    context::Context,
    exit::{CliError, Exit, failed, io_at},
    reading::text_at,
};

/// Folder in the home with one file for each setup that can be undone.
const FOLDER: &str = "setup";

/// Maximum size of a record, in bytes. It contains the texts of all changed files, before and after.
const BYTES: u64 = 512 << 20;

/// Version of the format.
const VERSION: u32 = 1;

/// The changes of one `setup`. The record is written before anything is changed, so that an interrupted setup can be
/// undone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetupRecord {
    v: u32,
    time: String,
    /// Libraries whose skills it managed.
    pub libraries: Vec<LibraryBefore>,
    /// Files that it wrote.
    pub files: Vec<FileChange>,
    /// Folders that it created, the outermost last.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
    /// Number of attempts. More than one if the setup was interrupted or extended.
    #[serde(default = "once")]
    pub attempts: usize,
    /// True once the last attempt has ended.
    #[serde(default = "ended")]
    pub is_done: bool,
}

fn once() -> usize {
    1
}

fn ended() -> bool {
    true
}

/// State of a library before a setup.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LibraryBefore {
    /// Root of its project, `None` for the user's library.
    pub project: Option<PathBuf>,
    /// Id of its last operation, or `start`.
    pub operation: String,
}

impl LibraryBefore {
    /// Records the current state of a context's library.
    ///
    /// # Errors
    /// The event log cannot be read.
    pub fn of(context: &Context) -> Result<Self, CliError> {
        let last = client::operations(&context.library()?).map_err(failed)?.into_iter().next();
        Ok(Self {
            project: context.project().map(Path::to_owned),
            operation: last.map_or_else(|| client::UNDO_START.to_owned(), |last| last.id),
        })
    }
}

/// A configuration file before and after a change.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FileChange {
    /// Agent that owns the configuration, `None` for skillhub's own.
    pub agent: Option<String>,
    /// True if the hook is changed, and not the entry of the server. Both may be in one file.
    #[serde(default)]
    pub is_hook: bool,
    /// Path of the file, with links resolved.
    pub path: PathBuf,
    /// Text before, `None` if the file did not exist.
    pub before: Option<String>,
    /// Text after the change.
    pub after: String,
}

impl SetupRecord {
    /// Creates a record for a setup that starts now, of these libraries and files.
    ///
    /// # Errors
    /// The event log of a library cannot be read.
    pub fn new(context: &Context, libraries: &[&Context], files: Vec<FileChange>) -> Result<Self, CliError> {
        let folders = libraries.iter().flat_map(|library| absent_folders(library.library_path()));
        let of_files = files.iter().filter_map(|file| file.path.parent()).flat_map(absent_folders);
        Ok(Self {
            v: VERSION,
            time: context.now.to_string(),
            folders: folders.chain(of_files).collect(),
            libraries: libraries.iter().map(|library| LibraryBefore::of(library)).collect::<Result<_, _>>()?,
            files,
            attempts: 1,
            is_done: false,
        })
    }

    /// Adds a folder and its ancestors, as far as they do not exist, to those that the setup creates.
    pub fn note_absent(&mut self, folder: &Path) {
        let absent = absent_folders(folder).into_iter().filter(|folder| !self.folders.contains(folder));
        let absent: Vec<PathBuf> = absent.collect();
        self.folders.extend(absent);
    }

    /// Merges an earlier setup into this one, so that undo restores the state before the earlier one.
    fn after(mut self, first: &Self) -> Self {
        for library in &mut self.libraries {
            if let Some(known) = first.libraries.iter().find(|known| known.project == library.project) {
                library.operation.clone_from(&known.operation);
            }
        }
        let new = |library: &&LibraryBefore| self.libraries.iter().all(|known| known.project != library.project);
        let libraries: Vec<_> = first.libraries.iter().filter(new).cloned().collect();
        let files = self.files_after(&first.files);
        let folders: Vec<_> = self.folders.into_iter().filter(|folder| !first.folders.contains(folder)).collect();
        self.folders = first.folders.iter().cloned().chain(folders).collect();
        self.libraries.extend(libraries);
        self.files = files;
        Self { attempts: first.attempts + 1, ..self }
    }

    /// Merges earlier changes with these, in the order of writing. A later change of the same part of a file keeps the
    /// text before the earlier one.
    fn files_after(&mut self, first: &[FileChange]) -> Vec<FileChange> {
        let is_same = |one: &FileChange, other: &FileChange| (&one.path, one.is_hook) == (&other.path, other.is_hook);
        let mut merged = first.to_vec();
        for file in std::mem::take(&mut self.files) {
            match merged.iter_mut().find(|known| is_same(known, &file)) {
                Some(known) => known.after = file.after,
                None => merged.push(file),
            }
        }
        merged
    }

    /// Stores the record. It replaces the record of an interrupted setup, which it continues, or of the last one if
    /// `adds_to` is set. Otherwise it is a new file. Returns the record and its path.
    ///
    /// # Errors
    /// The home cannot be read or written.
    pub fn begin(self, context: &Context, adds_to: bool) -> Result<(Self, PathBuf), CliError> {
        let folder = context.home.path().join(FOLDER);
        let (record, path) = match Self::last(context)? {
            Some((first, path)) if adds_to || !first.is_done => (self.after(&first), path),
            _ => (self, folder.join(format!("{:020}.json", context.now.as_nanosecond()))),
        };
        record.save(context, &path)?;
        Ok((record, path))
    }

    /// Marks the setup as completed.
    ///
    /// # Errors
    /// The home cannot be written.
    pub fn end(&mut self, context: &Context, path: &Path) -> Result<(), CliError> {
        self.is_done = true;
        self.save(context, path)
    }

    /// Writes the record into the home, readable by its user only.
    fn save(&self, context: &Context, path: &Path) -> Result<(), CliError> {
        context.home.ensure()?;
        let folder = context.home.path().join(FOLDER);
        fs::create_dir_all(&folder).map_err(io_at(&folder))?;
        let mut file = NamedTempFile::new_in(&folder).map_err(io_at(&folder))?;
        serde_json::to_writer(&mut file, self).map_err(std::io::Error::from).map_err(io_at(path))?;
        file.flush().and_then(|()| file.as_file().sync_all()).map_err(io_at(path))?;
        file.persist(path).map_err(|error| io_at(path)(error.error))?;
        // Sync the folders: later operations are durable, so the record that undoes them must be too.
        let folders = [folder.as_path(), context.home.path()].into_iter().filter(|_| cfg!(unix));
        folders.into_iter().try_for_each(|folder| fs::File::open(folder)?.sync_all()).map_err(io_at(&folder))
    }

    /// Returns the newest record that was not undone, and its path.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn last(context: &Context) -> Result<Option<(Self, PathBuf)>, CliError> {
        let folder = context.home.path().join(FOLDER);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            entries => entries.map_err(io_at(&folder))?,
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let newest = paths.filter(|path| path.extension().is_some_and(|end| end == "json")).max();
        let Some(path) = newest else { return Ok(None) };
        let text = text_at(&path, BYTES).map_err(io_at(&path))?;
        let damaged = |why: String| {
            CliError::new("damaged_setup", Exit::Integrity, format!("cannot read {}: {why}", path.display()))
                .hint("undo each library by itself: `skillhub --project undo`, then `skillhub --global undo`")
        };
        let record: Self = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        match record.v {
            VERSION => Ok(Some((record, path))),
            other => Err(damaged(format!("it has format {other}, but this version reads format {VERSION}"))),
        }
    }

    /// Deletes the record's file once it is undone.
    ///
    /// # Errors
    /// The home cannot be written.
    pub fn forget(path: &Path) -> Result<(), CliError> {
        fs::remove_file(path).map_err(io_at(path))
    }
}

/// Returns the folders of the files that the last setup wrote.
pub fn written_folders(context: &Context) -> Vec<PathBuf> {
    let last = SetupRecord::last(context).ok().flatten();
    let files = last.iter().flat_map(|(record, _)| &record.files);
    files.filter_map(|file| file.path.parent().map(Path::to_owned)).collect()
}

/// Returns the folder and its ancestors, as far as they do not exist.
fn absent_folders(folder: &Path) -> Vec<PathBuf> {
    folder.ancestors().take_while(|folder| folder.symlink_metadata().is_err()).map(Path::to_owned).collect()
}
