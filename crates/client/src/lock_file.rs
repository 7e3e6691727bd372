//! [`LockFile`]: `skillhub.lock`, the exact list of installed releases.

mod bounds;
mod capabilities;
mod conflicts;
mod deletion;
mod drift;
mod entry;
mod last_read;
mod lines;
mod past;
mod refresh;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;
mod waivers;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use library::{LibraryError, Origin};
use skill::failure::{Fails, Failure, FailureKind};
use skill::{Digest, SkillName};
use thiserror::Error;
use toml::{Table, Value};

pub(crate) use capabilities::locked_capabilities;
pub use conflicts::{ResolvedConflicts, Undecided, resolve_conflicts};
pub use deletion::{deleted_entry, returned_entry};
pub(crate) use drift::has_archive_of_release;
pub use drift::{Drift, DriftKind, drifts, repair_drifts};
pub(crate) use last_read::LastRead;
pub use lines::{has_pending_lines, write_pending_lines};
pub(crate) use lines::{line_of, write_pending_lines_into};
pub use waivers::LockedWaiver;

/// Name of the file in a project's root.
pub const LOCK_FILE: &str = "skillhub.lock";

const FORMAT: i64 = 1;

/// Size up to which an error message quotes the faulty line, in bytes.
const SHOWN_BYTES: usize = 64 << 10;

/// Known kinds of sources. A file with any other kind, from a later version, is rejected as a whole and left unchanged.
const KINDS: [&str; 6] = [Origin::REGISTRY, Origin::GIT, Origin::FOLDER, Origin::ARCHIVE, OTHER, "clawhub"];

/// Kind of a source of another tool that skillhub cannot fetch from. Earlier versions wrote the tool's own word.
const OTHER: &str = "other";

const HEAD: &str = "# Written by skillhub: which skills are installed, exactly. Commit this file.\n";

/// A parsed lock file.
///
/// ```toml
/// format = 1
///
/// [[skill]]
/// name = "acme/pdf"             # `owner/name`, or a bare name from other sources
/// as = "pdf-acme"               # name of the folder, if the skill was installed under another name
/// requested = "^1.2"            # version request of the user
/// version = "1.2.3"
/// kind = "registry"             # or git, folder, archive
/// source = "…"                  # location of the registry, git URL or path; ./… is relative to this file
/// local = true                  # the source exists on this machine only
/// commit = "…"                  # of a git source
/// signer = "SHA256:…"           # the owner's key that signed the release
/// archive = "sha256:…"          # of the packed release
/// digest = "sha256:…"           # of the release's content
/// content = "sha256:…"          # of the current content, which may have changed since
/// agents = ["claude-code"]      # agents whose folders have it
/// ruleset = "…"                 # version of the rules that cleared it
/// requires = ["acme/forms@^2"]  # requirements of the release
/// dependency = true             # installed only as a requirement of others
/// capabilities = [              # of the current content, one a line, so that a diff shows new ones
///   "network api.example.com",
/// ]
/// waivers = [{ rule = "…", path = "…", by = "…", until = "…", reason = "…" }]  # findings accepted here
/// ```
///
/// Skills are sorted by name, the file has no timestamps, and unknown fields are kept. The first change to a file of an
/// older format rewrites the file in this format. The old file is not backed up, because the history of the project or
/// library has it. A file of a later format, or with an unknown kind of source, is rejected and left unchanged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LockFile {
    path: PathBuf,
    others: Table,
    skills: BTreeMap<String, LockedSkill>,
}

/// One skill in a lock file.
#[derive(Debug, Clone, PartialEq)]
pub struct LockedSkill {
    /// Source, with the installed release.
    pub origin: Origin,
    /// Name of the folder; `None` if it is the release's name.
    pub alias: Option<SkillName>,
    /// Request of the user. For a registry's skill, a version or range, empty for the newest; otherwise the whole spec.
    pub requested: String,
    /// True if the source exists on this machine only.
    pub local: bool,
    /// Fingerprint of the owner's key that signed the release.
    pub signer: Option<String>,
    /// Hash of the packed release; `None` if its files are unknown.
    pub archive: Option<Digest>,
    /// Digest of the skill's current content in the library; `None` in entries of older versions.
    pub content: Option<Digest>,
    /// Ids of the agents in whose folders it is linked, sorted.
    pub agents: Vec<String>,
    /// Version of the rules that cleared it.
    pub ruleset: String,
    /// Requirements of the release: `owner/name`, or `owner/name@range`.
    pub requires: Vec<String>,
    /// True if it is installed only as a requirement of other skills.
    pub dependency: bool,
    /// Capabilities of the content, for readers of a diff. Empty in entries of older versions until the content
    /// changes.
    pub capabilities: Vec<String>,
    /// Findings that a person accepted in the current content. They are shown, but never applied as waivers.
    pub waivers: Vec<LockedWaiver>,
    pub(crate) raw: Table,
}

