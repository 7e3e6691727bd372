//! A skill's folder on disk, reached only through a capability directory.
//!
//! [`read`] makes a [`Bundle`] of a folder, [`write()`] a folder of a bundle, [`survey`] lists one
//! without reading more than `SKILL.md`. Links and special files are refused, never followed.

mod listing;
mod search;
mod signature;

use std::{
    io::{self, Read, Write},
    path::Path,
};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions},
};
use skill::{Bundle, BundleError, File, Limits, PathError, SkillPath, validate::named_texts};
use thiserror::Error;

pub use search::{SKIPPED, find_skills};
pub(crate) use signature::{Content, Signature, content};

use crate::{disk::sync_folder, resolved};
use listing::{Entry, Kind};

/// What tools and systems leave in a folder and no skill is made of; passed over by
/// [`Leftovers::Skip`] and kept in place by a checkout.
const LEFTOVERS: [&str; 9] =
    [".git", ".gitmodules", ".hg", ".svn", ".DS_Store", "Thumbs.db", "desktop.ini", "__pycache__", "node_modules"];

/// Whether what tools and systems leave in a folder (`.git`, `node_modules`, `.DS_Store`, …) counts as
/// files of the skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// They are passed over.
    Skip,
    /// They are read like everything else, as a scan of a strange folder wants.
    Read,
}

