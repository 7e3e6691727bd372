//! File access of the native tools, restricted to the working folder and configured folders ([`Files`]).

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use agent::matches;
use cap_std::fs::{Dir, OpenOptions};
use library::{folder, resolve};
use serde::Deserialize;
use serde_json::{Value, json};
use skill::SkillPath;

use super::{
    gives,
    located::{KEYWORD, Located},
    spec, text,
};
use crate::host::{Approval, Bounds, ToolFault, ToolSpec};

/// Size limit of a file to read or write, in bytes.
const FILE_BYTES: u64 = 4 << 20;
/// Maximum number of files in a listing.
const LISTED: usize = 1_000;
/// Maximum number of directory entries that one call reads.
const LOOKED: usize = 100_000;
/// Lock file of installed skills, which only `install` and `update` may write.
const LOCK_FILE: &str = "skillhub.lock";
/// Maximum depth of a recursive listing.
const DEPTH: usize = 16;

pub(super) fn read_spec(folders: &[PathBuf]) -> ToolSpec {
    spec(
        "read_file",
        "Read a text file in the working folder.",
        json!({"path": file(folders)}),
        &["path"],
        gives(json!({"path": {"type": "string"}, "text": {"type": "string"}, "bytes": {"type": "integer"}})),
        Approval::None,
    )
}

pub(super) fn list_spec(folders: &[PathBuf]) -> ToolSpec {
    spec(
        "list_files",
        "List the files in the working folder, or in a folder below it.",
        json!({
            "path": path("Folder below the working folder, or absolute path of an allowed folder", folders),
            "pattern": text("`*` matches any characters, `?` one character. Matches the file name, or the path if it \
                             contains a `/`."),
            "recursive": {"type": "boolean", "default": false},
        }),
        &[],
        gives(json!({"files": {"type": "array", "items": {"type": "object", "properties": {
            "path": {"type": "string"}, "bytes": {"type": "integer"}, "kind": {"enum": ["file", "folder"]},
        }}}, "more": {"type": "boolean"}})),
        Approval::None,
    )
}

pub(super) fn write_spec(folders: &[PathBuf]) -> ToolSpec {
    spec(
        "write_file",
        "Write a text file in the working folder, atomically. Creates missing folders.",
        json!({
            "path": file(folders),
            "content": text("New content"),
            "append": {"type": "boolean", "default": false, "description": "Append instead of replacing"},
        }),
        &["path", "content"],
        gives(json!({"path": {"type": "string"}, "bytes": {"type": "integer"}})),
        Approval::PlanConfirm,
    )
}

fn file(folders: &[PathBuf]) -> Value {
    path("Path relative to the working folder, or absolute path in an allowed folder", folders)
}

/// Returns the schema of a path, with the folders allowed for absolute paths.
fn path(description: &str, folders: &[PathBuf]) -> Value {
    json!({"type": "string", "description": description, KEYWORD: folders})
}

/// One of the allowed folders.
pub(super) struct Files {
    root: Dir,
    place: PathBuf,
    hidden: bool,
    /// Prefix of paths in answers: the folder, or empty for the working folder.
    prefix: String,
}

#[derive(Deserialize)]
pub(super) struct Read {
    pub path: String,
}

#[derive(Deserialize)]
pub(super) struct List {
    pub path: Option<String>,
    pattern: Option<String>,
    #[serde(default)]
    recursive: bool,
}

#[derive(Deserialize)]
pub(super) struct Write {
    pub path: String,
    content: String,
    #[serde(default)]
    append: bool,
}

impl Files {
    /// Opens the folder of a path. `working` is the working folder.
    pub fn open(located: &Located<'_>, working: &Path, hidden: bool) -> Result<Self, ToolFault> {
        let place = located.folder.unwrap_or(working);
        let root = folder::open_at(place).map_err(|error| {
            let which = if located.folder.is_some() { "a configured" } else { "the working" };
            ToolFault::permanent("no_folder", format!("cannot use {which} folder: {error}"))
        })?;
        let prefix = located.folder.map(|folder| folder.join("").display().to_string()).unwrap_or_default();
        Ok(Self { root, place: place.to_owned(), hidden, prefix })
    }