/// Reasons why a lock file cannot be used. The file is then left unchanged.
#[derive(Debug, Error)]
pub enum LockFileError {
    /// The file has the conflict markers of an unfinished merge.
    #[error("{} has unresolved merge conflicts from line {line} on; {differences}", path.display())]
    ConflictMarkers {
        /// Path of the file.
        path: PathBuf,
        /// Line of the first marker, from 1.
        line: usize,
        /// Differences between the two sides, as the end of a sentence.
        differences: String,
    },
    /// The file is not TOML, or does not have the structure of a lock file.
    #[error("{} is damaged: {message}", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Description of the problem, with the line if known.
        message: String,
    },
    /// The file has the format of a later version.
    #[error("{} was written by a newer skillhub: it has format {found}, this version reads {FORMAT}", path.display())]
    Newer {
        /// Path of the file.
        path: PathBuf,
        /// Format number in the file.
        found: i64,
    },
    /// The file has a kind of source that a later version introduced.
    #[error("{} was written by a newer skillhub: it has {name} from a source of kind {kind:?}", path.display())]
    NewerKind {
        /// Path of the file.
        path: PathBuf,
        /// Name of the skill.
        name: String,
        /// Kind of its source.
        kind: String,
    },
    /// The file would become too large to be read again.
    #[error("cannot write {}: {why}", path.display())]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Resulting size and limit.
        why: String,
    },
    /// The library cannot be read, or is locked.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// Reading or writing the file failed.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl Fails for LockFileError {
    fn failure(&self) -> Failure {
        let integrity = Failure::new(FailureKind::Integrity, "damaged_lock_file");
        match self {
            Self::ConflictMarkers { .. } => Failure::new(FailureKind::Conflict, "merge_conflict").hint(
                "run `skillhub doctor --fix`, which merges the lines that agree and lists the rest, or resolve the \
                 conflicts yourself",
            ),
            Self::Damaged { .. } => integrity
                .hint("restore the last good version of the file, or delete it and run `skillhub doctor --fix`"),
            Self::Newer { .. } | Self::NewerKind { .. } => integrity.hint("update skillhub; the file was not changed"),
            Self::TooLarge { .. } => Failure::new(FailureKind::Invalid, "too_large")
                .hint("uninstall skills that you do not use, or install into another project's library"),
            Self::Library(error) => error.failure(),
            Self::Io { .. } => Failure::io(),
        }
    }
}

impl LockFile {
    /// Reads the lock file. A missing file is empty.
    ///
    /// # Errors
    /// [`LockFileError`]
    pub fn read(path: &Path) -> Result<Self, LockFileError> {
        LastRead::of(path).map(LastRead::into_file)
    }

    /// Parses the text of a lock file. `path` appears in errors and is used to find git's version of a conflict.
    ///
    /// # Errors
    /// [`LockFileError`]
    pub fn parse(text: &str, path: &Path) -> Result<Self, LockFileError> {
        let damaged = |message: String| LockFileError::Damaged { path: path.to_owned(), message };
        if let Some(line) = conflicts::first_marker(text) {
            let differences = conflicts::differences(text, path);
            return Err(LockFileError::ConflictMarkers { path: path.to_owned(), line, differences });
        }
        bounds::check(text).map_err(damaged)?;
        let mut others: Table = text.parse().map_err(|error| damaged(describe_parse_error(&error, text)))?;
        match others.remove("format") {
            Some(Value::Integer(FORMAT)) => {}
            // Older formats have fewer fields. The missing ones are added when the file is written.
            Some(Value::Integer(0..FORMAT)) => {}
            Some(Value::Integer(found)) if found > FORMAT => {
                return Err(LockFileError::Newer { path: path.to_owned(), found });
            }
            _ => return Err(damaged("it has no `format`".to_owned())),
        }
        let tables = match others.remove("skill") {
            None => Vec::new(),
            Some(Value::Array(tables)) => tables,
            Some(_) => return Err(damaged("`skill` is not a list of tables".to_owned())),
        };
        let mut skills = BTreeMap::new();
        for (at, table) in tables.into_iter().enumerate() {
            check_kind(&table, path)?;
            let skill = LockedSkill::of(table).map_err(|what| damaged(format!("skill number {}: {what}", at + 1)))?;
            let skill = skill.with_absolute_source(folder_of(path));
            if let Some(double) = skills.insert(skill.name(), skill) {
                return Err(damaged(format!("{} is listed twice", double.name())));
            }
        }
        Ok(Self { path: path.to_owned(), others, skills })
    }

    /// Returns the path of the lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the skills, sorted by name.
    pub fn skills(&self) -> impl Iterator<Item = &LockedSkill> {
        self.skills.values()
    }

