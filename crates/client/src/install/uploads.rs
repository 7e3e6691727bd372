//! [`read_below`] and [`upload_name`]: archives that somebody hands over.

use std::{
    io::{self, Read},
    path::Path,
};

use cap_std::{ambient_authority, fs::Dir};
use skill::{Bundle, Limits, SkillName, archive};

use super::{InstallError, naming::name_of};
use crate::found::Found;

/// Reads a file below a folder, at most one byte more than an archive may have. No link on the path leads out of the
/// folder.
///
/// # Errors
/// What the system says; a path that leads out of the folder is `PermissionDenied`.
pub fn read_below(folder: &Path, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let (dir, path) = (Dir::open_ambient_dir(folder, ambient_authority())?, path.as_ref());
    // A pipe would never end.
    if !dir.metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let file = dir.open(path)?;
    let mut bytes = Vec::new();
    file.take(Limits::default().archive_bytes + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The files of an archive.
pub(super) fn unpack(bytes: &[u8], origin: &str) -> Result<Bundle, InstallError> {
    let failed = |source| InstallError::Archive { origin: origin.to_owned(), source };
    archive::unpack(bytes, &Limits::default()).map_err(failed)
}

/// The name under which the skill of an archive is installed; `file` where it does not name itself.
///
/// # Errors
/// The archive cannot be read, or neither is a name.
pub fn upload_name(bytes: &[u8], file: &str) -> Result<SkillName, InstallError> {
    let bundle = unpack(bytes, if file.is_empty() { "the upload" } else { file })?;
    let skill = Found::new(String::new(), bundle.skill_md().unwrap_or_default().as_bytes());
    name_of(&skill, file).map(|(name, _)| name)
}