    pub fn read(&self, below: &str, bounds: &Bounds<'_>) -> Result<Value, ToolFault> {
        let path = self.path(below)?;
        let (dir, name) = self.parent(&path, false)?;
        let most = FILE_BYTES.min(bounds.answer_bytes as u64);
        let bytes = folder::read_file(&dir, &name, most).map_err(io(&path))?;
        let bytes = bytes.ok_or_else(|| unread(&dir, &name, &path, most))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| ToolFault::permanent("not_text", format!("{path} is not a text file")))?;
        Ok(json!({"path": self.shown(&path), "bytes": text.len(), "text": text}))
    }

    pub fn list(&self, below: &str, wanted: &List, bounds: &Bounds<'_>) -> Result<Value, ToolFault> {
        let (dir, prefix) = match below {
            "" | "." => (self.root.try_clone().map_err(io_of_root)?, self.prefix.clone()),
            path => {
                let path = self.path(path.trim_end_matches('/'))?;
                let (parent, name) = self.parent(&path, false)?;
                (open(&parent, &name, &path)?, format!("{}/", self.shown(&path)))
            }
        };
        let mut listing = Listing { wanted, bounds, files: Vec::new(), looked: 0 };
        self.collect(&dir, &prefix, 0, &mut listing)?;
        let more = listing.is_full();
        listing.files.truncate(LISTED);
        Ok(json!({"files": listing.files, "more": more}))
    }

    fn collect(&self, dir: &Dir, prefix: &str, depth: usize, listing: &mut Listing<'_>) -> Result<(), ToolFault> {
        let mut entries: Vec<(String, cap_std::fs::Metadata)> = Vec::new();
        for entry in dir.entries().map_err(io_of_root)? {
            listing.bounds.remaining()?;
            let Ok(entry) = entry else { continue };
            let (Ok(name), Ok(about)) = (entry.file_name().into_string(), entry.metadata()) else { continue };
            listing.looked += 1;
            if listing.looked > LOOKED {
                break;
            }
            if self.hidden || !name.starts_with('.') {
                entries.push((name, about));
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, about) in entries {
            if listing.files.len() > LISTED {
                return Ok(());
            }
            let path = format!("{prefix}{name}");
            let is_meant = listing.means(&path, &name);
            if about.is_file() && is_meant {
                listing.files.push(json!({"path": path, "bytes": about.len(), "kind": "file"}));
            } else if about.is_dir() {
                if is_meant {
                    listing.files.push(json!({"path": path, "bytes": 0, "kind": "folder"}));
                }
                if listing.wanted.recursive
                    && depth < DEPTH
                    && let Ok(inner) = folder::open(dir, &name)
                {
                    self.collect(&inner, &format!("{path}/"), depth + 1, listing)?;
                }
            }
        }
        Ok(())
    }

    pub fn write(
        &self,
        below: &str,
        wanted: &Write,
        kept: &[PathBuf],
        bounds: &Bounds<'_>,
    ) -> Result<Value, ToolFault> {
        let path = self.path(below)?;
        let real = resolve(&self.place).map_err(io(&path))?.join(path.as_str());
        if kept.iter().any(|folder| real.starts_with(folder)) || real.ends_with(LOCK_FILE) {
            return Err(ToolFault::permanent("not_allowed", format!("{path} belongs to skillhub"))
                .hint("change skills with skill_manage, and install them with `skillhub install`"));
        }
        if wanted.content.len() as u64 > FILE_BYTES {
            return Err(too_large(&path));
        }
        let (dir, name) = self.parent(&path, true)?;
        match dir.symlink_metadata(&name) {
            Ok(about) if !about.is_file() => {
                let message = format!("{path} already exists and is not a regular file");
                return Err(ToolFault::permanent("not_allowed", message));
            }
            _ => {}
        }
        let mut bytes = Vec::new();
        if wanted.append {
            let before = folder::read_file(&dir, &name, FILE_BYTES).map_err(io(&path))?;
            bytes = match before {
                Some(before) => before,
                None if dir.symlink_metadata(&name).is_ok() => return Err(too_large(&path)),
                None => Vec::new(),
            };
        }
        bytes.extend_from_slice(wanted.content.as_bytes());
        if bytes.len() as u64 > FILE_BYTES {
            return Err(too_large(&path));
        }
        bounds.remaining()?;
        replace(&dir, &name, &bytes).map_err(io(&path))?;
        Ok(json!({"path": self.shown(&path), "bytes": bytes.len()}))
    }

    /// Formats a path for answers.
    fn shown(&self, path: &SkillPath) -> String {
        format!("{}{path}", self.prefix)
    }

    /// Validates a path: the rules for paths in skills, and no hidden names unless they are allowed.
    fn path(&self, text: &str) -> Result<SkillPath, ToolFault> {
        let path = SkillPath::parse(text).map_err(|error| {
            ToolFault::permanent("not_allowed", format!("{text:?} is not a valid path in the folder: {error}"))
                .hint("use a path relative to the working folder")
        })?;
        match !self.hidden && path.as_str().split('/').any(|part| part.starts_with('.')) {
            true => Err(ToolFault::permanent("not_allowed", format!("{path} is hidden"))
                .hint("ask a person to allow hidden files with `hidden = true` under [tools] in config.toml")),
            false => Ok(path),
        }
    }

    /// Opens the parent folder of a file without following links, and returns it with the file's name.
    fn parent(&self, path: &SkillPath, make: bool) -> Result<(Dir, String), ToolFault> {
        let mut dir = self.root.try_clone().map_err(io_of_root)?;
        let mut parts: Vec<&str> = path.as_str().split('/').collect();
        let name = parts.pop().unwrap_or_default().to_owned();
        for part in parts {
            if make && dir.symlink_metadata(part).is_err() {
                match dir.create_dir(part) {
                    Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(io(path)(error)),
                    _ => {}
                }
            }
            dir = open(&dir, part, path)?;
        }
        Ok((dir, name))
    }
}