/// Why a folder cannot be read as a skill.
#[derive(Debug, Error)]
pub enum FolderError {
    /// There is no such folder.
    #[error("there is no folder {0:?}")]
    Missing(String),
    /// A symbolic link, to wherever.
    #[error("{0} is a link; skills hold regular files only")]
    Link(String),
    /// A device, socket or pipe.
    #[error("{0} is neither a regular file nor a folder")]
    Special(String),
    /// A name that no [`SkillPath`] can have.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A name that is no UTF-8.
    #[error("the file name {0:?} is not UTF-8")]
    NameEncoding(String),
    /// Too many or too large files, or names that collide.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The system refused.
    #[error("cannot read {path:?}: {source}")]
    Io {
        /// Where, relative to the folder's parent.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

impl FolderError {
    fn io(path: &str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing(path.to_owned()),
            _ => Self::Io { path: path.to_owned(), source },
        }
    }
}

/// Where a file of a folder stands and what is known of it before it is read.
struct Found {
    path: SkillPath,
    parent: usize,
    file_name: String,
}

/// A walk over a folder: every directory opened once, without following links.
struct Walk {
    dirs: Vec<Dir>,
    /// The path of each directory with a slash at its end, that of the folder itself being empty.
    prefixes: Vec<String>,
    files: Vec<Found>,
    leftovers: Vec<String>,
}

/// Reads the folder `name` below `parent`.
///
/// # Errors
/// [`FolderError`]; a link anywhere inside, or `name` itself being one, refuses the whole folder.
pub fn read(parent: &Dir, name: &str, leftovers: Leftovers, limits: &Limits) -> Result<Bundle, FolderError> {
    read_dir(open(parent, name)?, leftovers, limits)
}

/// Reads an open folder.
///
/// # Errors
/// As [`read`].
pub fn read_dir(dir: Dir, leftovers: Leftovers, limits: &Limits) -> Result<Bundle, FolderError> {
    let walk = Walk::over(dir, leftovers, limits)?;
    let mut files = Vec::with_capacity(walk.files.len());
    let mut left = limits.skill_bytes;
    for found in &walk.files {
        let file = walk.read(found, left)?;
        left = left.saturating_sub(file.bytes.len() as u64);
        files.push((found.path.clone(), file));
    }
    Ok(Bundle::from_files(files, limits)?)
}

/// A folder as validation wants it: the list of files and `SKILL.md`.
#[derive(Debug)]
pub struct Survey {
    /// The paths of all files.
    pub paths: Vec<SkillPath>,
    /// The bytes of `SKILL.md`, at most one more than its limit allows.
    pub skill_md: Option<Vec<u8>>,
    /// The Markdown files that it names.
    pub texts: Vec<(SkillPath, String)>,
}

/// Lists an open folder and reads only its `SKILL.md`, and files that are too large to be text.
///
/// # Errors
/// As [`read`], the limits of size among them.
pub fn survey(dir: Dir, limits: &Limits) -> Result<Survey, FolderError> {
    let walk = Walk::over(dir, Leftovers::Skip, limits)?;
    let skill_md = match walk.files.iter().find(|found| found.path.is_skill_md()) {
        Some(found) => Some(walk.read_bytes(found, limits.skill_bytes)?.0),
        None => None,
    };
    walk.check_sizes(skill_md.as_ref().map_or(0, Vec::len) as u64, limits)?;
    let paths: Vec<SkillPath> = walk.files.iter().map(|found| found.path.clone()).collect();
    let named = named_texts(skill_md.as_deref().unwrap_or_default(), &paths);
    let text = |path: &SkillPath| {
        let found = walk.files.iter().find(|found| found.path == *path)?;
        let bytes = walk.read_bytes(found, limits.text_file_bytes).ok()?.0;
        Some((path.clone(), String::from_utf8(bytes).ok()?))
    };
    let texts = named.into_iter().filter_map(text).collect();
    Ok(Survey { paths, skill_md, texts })
}

/// Opens the folder `name` below `parent`, which must be no link.
///
/// # Errors
/// [`FolderError::Missing`], [`FolderError::Link`], or what the system said.
pub fn open(parent: &Dir, name: &str) -> Result<Dir, FolderError> {
    let metadata = parent.symlink_metadata(name).map_err(|error| FolderError::io(name, error))?;
    if metadata.is_symlink() {
        return Err(FolderError::Link(name.to_owned()));
    }
    if !metadata.is_dir() {
        return Err(FolderError::Special(name.to_owned()));
    }
    listing::open_child(parent, name).map_err(|error| FolderError::io(name, error))
}

/// Opens a folder at a path that a person gave; links on the way are theirs to follow.
///
/// # Errors
/// [`FolderError::Missing`], or what the system said.
pub fn open_at(path: &Path) -> Result<Dir, FolderError> {
    listing::open_at(path).map_err(|error| FolderError::io(&path.display().to_string(), error))
}

/// The bytes of one file of an open folder; `None` where there is no regular one, or it has more bytes
/// than `limit`.
///
/// # Errors
/// What the system said of a file that is there.
pub fn read_file(dir: &Dir, name: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
    // A link fails to open, and a pipe opens without waiting.
    let file = match listing::open_file(dir, name) {
        Ok(file) => file,
        Err(error) if dir.symlink_metadata(name).is_ok_and(|found| found.is_file()) => return Err(error),
        Err(_) => return Ok(None),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > limit {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= limit))
}

/// The names in a folder that was opened for this, in no order; those that are no text are left out.
///
/// # Errors
/// What the system said.
pub(crate) fn names_in(dir: &Dir) -> io::Result<Vec<String>> {
    Ok(listing::entries(dir)?.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect())
}

/// The names of the folders in one that was opened for this, in no order; those that are no text and
/// links are left out.
///
/// # Errors
/// What the system said.
pub(crate) fn folders_in(dir: &Dir) -> io::Result<Vec<String>> {
    let folders = listing::entries(dir)?.into_iter().filter(|entry| entry.kind == Kind::Folder);
    Ok(folders.filter_map(|entry| entry.name.into_string().ok()).collect())
}

/// Opens a folder at a path that was resolved before. One on which a name has become a link since leads
/// elsewhere, and is refused.
///
/// # Errors
/// What the system said.
pub fn open_resolved(path: &Path) -> io::Result<Dir> {
    resolved::open(path)
}

/// As [`open_at`], creating the folder and its parents when missing. Whose it is does not matter: what
/// a person wants made may stand in a folder of everybody's, such as `/tmp`.
///
/// # Errors
/// What the system said.
pub fn create_at(path: &Path) -> Result<Dir, FolderError> {
    Dir::create_ambient_dir_all(path, ambient_authority())
        .map_err(|source| FolderError::Io { path: path.display().to_string(), source })?;
    open_at(path)
}

impl Walk {
    fn over(dir: Dir, leftovers: Leftovers, limits: &Limits) -> Result<Self, FolderError> {
        let mut walk =
            Self { dirs: vec![dir], prefixes: vec![String::new()], files: Vec::new(), leftovers: Vec::new() };
        let mut next = 0;
        while next < walk.dirs.len() {
            let prefix = walk.prefixes[next].clone();
            walk.enter(next, &prefix, leftovers, limits)?;
            next += 1;
        }
        walk.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(walk)
    }

