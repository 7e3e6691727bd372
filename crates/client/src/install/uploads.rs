//! [`read_below`] and [`upload_name`]: archives that a caller uploads.

use std::{
    io::{self, Read},
    path::Path,
};

use cap_std::{ambient_authority, fs::Dir};
use skill::{Bundle, Limits, SkillName, archive};

use super::{InstallError, skill_name::name_of};
use crate::discovery::DiscoveredSkill;

/// Reads a file below a folder. At most one byte more than the limit for archives is read. Links on the path may not
/// lead out of the folder.
///
/// # Errors
/// Errors of the operating system. A path that leads out of the folder is `PermissionDenied`.
pub fn read_below(folder: &Path, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let (dir, path) = (Dir::open_ambient_dir(folder, ambient_authority())?, path.as_ref());
    // Reading a pipe might never end.
    if !dir.metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let file = dir.open(path)?;
    let mut bytes = Vec::new();
    file.take(Limits::default().archive_bytes + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Unpacks an archive, within the default limits.
pub(super) fn unpack(bytes: &[u8], origin: &str) -> Result<Bundle, InstallError> {
    let failed = |source| InstallError::Archive { origin: origin.to_owned(), source };
    archive::unpack(bytes, &Limits::default()).map_err(failed)
}

/// Returns the name under which the skill in an archive is installed. `file` is used if the skill has no name.
///
/// # Errors
/// The archive is invalid, or neither name is valid.
pub fn upload_name(bytes: &[u8], file: &str) -> Result<SkillName, InstallError> {
    let bundle = unpack(bytes, if file.is_empty() { "the upload" } else { file })?;
    let skill = DiscoveredSkill::of_bundle(&bundle);
    name_of(&skill, file).map(|(name, _)| name)
}
