//! [`ForeignLock`]: the lock file of another tool, read and never changed.
//!
//! Such a file may have come with a clone, so that nothing in it is believed further than that somebody says so:
//! names become [`SkillName`]s, sources are read as those of a command line are, and a hash only says whether the
//! files that stand here are the ones that the other tool wrote.

mod clawhub;
mod npx;
mod recorded;

use std::{
    io,
    path::{Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};
use library::{Origin, read_bounded};
use serde::de::DeserializeOwned;
use serde_json::Value;
use skill::failure::{Fails, Failure, FailureKind};
use skill::{Limits, SkillName};
use thiserror::Error;

pub(crate) use recorded::Recorded;

use crate::spec::{GitSpec, SpecError};

/// Which tool writes a lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignTool {
    /// `npx skills` in a project.
    SkillsOfProject,
    /// `npx skills` for a user.
    SkillsOfUser,
    /// `clawhub`.
    ClawHub,
}

/// A lock file of another tool.
#[derive(Debug, Clone)]
pub struct ForeignLock {
    /// The file.
    pub path: PathBuf,
    /// Whose it is.
    pub tool: ForeignTool,
    /// The folder that its skills are below.
    pub(crate) root: PathBuf,
    /// What it names, sorted by key.
    pub(crate) entries: Vec<ForeignEntry>,
}

/// One skill of such a file.
#[derive(Debug, Clone)]
pub(crate) struct ForeignEntry {
    /// What it is called there.
    pub key: String,
    /// The folder that the tool gives it.
    pub folder: String,
    /// Where it came from.
    pub source: ForeignSource,
    /// What the tool noted of its files.
    pub recorded: Recorded,
    /// The version, where the tool knows one.
    pub version: Option<String>,
    /// What is worth telling.
    pub notes: Vec<String>,
}

/// Where a skill came from.
#[derive(Debug, Clone)]
pub(crate) enum ForeignSource {
    /// A repository.
    Git(Box<GitSpec>),
    /// A folder.
    Folder(PathBuf),
    /// What this version fetches nothing from.
    Other {
        /// What it is called in an [`library::Origin`].
        kind: String,
        /// Where.
        place: String,
    },
}

/// Why a lock file of another tool cannot be read.
#[derive(Debug, Error)]
pub enum ForeignError {
    /// None of the places has one.
    #[error("there is no lock file of another tool: looked for {}", list(looked))]
    None {
        /// The places.
        looked: Vec<PathBuf>,
    },
    /// No tool that is known writes a file of this name.
    #[error("{} is no lock file that this version knows", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A merge that was not finished.
    #[error("{} has conflict markers of a merge in line {line}", path.display())]
    ConflictMarkers {
        /// The file.
        path: PathBuf,
        /// The first such line, from 1.
        line: usize,
    },
    /// Not what its tool writes.
    #[error("{} is damaged: {message}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// Of a format that is not known.
    #[error("{} has the format version {found}; this version reads {known}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: String,
        /// Those that are read.
        known: &'static str,
    },
    /// A source that cannot be used.
    #[error("{}: the source of {key:?} cannot be used: {source}", path.display())]
    Source {
        /// The file.
        path: PathBuf,
        /// The entry.
        key: String,
        /// What is wrong.
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
            Self::None { .. } => Failure::new(FailureKind::NotFound, "not_found")
                .hint("name the file, `skillhub import PATH`; folders without one: `skillhub adopt PATH`"),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Failure::new(FailureKind::NotFound, "not_found").hint("check the path")
            }
            Self::Io { .. } => Failure::io(),
            Self::ConflictMarkers { .. } => Failure::new(FailureKind::Conflict, "merge_conflict")
                .hint("finish the merge of that file, then import it again; nothing was changed"),
            Self::Unknown { .. } => invalid.hint("it reads skills-lock.json, .skill-lock.json and .clawhub/lock.json"),
            Self::Damaged { .. } => {
                invalid.hint("let its own tool write it anew, or take the folders over: `skillhub adopt PATH`")
            }
            Self::Version { .. } => invalid.hint("take the folders over as they are: `skillhub adopt PATH`"),
            Self::Source { .. } => invalid.hint("nothing was changed; take the entry out if you do not know it"),
        }
    }
}

