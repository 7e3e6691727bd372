//! [`SetupRecord`]: what one `setup` changed, kept in the home until it is undone.

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
};

/// The folder of the home with a file for each setup that was not undone.
const FOLDER: &str = "setup";

/// The version of the format.
const VERSION: u32 = 1;

/// One `setup`. It is written before anything is changed, so that a setup that was interrupted can be undone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetupRecord {
    v: u32,
    time: String,
    /// The libraries whose skills it managed.
    pub libraries: Vec<LibraryBefore>,
    /// The files that it wrote.
    pub files: Vec<FileChange>,
    /// Folders that were absent before, the outermost last.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
}

/// A library before a setup.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LibraryBefore {
    /// The root of its project; `None` for the user's library.
    pub project: Option<PathBuf>,
    /// The id of its last operation, or `start`.
    pub operation: String,
}

impl LibraryBefore {
    /// The library of a context as it is now.
    ///
    /// # Errors
    /// Its log cannot be read.
    pub fn of(context: &Context) -> Result<Self, CliError> {
        let last = client::operations(&context.library()?).map_err(failed)?.into_iter().next();
        Ok(Self {
            project: context.library_project().map(Path::to_owned),
            operation: last.map_or_else(|| client::UNDO_START.to_owned(), |last| last.id),
        })
    }
}

/// A configuration file before and after.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FileChange {
    /// The agent whose configuration it is; `None` for skillhub's own.
    pub agent: Option<String>,
    /// The file, with links resolved.
    pub path: PathBuf,
    /// Its text before; `None` when it was absent.
    pub before: Option<String>,
    /// Its text with the change.
    pub after: String,
}

impl SetupRecord {
    /// A record of a setup at this moment, which manages skills in these libraries and writes these files.
    ///
    /// # Errors
    /// The log of a library cannot be read.
    pub fn new(context: &Context, libraries: &[&Context], files: Vec<FileChange>) -> Result<Self, CliError> {
        let folders = libraries.iter().flat_map(|library| absent_folders(library.library_path()));
        let of_files = files.iter().filter_map(|file| file.path.parent()).flat_map(absent_folders);
        Ok(Self {
            v: VERSION,
            time: context.now.to_string(),
            folders: folders.chain(of_files).collect(),
            libraries: libraries.iter().map(|library| LibraryBefore::of(library)).collect::<Result<_, _>>()?,
            files,
        })
    }

    /// Stores it in the home, for its user alone.
    ///
    /// # Errors
    /// The home cannot be written.
    pub fn save(&self, context: &Context) -> Result<(), CliError> {
        context.home.ensure()?;
        let folder = context.home.path().join(FOLDER);
        fs::create_dir_all(&folder).map_err(io_at(&folder))?;
        let path = folder.join(format!("{:020}.json", context.now.as_nanosecond()));
        let mut file = NamedTempFile::new_in(&folder).map_err(io_at(&folder))?;
        serde_json::to_writer(&mut file, self).map_err(std::io::Error::from).map_err(io_at(&path))?;
        file.flush().and_then(|()| file.as_file().sync_all()).map_err(io_at(&path))?;
        file.persist(&path).map_err(|error| io_at(&path)(error.error))?;
        Ok(())
    }

    /// The newest record that was not undone, and its file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn last(context: &Context) -> Result<Option<(Self, PathBuf)>, CliError> {
        let folder = context.home.path().join(FOLDER);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            entries => entries.map_err(io_at(&folder))?,
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let newest = paths.filter(|path| path.extension().is_some_and(|end| end == "json")).max();
        let Some(path) = newest else { return Ok(None) };
        let text = fs::read_to_string(&path).map_err(io_at(&path))?;
        let damaged = |why: String| {
            CliError::new("damaged_setup", Exit::Integrity, format!("{} cannot be read: {why}", path.display()))
                .hint("undo each library by itself: `skillhub --project undo`, then `skillhub --global undo`")
        };
        let record: Self = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        match record.v {
            VERSION => Ok(Some((record, path))),
            other => Err(damaged(format!("it has format {other}, this version reads {VERSION}"))),
        }
    }

    /// Removes its file once it is undone.
    ///
    /// # Errors
    /// The home cannot be written.
    pub fn forget(path: &Path) -> Result<(), CliError> {
        fs::remove_file(path).map_err(io_at(path))
    }
}

/// The folders of the files that the last setup wrote.
pub fn written_folders(context: &Context) -> Vec<PathBuf> {
    let last = SetupRecord::last(context).ok().flatten();
    let files = last.iter().flat_map(|(record, _)| &record.files);
    files.filter_map(|file| file.path.parent().map(Path::to_owned)).collect()
}

/// The folder and those above it that do not exist.
fn absent_folders(folder: &Path) -> Vec<PathBuf> {
    folder.ancestors().take_while(|folder| folder.symlink_metadata().is_err()).map(Path::to_owned).collect()
}