    fn enter(&mut self, parent: usize, prefix: &str, leftovers: Leftovers, limits: &Limits) -> Result<(), FolderError> {
        let entries = listing::entries(&self.dirs[parent]).map_err(|error| FolderError::io(prefix, error))?;
        for Entry { name, kind } in entries {
            let name = name.to_str().ok_or_else(|| FolderError::NameEncoding(name.to_string_lossy().into_owned()))?;
            let path = format!("{prefix}{name}");
            if leftovers == Leftovers::Skip && LEFTOVERS.contains(&name) {
                self.leftovers.push(path);
                continue;
            }
            match kind {
                Kind::Link => return Err(FolderError::Link(path)),
                Kind::Other => return Err(FolderError::Special(path)),
                Kind::File => {
                    self.files.push(Found { path: SkillPath::parse(&path)?, parent, file_name: name.to_owned() });
                }
                Kind::Folder => {
                    let parsed = SkillPath::parse(&path)?;
                    let child = listing::open_child(&self.dirs[parent], name);
                    self.dirs.push(child.map_err(|error| FolderError::io(&path, error))?);
                    self.prefixes.push(format!("{parsed}/"));
                }
            }
            self.check_number(limits)?;
        }
        Ok(())
    }

    fn check_number(&self, limits: &Limits) -> Result<(), FolderError> {
        let files = self.files.len().max(self.dirs.len());
        if files > limits.files_per_skill {
            return Err(BundleError::TooManyFiles { files, limit: limits.files_per_skill }.into());
        }
        Ok(())
    }

    /// Holds the files to the limits of size without reading more of them than that needs; `SKILL.md`,
    /// which has a limit of its own, is known to have so many bytes.
    fn check_sizes(&self, skill_md_bytes: u64, limits: &Limits) -> Result<(), FolderError> {
        let mut bytes = skill_md_bytes;
        for found in self.files.iter().filter(|found| !found.path.is_skill_md()) {
            let size = listing::file_size(&self.dirs[found.parent], &found.file_name)
                .map_err(|error| FolderError::io(found.path.as_str(), error))?;
            bytes += size;
            if bytes > limits.skill_bytes {
                return Err(BundleError::TooManyBytes { bytes, limit: limits.skill_bytes }.into());
            }
            if size > limits.text_file_bytes {
                let file = self.read(found, limits.skill_bytes)?;
                Bundle::from_files([(found.path.clone(), file)], limits)?;
            }
        }
        Ok(())
    }

    /// Reads one file, at most one byte more than `left`. It is opened without following a link and
    /// without waiting on a pipe, and looked at again once open.
    fn read(&self, found: &Found, left: u64) -> Result<File, FolderError> {
        let (bytes, executable) = self.read_bytes(found, left)?;
        Ok(File { bytes: bytes.into(), executable })
    }

