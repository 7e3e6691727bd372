//! [`ForeignLock`]: the lock file of another tool, which is read and never changed.
//!
//! Such a file may have come with a clone, so its content is untrusted. Names are parsed as [`SkillName`]s, and sources
//! are parsed like those of a command line. A hash only shows whether the files on disk are the ones that the other
//! tool wrote.

mod clawhub;
mod npx;
mod recorded;

use std::{
    io,
    path::{Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};
use library::{Origin, SourceSkill, read_bounded};
use serde::de::DeserializeOwned;
use serde_json::Value;
use skill::failure::{Fails, Failure, FailureKind};
use skill::{Limits, SkillName};
use thiserror::Error;

pub(crate) use recorded::Recorded;

use crate::spec::{GitSpec, SpecError};

/// The tool that writes a lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignTool {
    /// `npx skills`, in a project.
    SkillsOfProject,
    /// `npx skills`, for a user.
    SkillsOfUser,
    /// `clawhub`, in a project or for a user.
    ClawHub,
}

/// A parsed lock file of another tool.
#[derive(Debug, Clone)]
pub struct ForeignLock {
    /// Path of the file.
    pub path: PathBuf,
    /// Tool that wrote it.
    pub tool: ForeignTool,
    /// Folder that contains the tool's skills, at any depth.
    pub(crate) root: PathBuf,
    /// Its entries, sorted by key.
    pub(crate) entries: Vec<ForeignEntry>,
}

/// One skill in such a file.
#[derive(Debug, Clone)]
pub(crate) struct ForeignEntry {
    /// Key of the entry in the file.
    pub key: String,
    /// Name of the folder in which the tool installs it.
    pub folder: String,
    /// Source that it was installed from.
    pub source: ForeignSource,
    /// Hash that the tool recorded for its files.
    pub recorded: Recorded,
    /// Version, if the tool recorded one.
    pub version: Option<String>,
    /// Notes for the user, one sentence each.
    pub notes: Vec<String>,
}

/// The source of a skill.
#[derive(Debug, Clone)]
pub(crate) enum ForeignSource {
    /// A folder in a git repository.
    Git(Box<GitSpec>),
    /// A folder on this machine.
    Folder(PathBuf),
    /// A kind of source that this version cannot fetch from.
    Other {
        /// Kind of source, as in an [`library::Origin`].
        kind: String,
        /// Address within that source.
        place: String,
    },
}

/// Reasons why a lock file of another tool cannot be read.
#[derive(Debug, Error)]
pub enum ForeignError {
    /// No lock file was found.
    #[error("no lock file of another tool was found; looked for {}", list(looked))]
    None {
        /// Paths that were tried.
        looked: Vec<PathBuf>,
    },
    /// The file has a name that no known tool uses.
    #[error("{} is not a lock file that skillhub can import", path.display())]
    Unknown {
        /// Path of the file.
        path: PathBuf,
    },
    /// Reading the file failed.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file has the conflict markers of an unfinished merge.
    #[error("{} has unresolved merge conflicts, the first in line {line}", path.display())]
    ConflictMarkers {
        /// Path of the file.
        path: PathBuf,
        /// Line of the first marker, from 1.
        line: usize,
    },
    /// The file does not have the structure that its tool writes.
    #[error("{} is damaged: {message}", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem.
        message: String,
    },
    /// The file has an unknown format version.
    #[error("{} has format version {found}, but this version of skillhub reads only {known}", path.display())]
    Version {
        /// Path of the file.
        path: PathBuf,
        /// Version found in the file.
        found: String,
        /// Supported versions, as text.
        known: &'static str,
    },
    /// The source of an entry is unusable.
    #[error("{} has an invalid source for {key:?}: {source}", path.display())]
    Source {
        /// Path of the file.
        path: PathBuf,
        /// Key of the entry.
        key: String,
        /// Problem with the source.
        source: SpecError,
    },
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl Fails for ForeignError {
    fn failure(&self) -> Failure {
        let invalid = Failure::new(FailureKind::Invalid, "invalid_lock_file");
        match self {
            Self::None { .. } => Failure::new(FailureKind::NotFound, "not_found").hint(
                "give the path of the file, `skillhub import PATH`, or manage folders without one, `skillhub adopt \
                 PATH`",
            ),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Failure::new(FailureKind::NotFound, "not_found").hint("check the path")
            }
            Self::Io { .. } => Failure::io(),
            Self::ConflictMarkers { .. } => Failure::new(FailureKind::Conflict, "merge_conflict")
                .hint("resolve the conflicts in that file, then import it again; nothing was changed"),
            Self::Unknown { .. } => invalid.hint("import a skills-lock.json, .skill-lock.json or .clawhub/lock.json"),
            Self::Damaged { .. } => invalid.hint(
                "recreate it with the tool that wrote it, or manage the folders without it: `skillhub adopt PATH`",
            ),
            Self::Version { .. } => invalid.hint("manage the folders without it: `skillhub adopt PATH`"),
            Self::Source { .. } => invalid.hint("correct or remove that entry; nothing was changed"),
        }
    }
}

impl ForeignTool {
    /// Returns the tool's name as users know it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SkillsOfProject | Self::SkillsOfUser => "npx skills",
            Self::ClawHub => "clawhub",
        }
    }

    /// Detects the tool from the path of a lock file. Also returns the folder that contains its skills.
    fn of(path: &Path) -> Option<(Self, PathBuf)> {
        let name = path.file_name()?.to_str()?;
        let folder = path.parent()?;
        match name {
            npx::OF_PROJECT => Some((Self::SkillsOfProject, folder.to_owned())),
            npx::OF_USER => Some((Self::SkillsOfUser, folder.to_owned())),
            "lock.json" if clawhub::FOLDERS.iter().any(|known| folder.ends_with(known)) => {
                Some((Self::ClawHub, folder.parent()?.to_owned()))
            }
            _ => None,
        }
    }
}