    /// Returns the full names of the skills, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.skills.keys().map(String::as_str)
    }

    /// Returns whether the file lists no skills.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// Returns the entry with this full name.
    pub fn get(&self, name: &str) -> Option<&LockedSkill> {
        self.skills.get(name)
    }

    /// Returns the entry of the skill whose folder has this name.
    pub fn find(&self, name: &SkillName) -> Option<&LockedSkill> {
        self.skills.values().find(|skill| skill.bare_name() == name)
    }

    /// Returns whether the entry of the skill whose folder has this name has this content.
    pub fn lists(&self, name: &SkillName, content: Digest) -> bool {
        self.find(name).is_some_and(|entry| entry.content == Some(content))
    }

    /// Returns the registry from which the skill with this full name was installed; `None` for other kinds of sources.
    pub(crate) fn release_source(&self, name: &str) -> Option<&str> {
        self.get(name)?.origin.as_registry().map(|release| release.registry.as_str())
    }

    /// Returns the entry of the skill whose folder has this name, as the text of a lock file with only this entry.
    pub(crate) fn entry_text(&self, name: &SkillName) -> Option<String> {
        self.find(name).map(Self::text_of)
    }

    /// Returns the text of a lock file with only this entry.
    pub(crate) fn text_of(entry: &LockedSkill) -> String {
        let skills = BTreeMap::from([(entry.name(), entry.clone())]);
        Self { path: PathBuf::new(), others: Table::new(), skills }.to_text()
    }

    /// Adds or replaces an entry. Unknown fields of the replaced entry are kept.
    pub fn insert(&mut self, skill: LockedSkill) {
        let name = skill.name();
        let raw = self.skills.remove(&name).map(|old| old.raw).unwrap_or_default();
        self.skills.insert(name, LockedSkill { raw, ..skill });
    }

    /// Removes an entry. Returns whether it existed.
    pub fn remove(&mut self, name: &str) -> bool {
        self.skills.remove(name).is_some()
    }

    /// Formats the whole file, also if it exceeds the limits.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEAD}format = {FORMAT}\n");
        if !self.others.is_empty() {
            text.push_str(&self.others.to_string());
        }
        for skill in self.skills.values() {
            text.push('\n');
            text.push_str(&skill.clone().with_relative_source(folder_of(&self.path)).table_text());
        }
        text
    }

    /// Formats the file. Fails if the text would exceed the limits for reading it.
    fn readable_text(&self) -> Result<String, LockFileError> {
        bounds::readable(self.to_text(), &self.path)
    }

    /// Returns the entries by the names of their folders.
    pub(crate) fn by_bare_name(&self) -> BTreeMap<&str, &LockedSkill> {
        // The first entry wins, as in `find`.
        self.skills.values().rev().map(|skill| (skill.bare_name().as_str(), skill)).collect()
    }
}

/// Rejects an entry with an unknown kind of source, before its other fields are read: they may differ too.
fn check_kind(entry: &Value, path: &Path) -> Result<(), LockFileError> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    match text("kind") {
        Some(kind) if !KINDS.contains(&kind.as_str()) => {
            let name = text("name").unwrap_or_else(|| "a skill".to_owned());
            Err(LockFileError::NewerKind { path: path.to_owned(), name, kind })
        }
        _ => Ok(()),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

impl LockedSkill {
    /// Returns the full name `owner/name`, or the folder's name of a skill from another source.
    pub fn name(&self) -> String {
        self.origin.name_in(self.bare_name())
    }

    /// Returns the name of the folder.
    pub fn bare_name(&self) -> &SkillName {
        self.alias.as_ref().unwrap_or_else(|| self.origin.bare_name())
    }

    /// Returns the alias of a skill with this folder; `None` if it has the release's name.
    pub(crate) fn alias_of(origin: &Origin, folder: &SkillName) -> Option<SkillName> {
        (folder != origin.bare_name()).then(|| folder.clone())
    }

    /// Returns whether the content differs from the release, if only in its name.
    pub fn is_evolved(&self) -> bool {
        self.content.is_some() && self.content != self.origin.digest().known()
    }

    /// Returns an origin as the file has it: with one word for all sources that skillhub cannot fetch from.
    pub(crate) fn origin_in_file(origin: Origin) -> Origin {
        match origin {
            Origin::Other { kind, place, skill } if !KINDS.contains(&kind.as_str()) => {
                Origin::Other { kind: OTHER.to_owned(), place, skill }
            }
            known => known,
        }
    }
}

/// Formats a parser error. It quotes the faulty line unless the file is large, because the line may be long.
fn describe_parse_error(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    match text.len() <= SHOWN_BYTES {
        true => error.to_string(),
        false => format!("line {}: {}", before.matches('\n').count() + 1, error.message()),
    }
}
