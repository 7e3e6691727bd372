//! [`LastRead`]: a lock file as it was last read, parsed again only after a change.

use std::{io, ops::Deref, path::Path};

use cap_std::{ambient_authority, fs::Dir};
use library::{Durability, LibraryLock, read_bounded, write_atomically};
use skill::Limits;

use super::{LOCK_FILE, LockFile, LockFileError, folder_of};

/// A lock file as it was last read.
///
/// Git, editors and other processes may change the file between any two steps of an operation, and do not take the
/// library's lock. A change may leave size and time as they were, so each step reads the bytes again, and parses them
/// only if they differ.
#[derive(Debug)]
pub(crate) struct LastRead {
    /// Bytes from which `file` was parsed; `None` if there was no file, or if nothing was read yet.
    bytes: Option<Vec<u8>>,
    file: LockFile,
}

impl LastRead {
    /// Reads the lock file. A missing file is empty.
    ///
    /// # Errors
    /// [`LockFileError`]
    pub fn of(path: &Path) -> Result<Self, LockFileError> {
        Self::not_yet(path).again()
    }

    /// Returns an empty file with this path, for a caller that has not read it.
    pub fn not_yet(path: &Path) -> Self {
        Self { bytes: None, file: LockFile { path: path.to_owned(), ..LockFile::default() } }
    }

    /// Reads the file again, and parses it if its bytes have changed.
    ///
    /// # Errors
    /// [`LockFileError`]
    pub fn again(self) -> Result<Self, LockFileError> {
        let path = self.file.path();
        let bytes = bytes_of(path).map_err(|source| LockFileError::Io { path: path.to_owned(), source })?;
        if bytes == self.bytes {
            return Ok(self);
        }
        let Some(bytes) = bytes else { return Ok(Self::not_yet(path)) };
        #[cfg(debug_assertions)]
        skill::work::note("parse the lock file", &bytes);
        let text = str::from_utf8(&bytes)
            .map_err(|error| LockFileError::Damaged { path: path.to_owned(), message: error.to_string() })?;
        Ok(Self { file: LockFile::parse(text, path)?, bytes: Some(bytes) })
    }

    /// Reads, changes and atomically rewrites the file, for a caller that holds the library's lock. Returns the result
    /// of `change`. Nothing is written if it fails or changes nothing.
    ///
    /// # Errors
    /// [`LockFileError`]; the file is then unchanged.
    pub fn update_under<T>(
        self,
        _lock: &LibraryLock,
        change: impl FnOnce(&mut LockFile) -> Result<T, LockFileError>,
    ) -> Result<T, LockFileError> {
        let before = self.again()?.file;
        let mut file = before.clone();
        let result = change(&mut file)?;
        if file == before {
            return Ok(result);
        }
        let path = file.path();
        let io = |source| LockFileError::Io { path: path.to_owned(), source };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or(LOCK_FILE);
        let dir = Dir::open_ambient_dir(folder_of(path), ambient_authority()).map_err(io)?;
        write_atomically(&dir, name, file.readable_text()?.as_bytes(), Durability::Whole).map_err(io)?;
        Ok(result)
    }

    /// Returns the parsed file.
    pub fn into_file(self) -> LockFile {
        self.file
    }
}

impl Deref for LastRead {
    type Target = LockFile;

    fn deref(&self) -> &LockFile {
        &self.file
    }
}

/// Reads the bytes of a lock file; `None` if it does not exist.
fn bytes_of(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(None) };
    let dir = match Dir::open_ambient_dir(folder_of(path), ambient_authority()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        dir => dir?,
    };
    let bytes = read_bounded(&dir, name, Limits::default().lock_file_bytes)?;
    #[cfg(debug_assertions)]
    bytes.iter().for_each(|bytes| skill::work::note("read the lock file", bytes));
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests look at the disk from outside")]

    use std::fs::{self, File};

    use super::*;

    #[test]
    fn changed_bytes_are_parsed_again() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join(LOCK_FILE);
        let last = LastRead::of(&path).unwrap();
        assert!(last.others.is_empty());
        let texts = ["format = 1\nx = 1\n", "format = 1\nx = 2\n"];
        fs::write(&path, texts[0]).unwrap();
        let last = last.again().unwrap();
        assert_eq!(last.others["x"].as_integer(), Some(1));
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, texts[1]).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        let last = last.again().unwrap();
        assert_eq!(last.others["x"].as_integer(), Some(2), "size and time are as before");
        fs::write(&path, "\u{0}").unwrap();
        assert!(matches!(last.again(), Err(LockFileError::Damaged { .. })));
        fs::write(&path, texts[0]).unwrap();
        let last = LastRead::of(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(last.again().unwrap().others.is_empty());
    }
}