impl ForeignLock {
    /// Returns the paths at which a project's lock files may be.
    pub fn places_of_project(root: &Path) -> Vec<PathBuf> {
        let of_clawhub = clawhub::FOLDERS.iter().map(|folder| root.join(folder).join("lock.json"));
        std::iter::once(root.join(npx::OF_PROJECT)).chain(of_clawhub).collect()
    }

    /// Returns the paths at which a user's lock files may be. `state_home` is the value of `XDG_STATE_HOME`.
    pub fn places_of_user(home: &Path, state_home: Option<&Path>) -> Vec<PathBuf> {
        let of_npx = match state_home {
            Some(state_home) => state_home.join("skills").join(npx::OF_USER),
            None => home.join(".agents").join(npx::OF_USER),
        };
        let of_clawhub = clawhub::FOLDERS.iter().map(|folder| home.join(folder).join("lock.json"));
        std::iter::once(of_npx).chain(of_clawhub).collect()
    }

    /// Reads all lock files that exist at the given paths.
    ///
    /// # Errors
    /// [`ForeignError`], also if none of the files exists.
    pub fn find(places: &[PathBuf]) -> Result<Vec<Self>, ForeignError> {
        let mut found = Vec::new();
        for place in places {
            match Self::read(place) {
                Ok(lock) => found.push(lock),
                Err(ForeignError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        if found.is_empty() { Err(ForeignError::None { looked: places.to_vec() }) } else { Ok(found) }
    }

    /// Reads and parses one lock file.
    ///
    /// # Errors
    /// [`ForeignError`]
    pub fn read(path: &Path) -> Result<Self, ForeignError> {
        let (tool, root) = ForeignTool::of(path).ok_or_else(|| ForeignError::Unknown { path: path.to_owned() })?;
        let text = read_text(path)?;
        let entries = match tool {
            ForeignTool::SkillsOfProject => npx::of_project(path, &root, &text),
            ForeignTool::SkillsOfUser => npx::of_user(path, &root, &text),
            ForeignTool::ClawHub => clawhub::entries(path, &text),
        }?;
        Ok(Self { path: path.to_owned(), tool, root, entries })
    }

    /// Returns the number of skills in the file.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the file lists no skills.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl ForeignEntry {
    /// Parses the folder's name as the name of a skill.
    pub fn name(&self) -> Result<SkillName, skill::NameError> {
        SkillName::parse(&self.folder)
    }
}

impl ForeignSource {
    /// Returns whether a skill of the library has this source as its origin.
    pub fn is_of(&self, origin: &Origin) -> bool {
        match (self, origin) {
            (Self::Git(spec), Origin::Git { url, .. }) => spec.url() == *url,
            (Self::Folder(path), Origin::Folder { path: of, .. }) => resolved(path) == *of,
            (Self::Other { kind, place }, Origin::Other { kind: of, place: at, .. }) => kind == of && place == at,
            _ => false,
        }
    }

    /// Returns the origin of a skill from this source.
    pub fn origin(&self, skill: SourceSkill) -> Origin {
        match self {
            Self::Git(spec) => Origin::Git { url: spec.url(), commit: None, skill },
            Self::Folder(path) => Origin::Folder { path: resolved(path), skill },
            Self::Other { kind, place } => Origin::Other { kind: kind.clone(), place: place.clone(), skill },
        }
    }

    /// Returns the address in the form shown to people.
    pub fn describe(&self) -> String {
        match self {
            Self::Git(spec) => spec.to_string(),
            Self::Folder(path) => path.display().to_string(),
            Self::Other { place, .. } => place.clone(),
        }
    }
}

fn resolved(path: &Path) -> String {
    library::resolve(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

fn read_text(path: &Path) -> Result<String, ForeignError> {
    let io = |source| ForeignError::Io { path: path.to_owned(), source };
    let damaged = |message: String| ForeignError::Damaged { path: path.to_owned(), message };
    let missing = || io(io::Error::new(io::ErrorKind::NotFound, "the file does not exist"));
    let dir = Dir::open_ambient_dir(path.parent().unwrap_or(Path::new("/")), ambient_authority()).map_err(io)?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let bytes = read_bounded(&dir, name, Limits::default().lock_file_bytes).map_err(io)?.ok_or_else(missing)?;
    let text = String::from_utf8(bytes).map_err(|error| damaged(error.utf8_error().to_string()))?;
    match text.lines().position(|line| line.starts_with("<<<<<<<") || line.starts_with(">>>>>>>")) {
        Some(at) => Err(ForeignError::ConflictMarkers { path: path.to_owned(), line: at + 1 }),
        None => Ok(text),
    }
}

/// Parses the file's content if its version is supported.
fn parse<T: DeserializeOwned>(
    path: &Path,
    text: &str,
    versions: std::ops::RangeInclusive<u64>,
    known: &'static str,
) -> Result<T, ForeignError> {
    let damaged = |message: String| ForeignError::Damaged { path: path.to_owned(), message };
    let whole: Value = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
    match whole.get("version") {
        Some(Value::Number(number)) if number.as_u64().is_some_and(|number| versions.contains(&number)) => {}
        Some(Value::Number(number)) => {
            return Err(ForeignError::Version { path: path.to_owned(), found: number.to_string(), known });
        }
        _ => return Err(damaged("it has no version".to_owned())),
    }
    serde_json::from_str(text).map_err(|error| damaged(error.to_string()))
}