/// State of a listing.
struct Listing<'a> {
    wanted: &'a List,
    bounds: &'a Bounds<'a>,
    files: Vec<Value>,
    /// Number of directory entries read so far.
    looked: usize,
}

impl Listing<'_> {
    fn means(&self, path: &str, name: &str) -> bool {
        let pattern = self.wanted.pattern.as_ref();
        pattern.is_none_or(|pattern| matches(pattern, if pattern.contains('/') { path } else { name }))
    }

    /// Returns whether a limit was reached, so that there may be more files.
    fn is_full(&self) -> bool {
        self.files.len() > LISTED || self.looked > LOOKED
    }
}

fn open(dir: &Dir, name: &str, path: &SkillPath) -> Result<Dir, ToolFault> {
    folder::open(dir, name).map_err(|error| match error {
        folder::FolderError::Missing(_) => ToolFault::permanent("not_found", format!("{path} does not exist")),
        folder::FolderError::Link(_) => {
            ToolFault::permanent("not_allowed", format!("{path} is behind a link, and links are not followed"))
        }
        error => ToolFault::permanent("not_allowed", format!("cannot open {path}: {error}")),
    })
}

/// Returns the reason why a file cannot be read.
fn unread(dir: &Dir, name: &str, path: &SkillPath, most: u64) -> ToolFault {
    match dir.symlink_metadata(name) {
        Err(_) => ToolFault::permanent("not_found", format!("{path} does not exist in the working folder")),
        Ok(about) if about.is_symlink() => {
            ToolFault::permanent("not_found", format!("{path} is a link, and links are not followed"))
        }
        Ok(about) if about.is_dir() => {
            ToolFault::permanent("not_found", format!("{path} is a folder")).hint("list its files with list_files")
        }
        Ok(about) if about.is_file() => {
            ToolFault::permanent("too_large", format!("{path} is larger than {most} bytes"))
        }
        Ok(_) => ToolFault::permanent("not_found", format!("{path} is not a regular file")),
    }
}

/// Writes a temporary file and renames it over the target. The temporary file must not exist yet, so that a planted
/// link cannot redirect the write.
fn replace(dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let temporary = format!(".{}-{}.skillhub.tmp", library::random_process_id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let mut file = dir.open_with(&temporary, OpenOptions::new().write(true).create_new(true))?;
    // Keep the permissions, so that a private file stays private.
    let kept = match dir.symlink_metadata(name) {
        Ok(before) if before.is_file() => file.set_permissions(before.permissions()),
        _ => Ok(()),
    };
    let written = kept.and_then(|()| file.write_all(bytes)).and_then(|()| file.sync_data());
    let replaced = written.and_then(|()| dir.rename(&temporary, dir, name));
    if replaced.is_err() {
        let _best_effort = dir.remove_file(&temporary);
    }
    replaced
}

fn too_large(path: &SkillPath) -> ToolFault {
    ToolFault::permanent("too_large", format!("{path} would be larger than {FILE_BYTES} bytes"))
}

fn io(path: &SkillPath) -> impl Fn(std::io::Error) -> ToolFault {
    let path = path.to_string();
    move |error| ToolFault::transient("io", format!("{path}: {error}"))
}

fn io_of_root(error: std::io::Error) -> ToolFault {
    ToolFault::transient("io", format!("the working folder: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_matches_the_whole_name() {
        for (pattern, text, is_fit) in [
            ("*", "", true),
            ("*.md", "a.md", true),
            ("*.md", "a.mdx", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("数*", "数据.csv", true),
        ] {
            assert_eq!(matches(pattern, text), is_fit, "{pattern} {text}");
        }
        assert!(!matches(&"*a".repeat(100), &"ab".repeat(90)));
    }
}
