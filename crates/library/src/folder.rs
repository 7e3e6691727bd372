//! A skill's folder on disk, accessed only through a capability directory.
//!
//! [`read`] reads a folder into a [`Bundle`], [`write()`] writes a bundle to a folder, and [`survey`] lists a folder
//! and reads little more than `SKILL.md`. Links and special files are refused, never followed.

mod listing;
mod modes;
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

pub use modes::{has_content, with_recorded_modes};
pub use search::{SKIPPED, find_skills};
pub(crate) use signature::{Content, Signature, content};

use crate::{disk::sync_folder, resolved};
use listing::{Entry, Kind};

/// Tool files: names of files and folders that tools and systems create and that are not part of a skill.
/// [`ToolFiles::Skip`] ignores them, and a checkout leaves them in place.
const TOOL_FILES: [&str; 9] =
    [".git", ".gitmodules", ".hg", ".svn", ".DS_Store", "Thumbs.db", "desktop.ini", "__pycache__", "node_modules"];

/// Treatment of tool files, which tools and systems create in a folder (`.git`, `node_modules`, `.DS_Store`, …).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolFiles {
    /// Ignore them, since they are not part of the skill.
    Skip,
    /// Read them like files of the skill, for example to scan an untrusted folder.
    Read,
}

/// Reason why a folder cannot be read as a skill.
#[derive(Debug, Error)]
pub enum FolderError {
    /// The folder does not exist.
    #[error("the folder {0:?} does not exist")]
    Missing(String),
    /// A symbolic link, wherever it leads.
    #[error("{0} is a link, but a skill may have only regular files")]
    Link(String),
    /// A device, socket or pipe.
    #[error("{0} is neither a regular file nor a folder")]
    Special(String),
    /// A name that is not a valid [`SkillPath`].
    #[error(transparent)]
    Path(#[from] PathError),
    /// A name that is not UTF-8.
    #[error("the file name {0:?} is not UTF-8")]
    NameEncoding(String),
    /// Too many or too large files, or names that collide.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// Any other I/O error.
    #[error("cannot read {path:?}: {source}")]
    Io {
        /// Path relative to the folder's parent.
        path: String,
        /// Error of the system call.
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

/// Location of a file found by a walk, before it is read.
struct Found {
    path: SkillPath,
    parent: usize,
    file_name: String,
}

/// A walk over a folder. Every directory is opened once and links are not followed.
struct Walk {
    dirs: Vec<Dir>,
    /// Path of each directory with a trailing slash; empty for the folder itself.
    prefixes: Vec<String>,
    files: Vec<Found>,
    tool_files: Vec<String>,
}

/// Reads the folder `name` below `parent`.
///
/// # Errors
/// Returns [`FolderError`]. A link anywhere inside, or `name` itself being one, refuses the whole folder.
pub fn read(parent: &Dir, name: &str, tool_files: ToolFiles, limits: &Limits) -> Result<Bundle, FolderError> {
    read_dir(open(parent, name)?, tool_files, limits)
}

/// Reads an open folder.
///
/// # Errors
/// Fails like [`read`].
pub fn read_dir(dir: Dir, tool_files: ToolFiles, limits: &Limits) -> Result<Bundle, FolderError> {
    let walk = Walk::over(dir, tool_files, limits)?;
    let mut files = Vec::with_capacity(walk.files.len());
    let mut left = limits.skill_bytes;
    for found in &walk.files {
        let file = walk.read(found, left)?;
        left = left.saturating_sub(file.bytes.len() as u64);
        files.push((found.path.clone(), file));
    }
    Ok(Bundle::from_files(files, limits)?)
}

/// The parts of a folder that validation needs: the list of files and `SKILL.md`.
#[derive(Debug)]
pub struct Survey {
    /// Paths of all files, sorted.
    pub paths: Vec<SkillPath>,
    /// Bytes of `SKILL.md`, truncated one byte beyond its limit.
    pub skill_md: Option<Vec<u8>>,
    /// Markdown files that it mentions, with their text.
    pub texts: Vec<(SkillPath, String)>,
}

/// Lists an open folder. Reads only `SKILL.md`, the Markdown files it mentions, and files that are too large to be
/// text.
///
/// # Errors
/// Fails like [`read`], including the size limits.
pub fn survey(dir: Dir, limits: &Limits) -> Result<Survey, FolderError> {
    let walk = Walk::over(dir, ToolFiles::Skip, limits)?;
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

/// Opens the folder `name` below `parent`, which must not be a link.
///
/// # Errors
/// Returns [`FolderError::Missing`], [`FolderError::Link`], [`FolderError::Special`], or the I/O error.
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

/// Opens a folder at a path given by a person. Links on the way are followed.
///
/// # Errors
/// Returns [`FolderError::Missing`] or the I/O error.
pub fn open_at(path: &Path) -> Result<Dir, FolderError> {
    listing::open_at(path).map_err(|error| FolderError::io(&path.display().to_string(), error))
}

/// Reads one file of an open folder. Returns `None` if it is missing, not a regular file, or larger than `limit`
/// bytes.
///
/// # Errors
/// Returns the I/O error for an existing file.
pub fn read_file(dir: &Dir, name: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
    // A link fails to open, and a pipe opens without blocking.
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

/// Lists the names in a folder that was opened for listing, unordered. Names that are not UTF-8 are skipped.
///
/// # Errors
/// Returns the I/O error.
pub(crate) fn names_in(dir: &Dir) -> io::Result<Vec<String>> {
    Ok(listing::entries(dir)?.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect())
}

/// Lists the subfolders of a folder that was opened for listing, unordered. Links and names that are not UTF-8 are
/// skipped.
///
/// # Errors
/// Returns the I/O error.
pub(crate) fn folders_in(dir: &Dir) -> io::Result<Vec<String>> {
    let folders = listing::entries(dir)?.into_iter().filter(|entry| entry.kind == Kind::Folder);
    Ok(folders.filter_map(|entry| entry.name.into_string().ok()).collect())
}

/// Opens a folder at a path that was resolved before. If a component has since become a symbolic link, the path is
/// refused, because it would lead somewhere else.
///
/// # Errors
/// Returns the I/O error.
pub fn open_resolved(path: &Path) -> io::Result<Dir> {
    resolved::open(path)
}

/// Opens a folder like [`open_at`], creating it and its parents if missing. Its owner is not checked, since a person
/// may want a folder below a shared one such as `/tmp`.
///
/// # Errors
/// Returns the I/O error.
pub fn create_at(path: &Path) -> Result<Dir, FolderError> {
    Dir::create_ambient_dir_all(path, ambient_authority())
        .map_err(|source| FolderError::Io { path: path.display().to_string(), source })?;
    open_at(path)
}

impl Walk {
    fn over(dir: Dir, tool_files: ToolFiles, limits: &Limits) -> Result<Self, FolderError> {
        let mut walk =
            Self { dirs: vec![dir], prefixes: vec![String::new()], files: Vec::new(), tool_files: Vec::new() };
        let mut next = 0;
        while next < walk.dirs.len() {
            let prefix = walk.prefixes[next].clone();
            walk.enter(next, &prefix, tool_files, limits)?;
            next += 1;
        }
        walk.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(walk)
    }

    fn enter(
        &mut self,
        parent: usize,
        prefix: &str,
        tool_files: ToolFiles,
        limits: &Limits,
    ) -> Result<(), FolderError> {
        let entries = listing::entries(&self.dirs[parent]).map_err(|error| FolderError::io(prefix, error))?;
        for Entry { name, kind } in entries {
            let name = name.to_str().ok_or_else(|| FolderError::NameEncoding(name.to_string_lossy().into_owned()))?;
            let path = format!("{prefix}{name}");
            if tool_files == ToolFiles::Skip && TOOL_FILES.contains(&name) {
                self.tool_files.push(path);
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

    /// Enforces the size limits, reading only files that may exceed that for text. `SKILL.md` has its own limit; its
    /// size is passed in.
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

    /// Reads one file, at most one byte more than `left`. It is opened without following links or blocking on a pipe,
    /// and its type is checked again once open.
    fn read(&self, found: &Found, left: u64) -> Result<File, FolderError> {
        let (bytes, executable) = self.read_bytes(found, left)?;
        Ok(File { bytes: bytes.into(), executable })
    }

    /// Reads the content for [`Walk::read`] and returns whether the file is executable.
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
            let before = limit.saturating_sub(left);
            return Err(BundleError::TooManyBytes { bytes: before + metadata.len().max(left + 1), limit }.into());
        }
        Ok((bytes, is_executable(&metadata)))
    }
}

/// Returns the files of a bundle that [`ToolFiles::Skip`] would see in its folder. An archive packed elsewhere may
/// contain a `.DS_Store` or a `node_modules`; its checkout must not count as edited because of that.
pub(crate) fn without_tool_files(bundle: &Bundle) -> Bundle {
    let is_tool_file = |path: &&SkillPath| path.segments().any(|segment| TOOL_FILES.contains(&segment));
    let left: Vec<SkillPath> = bundle.paths().filter(is_tool_file).cloned().collect();
    left.iter().fold(bundle.clone(), |bundle, path| bundle.without_file(path))
}

/// Syncs every file and folder of a skill, except tool files.
pub(crate) fn sync(dir: &Dir) -> io::Result<()> {
    for entry in dir.entries()? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        // Names of a skill's files are always UTF-8.
        let Some(name) = name.to_str().filter(|name| !TOOL_FILES.contains(name)) else { continue };
        if kind.is_dir() {
            sync(&listing::open_child(dir, name)?)?;
        } else if kind.is_file() {
            listing::sync_file(dir, name)?;
        }
    }
    sync_folder(dir)
}

/// Returns the tool files in an open folder, relative to it.
pub(crate) fn tool_files_of(dir: Dir, limits: &Limits) -> Result<Vec<String>, FolderError> {
    Ok(Walk::over(dir, ToolFiles::Skip, limits)?.tool_files)
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

/// Writes a bundle to the new folder `name` below `parent`, with modes 0644 and 0755, without syncing.
///
/// # Errors
/// Returns the I/O error, also if `name` exists. A partly written folder is removed.
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
        read(dir, "s", ToolFiles::Skip, &Limits::default())
    }

    #[test]
    fn folder_reads_back_with_file_modes() {
        let (_temp, dir) = temp();
        let bundle = testkit::bundle_with_modes(&[
            ("SKILL.md", &b"x\r\n"[..], false),
            ("scripts/deep/run.sh", b"#!", true),
            ("资产/图.bin", &[0, 255], false),
        ]);
        write(&dir, "s", &bundle).unwrap();
        assert_eq!(read_s(&dir).unwrap(), bundle);
    }

    #[test]
    fn existing_folder_is_not_overwritten() {
        let (_temp, dir) = temp();
        dir.create_dir("s").unwrap();
        dir.write("s/mine", "mine").unwrap();
        assert!(write(&dir, "s", &testkit::bundle(&[("SKILL.md", "x")])).is_err());
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
        assert!(matches!(read(&dir, "t", ToolFiles::Skip, &Limits::default()), Err(FolderError::Link(_))));
    }

    #[test]
    fn tool_files_are_skipped_by_default() {
        let (_temp, dir) = temp();
        dir.create_dir_all("s/scripts/__pycache__").unwrap();
        dir.write("s/SKILL.md", "x").unwrap();
        dir.write("s/scripts/__pycache__/a.pyc", "x").unwrap();
        assert_eq!(read_s(&dir).unwrap().len(), 1);
        assert_eq!(read(&dir, "s", ToolFiles::Read, &Limits::default()).unwrap().len(), 2);
    }

    #[test]
    fn limits_hold_while_reading() {
        let (_temp, dir) = temp();
        dir.create_dir("s").unwrap();
        dir.write("s/a", vec![0; 100]).unwrap();
        dir.write("s/b", vec![0; 100]).unwrap();
        let limits = Limits { skill_bytes: 150, ..Limits::default() };
        assert!(matches!(read(&dir, "s", ToolFiles::Skip, &limits), Err(FolderError::Bundle(_))));
        let limits = Limits { files_per_skill: 1, ..Limits::default() };
        assert!(matches!(read(&dir, "s", ToolFiles::Skip, &limits), Err(FolderError::Bundle(_))));
    }

    /// The error states the size on disk, although no more than the limit is read.
    #[test]
    fn size_of_a_large_file_is_told() {
        let (_temp, dir) = temp();
        dir.create_dir("s").unwrap();
        dir.create("s/SKILL.md").unwrap().set_len(52_000_000).unwrap();
        let error = read_s(&dir).unwrap_err().to_string();
        assert!(error.contains("at least 52000000 bytes"), "{error}");
    }

    #[test]
    fn missing_folder_differs_from_bad_name() {
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