impl ForeignTool {
    /// The tool as people call it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SkillsOfProject | Self::SkillsOfUser => "npx skills",
            Self::ClawHub => "clawhub",
        }
    }

    /// The tool that writes a file of this name, with the folder that its skills are below.
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
    /// The places of a project's files.
    #[must_use]
    pub fn places_of_project(root: &Path) -> Vec<PathBuf> {
        let of_clawhub = clawhub::FOLDERS.iter().map(|folder| root.join(folder).join("lock.json"));
        std::iter::once(root.join(npx::OF_PROJECT)).chain(of_clawhub).collect()
    }

    /// The places of a user's files; `state_home` is what `XDG_STATE_HOME` says.
    #[must_use]
    pub fn places_of_user(home: &Path, state_home: Option<&Path>) -> Vec<PathBuf> {
        let of_npx = match state_home {
            Some(state_home) => state_home.join("skills").join(npx::OF_USER),
            None => home.join(".agents").join(npx::OF_USER),
        };
        let of_clawhub = clawhub::FOLDERS.iter().map(|folder| home.join(folder).join("lock.json"));
        std::iter::once(of_npx).chain(of_clawhub).collect()
    }

    /// Reads those of the places that there are.
    ///
    /// # Errors
    /// [`ForeignError`], and none where there is no file at all.
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

    /// Reads one.
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

    /// How many skills it names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it names none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl ForeignEntry {
    /// The name of its folder, as one that a skill can have.
    pub fn name(&self) -> Result<SkillName, skill::NameError> {
        SkillName::parse(&self.folder)
    }
}

impl ForeignSource {
    /// Whether a skill of the library came from here.
    pub fn is_of(&self, origin: &Origin) -> bool {
        let (kind, source) = self.as_in_origin();
        (kind, &source) == (origin.kind.as_str(), &origin.source)
    }

    /// The kind of source and its place, as an origin has them.
    pub fn as_in_origin(&self) -> (&str, String) {
        match self {
            Self::Git(spec) => ("git", spec.url()),
            Self::Folder(path) => {
                let path = library::resolve(path).unwrap_or_else(|_| path.clone());
                ("folder", path.display().to_string())
            }
            Self::Other { kind, place } => (kind, place.clone()),
        }
    }

    /// Where, for people.
    pub fn describe(&self) -> String {
        match self {
            Self::Git(spec) => spec.to_string(),
            Self::Folder(path) => path.display().to_string(),
            Self::Other { place, .. } => place.clone(),
        }
    }
}

fn read_text(path: &Path) -> Result<String, ForeignError> {
    let io = |source| ForeignError::Io { path: path.to_owned(), source };
    let damaged = |message: String| ForeignError::Damaged { path: path.to_owned(), message };
    let missing = || io(io::Error::new(io::ErrorKind::NotFound, "there is no such file"));
    let dir = Dir::open_ambient_dir(path.parent().unwrap_or(Path::new("/")), ambient_authority()).map_err(io)?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let bytes = read_bounded(&dir, name, Limits::default().lock_file_bytes).map_err(io)?.ok_or_else(missing)?;
    let text = String::from_utf8(bytes).map_err(|error| damaged(error.utf8_error().to_string()))?;
    match text.lines().position(|line| line.starts_with("<<<<<<<") || line.starts_with(">>>>>>>")) {
        Some(at) => Err(ForeignError::ConflictMarkers { path: path.to_owned(), line: at + 1 }),
        None => Ok(text),
    }
}

/// The file's content, if its version is one of those known.
fn parse<T: DeserializeOwned>(
    path: &Path,
    text: &str,
    (versions, known): (std::ops::RangeInclusive<u64>, &'static str),
) -> Result<T, ForeignError> {
    let damaged = |message: String| ForeignError::Damaged { path: path.to_owned(), message };
    let whole: Value = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
    match whole.get("version") {
        Some(Value::Number(number)) if number.as_u64().is_some_and(|number| versions.contains(&number)) => {}
        Some(Value::Number(number)) => {
            return Err(ForeignError::Version { path: path.to_owned(), found: number.to_string(), known });
        }
        _ => return Err(damaged("it does not say its version".to_owned())),
    }
    serde_json::from_str(text).map_err(|error| damaged(error.to_string()))
}