    /// The content of [`Walk::read`] and whether the file is executable.
    fn read_bytes(&self, found: &Found, left: u64) -> Result<(Vec<u8>, bool), FolderError> {
        let path = found.path.as_str();
        let io = |error| FolderError::io(path, error);
        let file = listing::open_file(&self.dirs[found.parent], &found.file_name).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if !metadata.is_file() {
            return Err(FolderError::Special(path.to_owned()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(left)).unwrap_or(0));
        file.take(left + 1).read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() as u64 > left {
            let limit = Limits::default().skill_bytes;
            return Err(BundleError::TooManyBytes { bytes: limit + 1, limit }.into());
        }
        Ok((bytes, is_executable(&metadata)))
    }
}

/// The files of a bundle that [`Leftovers::Skip`] would see in its folder. An archive packed elsewhere
/// may hold a `.DS_Store` or a `node_modules`, and a checked out one must not look edited for that.
pub(crate) fn without_leftovers(bundle: &Bundle) -> Bundle {
    let is_leftover = |path: &&SkillPath| path.segments().any(|segment| LEFTOVERS.contains(&segment));
    let left: Vec<SkillPath> = bundle.paths().filter(is_leftover).cloned().collect();
    left.iter().fold(bundle.clone(), |bundle, path| bundle.without_file(path))
}

/// Syncs every file and folder of a skill, but for what tools left.
pub(crate) fn sync(dir: &Dir) -> io::Result<()> {
    for entry in dir.entries()? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        // No file of a skill has a name that is no text.
        let Some(name) = name.to_str().filter(|name| !LEFTOVERS.contains(name)) else { continue };
        if kind.is_dir() {
            sync(&listing::open_child(dir, name)?)?;
        } else if kind.is_file() {
            listing::open_file(dir, name)?.sync_all()?;
        }
    }
    sync_folder(dir)
}

/// What [`Leftovers::Skip`] passes over in an open folder, relative to it.
pub(crate) fn leftovers_of(dir: Dir, limits: &Limits) -> Result<Vec<String>, FolderError> {
    Ok(Walk::over(dir, Leftovers::Skip, limits)?.leftovers)
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_metadata: &std::fs::Metadata) -> bool {
    false
}

/// Writes a bundle as the new folder `name` below `parent`, modes 0644 and 0755, not synced.
///
/// # Errors
/// What the system said; an existing `name` is one. Nothing is left of the folder then.
pub fn write(parent: &Dir, name: &str, bundle: &Bundle) -> io::Result<()> {
    parent.create_dir(name)?;
    let written = write_into(parent, name, bundle);
    if written.is_err() {
        let _best_effort = parent.remove_dir_all(name);
    }
    written
}

fn write_into(parent: &Dir, name: &str, bundle: &Bundle) -> io::Result<()> {
    let dir = parent.open_dir_nofollow(name)?;
    for (path, file) in bundle.files() {
        if let Some((folder, _)) = path.as_str().rsplit_once('/') {
            dir.create_dir_all(folder)?;
        }
        write_file(&dir, path.as_str(), file)?;
    }
    Ok(())
}

fn write_file(dir: &Dir, path: &str, file: &File) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).follow(FollowSymlinks::No);
    let mut handle = dir.open_with(path, &options)?;
    handle.write_all(&file.bytes)?;
    set_mode(&handle, file.executable)
}

#[cfg(unix)]
fn set_mode(handle: &cap_std::fs::File, executable: bool) -> io::Result<()> {
    use cap_std::fs::{Permissions, PermissionsExt};
    handle.set_permissions(Permissions::from_mode(if executable { 0o755 } else { 0o644 }))
}

#[cfg(not(unix))]
fn set_mode(_handle: &cap_std::fs::File, _executable: bool) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn temp() -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), ambient_authority()).unwrap();
        (temp, dir)
    }

    fn read_s(dir: &Dir) -> Result<Bundle, FolderError> {
        read(dir, "s", Leftovers::Skip, &Limits::default())
    }

    #[test]
    fn a_written_folder_reads_back_with_its_modes() {
        let (_temp, dir) = temp();
        let file = |bytes: &[u8], executable| File { bytes: bytes.into(), executable };
        let files = [
            ("SKILL.md", file(b"x\r\n", false)),
            ("scripts/deep/run.sh", file(b"#!", true)),
            ("资产/图.bin", file(&[0, 255], false)),
        ];
        let files = files.map(|(path, file)| (SkillPath::parse(path).unwrap(), file));
        let bundle = Bundle::from_files(files, &Limits::default()).unwrap();
        write(&dir, "s", &bundle).unwrap();
        assert_eq!(read_s(&dir).unwrap(), bundle);
    }

    #[test]
    fn a_folder_that_is_there_is_not_taken_for_a_half_written_one() {
        let (_temp, dir) = temp();
        let file = File { bytes: b"x".as_slice().into(), executable: false };
        let bundle = Bundle::from_files([(SkillPath::skill_md(), file)], &Limits::default()).unwrap();
        dir.create_dir("s").unwrap();
        dir.write("s/mine", "mine").unwrap();
        assert!(write(&dir, "s", &bundle).is_err());
        assert_eq!(dir.read_to_string("s/mine").unwrap(), "mine");
    }

    #[test]
    fn links_and_special_files_are_refused() {
        let (temp, dir) = temp();
        dir.create_dir("s").unwrap();
        dir.write("s/SKILL.md", "x").unwrap();
        for target in ["/etc/passwd", "SKILL.md", "nowhere", "/etc"] {
            dir.symlink_contents(target, "s/link").unwrap();
            assert!(matches!(read_s(&dir), Err(FolderError::Link(path)) if path == "link"), "{target}");
            dir.remove_file("s/link").unwrap();
        }
        rustix::fs::mknodat(rustix::fs::CWD, temp.path().join("s/pipe"), rustix::fs::FileType::Fifo, 0o644.into(), 0)
            .unwrap();
        assert!(matches!(read_s(&dir), Err(FolderError::Special(_))));
        dir.symlink_contents("s", "t").unwrap();
        assert!(matches!(read(&dir, "t", Leftovers::Skip, &Limits::default()), Err(FolderError::Link(_))));
    }

    #[test]
    fn leftovers_of_tools_are_no_files_of_the_skill_unless_asked_for() {
        let (_temp, dir) = temp();
        dir.create_dir_all("s/scripts/__pycache__").unwrap();
        dir.write("s/SKILL.md", "x").unwrap();
        dir.write("s/scripts/__pycache__/a.pyc", "x").unwrap();
        assert_eq!(read_s(&dir).unwrap().len(), 1);
        assert_eq!(read(&dir, "s", Leftovers::Read, &Limits::default()).unwrap().len(), 2);
    }

    #[test]
    fn limits_hold_while_reading() {
        let (_temp, dir) = temp();
        dir.create_dir("s").unwrap();
        dir.write("s/a", vec![0; 100]).unwrap();
        dir.write("s/b", vec![0; 100]).unwrap();
        let limits = Limits { skill_bytes: 150, ..Limits::default() };
        assert!(matches!(read(&dir, "s", Leftovers::Skip, &limits), Err(FolderError::Bundle(_))));
        let limits = Limits { files_per_skill: 1, ..Limits::default() };
        assert!(matches!(read(&dir, "s", Leftovers::Skip, &limits), Err(FolderError::Bundle(_))));
    }

    #[test]
    fn a_missing_folder_and_an_odd_name_are_told_apart() {
        use std::os::unix::ffi::OsStrExt;
        let (_temp, dir) = temp();
        assert!(matches!(read_s(&dir), Err(FolderError::Missing(_))));
        dir.create_dir("s").unwrap();
        dir.write("s/a:b", "x").unwrap();
        assert!(matches!(read_s(&dir), Err(FolderError::Path(_))));
        dir.remove_file("s/a:b").unwrap();
        dir.write(std::path::Path::new("s").join(std::ffi::OsStr::from_bytes(b"\xff")), "x").unwrap();
        assert!(matches!(read_s(&dir), Err(FolderError::NameEncoding(_))));
    }
}
